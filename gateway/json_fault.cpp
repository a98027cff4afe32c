// The strict half of json_text: one recursive descent over the grammar of RFC 8259. It recurses at most `depth` deep,
// reads every byte once, and keeps nothing but the names of the objects that are open, to find one that comes twice.
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "gateway/json_text.hpp"
#include "gateway/utf8.hpp"

namespace viewgate::gateway {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Throwing keeps each rule of the grammar one line; it is caught in json_fault and nowhere else.
struct Fault {
  std::string_view what;
};

class Checker {
 public:
  Checker(std::string_view text, const JsonBounds& bounds) : text_(text), bounds_(bounds) {}

  void document() {
    blanks();
    value(0);
    blanks();
    if (at_ != text_.size()) throw Fault{"something follows the JSON value"};
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  void value(std::size_t depth) {
    switch (peek()) {
      case '{':
        return object(depth + 1);
      case '[':
        return array(depth + 1);
      case '"':
        string();
        return;
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  void word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) throw Fault{"not a JSON value"};
    at_ += expected.size();
  }

  void digits() {
    if (!is_digit(peek())) throw Fault{"not a JSON value"};
    while (is_digit(peek())) ++at_;
  }

  void number() {
    take('-');
    if (!take('0')) digits();
    if (take('.')) digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      digits();
    }
  }

  // Returns what is between the quotes.
  std::string_view string() {
    if (!take('"')) throw Fault{"a name in quotes is missing"};
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return text_.substr(begin, at_ - 1 - begin);
      if (static_cast<unsigned char>(c) < 0x20) throw Fault{"a control character inside a string"};
      if (c == '\\') escape();
    }
    throw Fault{"a string without an end"};
  }

  void escape() {
    const char c = peek();
    ++at_;
    if (c == 'u') {
      for (int i = 0; i < 4; ++i, ++at_) {
        if (!is_hex(peek())) throw Fault{"not an escape that JSON has"};
      }
    } else if (c == '\0' || std::string_view{"\"\\/bfnrt"}.find(c) == std::string_view::npos) {
      throw Fault{"not an escape that JSON has"};
    }
  }

  void array(std::size_t depth) {
    enter(depth);
    if (take(']')) return;
    do {
      blanks();
      value(depth);
      blanks();
    } while (take(','));
    if (!take(']')) throw Fault{"an array without an end"};
  }

  void object(std::size_t depth) {
    enter(depth);
    if (take('}')) return;
    const std::size_t first = names_.size();
    do {
      blanks();
      names_.push_back(string());
      if (++members_ > bounds_.members) throw Fault{"too many members"};
      blanks();
      if (!take(':')) throw Fault{"a colon is missing after a name"};
      blanks();
      value(depth);
      blanks();
    } while (take(','));
    if (!take('}')) throw Fault{"an object without an end"};
    if (bounds_.unique_depth == 0 || depth <= bounds_.unique_depth) refuse_a_name_twice(first);
    names_.resize(first);
  }

  void enter(std::size_t depth) {
    if (depth > bounds_.depth) throw Fault{"nested too deeply"};
    ++at_;
    blanks();
  }

  // Sorted rather than hashed: names come from outside, and no choice of them makes sorting slow.
  void refuse_a_name_twice(std::size_t first) {
    std::deque<std::string> decoded;
    const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(first);
    for (auto name = begin; name != names_.end(); ++name) {
      if (name->find('\\') == std::string_view::npos) continue;
      decoded.push_back(json_unescape_lossless(*name));
      *name = decoded.back();
    }
    std::sort(begin, names_.end());
    if (std::adjacent_find(begin, names_.end()) != names_.end()) throw Fault{"a name twice in one object"};
  }

  std::string_view text_;
  JsonBounds bounds_;
  std::size_t at_ = 0;
  std::size_t members_ = 0;
  std::vector<std::string_view> names_;
};

}  // namespace

std::optional<std::string_view> json_fault(std::string_view text, const JsonBounds& bounds) {
  if (!is_utf8(text)) return "not UTF-8";
  if (text.starts_with("\xEF\xBB\xBF")) return "a byte order mark";
  try {
    Checker(text, bounds).document();
  } catch (const Fault& fault) {
    return fault.what;
  }
  return std::nullopt;
}

}  // namespace viewgate::gateway
