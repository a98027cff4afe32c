// UTF-8 as RFC 3629 has it, checked as the bytes arrive: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace viewgate::gateway {

/// The state between two pieces of one text. `feed` is false from the first byte that cannot be part of UTF-8.
class Utf8Checker {
 public:
  [[nodiscard]] bool feed(std::string_view piece);

  /// False where the text so far ends inside a character.
  [[nodiscard]] bool complete() const { return state_ == 0; }

  void reset() { state_ = 0; }

 private:
  std::uint8_t state_ = 0;  // 0: between characters; else a state of the table in utf8.cpp
};

[[nodiscard]] bool is_utf8(std::string_view text);

/// The longest prefix of at most `bytes_max` bytes that does not end inside a character.
[[nodiscard]] std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max);

}  // namespace viewgate::gateway
