// LIKE, in time that grows with the text and with the pattern and not with their product: patterns come from clients, and texts are
// as long as a record may be.
#pragma once

#include <string_view>

#include "projection/value.hpp"

namespace viewgate::projection {

/// Characters between two % of a pattern that has _ among them.
inline constexpr std::size_t like_blanks_piece_max = 1024;

/// LIKE with the escape character \. Fault::invalid_argument where the pattern ends inside an escape, and matching gets
/// that far; and for a piece with _ between two % that is longer than like_blanks_piece_max.
[[nodiscard]] Value text_like(std::string_view text, std::string_view pattern);

}  // namespace viewgate::projection
