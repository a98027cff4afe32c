// A value of one of the types that expressions know, or NULL, or the error that evaluating it gave. Immutable in use.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "projection/numeric.hpp"
#include "projection/type.hpp"

namespace viewgate::projection {

/// Why an expression has no value: the fourth truth value.
enum class Fault : std::uint8_t {
  out_of_range,
  division_by_zero,
  invalid_text,      ///< a cast of text that is not of the type
  invalid_argument,  ///< a function or pattern that cannot be computed for this argument
  invalid_claim,     ///< a claim of another shape than the expression needs
  malformed_value,   ///< the record's text is not of the column's type
  condition          ///< a condition inside was an error; which one is not kept
};

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

/// Days since 2000-01-01; the extremes are the infinities.
struct Date {
  std::int32_t days = 0;
  friend auto operator<=>(Date, Date) = default;
};

/// Microseconds since 2000-01-01 00:00:00 UTC, as PostgreSQL counts; the extremes are the infinities. timestamp and
/// timestamptz both: the time zone here is always UTC.
struct Timestamp {
  std::int64_t microseconds = 0;
  friend auto operator<=>(Timestamp, Timestamp) = default;
};

struct Bytes {
  std::string bytes;
  friend auto operator<=>(const Bytes&, const Bytes&) = default;
};

/// A value of an enum: its place among the labels. The type belongs to the model's table, which outlives all values.
struct Label {
  const EnumType* type = nullptr;
  std::uint32_t place = 0;
};

/// `text` is what jsonb's output function prints, so that pieces of it are what `->` prints.
struct Jsonb {
  std::string text;
};

struct Null {
  friend bool operator==(Null, Null) { return true; }
};

struct Array;
using ArrayPtr = std::shared_ptr<const Array>;

/// int2, int4 and int8 are all std::int64_t, float4 and float8 are double: the type of the expression bounds them. A
/// char(n) is a string without the blanks at its end.
using Value = std::variant<Null, Fault, bool, std::int64_t, double, Numeric, std::string, Uuid, Date, Timestamp, Bytes,
                           Label, Jsonb, ArrayPtr>;

/// Elements in the order of the array's text, dimensions forgotten: none of the operators here asks for them. An element
/// may be NULL or an error.
struct Array {
  std::vector<Value> elements;
  bool sorted = false;  ///< by compare(), without repetition, NULLs and errors at the end: it can be searched
};

[[nodiscard]] inline bool is_null(const Value& value) { return std::holds_alternative<Null>(value); }
[[nodiscard]] inline bool is_fault(const Value& value) { return std::holds_alternative<Fault>(value); }

/// Both hold the same alternative, neither NULL, a fault nor an array; or a date and a timestamp. Texts by bytes (the C
/// collation); NaN equals NaN and is above all; jsonb has equality only (less stands for unequal).
[[nodiscard]] std::strong_ordering compare(const Value& a, const Value& b);

/// Equal exactly where the type's `=` says so, also across integer and numeric, and date and timestamp: an index key.
[[nodiscard]] std::string canonical(const Value& value);

/// The input function of the type, as PostgreSQL 15 has it; dates and times take what timestamp.hpp says.
/// Fault::invalid_text or Fault::out_of_range where PostgreSQL raises. Not for arrays.
[[nodiscard]] Value parse_text(const FullType& type, std::string_view text);

/// The output function (TimeZone UTC, DateStyle ISO, hex bytea). Not for NULL, a fault or an array.
[[nodiscard]] std::string print_text(Type type, const Value& value);

/// What to_jsonb prints; "null" for NULL. Not for a fault.
[[nodiscard]] std::string print_json(Type type, const Value& value);

/// From the JSON text of a column's value as to_jsonb printed it.
[[nodiscard]] Value decode_json(const FullType& type, std::string_view json);

/// The bounds of an integer type.
[[nodiscard]] bool in_range(Type type, std::int64_t value);

}  // namespace viewgate::projection
