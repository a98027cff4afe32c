#include "projection/function.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_set>

#include "projection/jsonb.hpp"
#include "projection/like.hpp"
#include "projection/text_functions.hpp"

namespace viewgate::projection {
namespace {

const std::vector<Signature>& signatures() {
  static const FullType any_array(Type::unknown, true);
  static const std::vector<Signature> all{
      {"lower", Function::lower, {Type::text}, Type::text},
      {"upper", Function::upper, {Type::text}, Type::text},
      {"length", Function::length, {Type::text}, Type::int4},
      {"char_length", Function::length, {Type::text}, Type::int4},
      {"character_length", Function::length, {Type::text}, Type::int4},
      {"octet_length", Function::octet_length, {Type::text}, Type::int4},
      {"left", Function::left, {Type::text, Type::int4}, Type::text},
      {"right", Function::right, {Type::text, Type::int4}, Type::text},
      {"substr", Function::substr, {Type::text, Type::int4}, Type::text},
      {"substr", Function::substr, {Type::text, Type::int4, Type::int4}, Type::text},
      {"substring", Function::substr, {Type::text, Type::int4}, Type::text},
      {"substring", Function::substr, {Type::text, Type::int4, Type::int4}, Type::text},
      {"strpos", Function::strpos, {Type::text, Type::text}, Type::int4},
      {"position", Function::strpos, {Type::text, Type::text}, Type::int4},
      {"starts_with", Function::starts_with, {Type::text, Type::text}, Type::boolean},
      {"btrim", Function::btrim, {Type::text}, Type::text},
      {"btrim", Function::btrim, {Type::text, Type::text}, Type::text},
      {"ltrim", Function::ltrim, {Type::text}, Type::text},
      {"ltrim", Function::ltrim, {Type::text, Type::text}, Type::text},
      {"rtrim", Function::rtrim, {Type::text}, Type::text},
      {"rtrim", Function::rtrim, {Type::text, Type::text}, Type::text},
      {"abs", Function::abs, {Type::unknown}, Type::unknown},
      {"cardinality", Function::cardinality, {any_array}, Type::int4},
      {"jsonb_typeof", Function::json_typeof, {Type::jsonb}, Type::text},
  };
  return all;
}

const std::string& text(const Value* value) { return std::get<std::string>(*value); }
std::int64_t integer(const Value* value) { return std::get<std::int64_t>(*value); }
const Array& array(const Value* value) { return *std::get<ArrayPtr>(*value); }
const Jsonb& jsonb(const Value* value) { return std::get<Jsonb>(*value); }

Value absolute(Type type, const Value& value) {
  if (const auto* numeric = std::get_if<Numeric>(&value)) return numeric->negative() ? numeric->negated() : *numeric;
  if (const auto* real = std::get_if<double>(&value)) return std::fabs(*real);
  const std::int64_t number = std::get<std::int64_t>(value);
  if (number == std::numeric_limits<std::int64_t>::min() || !in_range(type, -number)) {
    if (number < 0) return Fault::out_of_range;
  }
  return number < 0 ? -number : number;
}

std::string trimmed(TrimEnds ends, std::span<const Value* const> arguments) {
  return text_trim(ends, text(arguments[0]), arguments.size() > 1 ? std::string_view(text(arguments[1])) : " ");
}

/// What an array has, to be asked for the elements of another: a client may bring thousands, and the record have as many.
class Elements {
 public:
  Elements(const Array& array, std::size_t questions) : array_(array) {
    constexpr std::size_t comparisons_max = 1024;  // fewer cost less than a table
    has_table_ = array.elements.size() * questions > comparisons_max;
    if (!has_table_) return;
    for (const Value& each : array.elements) {
      if (!is_null(each)) table_.insert(canonical(each));
    }
  }
  /// NULL is equal to nothing.
  [[nodiscard]] bool has(const Value& wanted) const {
    if (is_null(wanted)) return false;
    if (has_table_) return table_.contains(canonical(wanted));
    return std::ranges::any_of(array_.elements, [&wanted](const Value& element) {
      return !is_null(element) && compare(element, wanted) == 0;
    });
  }

