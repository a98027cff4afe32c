#include "projection/json_text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace viewgate::projection {
namespace {

constexpr std::size_t npos = std::string_view::npos;

void append_utf8(std::string& out, std::uint32_t code) {
  const auto add = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

/// Four hexadecimal digits at the front of `text`.
std::optional<std::uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t out = 0;
  for (const char c : text.substr(0, 4)) {
    out <<= 4;
    if (c >= '0' && c <= '9') {
      out |= static_cast<std::uint32_t>(c - '0');
    } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
      out |= static_cast<std::uint32_t>((c | 32) - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

/// The character behind \u at `body[at]` (the first hexadecimal digit); moves `at` behind it. Lone surrogates are
/// refused.
std::optional<std::uint32_t> escaped_character(std::string_view body, std::size_t& at) {
  const auto first = hex4(body.substr(at));
  if (!first) return std::nullopt;
  at += 4;
  if (*first < 0xD800 || *first > 0xDFFF) return first;
  if (*first > 0xDBFF || body.substr(at, 2) != "\\u") return std::nullopt;
  const auto second = hex4(body.substr(at + 2));
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return std::nullopt;
  at += 6;
  return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
}

/// Recursive descent; the depth bound keeps the stack small.
class Reader {
 public:
  enum class Duplicates { refused, last_wins };

  Reader(std::string_view text, int depth_max, Duplicates duplicates)
      : text_(text), depth_max_(depth_max), duplicates_(duplicates) {}

  std::optional<Json> read() {
    Json out;
    if (!value(out, 0)) return std::nullopt;
    skip_blanks();
    if (at_ != text_.size()) return std::nullopt;
    return out;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::size_t digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - start;
  }

  bool value(Json& out, int depth) {
    if (depth > depth_max_) return false;
    skip_blanks();
    if (at_ >= text_.size()) return false;
    switch (text_[at_]) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"':
        out.kind = Json::Kind::string;
        return string(out.text);
      case 'n':
        return take_word("null");
      case 't':
      case 'f':
        out.kind = Json::Kind::boolean;
        out.text = text_[at_] == 't' ? "true" : "false";
        return take_word(out.text);
      default:
        return number(out);
    }
  }

  bool number(Json& out) {
    const std::size_t start = at_;
    take('-');
    if (!take('0') && digits() == 0) return false;
    if (take('.') && digits() == 0) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (digits() == 0) return false;
    }
    out.kind = Json::Kind::number;
    out.text = text_.substr(start, at_ - start);
    return true;
  }

  bool string(std::string& out) {
    const std::size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (!take('"')) return false;
    auto decoded = decode_json_string(text_.substr(start, at_ - start));
    if (!decoded) return false;
    out = std::move(*decoded);
    return true;
  }

  bool array(Json& out, int depth) {
    out.kind = Json::Kind::array;
    ++at_;
    skip_blanks();
    if (take(']')) return true;
    do {
      if (!value(out.items.emplace_back(), depth + 1)) return false;
      skip_blanks();
    } while (take(','));
    return take(']');
  }

  bool object(Json& out, int depth) {
    out.kind = Json::Kind::object;
    ++at_;
    skip_blanks();
    if (take('}')) return true;
    do {
      skip_blanks();
      std::string member;
      if (at_ >= text_.size() || text_[at_] != '"' || !string(member)) return false;
      if (duplicates_ == Duplicates::refused && out.find(member) != nullptr) return false;
      skip_blanks();
      if (!take(':')) return false;
      out.members.push_back({std::move(member), Json{}});
      if (!value(out.members.back().value, depth + 1)) return false;
      skip_blanks();
    } while (take(','));
    return take('}');
  }

  std::string_view text_;
  int depth_max_;
  Duplicates duplicates_;
  std::size_t at_ = 0;
};

/// In every object the last of several equal names stays.
void keep_last_members(Json& json) {
  for (Json& item : json.items) keep_last_members(item);
  for (Json::Member& member : json.members) keep_last_members(member.value);
  std::reverse(json.members.begin(), json.members.end());
  std::stable_sort(json.members.begin(), json.members.end(),
                   [](const Json::Member& a, const Json::Member& b) { return a.name < b.name; });
  const auto same = [](const Json::Member& a, const Json::Member& b) { return a.name == b.name; };
  json.members.erase(std::unique(json.members.begin(), json.members.end(), same), json.members.end());
}

/// The end of the string whose opening quote is at `start`.
std::size_t string_end(std::string_view text, std::size_t start) {
  std::size_t at = start + 1;
  while (at < text.size()) {
    const void* found = std::memchr(text.data() + at, '"', text.size() - at);
    if (found == nullptr) return npos;
    const auto quote = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    std::size_t backslashes = 0;
    while (text[quote - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return quote + 1;
    at = quote + 1;
  }
  return npos;
}

}  // namespace

const Json* Json::find(std::string_view member) const {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& entry) { return entry.name == member; });
  return found == members.end() ? nullptr : &found->value;
}

std::string_view name(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return "boolean";
    case Json::Kind::number:
      return "number";
    case Json::Kind::string:
      return "string";
    case Json::Kind::array:
      return "array";
    case Json::Kind::object:
      return "object";
  }
  return "null";
}

