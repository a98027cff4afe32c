// JSON as text: check it, take it apart into slices, write strings. Nothing is turned into a double or printed again,
// so a value reaches the other side byte for byte (I11).
//
// Why not a library: Boost.JSON keeps no raw text and turns 1e400 into Infinity, simdjson's on-demand mode finds
// neither duplicate names nor trailing values before the fields are read, and neither counts members. The grammar is
// small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace viewgate::gateway {

enum class JsonKind : std::uint8_t { object, array, string, number, boolean, null };

struct JsonBounds {
  std::size_t depth = 0;    ///< of nested objects and arrays
  std::size_t members = 0;  ///< of all objects together
  /// Objects nested deeper than this may have a name twice; 0 = none may.
  std::size_t unique_depth = 0;
};

/// Strict RFC 8259 for exactly one value, UTF-8, no byte order mark, no name twice in an object (compared as
/// characters, so "a" and "\u0061" are one name). Absent: it is; else what is wrong, a constant text.
[[nodiscard]] std::optional<std::string_view> json_fault(std::string_view text, const JsonBounds& bounds);

/// One member of an object or element of an array; views into the text.
struct JsonSlice {
  std::string_view name;  ///< between the quotes, as written; empty in arrays
  std::string_view value;
  JsonKind kind = JsonKind::null;
};

/// Steps through the members of an object or the elements of an array. It checks only what it must to find the ends, so
/// a text from the outside goes through json_fault first; on any text it stays inside it.
class JsonSlicer {
 public:
  /// `container`: the text of an object or array; anything else is malformed.
  explicit JsonSlicer(std::string_view container);

  /// Absent: the end, or malformed.
  [[nodiscard]] std::optional<JsonSlice> next();
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  std::optional<JsonSlice> stop_malformed();

  std::string_view rest_;
  bool object_ = false;
  bool first_ = true;
  bool ended_ = false;
  bool malformed_ = false;
};

/// The characters of a string's text with its quotes. Absent: not a string, or it holds what UTF-8 text in a database
/// cannot (a lone surrogate, U+0000).
[[nodiscard]] std::optional<std::string> json_string_value(std::string_view text);

/// Whether a text that json_fault accepts holds only strings and names that a database can keep: no U+0000, no half of a
/// surrogate pair.
[[nodiscard]] bool is_storable_json(std::string_view text);

/// The characters of what stands between a string's quotes, a lone surrogate as three bytes: for comparing, not for
/// storing.
[[nodiscard]] std::string json_unescape_lossless(std::string_view inside);

/// An integer as JavaScript can hold it exactly: no fraction, no exponent, not "-0", within ±(2^53 - 1).
[[nodiscard]] std::optional<std::int64_t> json_integer_value(std::string_view text);

/// Appends `text` (UTF-8) with quotes, escaped as JSON.stringify does.
void append_json_string(std::string& out, std::string_view text);

}  // namespace viewgate::gateway
