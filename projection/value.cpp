#include "projection/value.hpp"

#include <cstring>
#include <limits>

#include "projection/floats.hpp"
#include "projection/jsonb.hpp"
#include "projection/timestamp.hpp"

namespace viewgate::projection {
namespace {

std::string canonical_float(double value) {
  if (value == 0) value = 0;  // -0 is 0
  if (value != value) return "fNaN";
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return 'f' + std::to_string(bits);
}

std::string canonical_array(const Array& array) {
  std::string out = "[" + std::to_string(array.elements.size());
  for (const Value& element : array.elements) {
    const std::string each = canonical(element);
    out += ' ' + std::to_string(each.size()) + ':' + each;
  }
  return out;
}

std::strong_ordering compare_moments(const Value& a, const Value& b) {
  if (const auto* date = std::get_if<Date>(&a)) {
    if (const auto* other = std::get_if<Date>(&b)) return *date <=> *other;
    return compare_date(*date, std::get<Timestamp>(b));
  }
  if (const auto* other = std::get_if<Date>(&b)) return 0 <=> compare_date(*other, std::get<Timestamp>(a));
  return std::get<Timestamp>(a) <=> std::get<Timestamp>(b);
}

}  // namespace

std::strong_ordering compare(const Value& a, const Value& b) {
  if (const auto* left = std::get_if<std::int64_t>(&a)) return *left <=> std::get<std::int64_t>(b);
  if (const auto* left = std::get_if<std::string>(&a)) return left->compare(std::get<std::string>(b)) <=> 0;
  if (const auto* left = std::get_if<Numeric>(&a)) return *left <=> std::get<Numeric>(b);
  if (const auto* left = std::get_if<double>(&a)) return compare_floats(*left, std::get<double>(b));
  if (const auto* left = std::get_if<bool>(&a)) return *left <=> std::get<bool>(b);
  if (const auto* left = std::get_if<Uuid>(&a)) return *left <=> std::get<Uuid>(b);
  if (const auto* left = std::get_if<Bytes>(&a)) return *left <=> std::get<Bytes>(b);
  if (const auto* left = std::get_if<Label>(&a)) return left->place <=> std::get<Label>(b).place;
  if (const auto* left = std::get_if<Jsonb>(&a)) {
    return canonical_jsonb(left->text).compare(canonical_jsonb(std::get<Jsonb>(b).text)) <=> 0;
  }
  return compare_moments(a, b);
}

std::string canonical(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return 'i' + std::to_string(*integer);
  if (const auto* numeric = std::get_if<Numeric>(&value)) {
    if (const auto exact = numeric->exact_int8()) return 'i' + std::to_string(*exact);
    return 'n' + numeric->canonical();
  }
  if (const auto* real = std::get_if<double>(&value)) return canonical_float(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return 's' + *text;
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "b1" : "b0";
  if (std::holds_alternative<Uuid>(value)) return 'u' + print_text(Type::uuid, value);
  if (const auto* date = std::get_if<Date>(&value)) return 't' + canonical_date(*date);
  if (const auto* instant = std::get_if<Timestamp>(&value)) return 't' + std::to_string(instant->microseconds);
  if (const auto* bytes = std::get_if<Bytes>(&value)) return 'x' + bytes->bytes;
  if (const auto* label = std::get_if<Label>(&value)) return 'e' + label->type->labels[label->place];
  if (const auto* jsonb = std::get_if<Jsonb>(&value)) return 'j' + canonical_jsonb(jsonb->text);
  if (const auto* array = std::get_if<ArrayPtr>(&value)) return canonical_array(**array);
  return is_fault(value) ? "!" : "-";
}

bool in_range(Type type, std::int64_t value) {
  switch (type) {
    case Type::int2:
      return value >= std::numeric_limits<std::int16_t>::min() && value <= std::numeric_limits<std::int16_t>::max();
    case Type::int4:
      return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
    default:
      return true;
  }
}

}  // namespace viewgate::projection
