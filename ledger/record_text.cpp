#include "ledger/record_text.hpp"

#include <array>
#include <charconv>

namespace viewgate::ledger {
namespace {

/// The position after the string that begins at `at`.
std::size_t skip_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

/// The position after the value that begins at `at`.
std::size_t skip_value(std::string_view json, std::size_t at) {
  int depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = skip_string(json, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return at;
}

/// PostgreSQL's order of the names in an object: by length, then by bytes.
bool stands_before(std::string_view left, std::string_view right) {
  const auto shorter = [](std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  const bool is_plain = left.find('\\') == std::string_view::npos && right.find('\\') == std::string_view::npos;
  return is_plain ? shorter(left, right) : shorter(unquoted(left), unquoted(right));
}

char unescaped(char letter) {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return letter;
  }
}

}  // namespace

bool is_object(std::string_view json) { return json.starts_with('{'); }

std::vector<RecordColumn> columns_of(std::string_view record) {
  std::vector<RecordColumn> out;
  if (!is_object(record)) return out;
  std::size_t at = 1;
  while (at < record.size() && record[at] == '"') {
    const std::size_t name_end = skip_string(record, at);
    const std::size_t value = name_end + 2;  // ": "
    if (value > record.size()) break;
    const std::size_t value_end = skip_value(record, value);
    out.push_back({record.substr(at, name_end - at), record.substr(value, value_end - value)});
    at = value_end + 2;  // ", "
  }
  return out;
}

std::string key_fault(std::string_view key) {
  if (!key.starts_with('[')) return "the key is not a JSON array";
  if (key == "[]") return "the key is empty";
  if (key.size() > 1000) return "the key is over 1000 bytes long";
  for (std::size_t at = 1; at < key.size();) {
    const std::size_t end = skip_value(key, at);
    const std::string_view part = key.substr(at, end - at);
    if (part.starts_with('{') || part.starts_with('[') || part == "null") {
      return "the key holds something that is not a string, number or boolean";
    }
    at = end + 2;  // ", "
  }
  return {};
}

std::string unquoted(std::string_view quoted_name) {
  const std::string_view inner = quoted_name.substr(1, quoted_name.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\') {
      out += inner[i];
      continue;
    }
    ++i;
    if (inner[i] != 'u') {
      out += unescaped(inner[i]);
      continue;
    }
    // jsonb text escapes only control characters by number.
    unsigned code = 0;
    std::from_chars(inner.data() + i + 1, inner.data() + i + 5, code, 16);
    out += static_cast<char>(code);
    i += 4;
  }
  return out;
}

std::string quoted(std::string_view text) {
  static constexpr const char* digits = "0123456789abcdef";
  static constexpr std::array<std::string_view, 5> letters{"\bb", "\ff", "\nn", "\rr", "\tt"};
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    std::string_view letter;
    for (const std::string_view each : letters) {
      if (each[0] == c) letter = each;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (!letter.empty()) {
      out += '\\';
      out += letter[1];
    } else if (code < 0x20) {
      out += "\\u00";
      out += digits[code >> 4];
      out += digits[code & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string merged(std::string_view record, std::string_view changes) {
  const std::vector<RecordColumn> old_columns = columns_of(record);
  const std::vector<RecordColumn> new_columns = columns_of(changes);
  std::string out = "{";
  const auto add = [&out](const RecordColumn& column) {
    if (out.size() > 1) out += ", ";
    out.append(column.quoted_name).append(": ").append(column.value);
  };
  auto left = old_columns.begin();
  auto right = new_columns.begin();
  while (left != old_columns.end() || right != new_columns.end()) {
    const bool has_both = left != old_columns.end() && right != new_columns.end();
    if (has_both && left->quoted_name == right->quoted_name) {
      add(*right++);
      ++left;
    } else if (right == new_columns.end() || (has_both && stands_before(left->quoted_name, right->quoted_name))) {
      add(*left++);
    } else {
      add(*right++);
    }
  }
  return out += '}';
}

}  // namespace viewgate::ledger
