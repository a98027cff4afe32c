// The types of PostgreSQL that expressions know. A column of any other type is `carried`: its text travels to the
// client, and an expression that names it is refused when the model is loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace viewgate::projection {

/// `unknown` is the type of a string literal, NULL, parameter or claim until its context gives it one; nothing that
/// leaves the model parser has it.
enum class Type : std::uint8_t { unknown, boolean, int2, int4, int8, numeric, text, uuid, timestamptz, carried };

/// As PostgreSQL's format_type spells it ("integer"), for messages and casts.
[[nodiscard]] std::string_view name(Type type);

/// From pg_type.typname ("int4") or format_type ("integer", without a modifier); what is not known is `carried`.
/// varchar is text; char(n) is carried, since its comparisons ignore trailing blanks.
[[nodiscard]] Type type_from_name(std::string_view name);

[[nodiscard]] inline bool is_integer(Type type) {
  return type == Type::int2 || type == Type::int4 || type == Type::int8;
}
[[nodiscard]] inline bool is_number(Type type) { return is_integer(type) || type == Type::numeric; }

}  // namespace viewgate::projection
