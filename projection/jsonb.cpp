#include "projection/jsonb.hpp"

#include <algorithm>
#include <utility>

namespace viewgate::projection {
namespace {

using Kind = Json::Kind;

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

void append_canonical(std::string& out, const Json& json) {
  if (json.kind == Kind::number) {
    const auto numeric = Numeric::parse(json.text);
    out += numeric ? numeric->canonical() : json.text;
    return;
  }
  if (json.kind == Kind::array) {
    out += '[';
    for (const Json& item : json.items) {
      append_canonical(out, item);
      out += ',';
    }
    out += ']';
  } else if (json.kind == Kind::object) {
    // Both sides were printed by jsonb, or sorted by the reader: one order.
    out += '{';
    for (const Json::Member& member : json.members) {
      out += encode_json_string(member.name);
      out += ':';
      append_canonical(out, member.value);
      out += ',';
    }
    out += '}';
  } else {
    out += json.kind == Kind::string ? encode_json_string(json.text) : std::string(name(json.kind));
    if (json.kind == Kind::boolean) out += json.text;
  }
}

bool is_scalar(const Json& json) { return json.kind != Kind::array && json.kind != Kind::object; }

bool equal(const Json& a, const Json& b) {
  std::string left;
  std::string right;
  append_canonical(left, a);
  append_canonical(right, b);
  return left == right;
}

// jsonb's rule: objects member by member, arrays as sets, scalars by equality; containers never hold scalars of another
// level, but for the one exception that contains() knows.
bool deep_contains(const Json& outer, const Json& inner) {
  if (outer.kind != inner.kind) return false;
  if (outer.kind == Kind::object) {
    return std::all_of(inner.members.begin(), inner.members.end(), [&](const Json::Member& member) {
      const Json* found = outer.find(member.name);
      return found != nullptr && deep_contains(*found, member.value);
    });
  }
  if (outer.kind == Kind::array) {
    return std::all_of(inner.items.begin(), inner.items.end(), [&](const Json& wanted) {
      return std::any_of(outer.items.begin(), outer.items.end(), [&](const Json& item) {
        return is_scalar(wanted) ? is_scalar(item) && equal(item, wanted) : deep_contains(item, wanted);
      });
    });
  }
  return equal(outer, inner);
}

/// Calls `visit(name, value)` for each member, or `visit({}, value)` for each element, until it says stop.
template <class Visit>
void each_child(std::string_view text, Visit&& visit) {
  const bool object = text.front() == '{';
  std::size_t at = 1;
  const auto skip = [&](char c) {
    while (at < text.size() && (text[at] == ' ' || text[at] == c)) ++at;
  };
  while (at + 1 < text.size()) {
    std::string_view key;
    if (object) {
      const std::size_t end = value_end(text, at);
      if (end == std::string_view::npos) return;
      key = text.substr(at, end - at);
      at = end;
      skip(':');
    }
    const std::size_t end = value_end(text, at);
    if (end == std::string_view::npos) return;
    if (!visit(key, text.substr(at, end - at))) return;
    at = end;
    skip(',');
  }
}

}  // namespace

std::optional<std::string> print_jsonb(const Json& json) {
  std::string out;
  if (has_nul(json) || !append_jsonb(out, json, NumberForm::expanded, std::string::npos)) return std::nullopt;
  return out;
}

bool has_nul(const Json& value) {
  const auto in_text = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  return in_text(value.text) || std::any_of(value.items.begin(), value.items.end(), has_nul) ||
         std::any_of(value.members.begin(), value.members.end(),
                     [&](const Json::Member& member) { return in_text(member.name) || has_nul(member.value); });
}

std::optional<std::string> jsonb_number(const std::string& text) {
  constexpr std::int32_t decimals_max = 16'383;
  const auto numeric = Numeric::parse(text);
  if (!numeric || !numeric->finite() || numeric->scale() >= decimals_max) return std::nullopt;
  return numeric->text();
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
      const auto text = form == NumberForm::expanded ? jsonb_number(value.text) : std::optional(value.text);
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

Value parse_jsonb(std::string_view text) {
  const auto json = parse_json_leniently(text);
  if (!json) return Fault::invalid_text;
  auto printed = print_jsonb(*json);
  if (!printed) return Fault::invalid_text;
  return Jsonb{std::move(*printed)};
}

std::string canonical_jsonb(std::string_view jsonb) {
  std::string out;
  if (const auto json = parse_json_leniently(jsonb)) append_canonical(out, *json);
  return out;
}

Value jsonb_member(const Jsonb& value, std::string_view member) {
  Value out = Null{};
  if (value.text.front() != '{') return out;
  const std::string name = encode_json_string(member);
  each_child(value.text, [&](std::string_view key, std::string_view slice) {
    if (key != name) return true;
    out = Jsonb{std::string(slice)};
    return false;
  });
  return out;
}

Value jsonb_element(const Jsonb& value, std::int64_t place) {
  // PostgreSQL keeps a scalar as an array of one.
  if (value.text.front() != '[')
    return value.text.front() != '{' && (place == 0 || place == -1) ? Value(value) : Null{};
  std::vector<std::string_view> elements;
  each_child(value.text, [&](std::string_view, std::string_view slice) {
    elements.push_back(slice);
    return true;
  });
  const auto count = static_cast<std::int64_t>(elements.size());
  if (place < 0) place += count;
  if (place < 0 || place >= count) return Null{};
  return Jsonb{std::string(elements[static_cast<std::size_t>(place)])};
}

Value jsonb_text(const Value& value) {
  const auto* jsonb = std::get_if<Jsonb>(&value);
  if (jsonb == nullptr) return value;
  if (jsonb->text == "null") return Null{};
  if (jsonb->text.front() != '"') return jsonb->text;
  auto text = decode_json_string(jsonb->text);
  if (!text) return Fault::malformed_value;
  return std::move(*text);
}

bool jsonb_contains(std::string_view outer, std::string_view inner) {
  const auto left = parse_json_leniently(outer);
  const auto right = parse_json_leniently(inner);
  if (!left || !right) return false;
  // A scalar is contained in an array that has it: the documented exception.
  if (left->kind == Kind::array && is_scalar(*right)) {
    return std::any_of(left->items.begin(), left->items.end(),
                       [&](const Json& item) { return is_scalar(item) && equal(item, *right); });
  }
  return deep_contains(*left, *right);
}

bool jsonb_has(std::string_view jsonb, std::string_view key) {
  const std::string wanted = encode_json_string(key);
  if (jsonb.front() != '{' && jsonb.front() != '[') return jsonb == wanted;
  bool found = false;
  each_child(jsonb, [&](std::string_view name, std::string_view slice) {
    found = (jsonb.front() == '{' ? name : slice) == wanted;
    return !found;
  });
  return found;
}

std::size_t jsonb_count(std::string_view jsonb, const std::unordered_set<std::string>& keys) {
  std::unordered_set<std::string> wanted;
  for (const std::string& key : keys) wanted.insert(encode_json_string(key));
  const std::size_t all = wanted.size();
  if (jsonb.front() != '{' && jsonb.front() != '[') return wanted.contains(std::string(jsonb)) ? 1 : 0;
  each_child(jsonb, [&](std::string_view name, std::string_view slice) {
    wanted.erase(std::string(jsonb.front() == '{' ? name : slice));
    return !wanted.empty();
  });
  return all - wanted.size();
}

std::string_view jsonb_typeof(std::string_view jsonb) {
  switch (jsonb.front()) {
    case '{':
      return "object";
    case '[':
      return "array";
    case '"':
      return "string";
    case 't':
    case 'f':
      return "boolean";
    case 'n':
      return "null";
    default:
      return "number";
  }
}

}  // namespace viewgate::projection
