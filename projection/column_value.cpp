#include "projection/column_value.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "projection/numeric.hpp"
#include "projection/timestamp.hpp"

namespace viewgate::projection {
namespace {

using Kind = Json::Kind;

constexpr std::string_view no_nul = "must not hold U+0000";

std::size_t depth_of(const Json& value) {
  std::size_t deepest = 0;
  for (const Json& item : value.items) deepest = std::max(deepest, depth_of(item));
  for (const Json::Member& member : value.members) deepest = std::max(deepest, depth_of(member.value));
  return value.kind == Kind::array || value.kind == Kind::object ? deepest + 1 : deepest;
}

std::string too_large(const ValueLimits& limits) {
  return "makes the record larger than " + std::to_string(limits.record_bytes) + " bytes";
}

/// 1.0 and 1e2 are whole numbers: clients cannot always tell how theirs are printed.
std::optional<std::int64_t> whole_number(Type type, const Json& value) {
  if (value.kind != Kind::number && !(value.kind == Kind::string && type == Type::int8)) return std::nullopt;
  const auto numeric =
      value.text.find_first_of(" \t\r\n\v\f") == std::string::npos ? Numeric::parse(value.text) : std::nullopt;
  const auto integer = numeric ? numeric->exact_int8() : std::nullopt;
  return integer && in_range(type, *integer) ? integer : std::nullopt;
}

Type type_of(const Table& table, std::size_t column) {
  const FullType& type = table.layout.column(column).type;
  return type.array ? Type::carried : type.type;
}

std::string_view expected(Type type) {
  switch (type) {
    case Type::boolean:
      return "must be true or false";
    case Type::int2:
      return "must be a whole number from -32768 to 32767";
    case Type::int4:
      return "must be a whole number from -2147483648 to 2147483647";
    case Type::int8:
      return "must be a whole number of 64 bits, as a number or a string";
    case Type::numeric:
      return "must be a finite number that numeric can hold, as a number or a string";
    case Type::float4:
    case Type::float8:
      return "must be a finite number that the type can hold";
    case Type::text:
      return "must be a string";
    case Type::uuid:
      return "must be a uuid, as a string";
    case Type::timestamp:
    case Type::timestamptz:
      return "must be a time in ISO 8601 form, as a string";
    case Type::date:
      return "must be a date, as a string";
    default:
      return "must be JSON that jsonb can hold";
  }
}

/// The value as to_jsonb prints it.
std::optional<std::string> json_of(Type type, const Json& value) {
  const bool is_string = value.kind == Kind::string;
  switch (type) {
    case Type::boolean:
      return value.kind == Kind::boolean ? std::optional(value.text) : std::nullopt;
    case Type::int2:
    case Type::int4:
    case Type::int8: {
      const auto integer = whole_number(type, value);
      return integer ? std::optional(std::to_string(*integer)) : std::nullopt;
    }
    case Type::numeric:
      return value.kind == Kind::number || is_string ? jsonb_number(value.text) : std::nullopt;
    case Type::float4:
    case Type::float8: {
      const Value parsed = value.kind == Kind::number ? parse_text(type, value.text) : Value(Fault::invalid_text);
      return is_fault(parsed) ? std::nullopt : std::optional(print_json(type, parsed));
    }
    case Type::date:
      if (has_time_of_day(value.text)) return std::nullopt;
      break;
    default:
      break;
  }
  const Value parsed = is_string ? parse_text(type, value.text) : Value(Fault::invalid_text);
  return is_fault(parsed) ? std::nullopt : std::optional(print_json(type, parsed));
}

}  // namespace

bool is_writable(const Table& table, std::size_t column) {
  static constexpr Type types[] = {Type::boolean,   Type::int2,        Type::int4, Type::int8, Type::numeric,
                                   Type::float4,    Type::float8,      Type::text, Type::uuid, Type::date,
                                   Type::timestamp, Type::timestamptz, Type::jsonb};
  return std::find(std::begin(types), std::end(types), type_of(table, column)) != std::end(types);
}

bool is_key(const Table& table, std::size_t column) {
  const Type type = type_of(table, column);
  return type != Type::numeric && !is_float(type) && type != Type::jsonb;
}

std::optional<std::string> append_column_value(std::string& out, const Table& table, std::size_t column,
                                               const Json& value, const ValueLimits& limits) {
  if (value.kind == Kind::null) {
    if (table.column_rules[column].not_null) return "must not be null";
    out += "null";
    return std::nullopt;
  }
  if (has_nul(value)) return std::string(no_nul);
  const Type type = type_of(table, column);
  if (type == Type::jsonb) {
    if (depth_of(value) > limits.depth) return "is nested deeper than " + std::to_string(limits.depth);
    if (append_jsonb(out, value, NumberForm::expanded, limits.record_bytes)) return std::nullopt;
    return out.size() > limits.record_bytes ? too_large(limits) : "holds a number beyond those of PostgreSQL";
  }
  const auto text = json_of(type, value);
  if (!text) return std::string(expected(type));
  out += *text;
  return out.size() > limits.record_bytes ? std::optional(too_large(limits)) : std::nullopt;
}

}  // namespace viewgate::projection
