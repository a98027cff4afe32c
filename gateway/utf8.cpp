#include "gateway/utf8.hpp"

#include <array>
#include <cstring>

namespace viewgate::gateway {
namespace {

// The states name what must come next. RFC 3629 section 4 has one row for each lead byte whose second byte is
// restricted: that is where overlong forms, surrogates and code points above U+10FFFF are refused.
enum State : std::uint8_t {
  between,     // a character begins
  one_more,    // 80..BF, then between
  two_more,    // 80..BF, then one_more
  three_more,  // 80..BF, then two_more
  after_e0,    // A0..BF, then one_more
  after_ed,    // 80..9F, then one_more
  after_f0,    // 90..BF, then two_more
  after_f4,    // 80..8F, then two_more
  state_count
};

struct Continuation {
  std::uint8_t low;
  std::uint8_t high;
  State next;
};

constexpr std::array<Continuation, state_count> continuations{{
    {0, 0, between},
    {0x80, 0xBF, between},
    {0x80, 0xBF, one_more},
    {0x80, 0xBF, two_more},
    {0xA0, 0xBF, one_more},
    {0x80, 0x9F, one_more},
    {0x90, 0xBF, two_more},
    {0x80, 0x8F, two_more},
}};

// The state after a byte above 7F at the beginning of a character; `between` = such a byte cannot begin one.
constexpr State after_lead(std::uint8_t byte) {
  if (byte < 0xC2) return between;
  if (byte < 0xE0) return one_more;
  if (byte == 0xE0) return after_e0;
  if (byte == 0xED) return after_ed;
  if (byte < 0xF0) return two_more;
  if (byte == 0xF0) return after_f0;
  if (byte < 0xF4) return three_more;
  return byte == 0xF4 ? after_f4 : between;
}

// How many bytes at the front are ASCII, eight at a time (nearly all of what clients send is).
std::size_t ascii_run(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080U;
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, sizeof(eight));
    if ((eight & high_bits) != 0) break;
  }
  while (at < text.size() && static_cast<std::uint8_t>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

bool Utf8Checker::feed(std::string_view piece) {
  std::size_t at = 0;
  while (at < piece.size()) {
    if (state_ == between) {
      at += ascii_run(piece.substr(at));
      if (at == piece.size()) return true;
      state_ = after_lead(static_cast<std::uint8_t>(piece[at++]));
      if (state_ == between) return false;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(piece[at++]);
    const Continuation& expected = continuations[state_];
    if (byte < expected.low || byte > expected.high) return false;
    state_ = expected.next;
  }
  return true;
}

bool is_utf8(std::string_view text) {
  Utf8Checker checker;
  return checker.feed(text) && checker.complete();
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0U) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace viewgate::gateway