 private:
  const Array& array_;
  bool has_table_ = false;
  std::unordered_set<std::string> table_;
};

bool has_fault(const Array& elements) {
  return std::any_of(elements.elements.begin(), elements.elements.end(), is_fault);
}

/// A NULL element is equal to nothing, so an array that has one is contained in none.
Value contains(const Array& outer, const Array& inner) {
  if (has_fault(outer) || has_fault(inner)) return Fault::condition;
  const Elements known(outer, inner.elements.size());
  return std::ranges::all_of(inner.elements, [&known](const Value& wanted) { return known.has(wanted); });
}

Value overlaps(const Array& a, const Array& b) {
  if (has_fault(a) || has_fault(b)) return Fault::condition;
  const Elements known(a, b.elements.size());
  return std::ranges::any_of(b.elements, [&known](const Value& wanted) { return known.has(wanted); });
}

Value json_get(std::span<const Value* const> arguments) {
  if (const auto* place = std::get_if<std::int64_t>(arguments[1])) return jsonb_element(jsonb(arguments[0]), *place);
  return jsonb_member(jsonb(arguments[0]), text(arguments[1]));
}

Value json_has_keys(const Jsonb& value, const Array& keys, bool all) {
  if (has_fault(keys)) return Fault::condition;
  std::unordered_set<std::string> wanted;
  for (const Value& key : keys.elements) {
    if (!is_null(key)) wanted.insert(std::get<std::string>(key));  // NULL keys are passed over
  }
  const std::size_t found = jsonb_count(value.text, wanted);
  return all ? found == wanted.size() : found > 0;
}

Value call_text(Function function, std::span<const Value* const> arguments) {
  const std::string& first = text(arguments[0]);
  switch (function) {
    case Function::lower:
      return lower_ascii(first);
    case Function::upper:
      return upper_ascii(first);
    case Function::length:
      return text_length(first);
    case Function::octet_length:
      return static_cast<std::int64_t>(first.size());
    case Function::left:
      return text_left(first, integer(arguments[1]));
    case Function::right:
      return text_right(first, integer(arguments[1]));
    case Function::substr: {
      const std::int64_t count = arguments.size() > 2 ? integer(arguments[2]) : 0;
      return text_substring(first, integer(arguments[1]), arguments.size() > 2 ? &count : nullptr);
    }
    case Function::strpos:
      return text_position(first, text(arguments[1]));
    case Function::starts_with:
      return first.starts_with(text(arguments[1]));
    case Function::btrim:
      return trimmed(TrimEnds::both, arguments);
    case Function::ltrim:
      return trimmed(TrimEnds::left, arguments);
    case Function::rtrim:
      return trimmed(TrimEnds::right, arguments);
    case Function::concat:
      return first + text(arguments[1]);
    case Function::like:
      return text_like(first, text(arguments[1]));
    case Function::ilike:
      return text_like(lower_ascii(first), lower_ascii(text(arguments[1])));
    default:
      return Fault::malformed_value;
  }
}

}  // namespace

std::string_view name(Function function) {
  switch (function) {
    case Function::coalesce:
      return "coalesce";
    case Function::nullif:
      return "nullif";
    case Function::greatest:
      return "greatest";
    case Function::least:
      return "least";
    case Function::concat:
      return "||";
    case Function::like:
      return "like";
    case Function::ilike:
      return "ilike";
    case Function::matches:
      return "~";
    case Function::array_contains:
      return "array @>";
    case Function::array_overlaps:
      return "array &&";
    case Function::json_get:
      return "->";
    case Function::json_get_text:
      return "->>";
    case Function::json_contains:
      return "jsonb @>";
    case Function::json_has:
      return "?";
    case Function::json_has_any:
      return "?|";
    case Function::json_has_all:
      return "?&";
    default:
      break;
  }
  for (const Signature& signature : signatures()) {
    if (signature.function == function) return signature.name;
  }
  return "";
}

std::vector<Signature> signatures_of(std::string_view name) {
  std::vector<Signature> out;
  for (const Signature& signature : signatures()) {
    if (signature.name == name) out.push_back(signature);
  }
  return out;
}

std::string_view function_names() {
  return "lower, upper, length, octet_length, left, right, substr, strpos, starts_with, btrim, ltrim, rtrim, abs, "
         "cardinality, jsonb_typeof, coalesce, nullif, greatest and least";
}

Value call(Function function, Type result, std::span<const Value* const> arguments) {
  switch (function) {
    case Function::abs:
      return absolute(result, *arguments[0]);
    case Function::cardinality:
      return static_cast<std::int64_t>(array(arguments[0]).elements.size());
    case Function::array_contains:
      return contains(array(arguments[0]), array(arguments[1]));
    case Function::array_overlaps:
      return overlaps(array(arguments[0]), array(arguments[1]));
    case Function::json_get:
      return json_get(arguments);
    case Function::json_get_text:
      return jsonb_text(json_get(arguments));
    case Function::json_contains:
      return jsonb_contains(jsonb(arguments[0]).text, jsonb(arguments[1]).text);
    case Function::json_has:
      return jsonb_has(jsonb(arguments[0]).text, text(arguments[1]));
    case Function::json_has_any:
    case Function::json_has_all:
      return json_has_keys(jsonb(arguments[0]), array(arguments[1]), function == Function::json_has_all);
    case Function::json_typeof:
      return std::string(jsonb_typeof(jsonb(arguments[0]).text));
    default:
      return call_text(function, arguments);
  }
}

}  // namespace viewgate::projection
