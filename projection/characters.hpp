// Characters of UTF-8 texts that PostgreSQL has checked.
#pragma once

#include <cstddef>
#include <string_view>

namespace viewgate::projection {

[[nodiscard]] inline bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// What follows the first character; of an empty text nothing.
[[nodiscard]] inline std::string_view without_first_character(std::string_view text) {
  std::size_t at = text.empty() ? 0 : 1;
  while (at < text.size() && !begins_character(text[at])) ++at;
  return text.substr(at);
}

}  // namespace viewgate::projection
