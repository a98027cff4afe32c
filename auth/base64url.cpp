#include "auth/base64url.hpp"

#include <array>
#include <cstdint>

namespace viewgate::auth {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::int8_t no_digit = -1;

constexpr std::array<std::int8_t, 256> make_digits() {
  std::array<std::int8_t, 256> digits{};
  digits.fill(no_digit);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    digits[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return digits;
}
constexpr std::array<std::int8_t, 256> digits = make_digits();

}  // namespace

std::string base64url_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t pending = 0;
  unsigned bits = 0;
  for (const char byte : bytes) {
    pending = (pending << 8 | static_cast<unsigned char>(byte)) & 0xFFFFFF;
    for (bits += 8; bits >= 6; bits -= 6) out += alphabet[pending >> (bits - 6) & 0x3F];
  }
  if (bits > 0) out += alphabet[pending << (6 - bits) & 0x3F];
  return out;
}

std::optional<std::string> base64url_decode(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t pending = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const std::int8_t digit = digits[static_cast<unsigned char>(c)];
    if (digit == no_digit) return std::nullopt;
    pending = (pending << 6 | static_cast<std::uint32_t>(digit)) & 0xFFFFFF;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(pending >> bits & 0xFF);
  }
  if ((pending & ((1U << bits) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace viewgate::auth
