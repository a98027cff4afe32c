#include "gateway/json_text.hpp"

#include <charconv>

namespace viewgate::gateway {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void drop_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

// Just behind the closing quote of the string that `text` begins with; npos = it has none.
std::size_t string_end(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Just behind the bracket that closes the container that `text` begins with. One counter is enough: in checked JSON the
// kinds of brackets match.
std::size_t container_end(std::string_view text) {
  std::size_t depth = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    switch (text[at]) {
      case '"': {
        const std::size_t length = string_end(text.substr(at));
        if (length == std::string_view::npos) return length;
        at += length;
        break;
      }
      case '{':
      case '[':
        ++depth;
        ++at;
        break;
      case '}':
      case ']':
        ++at;
        if (--depth == 0) return at;
        break;
      default:
        ++at;
    }
  }
  return std::string_view::npos;
}

std::size_t word_end(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && !is_blank(text[at]) && text[at] != ',' && text[at] != '}' && text[at] != ']') ++at;
  return at == 0 ? std::string_view::npos : at;
}

JsonKind kind_of(char first) {
  switch (first) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::string;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return JsonKind::number;
  }
}

std::size_t value_end(std::string_view text) {
  switch (kind_of(text.front())) {
    case JsonKind::object:
    case JsonKind::array:
      return container_end(text);
    case JsonKind::string:
      return string_end(text);
    case JsonKind::number:
    case JsonKind::boolean:
    case JsonKind::null:
      return word_end(text);
  }
  return std::string_view::npos;
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

constexpr bool is_high_surrogate(std::uint32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
constexpr bool is_low_surrogate(std::uint32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

// The four hexadecimal digits at `at`; a value above FFFF where they are not.
std::uint32_t unit_at(std::string_view text, std::size_t at) {
  constexpr std::uint32_t none = 0x10000;
  std::uint32_t unit = 0;
  const std::string_view digits = text.substr(at, 4);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  return error == std::errc{} && digits.size() == 4 && end == digits.data() + 4 ? unit : none;
}

// What one pass over the inside of a string made of it.
struct Unescaped {
  std::string text;
  bool storable = true;  // no U+0000, no lone surrogate, no broken escape
};

// Appends the character of the escape \uXXXX whose digits begin at `at`; returns how many digits and marks it took.
std::size_t append_unit(std::string_view inside, std::size_t at, Unescaped& out) {
  const std::uint32_t unit = unit_at(inside, at);
  if (unit > 0xFFFF) {
    out.storable = false;
    return 0;
  }
  if (is_high_surrogate(unit) && inside.substr(at + 4, 2) == "\\u") {
    const std::uint32_t low = unit_at(inside, at + 6);
    if (is_low_surrogate(low)) {
      append_utf8(out.text, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
      return 10;
    }
  }
  if (unit == 0 || is_high_surrogate(unit) || is_low_surrogate(unit)) out.storable = false;
  append_utf8(out.text, unit);
  return 4;
}

Unescaped unescape(std::string_view inside) {
  constexpr std::string_view marks = "bfnrt";
  constexpr std::string_view meanings = "\b\f\n\r\t";
  Unescaped out;
  out.text.reserve(inside.size());
  for (std::size_t at = 0; at < inside.size(); ++at) {
    if (inside[at] != '\\') {
      out.text += inside[at];
      continue;
    }
    if (++at == inside.size()) {
      out.storable = false;
      break;
    }
    if (inside[at] == 'u') {
      at += append_unit(inside, at + 1, out);
      continue;
    }
    const std::size_t mark = marks.find(inside[at]);
    out.text += mark == std::string_view::npos ? inside[at] : meanings[mark];
  }
  return out;
}

}  // namespace

JsonSlicer::JsonSlicer(std::string_view container) : rest_(container) {
  drop_blanks(rest_);
  if (rest_.empty() || (rest_.front() != '{' && rest_.front() != '[')) {
    stop_malformed();
    return;
  }
  object_ = rest_.front() == '{';
  rest_.remove_prefix(1);
}

std::optional<JsonSlice> JsonSlicer::stop_malformed() {
  ended_ = malformed_ = true;
  return std::nullopt;
}

std::optional<JsonSlice> JsonSlicer::next() {
  if (ended_) return std::nullopt;
  drop_blanks(rest_);
  if (rest_.empty()) return stop_malformed();
  if (rest_.front() == (object_ ? '}' : ']')) {
    ended_ = true;
    return std::nullopt;
  }
  if (!first_) {
    if (rest_.front() != ',') return stop_malformed();
    rest_.remove_prefix(1);
    drop_blanks(rest_);
    if (rest_.empty()) return stop_malformed();
  }
  first_ = false;

  JsonSlice slice;
  if (object_) {
    const std::size_t name_end = rest_.front() == '"' ? string_end(rest_) : std::string_view::npos;
    if (name_end == std::string_view::npos) return stop_malformed();
    slice.name = rest_.substr(1, name_end - 2);
    rest_.remove_prefix(name_end);
    drop_blanks(rest_);
    if (rest_.empty() || rest_.front() != ':') return stop_malformed();
    rest_.remove_prefix(1);
    drop_blanks(rest_);
    if (rest_.empty()) return stop_malformed();
  }
  const std::size_t end = value_end(rest_);
  if (end == std::string_view::npos) return stop_malformed();
  slice.value = rest_.substr(0, end);
  slice.kind = kind_of(rest_.front());
  rest_.remove_prefix(end);
  return slice;
}

bool is_storable_json(std::string_view text) {
  for (std::size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', at)) {
    const std::size_t end = string_end(text.substr(at));
    if (end == std::string_view::npos || !json_string_value(text.substr(at, end))) return false;
    at += end;
  }
  return true;
}

std::string json_unescape_lossless(std::string_view inside) { return unescape(inside).text; }

std::optional<std::string> json_string_value(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  Unescaped unescaped = unescape(text.substr(1, text.size() - 2));
  if (!unescaped.storable) return std::nullopt;
  return std::move(unescaped.text);
}

std::optional<std::int64_t> json_integer_value(std::string_view text) {
  constexpr std::int64_t exact_max = (std::int64_t{1} << 53) - 1;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text == "-0" || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value > exact_max || value < -exact_max) return std::nullopt;
  return value;
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  constexpr std::string_view marks = "btn?fr";  // U+0008 to U+000D; U+000B has no short form
  out += '"';
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, copied, at - copied);
    copied = at + 1;
    out += '\\';
    if (byte >= 0x20) {
      out += text[at];
    } else if (byte >= 0x08 && byte <= 0x0D && byte != 0x0B) {
      out += marks[byte - 0x08U];
    } else {
      out += "u00";
      out += hex[byte >> 4U];
      out += hex[byte & 0x0FU];
    }
  }
  out.append(text, copied, text.size() - copied);
  out += '"';
}

}  // namespace viewgate::gateway
