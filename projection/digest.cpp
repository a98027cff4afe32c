#include "projection/digest.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <stdexcept>

namespace viewgate::projection {

std::string Digest::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

Digest digest(std::string_view bytes) {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> full{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), full.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL has no SHA-256");
  }
  Digest out;
  std::copy_n(full.begin(), out.bytes.size(), out.bytes.begin());
  return out;
}

void append_field(std::string& out, std::string_view bytes) {
  out += std::to_string(bytes.size());
  out += ':';
  out += bytes;
}

}  // namespace viewgate::projection
