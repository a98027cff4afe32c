// The functions and the operators that are functions: what they take, what they give, and what they compute.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "projection/type.hpp"
#include "projection/value.hpp"

namespace viewgate::projection {

enum class Function : std::uint8_t {
  // lazy or not strict: the evaluator knows them
  coalesce,
  nullif,
  greatest,
  least,
  // text
  lower,
  upper,
  length,
  octet_length,
  left,
  right,
  substr,
  strpos,
  starts_with,
  btrim,
  ltrim,
  rtrim,
  concat,  ///< ||
  like,
  ilike,
  matches,  ///< ~ and ~*: the pattern is in the expression
  // numbers
  abs,
  // arrays
  cardinality,
  array_contains,  ///< @>
  array_overlaps,  ///< &&
  // jsonb
  json_get,       ///< -> by name or place
  json_get_text,  ///< ->>
  json_contains,  ///< @>
  json_has,       ///< ?
  json_has_any,   ///< ?|
  json_has_all,   ///< ?&
  json_typeof
};

/// In canonical bytes and messages.
[[nodiscard]] std::string_view name(Function function);

/// One way to call a function by its name. An argument of type `unknown` is of any numeric type, which is also the
/// result then.
struct Signature {
  std::string_view name;
  Function function;
  std::vector<FullType> arguments;
  Type result;
};

/// All of that name, in the order in which PostgreSQL would prefer them; empty: no function of that name is known.
[[nodiscard]] std::vector<Signature> signatures_of(std::string_view name);

/// The names of all functions, for messages.
[[nodiscard]] std::string_view function_names();

/// Of the strict ones, with arguments that are neither NULL nor errors; not `matches`.
[[nodiscard]] Value call(Function function, Type result, std::span<const Value* const> arguments);

}  // namespace viewgate::projection
