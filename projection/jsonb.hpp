// jsonb as text: what its input function keeps, its operators, its equality. A value is the text that jsonb prints, so
// a piece of it is the text of the piece, and nothing is printed twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "projection/json_text.hpp"
#include "projection/value.hpp"

namespace viewgate::projection {

/// jsonb's input function: names sorted and unique (the last wins), numbers as numeric prints them. A Fault, or a Jsonb.
[[nodiscard]] Value parse_jsonb(std::string_view text);

/// The same from a value that is read already (a parameter, a claim). Nothing: a number beyond numeric's range, or a
/// zero byte.
[[nodiscard]] std::optional<std::string> print_jsonb(const Json& json);

enum class NumberForm : std::uint8_t { as_written, expanded };

/// Appends JSON in jsonb's form: names in its order, its blanks. Numbers as they are, or as numeric's output function
/// prints them; such that are none of its, or make `out` longer than `bytes_max`, end it. False: it was ended.
[[nodiscard]] bool append_jsonb(std::string& out, const Json& value, NumberForm form, std::size_t bytes_max);

/// A zero byte, which neither text nor jsonb can hold.
[[nodiscard]] bool has_nul(const Json& value);

/// As numeric's output function prints it. Numeric rounds what has more decimals than it can hold, and jsonb refuses it:
/// what may have been rounded is none of ours.
[[nodiscard]] std::optional<std::string> jsonb_number(const std::string& text);

/// Equal exactly for equal values: 1.0 and 1.00 have one.
[[nodiscard]] std::string canonical_jsonb(std::string_view jsonb);

/// `->`: NULL where there is nothing of that name or place (negative places count from the end).
[[nodiscard]] Value jsonb_member(const Jsonb& value, std::string_view name);
[[nodiscard]] Value jsonb_element(const Jsonb& value, std::int64_t place);
/// What `->>` makes of the result of `->`: a string's characters, other text as it is, NULL for null.
[[nodiscard]] Value jsonb_text(const Value& value);

/// `@>`
[[nodiscard]] bool jsonb_contains(std::string_view outer, std::string_view inner);
/// `?`: a member of an object, a string of an array, or that string.
[[nodiscard]] bool jsonb_has(std::string_view jsonb, std::string_view key);
/// How many of the keys it has, in one pass.
[[nodiscard]] std::size_t jsonb_count(std::string_view jsonb, const std::unordered_set<std::string>& keys);
/// object, array, string, number, boolean or null.
[[nodiscard]] std::string_view jsonb_typeof(std::string_view jsonb);

}  // namespace viewgate::projection
