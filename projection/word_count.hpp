// How much of a statement could be nested: what bounds the parser's use of the stack before it is called. Internal to the
// layer.
#pragma once

#include <cstddef>
#include <string_view>

namespace viewgate::projection {

/// Identifiers, keywords, and each character of an operator or bracket. Constants, commas, blanks and comments count
/// nothing. Reads as PostgreSQL's scanner does with standard_conforming_strings on, which the parser has.
[[nodiscard]] std::size_t count_words(std::string_view statement);

}  // namespace viewgate::projection
