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

bool has_nul(const Json& value) {
  const auto in_text = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  return in_text(value.text) || std::any_of(value.items.begin(), value.items.end(), has_nul) ||
         std::any_of(value.members.begin(), value.members.end(),
                     [&](const Json::Member& member) { return in_text(member.name) || has_nul(member.value); });
}

/// As numeric's output function prints it. Numeric rounds what has more decimals than it can hold, and jsonb refuses it: what
/// may have been rounded is none of ours.
std::optional<std::string> number_text(const std::string& text) {
  constexpr std::int32_t decimals_max = 16'383;
  const auto numeric = Numeric::parse(text);
  if (!numeric || !numeric->finite() || numeric->scale() >= decimals_max) return std::nullopt;
  return numeric->text();
}

/// timestamptz as to_jsonb prints it: ISO 8601 with T and the zone's minutes.
std::string json_time(std::string text) {
  const std::size_t zone = text.find("+00");
  if (zone == std::string::npos) return text;  // an infinity
  text.insert(zone + 3, ":00");
  text[text.find(' ')] = 'T';
  return text;
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

/// A date is what timestamptz reads of a text without a time.
std::optional<std::string> date_text(const std::string& text) {
  const Value instant = text.find(':') == std::string::npos ? parse_timestamp(text) : Value(Fault::invalid_text);
  if (is_fault(instant)) return std::nullopt;
  std::string out = print_timestamp(std::get<Timestamp>(instant));
  if (const std::size_t time = out.find(" 00:00:00+00"); time != std::string::npos) out.erase(time, 12);
  return out;
}

std::string_view expected(const Table& table, std::size_t column) {
  switch (table.layout.column(column).type) {
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
    case Type::text:
      return "must be a string";
    case Type::uuid:
      return "must be a uuid, as a string";
    case Type::timestamptz:
      return "must be a time in ISO 8601 form, as a string";
    case Type::unknown:
    case Type::carried:
      break;
  }
  return table.type_names[column] == "date" ? "must be a date, as a string" : "must be JSON that jsonb can hold";
}

/// The text between the quotes, or the whole text where it has none.
std::optional<std::string> text_of(const Table& table, std::size_t column, const Json& value) {
  const Type type = table.layout.column(column).type;
  switch (type) {
    case Type::boolean:
      return value.kind == Kind::boolean ? std::optional(value.text) : std::nullopt;
    case Type::int2:
    case Type::int4:
    case Type::int8: {
      const auto integer = whole_number(type, value);
      return integer ? std::optional(std::to_string(*integer)) : std::nullopt;
    }
    case Type::numeric: {
      if (value.kind != Kind::number && value.kind != Kind::string) return std::nullopt;
      return number_text(value.text);
    }
    case Type::text:
      return value.kind == Kind::string ? std::optional(value.text) : std::nullopt;
    case Type::uuid:
    case Type::timestamptz: {
      const Value parsed = value.kind == Kind::string ? parse_text(type, value.text) : Value(Fault::invalid_text);
      if (is_fault(parsed)) return std::nullopt;
      return type == Type::uuid ? print_text(parsed) : json_time(print_text(parsed));
    }
    case Type::unknown:
    case Type::carried:
      break;
  }
  return value.kind == Kind::string ? date_text(value.text) : std::nullopt;
}

bool is_jsonb(const Table& table, std::size_t column) {
  return table.layout.column(column).type == Type::carried && table.type_names[column] == "jsonb";
}

bool append_members(std::string& out, const Json& value, NumberForm form, std::size_t bytes_max) {
  std::vector<const Json::Member*> members;
  for (const Json::Member& member : value.members) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const Json::Member* a, const Json::Member* b) {
    return a->name.size() != b->name.size() ? a->name.size() < b->name.size() : a->name < b->name;
  });
  std::string_view separator;
  for (const Json::Member* member : members) {
    out.append(std::exchange(separator, ", ")).append(encode_json_string(member->name)).append(": ");
    if (!append_jsonb(out, member->value, form, bytes_max)) return false;
  }
  return true;
}

}  // namespace

bool is_writable(const Table& table, std::size_t column) {
  switch (table.layout.column(column).type) {
    case Type::boolean:
    case Type::int2:
    case Type::int4:
    case Type::int8:
    case Type::numeric:
    case Type::text:
    case Type::uuid:
    case Type::timestamptz:
      return true;
    case Type::unknown:
    case Type::carried:
      break;
  }
  return table.type_names[column] == "date" || table.type_names[column] == "jsonb";
}

bool is_key(const Table& table, std::size_t column) {
  return table.layout.column(column).type != Type::numeric && table.type_names[column] != "jsonb";
}

std::optional<std::string> append_column_value(std::string& out, const Table& table, std::size_t column,
                                               const Json& value, const ValueLimits& limits) {
  if (value.kind == Kind::null) {
    if (table.column_rules[column].not_null) return "must not be null";
    out += "null";
    return std::nullopt;
  }
  if (has_nul(value)) return std::string(no_nul);
  if (is_jsonb(table, column)) {
    if (depth_of(value) > limits.depth) return "is nested deeper than " + std::to_string(limits.depth);
    if (append_jsonb(out, value, NumberForm::expanded, limits.record_bytes)) return std::nullopt;
    return out.size() > limits.record_bytes ? too_large(limits) : "holds a number beyond those of PostgreSQL";
  }
  const auto text = text_of(table, column, value);
  if (!text) return std::string(expected(table, column));
  const Type type = table.layout.column(column).type;
  const bool is_bare = type == Type::boolean || is_number(type);
  out += is_bare ? *text : encode_json_string(*text);
  return out.size() > limits.record_bytes ? std::optional(too_large(limits)) : std::nullopt;
}

bool append_jsonb(std::string& out, const Json& value, NumberForm form, std::size_t bytes_max) {
  switch (value.kind) {
    case Kind::null:
      out += "null";
      break;
    case Kind::boolean:
      out += value.text;
      break;
    case Kind::number: {
      const auto text = form == NumberForm::expanded ? number_text(value.text) : std::optional(value.text);
      if (!text) return false;
      out += *text;
      break;
    }
    case Kind::string:
      out += encode_json_string(value.text);
      break;
    case Kind::array: {
      out += '[';
      std::string_view separator;
      for (const Json& item : value.items) {
        out.append(std::exchange(separator, ", "));
        if (!append_jsonb(out, item, form, bytes_max)) return false;
      }
      out += ']';
      break;
    }
    case Kind::object:
      out += '{';
      if (!append_members(out, value, form, bytes_max)) return false;
      out += '}';
      break;
  }
  return out.size() <= bytes_max;
}

}  // namespace viewgate::projection
