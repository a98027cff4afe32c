// A value of one of the types that expressions know, or NULL, or the error that evaluating it gave. Immutable in use.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "projection/numeric.hpp"
#include "projection/type.hpp"

namespace viewgate::projection {

/// Why an expression has no value: the fourth truth value.
enum class Fault : std::uint8_t {
  out_of_range,
  division_by_zero,
  invalid_text,     ///< a cast of text that is not of the type
  invalid_claim,    ///< a claim of another shape than the expression needs
  malformed_value,  ///< the record's text is not of the column's type
  condition         ///< a condition inside was an error; which one is not kept
};

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

/// Microseconds since 2000-01-01 00:00:00 UTC, as PostgreSQL counts; the extremes are the infinities.
struct Timestamp {
  std::int64_t microseconds = 0;
  friend auto operator<=>(Timestamp, Timestamp) = default;
};

struct Null {
  friend bool operator==(Null, Null) { return true; }
};

/// int2, int4 and int8 are all std::int64_t: the type of the expression bounds them.
using Value = std::variant<Null, Fault, bool, std::int64_t, Numeric, std::string, Uuid, Timestamp>;

[[nodiscard]] inline bool is_null(const Value& value) { return std::holds_alternative<Null>(value); }
[[nodiscard]] inline bool is_fault(const Value& value) { return std::holds_alternative<Fault>(value); }

/// Both hold the same alternative, neither NULL nor a fault. Texts by bytes (the C collation).
[[nodiscard]] std::strong_ordering compare(const Value& a, const Value& b);

/// Equal exactly where the type's `=` says so, also across integer and numeric: an index key.
[[nodiscard]] std::string canonical(const Value& value);

/// The input function of the type, as PostgreSQL 15 has it; timestamptz takes ISO 8601 forms only. Fault::invalid_text
/// or Fault::out_of_range where PostgreSQL raises.
[[nodiscard]] Value parse_text(Type type, std::string_view text);

/// The output function (TimeZone UTC, DateStyle ISO). Not for NULL or a fault.
[[nodiscard]] std::string print_text(const Value& value);

/// From the JSON text of a column's value as to_jsonb printed it.
[[nodiscard]] Value decode_json(Type type, std::string_view json);

/// The bounds of an integer type.
[[nodiscard]] bool in_range(Type type, std::int64_t value);

}  // namespace viewgate::projection
