// JSON as text. Two readers: a strict one for what clients and tokens bring, and a quick one that only finds the ends
// of values in text that PostgreSQL printed. Neither turns a number into a double: numbers stay the text they are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::projection {

struct Json {
  enum class Kind { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  std::string text;  ///< a string decoded; a number, true or false as written
  std::vector<Json> items;
  struct Member;
  std::vector<Member> members;  ///< names are unique

  [[nodiscard]] const Json* find(std::string_view name) const;
};

struct Json::Member {
  std::string name;
  Json value;
};

[[nodiscard]] std::string_view name(Json::Kind kind);

inline constexpr int json_depth_max = 32;
/// Of a jsonb value in an expression: what is nested deeper is an error there.
inline constexpr int jsonb_depth_max = 1000;

/// RFC 8259, UTF-8, no duplicate names, at most json_depth_max deep; nothing: it is not that.
[[nodiscard]] std::optional<Json> parse_json(std::string_view text);

/// As jsonb's input function reads it: the last of several equal names stays, and jsonb_depth_max levels are allowed.
[[nodiscard]] std::optional<Json> parse_json_leniently(std::string_view text);

/// Whether all of it is well-formed UTF-8 (no surrogates, no overlong forms).
[[nodiscard]] bool valid_utf8(std::string_view text);

/// From `raw`, a JSON string with its quotes, to its characters. Nothing: not one.
[[nodiscard]] std::optional<std::string> decode_json_string(std::string_view raw);

/// A JSON string with its quotes, escaped exactly as PostgreSQL's jsonb prints it.
[[nodiscard]] std::string encode_json_string(std::string_view text);

/// The end of the JSON value that starts at `start`, in text that PostgreSQL printed; npos: it does not end.
[[nodiscard]] std::size_t value_end(std::string_view text, std::size_t start);

}  // namespace viewgate::projection