std::optional<Json> parse_json(std::string_view text) {
  if (!valid_utf8(text)) return std::nullopt;
  return Reader(text, json_depth_max, Reader::Duplicates::refused).read();
}

std::optional<Json> parse_json_leniently(std::string_view text) {
  if (!valid_utf8(text)) return std::nullopt;
  auto out = Reader(text, jsonb_depth_max, Reader::Duplicates::last_wins).read();
  if (out) keep_last_members(*out);
  return out;
}

bool valid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : (lead & 0xF0) == 0xE0       ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || at + length > text.size()) return false;
    for (std::size_t i = 1; i < length; ++i) {
      if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return false;
    }
    if (length > 2) {
      const auto second = static_cast<unsigned char>(text[at + 1]);
      if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
          (lead == 0xF4 && second > 0x8F)) {
        return false;
      }
    }
    at += length;
  }
  return true;
}

std::optional<std::string> decode_json_string(std::string_view raw) {
  if (raw.size() < 2 || raw.front() != '"' || raw.back() != '"') return std::nullopt;
  const std::string_view body = raw.substr(1, raw.size() - 2);
  std::string out;
  out.reserve(body.size());
  std::size_t at = 0;
  while (at < body.size()) {
    const char c = body[at++];
    if (static_cast<unsigned char>(c) < 0x20 || c == '"') return std::nullopt;
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at == body.size()) return std::nullopt;
    switch (body[at++]) {
      case '"':
        out += '"';
        break;
      case '\\':
        out += '\\';
        break;
      case '/':
        out += '/';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        const auto code = escaped_character(body, at);
        if (!code) return std::nullopt;
        append_utf8(out, *code);
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return out;
}

std::string encode_json_string(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += hex[static_cast<unsigned char>(c) >> 4];
          out += hex[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
  return out;
}

std::size_t value_end(std::string_view text, std::size_t start) {
  if (start >= text.size()) return npos;
  if (text[start] == '"') return string_end(text, start);
  if (text[start] != '{' && text[start] != '[') {
    const std::size_t end = text.find_first_of(",}] ", start);
    return end == start ? npos : end;
  }
  std::size_t depth = 0;
  std::size_t at = start;
  while (at < text.size()) {
    at = text.find_first_of("\"{}[]", at);
    if (at == npos) return npos;
    if (text[at] == '"') {
      at = string_end(text, at);
      if (at == npos) return npos;
      continue;
    }
    depth += text[at] == '{' || text[at] == '[' ? 1 : 0;
    depth -= text[at] == '}' || text[at] == ']' ? 1 : 0;
    ++at;
    if (depth == 0) return at;
  }
  return npos;
}

}  // namespace viewgate::projection
