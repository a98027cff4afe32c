#include "projection/value.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "projection/json_text.hpp"
#include "projection/timestamp.hpp"

namespace viewgate::projection {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// bool's input function: any unambiguous beginning of the words, in any case.
Value parse_boolean(std::string_view text) {
  std::string word(trim(text));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (word.empty()) return Fault::invalid_text;
  const auto begins = [&word](std::string_view whole) { return whole.substr(0, word.size()) == word; };
  if (begins("true") || begins("yes") || word == "on" || word == "1") return true;
  if (begins("false") || begins("no") || word == "of" || word == "off" || word == "0") return false;
  return Fault::invalid_text;
}

Value parse_integer(Type type, std::string_view text) {
  text = trim(text);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return Fault::invalid_text;
  }
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return Fault::invalid_text;
  if (error != std::errc{} || !in_range(type, out)) return Fault::out_of_range;
  return out;
}

/// uuid's input function: 32 hexadecimal digits, a hyphen allowed after each group of four, braces around.
Value parse_uuid(std::string_view text) {
  if (text.size() > 2 && text.front() == '{') {
    if (text.back() != '}') return Fault::invalid_text;
    text = text.substr(1, text.size() - 2);
  }
  Uuid out;
  for (std::size_t i = 0; i < out.bytes.size(); ++i) {
    if (text.size() < 2) return Fault::invalid_text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + 2, out.bytes[i], 16);
    if (error != std::errc{} || end != text.data() + 2) return Fault::invalid_text;
    text.remove_prefix(2);
    if (i % 2 == 1 && i + 1 < out.bytes.size() && !text.empty() && text.front() == '-') text.remove_prefix(1);
  }
  if (!text.empty()) return Fault::invalid_text;
  return out;
}

std::string print_uuid(const Uuid& value) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < value.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += hex[value.bytes[i] >> 4];
    out += hex[value.bytes[i] & 15];
  }
  return out;
}

/// jsonb may hold 1.0 or 1e2 where a managed collection's column is an integer: the same integer.
Value decode_integer(Type type, std::string_view json) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), out);
  if (error != std::errc{} || end != json.data() + json.size()) {
    const auto numeric = json.front() == '"' ? std::nullopt : Numeric::parse(json);
    const auto exact = numeric ? numeric->exact_int8() : std::nullopt;
    if (!exact) return Fault::malformed_value;
    out = *exact;
  }
  if (!in_range(type, out)) return Fault::malformed_value;
  return out;
}

}  // namespace

std::strong_ordering compare(const Value& a, const Value& b) {
  if (const auto* left = std::get_if<std::int64_t>(&a)) return *left <=> std::get<std::int64_t>(b);
  if (const auto* left = std::get_if<std::string>(&a)) return left->compare(std::get<std::string>(b)) <=> 0;
  if (const auto* left = std::get_if<Numeric>(&a)) return *left <=> std::get<Numeric>(b);
  if (const auto* left = std::get_if<bool>(&a)) return *left <=> std::get<bool>(b);
  if (const auto* left = std::get_if<Uuid>(&a)) return *left <=> std::get<Uuid>(b);
  return std::get<Timestamp>(a) <=> std::get<Timestamp>(b);
}

std::string canonical(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return 'i' + std::to_string(*integer);
  if (const auto* numeric = std::get_if<Numeric>(&value)) {
    if (const auto exact = numeric->exact_int8()) return 'i' + std::to_string(*exact);
    return 'n' + numeric->canonical();
  }
  if (const auto* text = std::get_if<std::string>(&value)) return 's' + *text;
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "b1" : "b0";
  if (const auto* uuid = std::get_if<Uuid>(&value)) return 'u' + print_uuid(*uuid);
  if (const auto* instant = std::get_if<Timestamp>(&value)) return 't' + std::to_string(instant->microseconds);
  return is_fault(value) ? "!" : "-";
}

Value parse_text(Type type, std::string_view text) {
  switch (type) {
    case Type::boolean:
      return parse_boolean(text);
    case Type::int2:
    case Type::int4:
    case Type::int8:
      return parse_integer(type, text);
    case Type::numeric: {
      auto out = Numeric::parse(text);
      if (!out) return Fault::invalid_text;
      return std::move(*out);
    }
    case Type::text:
      return std::string(text);
    case Type::uuid:
      return parse_uuid(text);
    case Type::timestamptz:
      return parse_timestamp(text);
    case Type::unknown:
    case Type::carried:
      break;
  }
  return Fault::invalid_text;
}

std::string print_text(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* numeric = std::get_if<Numeric>(&value)) return numeric->text();
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* uuid = std::get_if<Uuid>(&value)) return print_uuid(*uuid);
  if (const auto* instant = std::get_if<Timestamp>(&value)) return print_timestamp(*instant);
  return std::get<std::string>(value);
}

Value decode_json(Type type, std::string_view json) {
  if (json == "null") return Null{};
  switch (type) {
    case Type::boolean:
      if (json == "true") return true;
      if (json == "false") return false;
      return Fault::malformed_value;
    case Type::int2:
    case Type::int4:
    case Type::int8:
      return decode_integer(type, json);
    case Type::numeric: {
      // "NaN" and the infinities are strings; no other string is a numeric.
      const bool quoted = json.size() > 2 && json.front() == '"';
      auto out = Numeric::parse(quoted ? json.substr(1, json.size() - 2) : json);
      if (!out || out->finite() == quoted) return Fault::malformed_value;
      return std::move(*out);
    }
    case Type::text:
    case Type::uuid:
    case Type::timestamptz: {
      auto text = decode_json_string(json);
      if (!text) return Fault::malformed_value;
      if (type == Type::text) return std::move(*text);
      Value out = parse_text(type, *text);
      return is_fault(out) ? Value(Fault::malformed_value) : out;
    }
    case Type::unknown:
    case Type::carried:
      break;
  }
  return Fault::malformed_value;
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
