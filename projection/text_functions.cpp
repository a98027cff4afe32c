#include "projection/text_functions.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>
#include <vector>

#include "projection/characters.hpp"

namespace viewgate::projection {
namespace {

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

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t size = offset_of(text, 1);
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
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
  // In linear time where std::string_view::find is not: the part may be a client's.
  const void* found = ::memmem(text.data(), text.size(), part.data(), part.size());
  if (found == nullptr) return 0;
  return text_length(text.substr(0, static_cast<std::size_t>(static_cast<const char*>(found) - text.data()))) + 1;
}

std::string text_trim(TrimEnds ends, std::string_view text, std::string_view set) {
  const std::vector<std::string_view> named = characters(set);
  const std::unordered_set<std::string_view> dropped(named.begin(), named.end());
  const std::vector<std::string_view> all = characters(text);
  const auto is_dropped = [&](std::string_view c) { return dropped.contains(c); };
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

}  // namespace viewgate::projection
