// Text in and out: the input and output functions of the types, and the JSON that to_jsonb makes of them.
#include <algorithm>
#include <charconv>

#include "projection/floats.hpp"
#include "projection/json_text.hpp"
#include "projection/jsonb.hpp"
#include "projection/text_functions.hpp"
#include "projection/timestamp.hpp"
#include "projection/value.hpp"

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
  const std::string word = lower_ascii(trim(text));
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

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 32);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// bytea's input function: \x and hexadecimal digits (blanks between pairs), or the escape form.
Value parse_bytes(std::string_view text) {
  Bytes out;
  if (text.starts_with("\\x")) {
    text.remove_prefix(2);
    while (!text.empty()) {
      if (text.front() == ' ' || text.front() == '\n' || text.front() == '\t' || text.front() == '\r') {
        text.remove_prefix(1);
        continue;
      }
      const int high = hex_digit(text[0]);
      const int low = text.size() > 1 ? hex_digit(text[1]) : -1;
      if (high < 0 || low < 0) return Fault::invalid_text;
      out.bytes += static_cast<char>(high * 16 + low);
      text.remove_prefix(2);
    }
    return out;
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      out.bytes += text[at];
    } else if (text.substr(at, 2) == "\\\\") {
      out.bytes += '\\';
      ++at;
    } else {
      const std::string_view octal = text.substr(at + 1, 3);
      const bool sound = octal.size() == 3 && octal[0] >= '0' && octal[0] <= '3' && octal[1] >= '0' &&
                         octal[1] <= '7' && octal[2] >= '0' && octal[2] <= '7';
      if (!sound) return Fault::invalid_text;
      out.bytes += static_cast<char>((octal[0] - '0') * 64 + (octal[1] - '0') * 8 + (octal[2] - '0'));
      at += 3;
    }
  }
  return out;
}

