// float4 and float8 as PostgreSQL 15 computes them: IEEE doubles, but what overflows, underflows to zero or is divided by
// zero is an error. A float4 is kept as the double of the same value.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "projection/value.hpp"

namespace viewgate::projection {

/// float4in and float8in: blanks around, "NaN", "Infinity", "inf" in any case, hexadecimal too. A Fault, or a double.
[[nodiscard]] Value parse_float(Type type, std::string_view text);

/// The fewest digits that read back as the same float, as a decimal with an exponent; "NaN", "Infinity", "-Infinity".
[[nodiscard]] std::string print_float(Type type, double value);

/// NaN is equal to NaN and above everything; -0 is 0.
[[nodiscard]] std::strong_ordering compare_floats(double a, double b);

enum class FloatOp : std::uint8_t { add, subtract, multiply, divide };
[[nodiscard]] Value float_arithmetic(FloatOp op, Type type, double a, double b);

/// Casts. To float4 and float8 from a numeric; to an integer by rounding half to even; to numeric through the 6 or 15
/// digits that PostgreSQL keeps.
[[nodiscard]] Value numeric_to_float(Type type, const Numeric& value);
[[nodiscard]] Value float_to_integer(Type type, double value);
[[nodiscard]] Value float_to_numeric(Type from, double value);
/// float8 to float4.
[[nodiscard]] Value narrow_float(double value);

}  // namespace viewgate::projection
