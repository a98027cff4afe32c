#include "projection/regex.hpp"

#include <re2/re2.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include "projection/text_functions.hpp"

namespace viewgate::projection {
namespace {

// PostgreSQL allows 255 repetitions; RE2 bounds what nested ones multiply to, and says so itself.
constexpr int repetitions_max = 255;
constexpr std::size_t pattern_bytes_max = 1024;
constexpr std::int64_t program_bytes_max = std::int64_t{1024} * 1024;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char other_case(char c) { return static_cast<char>(c ^ 32); }

/// Characters of ASCII by a bit each; others are listed as they stand, since neither side folds their case here.
struct CharacterSet {
  std::bitset<128> ascii;
  std::string others;  ///< in RE2's notation

  void add(char from, char to) {
    for (auto c = static_cast<unsigned char>(from); c <= static_cast<unsigned char>(to); ++c) ascii.set(c);
  }
  void fold_case() {
    const std::bitset<128> given = ascii;
    for (std::size_t c = 0; c < 128; ++c) {
      if (given[c] && is_letter(static_cast<char>(c))) ascii.set(c ^ 32);
    }
  }
  [[nodiscard]] std::string text(bool negated) const {
    static constexpr char hex[] = "0123456789abcdef";
    std::string out = negated ? "[^" : "[";
    for (std::size_t c = 0; c < 128; ++c) {
      if (!ascii[c]) continue;
      std::size_t last = c;
      while (last + 1 < 128 && ascii[last + 1]) ++last;
      for (const std::size_t end : {c, last}) {
        out += std::string(end == last && last != c ? "-" : "") + "\\x" + hex[end >> 4] + hex[end & 15];
        if (last == c) break;
      }
      c = last;
    }
    return out + others + "]";
  }
};

/// \d, \w and \s as PostgreSQL has them in the C collation.
std::optional<CharacterSet> character_class(char letter) {
  CharacterSet out;
  switch (letter) {
    case 'w':
      out.add('a', 'z');
      out.add('A', 'Z');
      out.add('_', '_');
      [[fallthrough]];
    case 'd':
      out.add('0', '9');
      return out;
    case 's':
      out.add('\t', '\r');
      out.add(' ', ' ');
      return out;
    default:
      return std::nullopt;
  }
}

/// Reads a pattern of the common part and writes RE2's. `error` says why it could not.
class Translator {
 public:
  Translator(std::string_view pattern, bool ignore_case) : text_(pattern), ignore_case_(ignore_case) {}

  std::optional<std::string> translate() {
    // PostgreSQL reads *** and (?xyz) at the start as options.
    if (text_.starts_with("***")) return refuse("*** at the start is not supported");
    if (!alternatives() || at_ != text_.size()) {
      if (error_.empty()) refuse("a ) without a (");
      return std::nullopt;
    }
    return out_;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  std::nullopt_t refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
    return std::nullopt;
  }
  bool fail(std::string why) {
    refuse(std::move(why));
    return false;
  }
  [[nodiscard]] bool more() const { return at_ < text_.size(); }
  [[nodiscard]] char peek() const { return text_[at_]; }

  bool alternatives() {
    if (++depth_ > 50) return fail("nested deeper than 50 levels");
    bool empty = true;
    while (more() && peek() != ')') {
      if (peek() == '|') {
        if (empty) return fail("an empty alternative; write (…)? instead");
        out_ += text_[at_++];
        empty = true;
        continue;
      }
      if (!piece()) return false;
      empty = false;
    }
    --depth_;
    return !empty || fail("an empty pattern or alternative");
  }