std::string print_bytes(const Bytes& value) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "\\x";
  for (const char c : value.bytes) {
    out += hex[static_cast<unsigned char>(c) >> 4];
    out += hex[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

Value parse_label(const EnumTypePtr& labels, std::string_view text) {
  const auto place = labels ? labels->find(text) : std::nullopt;
  if (!place) return Fault::invalid_text;
  return Label{labels.get(), static_cast<std::uint32_t>(*place)};
}

std::string without_blanks_at_end(std::string_view text) {
  return std::string(text.substr(0, text.find_last_not_of(' ') + 1));
}

bool deeper_than(std::string_view json, int depth_max) {
  int depth = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') {
      at = value_end(json, at);
      if (at == std::string_view::npos) return true;
      --at;
    } else if (c == '[' || c == '{') {
      if (++depth > depth_max) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

/// "NaN" and the infinities are strings; no other string is a number.
Value decode_number(Type type, std::string_view json) {
  const bool quoted = json.size() > 2 && json.front() == '"';
  if (quoted) json = json.substr(1, json.size() - 2);
  if (type == Type::numeric) {
    auto out = Numeric::parse(json);
    if (!out || out->finite() == quoted) return Fault::malformed_value;
    return std::move(*out);
  }
  Value out = parse_float(type, json);
  if (is_fault(out) || (quoted && json != "NaN" && json != "Infinity" && json != "-Infinity"))
    return Fault::malformed_value;
  return out;
}

/// Nested arrays are the dimensions of one.
bool append_elements(const FullType& element, const Json& json, std::vector<Value>& out) {
  for (const Json& item : json.items) {
    if (item.kind == Json::Kind::array) {
      if (!append_elements(element, item, out)) return false;
    } else if (item.kind == Json::Kind::object) {
      return false;
    } else {
      out.push_back(decode_json(element, item.kind == Json::Kind::string ? encode_json_string(item.text)
                                         : item.kind == Json::Kind::null ? "null"
                                                                         : std::string_view(item.text)));
    }
  }
  return true;
}

Value decode_array(const FullType& type, std::string_view json) {
  const auto read = parse_json(json);
  auto out = std::make_shared<Array>();
  if (!read || read->kind != Json::Kind::array ||
      !append_elements({type.type, false, type.labels}, *read, out->elements))
    return Fault::malformed_value;
  return ArrayPtr(std::move(out));
}

std::string print_array_json(Type type, const Array& array) {
  std::string out = "[";
  for (const Value& element : array.elements) {
    if (out.size() > 1) out += ", ";
    out += print_json(type, element);
  }
  return out + "]";
}

}  // namespace

Value parse_text(const FullType& type, std::string_view text) {
  switch (type.type) {
    case Type::boolean:
      return parse_boolean(text);
    case Type::int2:
    case Type::int4:
    case Type::int8:
      return parse_integer(type.type, text);
    case Type::numeric: {
      auto out = Numeric::parse(text);
      if (!out) return Fault::invalid_text;
      return std::move(*out);
    }
    case Type::float4:
    case Type::float8:
      return parse_float(type.type, text);
    case Type::text:
      return std::string(text);
    case Type::bpchar:
      return without_blanks_at_end(text);
    case Type::uuid:
      return parse_uuid(text);
    case Type::date:
    case Type::timestamp:
    case Type::timestamptz:
      return parse_moment(type.type, text);
    case Type::bytea:
      return parse_bytes(text);
    case Type::enumeration:
      return parse_label(type.labels, text);
    case Type::jsonb:
      return parse_jsonb(text);
    case Type::unknown:
    case Type::carried:
      break;
  }
  return Fault::invalid_text;
}

std::string print_text(Type type, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return print_float(type, *real);
  if (const auto* numeric = std::get_if<Numeric>(&value)) return numeric->text();
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* uuid = std::get_if<Uuid>(&value)) return print_uuid(*uuid);
  if (const auto* date = std::get_if<Date>(&value)) return print_date(*date);
  if (const auto* instant = std::get_if<Timestamp>(&value)) return print_timestamp(type, *instant);
  if (const auto* bytes = std::get_if<Bytes>(&value)) return print_bytes(*bytes);
  if (const auto* label = std::get_if<Label>(&value)) return label->type->labels[label->place];
  if (const auto* jsonb = std::get_if<Jsonb>(&value)) return jsonb->text;
  return std::get<std::string>(value);
}

std::string print_json(Type type, const Value& value) {
  if (is_null(value)) return "null";
  if (const auto* array = std::get_if<ArrayPtr>(&value)) return print_array_json(type, **array);
  if (const auto* instant = std::get_if<Timestamp>(&value)) return '"' + print_timestamp_iso(type, *instant) + '"';
  if (const auto* jsonb = std::get_if<Jsonb>(&value)) return jsonb->text;
  std::string text = print_text(type, value);
  if (std::holds_alternative<bool>(value) || std::holds_alternative<std::int64_t>(value)) return text;
  if (std::holds_alternative<double>(value) || std::holds_alternative<Numeric>(value)) {
    // jsonb keeps numbers as numerics, and what is not finite as a string.
    const auto numeric = Numeric::parse(text);
    return numeric && numeric->finite() ? numeric->text() : '"' + text + '"';
  }
  return encode_json_string(text);
}

Value decode_json(const FullType& type, std::string_view json) {
  if (json == "null") return Null{};
  if (type.array) return decode_array(type, json);
  switch (type.type) {
    case Type::boolean:
      if (json == "true") return true;
      if (json == "false") return false;
      return Fault::malformed_value;
    case Type::int2:
    case Type::int4:
    case Type::int8:
      return decode_integer(type.type, json);
    case Type::numeric:
    case Type::float4:
    case Type::float8:
      return decode_number(type.type, json);
    case Type::jsonb:
      if (deeper_than(json, jsonb_depth_max)) return Fault::malformed_value;
      return Jsonb{std::string(json)};
    case Type::unknown:
    case Type::carried:
      return Fault::malformed_value;
    default:
      break;
  }
  auto text = decode_json_string(json);
  if (!text) return Fault::malformed_value;
  if (type.type == Type::text) return std::move(*text);
  Value out = parse_text(type, *text);
  return is_fault(out) ? Value(Fault::malformed_value) : out;
}

}  // namespace viewgate::projection
