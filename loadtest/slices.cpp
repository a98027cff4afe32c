#include "loadtest/slices.hpp"

#include <charconv>
#include <cstdio>

namespace viewgate::loadtest {

namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool take(char wanted) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool at_end() {
    blanks();
    return at_ == text_.size();
  }

  /// The whole of the next value; empty where there is none.
  std::string_view value() {
    blanks();
    const std::size_t begin = at_;
    if (at_ >= text_.size()) return {};
    const char first = text_[at_];
    const bool whole = first == '"' ? string() : first == '{' || first == '[' ? nested() : scalar();
    return whole ? text_.substr(begin, at_ - begin) : std::string_view();
  }

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return true;
      }
    }
    return false;
  }

  // Brackets are counted, not matched by kind: a value that is cut or has one too many fails, and that is all a slice
  // needs.
  bool nested() {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!string()) return false;
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return false;
  }

  bool scalar() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view(",]}: \n\t\r").find(text_[at_]) == std::string_view::npos) ++at_;
    return at_ > begin;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool members(std::string_view text, std::vector<Member>& out) {
  out.clear();
  Scanner scan(text);
  if (!scan.take('{')) return false;
  if (scan.take('}')) return scan.at_end();
  do {
    const std::string_view name = scan.value();
    if (name.size() < 2 || name.front() != '"' || !scan.take(':')) return false;
    const std::string_view value = scan.value();
    if (value.empty()) return false;
    out.push_back({name.substr(1, name.size() - 2), value});
  } while (scan.take(','));
  return scan.take('}') && scan.at_end();
}

bool elements(std::string_view text, std::vector<std::string_view>& out) {
  out.clear();
  Scanner scan(text);
  if (!scan.take('[')) return false;
  if (scan.take(']')) return scan.at_end();
  do {
    const std::string_view value = scan.value();
    if (value.empty()) return false;
    out.push_back(value);
  } while (scan.take(','));
  return scan.take(']') && scan.at_end();
}

std::string_view member(const std::vector<Member>& all, std::string_view name) {
  for (const Member& one : all) {
    if (one.name == name) return one.value;
  }
  return {};
}

std::string_view unquoted(std::string_view raw) {
  return raw.size() >= 2 && raw.front() == '"' ? raw.substr(1, raw.size() - 2) : raw;
}

std::optional<std::int64_t> integer(std::string_view raw) {
  const std::string_view digits = unquoted(raw);
  std::int64_t out = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (failed != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string key_text(std::string_view raw) {
  std::vector<std::string_view> parts;
  if (!elements(raw, parts)) return std::string(raw);
  std::string out = "[";
  for (const std::string_view part : parts) {
    if (out.size() > 1) out += ',';
    out += part;
  }
  return out + ']';
}

}  // namespace viewgate::loadtest
