#include "projection/word_count.hpp"

#include <algorithm>

#include "projection/syntax.hpp"

namespace viewgate::projection {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

bool continues_word(char c) { return begins_word(c) || is_digit(c) || c == '$'; }

std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && continues_word(text[at])) ++at;
  return at;
}

/// Behind the closing quote; a doubled one is none, and one behind a backslash where that escapes.
std::size_t quoted_end(std::string_view text, std::size_t open, bool backslash_escapes) {
  const char quote = text[open];
  std::size_t at = open + 1;
  while (at < text.size()) {
    const bool escapes = backslash_escapes && text[at] == '\\';
    const bool doubled = text[at] == quote && at + 1 < text.size() && text[at + 1] == quote;
    if (!escapes && !doubled && text[at] == quote) return at + 1;
    at += escapes || doubled ? 2 : 1;
  }
  return text.size();
}

/// Behind $tag$ … $tag$; nothing of the kind: `at`.
std::size_t dollar_quoted_end(std::string_view text, std::size_t at) {
  std::size_t tag_end = at + 1;
  while (tag_end < text.size() && text[tag_end] != '$' && continues_word(text[tag_end])) ++tag_end;
  if (tag_end >= text.size() || text[tag_end] != '$' || (tag_end > at + 1 && is_digit(text[at + 1]))) return at;
  const std::string_view tag = text.substr(at, tag_end + 1 - at);
  const std::size_t close = text.find(tag, tag_end + 1);
  return close == std::string_view::npos ? text.size() : close + tag.size();
}

/// 1, 1.5, .5, 1e-5; its sign is an operator.
std::size_t number_end(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const bool is_exponent = (text[at] == 'e' || text[at] == 'E') && at + 1 < text.size() &&
                             (is_digit(text[at + 1]) || text[at + 1] == '-' || text[at + 1] == '+');
    if (is_exponent) {
      at += 2;
    } else if (is_digit(text[at]) || text[at] == '.') {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

}  // namespace

std::size_t count_words(std::string_view text) {
  std::size_t words = 0;
  std::size_t at = 0;
  while ((at = skip_comments(text, at)) < text.size()) {
    const char c = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if ((c == 'e' || c == 'E') && next == '\'') {
      at = quoted_end(text, at + 1, true);
    } else if (c == '\'') {
      at = quoted_end(text, at, false);
    } else if (is_digit(c) || (c == '.' && is_digit(next))) {
      at = number_end(text, at);
    } else if (const std::size_t end = c == '$' ? dollar_quoted_end(text, at) : at; end > at) {
      at = end;
    } else if (c == ',') {
      ++at;
    } else {
      ++words;
      at = c == '"' ? quoted_end(text, at, false) : std::max(at + 1, begins_word(c) ? word_end(text, at) : at);
    }
  }
  return words;
}

}  // namespace viewgate::projection
