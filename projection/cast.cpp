// Explicit casts between values, as PostgreSQL's cast functions compute them.
#include "projection/expression.hpp"
#include "projection/floats.hpp"
#include "projection/timestamp.hpp"

namespace viewgate::projection {
namespace {

Value cast_integer(std::int64_t integer, Type to) {
  if (to == Type::boolean) return integer != 0;
  if (to == Type::numeric) return Numeric(integer);
  if (to == Type::float8) return static_cast<double>(integer);
  if (to == Type::float4) return static_cast<double>(static_cast<float>(integer));
  if (!in_range(to, integer)) return Fault::out_of_range;
  return integer;
}

Value cast_numeric(const Numeric& numeric, Type to) {
  if (is_float(to)) return numeric_to_float(to, numeric);
  if (!is_integer(to)) return numeric;
  const auto integer = numeric.to_int8();
  if (!integer || !in_range(to, *integer)) return Fault::out_of_range;
  return *integer;
}

Value cast_float(double real, Type from, Type to) {
  if (is_integer(to)) return float_to_integer(to, real);
  if (to == Type::numeric) return float_to_numeric(from, real);
  return to == Type::float4 && from == Type::float8 ? narrow_float(real) : Value(real);
}

Value cast_array(const Array& array, Type from, const FullType& to) {
  auto out = std::make_shared<Array>();
  for (const Value& element : array.elements)
    out->elements.push_back(cast_value(element, from, FullType(to.type, false, to.labels)));
  return ArrayPtr(std::move(out));
}

/// A scalar of a jsonb as a boolean or number; nothing else is one.
Value cast_jsonb(const Jsonb& jsonb, Type to) {
  Value out = jsonb.text.front() == '"' ? Value(Fault::malformed_value)
                                        : decode_json(to == Type::boolean ? Type::boolean : Type::numeric, jsonb.text);
  if (is_null(out) || is_fault(out)) return Fault::invalid_argument;
  return cast_value(out, to == Type::boolean ? Type::boolean : Type::numeric, to);
}

}  // namespace

Value cast_value(const Value& value, Type from, const FullType& full) {
  if (is_null(value) || is_fault(value)) return value;
  const Type to = full.type;
  if (const auto* array = std::get_if<ArrayPtr>(&value)) return cast_array(**array, from, full);
  if (from == to) return value;
  if (is_text(from)) return parse_text(full, std::get<std::string>(value));
  if (to == Type::text) return print_text(from, value);
  if (const auto* boolean = std::get_if<bool>(&value)) return std::int64_t{*boolean ? 1 : 0};
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return cast_integer(*integer, to);
  if (const auto* numeric = std::get_if<Numeric>(&value)) return cast_numeric(*numeric, to);
  if (const auto* real = std::get_if<double>(&value)) return cast_float(*real, from, to);
  if (const auto* jsonb = std::get_if<Jsonb>(&value)) return cast_jsonb(*jsonb, to);
  if (const auto* date = std::get_if<Date>(&value)) return date_to_timestamp(*date);
  if (const auto* instant = std::get_if<Timestamp>(&value)) {
    return to == Type::date ? timestamp_to_date(*instant) : Value(*instant);
  }
  return value;
}

}  // namespace viewgate::projection
