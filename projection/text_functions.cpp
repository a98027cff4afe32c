#include "projection/text_functions.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace viewgate::projection {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// The byte offset of the character number `count` (from 0); the text's size where it has fewer.
std::size_t offset_of(std::string_view text, std::int64_t count) {
  std::size_t at = 0;
  while (at < text.size() && count > 0) {
    ++at;
    while (at < text.size() && !begins_character(text[at])) ++at;
    --count;
  }
  return at;
}

std::string_view without_first(std::string_view text) { return text.substr(offset_of(text, 1)); }

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t size = offset_of(text, 1);
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

enum class Match { no, yes, text_ended, broken_pattern };

// like_match.c: `text_ended` means that no later start can match either, which keeps % from trying them all.
Match match_like(std::string_view text, std::string_view pattern);

/// Behind a %: the rest of the pattern must match at some later place.
Match match_anywhere(std::string_view text, std::string_view pattern) {
  while (!pattern.empty() && (pattern.front() == '%' || pattern.front() == '_')) {
    if (pattern.front() == '_') {
      if (text.empty()) return Match::text_ended;
      text = without_first(text);
    }
    pattern.remove_prefix(1);
  }
  if (pattern.empty()) return Match::yes;
  if (pattern.front() == '\\' && pattern.size() < 2) return Match::broken_pattern;
  const char first = pattern.front() == '\\' ? pattern[1] : pattern.front();
  while (!text.empty()) {
    if (text.front() == first) {
      const Match found = match_like(text, pattern);
      if (found != Match::no) return found;
    }
    text = without_first(text);
  }
  return Match::text_ended;
}

Match match_like(std::string_view text, std::string_view pattern) {
  if (pattern == "%") return Match::yes;
  while (!text.empty() && !pattern.empty()) {
    if (pattern.front() == '%') return match_anywhere(text, pattern.substr(1));
    if (pattern.front() == '_') {
      text = without_first(text);
      pattern.remove_prefix(1);
      continue;
    }
    if (pattern.front() == '\\') {
      pattern.remove_prefix(1);
      if (pattern.empty()) return Match::broken_pattern;
    }
    if (pattern.front() != text.front()) return Match::no;
    text.remove_prefix(1);
    pattern.remove_prefix(1);
  }
  if (!text.empty()) return Match::no;
  while (!pattern.empty() && pattern.front() == '%') pattern.remove_prefix(1);
  return pattern.empty() ? Match::yes : Match::text_ended;
}

}  // namespace

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string upper_ascii(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

std::int64_t text_length(std::string_view text) { return std::count_if(text.begin(), text.end(), begins_character); }

std::string text_left(std::string_view text, std::int64_t count) {
  if (count < 0) count = std::max<std::int64_t>(text_length(text) + count, 0);
  return std::string(text.substr(0, offset_of(text, count)));
}

std::string text_right(std::string_view text, std::int64_t count) {
  const std::int64_t skipped = count < 0 ? -count : std::max<std::int64_t>(text_length(text) - count, 0);
  return std::string(text.substr(offset_of(text, skipped)));
}

// varlena.c: the end is start + count, and may lie before the text; an end that overflows is no end.
Value text_substring(std::string_view text, std::int64_t start, const std::int64_t* count) {
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  if (count != nullptr) {
    if (*count < 0) return Fault::invalid_argument;
    end = start + *count;
  }
  const std::int64_t first = std::max<std::int64_t>(start, 1);
  if (end <= first) return std::string();
  text.remove_prefix(offset_of(text, first - 1));
  return std::string(text.substr(0, offset_of(text, end - first)));
}

std::int64_t text_position(std::string_view text, std::string_view part) {
  const std::size_t found = text.find(part);
  return found == std::string_view::npos ? 0 : text_length(text.substr(0, found)) + 1;
}

std::string text_trim(TrimEnds ends, std::string_view text, std::string_view set) {
  const std::vector<std::string_view> dropped = characters(set);
  const std::vector<std::string_view> all = characters(text);
  const auto is_dropped = [&](std::string_view c) {
    return std::find(dropped.begin(), dropped.end(), c) != dropped.end();
  };
  std::size_t first = 0;
  std::size_t last = all.size();
  if (ends != TrimEnds::right) {
    while (first < last && is_dropped(all[first])) ++first;
  }
  if (ends != TrimEnds::left) {
    while (last > first && is_dropped(all[last - 1])) --last;
  }
  std::string out;
  for (std::size_t i = first; i < last; ++i) out += all[i];
  return out;
}

Value text_like(std::string_view text, std::string_view pattern) {
  if (static_cast<std::size_t>(std::count(pattern.begin(), pattern.end(), '%')) > like_wildcards_max)
    return Fault::invalid_argument;
  switch (match_like(text, pattern)) {
    case Match::yes:
      return true;
    case Match::broken_pattern:
      return Fault::invalid_argument;
    case Match::no:
    case Match::text_ended:
      break;
  }
  return false;
}

}  // namespace viewgate::projection