  bool piece() {
    const char c = peek();
    if (c == '^' || c == '$') {
      // Without options both stand for the ends of the text.
      out_ += c == '^' ? "\\A" : "\\z";
      ++at_;
      if (more() && (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{'))
        return fail("a repeated ^ or $");
      return true;
    }
    if (!atom(c)) return false;
    return repetition();
  }

  bool atom(char c) {
    switch (c) {
      case '(':
        return group();
      case '[':
        return bracket();
      case '.':
        out_ += "(?s:.)";
        ++at_;
        return true;
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
      case '{':
        return fail(std::string("a ") + c + " with nothing before it; write \\" + c + " for the character");
      default:
        literal();
        return true;
    }
  }

  void literal() {
    const char c = text_[at_++];
    if (is_letter(c) && ignore_case_) {
      out_ += std::string("[") + c + other_case(c) + "]";
    } else if (is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80) {
      out_ += c;
      // The other bytes of the character, so that a repetition is of all of it.
      while (more() && (static_cast<unsigned char>(peek()) & 0xC0) == 0x80) out_ += text_[at_++];
    } else {
      CharacterSet one;
      one.add(c, c);
      out_ += one.text(false);
    }
  }

  bool group() {
    ++at_;
    if (text_.substr(at_).starts_with("?:")) {
      at_ += 2;
    } else if (more() && peek() == '?') {
      return fail("(?…) other than (?:…); lookaround is not supported");
    }
    out_ += "(?:";
    if (!alternatives()) return false;
    if (!more()) return fail("a ( without a )");
    ++at_;
    out_ += ')';
    return true;
  }

  bool escape() {
    if (at_ + 1 >= text_.size()) return fail("a \\ at the end");
    const char c = text_[at_ + 1];
    const bool upper = c >= 'A' && c <= 'Z';
    if (auto set = character_class(upper ? other_case(c) : c)) {
      out_ += set->text(upper);
      at_ += 2;
      return true;
    }
    if (is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80) {
      return fail("\\" + text_left(text_.substr(at_ + 1), 1) +
                  " is not supported; \\d \\w \\s and escaped punctuation are");
    }
    CharacterSet one;
    one.add(c, c);
    out_ += one.text(false);
    at_ += 2;
    return true;
  }

  bool bracket() {
    ++at_;
    const bool negated = more() && peek() == '^';
    if (negated) ++at_;
    CharacterSet set;
    bool first = true;
    while (more() && (peek() != ']' || first)) {
      first = false;
      if (!bracket_item(set)) return false;
    }
    if (!more()) return fail("a [ without a ]");
    ++at_;
    if (ignore_case_) set.fold_case();
    out_ += set.text(negated);
    return true;
  }

  bool bracket_item(CharacterSet& set) {
    const char c = peek();
    if (c == '[' && at_ + 1 < text_.size() && (text_[at_ + 1] == ':' || text_[at_ + 1] == '.' || text_[at_ + 1] == '='))
      return fail("[: :], [. .] and [= =] are not supported; write the range, for example [a-z]");
    if (c == '\\') return fail("a \\ in brackets is not supported; write the characters");
    if (static_cast<unsigned char>(c) >= 0x80) {
      set.others += c;
      ++at_;
      while (more() && (static_cast<unsigned char>(peek()) & 0xC0) == 0x80) set.others += text_[at_++];
      if (more() && peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']')
        return fail("a range outside ASCII is not supported; write the characters");
      return true;
    }
    ++at_;
    if (more() && peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
      const char last = text_[at_ + 1];
      if (static_cast<unsigned char>(last) >= 0x80 || last == '[' || last == '\\' || last < c)
        return fail("a range in brackets must go up, between characters of ASCII");
      set.add(c, last);
      at_ += 2;
      if (more() && peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']')
        return fail("a - behind a range in brackets");
      return true;
    }
    set.add(c, c);
    return true;
  }

  bool repetition() {
    if (!more()) return true;
    const char c = peek();
    if (c == '*' || c == '+' || c == '?') {
      out_ += c;
      ++at_;
    } else if (c == '{') {
      if (!counted()) return false;
    } else {
      return true;
    }
    if (more() && (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{'))
      return fail("a repetition of a repetition, or a non-greedy one; neither changes what matches");
    return true;
  }

  bool counted() {
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) return fail("a { without a }");
    const std::string_view body = text_.substr(at_ + 1, end - at_ - 1);
    const std::size_t comma = body.find(',');
    const auto least = number(body.substr(0, comma));
    const auto most =
        comma == std::string_view::npos || comma + 1 == body.size() ? least : number(body.substr(comma + 1));
    if (!least || !most || *most < *least)
      return fail("a repetition is {m}, {m,} or {m,n} with at most " + std::to_string(repetitions_max));
    out_ += text_.substr(at_, end - at_ + 1);
    at_ = end + 1;
    return true;
  }

  static std::optional<int> number(std::string_view digits) {
    if (digits.empty() || digits.size() > 3) return std::nullopt;
    int out = 0;
    for (const char c : digits) {
      if (!is_digit(c)) return std::nullopt;
      out = out * 10 + (c - '0');
    }
    if (out > repetitions_max) return std::nullopt;
    return out;
  }

  std::string_view text_;
  bool ignore_case_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string out_;
  std::string error_;
};

}  // namespace

struct Regex::Program {
  explicit Program(const std::string& pattern, const RE2::Options& options) : regex(pattern, options) {}
  RE2 regex;
};

Regex::Regex(std::unique_ptr<Program> program) : program_(std::move(program)) {}
Regex::~Regex() = default;

std::variant<RegexPtr, std::string> Regex::compile(std::string_view pattern, Case letters) {
  if (pattern.size() > pattern_bytes_max)
    return "a pattern of more than " + std::to_string(pattern_bytes_max) + " bytes";
  Translator translator(pattern, letters == Case::ignored);
  const auto translated = translator.translate();
  if (!translated) return translator.error();
  RE2::Options options(RE2::Quiet);
  options.set_never_capture(true);
  options.set_max_mem(program_bytes_max);
  auto program = std::make_unique<Program>(*translated, options);
  if (!program->regex.ok()) return program->regex.error();
  return RegexPtr(new Regex(std::move(program)));
}

bool Regex::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), program_->regex);
}

}  // namespace viewgate::projection
