// Slices of JSON text: where each member or element begins and ends, and nothing else. Values are never parsed, so that
// what a client stores is what the server sent, byte for byte.
//
// Written apart from the server's own reader on purpose: a fault in that one must not hide itself from its judge.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::loadtest {

/// `name` stands as between its quotes, escapes undone by nobody; `value` is the raw text without blanks around it.
struct Member {
  std::string_view name;
  std::string_view value;
};

/// Both fill `out` anew and return false where `text` is not one whole object (array), blanks around it allowed.
[[nodiscard]] bool members(std::string_view text, std::vector<Member>& out);
[[nodiscard]] bool elements(std::string_view text, std::vector<std::string_view>& out);

/// The raw value of a member; empty where it is absent (no raw value is empty).
std::string_view member(const std::vector<Member>& all, std::string_view name);

/// What stands between the quotes of a string without escapes (tokens, cursors, names of the protocol); the text itself
/// where it is no string.
std::string_view unquoted(std::string_view raw);

/// An integer, bare or as a decimal string.
std::optional<std::int64_t> integer(std::string_view raw);

/// A JSON string of this text.
std::string quoted(std::string_view text);

/// A key `[1, "a"]` without the blanks between its elements: equal keys are equal texts.
std::string key_text(std::string_view raw);

}  // namespace viewgate::loadtest
