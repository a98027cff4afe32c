#include "projection/like.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "projection/characters.hpp"

namespace viewgate::projection {
namespace {

// As PostgreSQL's own matcher (like_match.c) tells them apart. `text_ended` means that no later start can match either.
enum class Match { no, yes, text_ended, refused };

/// What stands between two % of a pattern, escapes and all.
struct Piece {
  std::string_view raw;
  bool has_escape = false;
  bool has_blank = false;  ///< a _
  bool is_cut = false;     ///< it ends with an escape character that escapes nothing, which is not in `raw`
  bool is_last = true;
};

/// The pattern's first piece; `pattern` becomes what stands behind the % that ends it.
Piece take_piece(std::string_view& pattern) {
  Piece out;
  std::size_t at = 0;
  for (; at < pattern.size() && pattern[at] != '%'; ++at) {
    out.has_blank = out.has_blank || pattern[at] == '_';
    if (pattern[at] != '\\') continue;
    out.has_escape = true;
    if (++at < pattern.size()) continue;
    out.is_cut = true;
    out.raw = pattern.substr(0, at - 1);
    pattern = {};
    return out;
  }
  out.raw = pattern.substr(0, at);
  out.is_last = at == pattern.size();
  pattern.remove_prefix(out.is_last ? at : at + 1);
  return out;
}

/// The text at its beginning against a pattern without %, byte by byte; what matched is taken off both.
Match match_here(std::string_view& text, std::string_view& piece) {
  while (!text.empty() && !piece.empty()) {
    if (piece.front() == '_') {
      text = without_first_character(text);
      piece.remove_prefix(1);
      continue;
    }
    if (piece.front() == '\\') piece.remove_prefix(1);
    if (piece.front() != text.front()) return Match::no;
    text.remove_prefix(1);
    piece.remove_prefix(1);
  }
  return piece.empty() ? Match::yes : Match::text_ended;
}

std::string without_escapes(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) out += raw[i] == '\\' ? raw[++i] : raw[i];
  return out;
}

/// memmem is linear for long needles, where std::string_view::find is not.
std::optional<std::size_t> end_of_literal(std::string_view text, std::string_view wanted) {
  const void* found = ::memmem(text.data(), text.size(), wanted.data(), wanted.size());
  if (found == nullptr) return std::nullopt;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + wanted.size();
}

/// The characters of a piece; empty = any one.
std::vector<std::string_view> tokens_of(std::string_view raw) {
  std::vector<std::string_view> out;
  while (!raw.empty()) {
    const bool is_blank = raw.front() == '_';
    if (raw.front() == '\\') raw.remove_prefix(1);
    const std::size_t size = raw.size() - without_first_character(raw).size();
    out.push_back(is_blank ? std::string_view() : raw.substr(0, size));
    raw.remove_prefix(size);
  }
  return out;
}

/// Where the first occurrence ends. Shift-And (Baeza-Yates and Gonnet, 1992): one bit for each character of the piece, set while the
/// text read last is what the piece begins with up to there.
std::optional<std::size_t> end_of_blanks(std::string_view text, const std::vector<std::string_view>& tokens) {
  const std::size_t words = (tokens.size() + 63) / 64;
  using Bits = std::vector<std::uint64_t>;
  Bits any(words), state(words);
  const auto set = [](Bits& bits, std::size_t place) { bits[place / 64] |= std::uint64_t{1} << (place % 64); };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].empty()) set(any, i);
  }
  std::unordered_map<std::string_view, Bits> places;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].empty()) set(places.try_emplace(tokens[i], any).first->second, i);
  }
  const std::uint64_t last = std::uint64_t{1} << ((tokens.size() - 1) % 64);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = text.size() - at - without_first_character(text.substr(at)).size();
    const auto known = places.find(text.substr(at, size));
    const Bits& here = known == places.end() ? any : known->second;
    std::uint64_t carried = 1;
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint64_t shifted = state[i] << 1 | carried;
      carried = state[i] >> 63;
      state[i] = shifted & here[i];
    }
    at += size;
    if ((state.back() & last) != 0) return at;
  }
  return std::nullopt;
}

/// Takes off the text what stands before the piece's first occurrence, and that.
Match match_first(std::string_view& text, const Piece& piece) {
  std::optional<std::size_t> end;
  if (piece.has_blank) {
    const std::vector<std::string_view> tokens = tokens_of(piece.raw);
    if (tokens.size() > like_blanks_piece_max) return Match::refused;
    end = end_of_blanks(text, tokens);
  } else {
    end = piece.has_escape ? end_of_literal(text, without_escapes(piece.raw)) : end_of_literal(text, piece.raw);
  }
  if (!end) return Match::text_ended;
  text.remove_prefix(*end);
  return Match::yes;
}

/// The piece against the end of the text.
Match match_end(std::string_view text, const Piece& piece) {
  std::size_t characters = 0;
  for (std::string_view rest = piece.raw; !rest.empty(); ++characters) {
    if (rest.front() == '\\') rest.remove_prefix(1);
    rest = without_first_character(rest);
  }
  std::size_t at = text.size();
  for (; characters > 0 && at > 0; --characters) {
    do --at;
    while (at > 0 && !begins_character(text[at]));
  }
  if (characters > 0) return Match::text_ended;
  text.remove_prefix(at);
  std::string_view raw = piece.raw;
  return match_here(text, raw) == Match::yes && text.empty() ? Match::yes : Match::text_ended;
}

/// Behind a %: the rest of the pattern must match at some later place. The first place is as good as any for what another % follows.
Match match_anywhere(std::string_view text, std::string_view pattern) {
  for (;;) {
    if (text.empty()) return pattern.find_first_not_of('%') == std::string_view::npos ? Match::yes : Match::text_ended;
    for (; !pattern.empty() && (pattern.front() == '%' || pattern.front() == '_'); pattern.remove_prefix(1)) {
      if (pattern.front() == '%') continue;
      if (text.empty()) return Match::text_ended;
      text = without_first_character(text);
    }
    if (pattern.empty()) return Match::yes;
    const Piece piece = take_piece(pattern);
    if (piece.is_cut) {
      if (piece.raw.empty()) return Match::refused;
      const Match found = match_first(text, piece);
      return found == Match::yes && !text.empty() ? Match::refused
             : found == Match::refused            ? found
                                                  : Match::text_ended;
    }
    if (piece.is_last) return match_end(text, piece);
    if (const Match found = match_first(text, piece); found != Match::yes) return found;
  }
}

Match match_like(std::string_view text, std::string_view pattern) {
  const Piece first = take_piece(pattern);
  std::string_view raw = first.raw;
  const Match found = match_here(text, raw);
  if (found != Match::yes) return found;
  if (first.is_cut) return text.empty() ? Match::text_ended : Match::refused;
  if (!first.is_last) return match_anywhere(text, pattern);
  return text.empty() ? Match::yes : Match::no;
}

}  // namespace

Value text_like(std::string_view text, std::string_view pattern) {
  const Match found = match_like(text, pattern);
  if (found == Match::refused) return Fault::invalid_argument;
  return found == Match::yes;
}

}  // namespace viewgate::projection
