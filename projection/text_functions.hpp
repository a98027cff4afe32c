// Functions of text, as PostgreSQL computes them with UTF-8 and the C collation: characters are code points, and upper
// and lower know A to Z only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "projection/value.hpp"

namespace viewgate::projection {

[[nodiscard]] std::string lower_ascii(std::string_view text);
[[nodiscard]] std::string upper_ascii(std::string_view text);

/// In characters.
[[nodiscard]] std::int64_t text_length(std::string_view text);
/// left() and right(): a negative count leaves out that many at the other end.
[[nodiscard]] std::string text_left(std::string_view text, std::int64_t count);
[[nodiscard]] std::string text_right(std::string_view text, std::int64_t count);
/// substr(text, start[, count]), places from 1; a negative count is an error.
[[nodiscard]] Value text_substring(std::string_view text, std::int64_t start, const std::int64_t* count);
/// strpos(): the place of the first occurrence in characters, 0 = none.
[[nodiscard]] std::int64_t text_position(std::string_view text, std::string_view part);

enum class TrimEnds : std::uint8_t { both, left, right };
/// btrim(), ltrim(), rtrim(): drops characters that are among `set`.
[[nodiscard]] std::string text_trim(TrimEnds ends, std::string_view text, std::string_view set);

}  // namespace viewgate::projection
