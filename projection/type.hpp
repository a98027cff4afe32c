// The types of PostgreSQL that expressions know. A column of any other type is `carried`: its text travels to the
// client, and an expression that names it is refused when the model is loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::projection {

/// `unknown` is the type of a string literal, NULL, parameter or claim until its context gives it one; nothing that
/// leaves the model parser has it. Numbers, and dates and times, stand in the order in which PostgreSQL casts them
/// implicitly: a later one takes an earlier one.
enum class Type : std::uint8_t {
  unknown,
  boolean,
  int2,
  int4,
  int8,
  numeric,
  float4,
  float8,
  text,    ///< varchar too
  bpchar,  ///< char(n): comparisons ignore blanks at the end
  uuid,
  date,
  timestamp,
  timestamptz,
  bytea,
  enumeration,
  jsonb,
  carried
};

/// An enum of the database: its labels in their declared order, which is the order of its values.
struct EnumType {
  std::string name;  ///< as format_type spells it, with the schema
  std::vector<std::string> labels;

  [[nodiscard]] std::optional<std::size_t> find(std::string_view label) const;
};
using EnumTypePtr = std::shared_ptr<const EnumType>;

/// A type and what it needs to be read.
struct FullType {
  Type type = Type::carried;
  bool array = false;
  EnumTypePtr labels;  ///< of enumeration

  // NOLINTNEXTLINE(google-explicit-constructor): a plain type is a full one
  FullType(Type plain = Type::carried, bool is_array = false, EnumTypePtr its_labels = nullptr)
      : type(plain), array(is_array), labels(std::move(its_labels)) {}
};

/// As PostgreSQL's format_type spells it ("integer"), for messages and casts. An enumeration is "enum".
[[nodiscard]] std::string_view name(Type type);
[[nodiscard]] std::string spelt(const FullType& type);

/// As casts in SQL that we send name it ("int4"); not for enumerations and carried columns.
[[nodiscard]] std::string_view short_name(Type type);

/// From pg_type.typname ("int4", "_int4") or format_type ("integer", "integer[]", without a modifier); what is not known
/// is `carried`. Not for enumerations, whose labels stand in the catalog.
[[nodiscard]] FullType type_from_name(std::string_view name);

[[nodiscard]] inline bool is_integer(Type type) {
  return type == Type::int2 || type == Type::int4 || type == Type::int8;
}
[[nodiscard]] inline bool is_float(Type type) { return type == Type::float4 || type == Type::float8; }
[[nodiscard]] inline bool is_number(Type type) { return is_integer(type) || type == Type::numeric || is_float(type); }
[[nodiscard]] inline bool is_moment(Type type) {
  return type == Type::date || type == Type::timestamp || type == Type::timestamptz;
}
[[nodiscard]] inline bool is_text(Type type) { return type == Type::text || type == Type::bpchar; }

}  // namespace viewgate::projection
