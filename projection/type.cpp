#include "projection/type.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace viewgate::projection {
namespace {

constexpr std::array<std::pair<std::string_view, Type>, 30> spellings{{
    {"bool", Type::boolean},
    {"boolean", Type::boolean},
    {"int2", Type::int2},
    {"smallint", Type::int2},
    {"int4", Type::int4},
    {"int", Type::int4},
    {"integer", Type::int4},
    {"int8", Type::int8},
    {"bigint", Type::int8},
    {"numeric", Type::numeric},
    {"decimal", Type::numeric},
    {"float4", Type::float4},
    {"real", Type::float4},
    {"float8", Type::float8},
    {"double precision", Type::float8},
    {"text", Type::text},
    {"varchar", Type::text},
    {"character varying", Type::text},
    {"bpchar", Type::bpchar},
    {"character", Type::bpchar},
    {"uuid", Type::uuid},
    {"date", Type::date},
    {"timestamp", Type::timestamp},
    {"timestamp without time zone", Type::timestamp},
    {"timestamptz", Type::timestamptz},
    {"timestamp with time zone", Type::timestamptz},
    {"bytea", Type::bytea},
    {"jsonb", Type::jsonb},
    {"enum", Type::enumeration},
    {"unknown", Type::unknown},
}};

}  // namespace

std::optional<std::size_t> EnumType::find(std::string_view label) const {
  const auto found = std::find(labels.begin(), labels.end(), label);
  if (found == labels.end()) return std::nullopt;
  return static_cast<std::size_t>(found - labels.begin());
}

std::string_view name(Type type) {
  switch (type) {
    case Type::unknown:
      return "unknown";
    case Type::boolean:
      return "boolean";
    case Type::int2:
      return "smallint";
    case Type::int4:
      return "integer";
    case Type::int8:
      return "bigint";
    case Type::numeric:
      return "numeric";
    case Type::float4:
      return "real";
    case Type::float8:
      return "double precision";
    case Type::text:
      return "text";
    case Type::bpchar:
      return "character";
    case Type::uuid:
      return "uuid";
    case Type::date:
      return "date";
    case Type::timestamp:
      return "timestamp without time zone";
    case Type::timestamptz:
      return "timestamp with time zone";
    case Type::bytea:
      return "bytea";
    case Type::enumeration:
      return "enum";
    case Type::jsonb:
      return "jsonb";
    case Type::carried:
      return "carried";
  }
  return "carried";
}

std::string spelt(const FullType& type) {
  std::string out(type.labels ? std::string_view(type.labels->name) : name(type.type));
  if (type.array) out += "[]";
  return out;
}

std::string_view short_name(Type type) {
  for (const auto& [text, each] : spellings) {
    if (each == type) return text;
  }
  return "text";
}

FullType type_from_name(std::string_view spelling) {
  bool array = false;
  if (spelling.ends_with("[]")) {
    array = true;
    spelling.remove_suffix(2);
  } else if (spelling.starts_with("_")) {
    array = true;
    spelling.remove_prefix(1);
  }
  for (const auto& [text, type] : spellings) {
    if (text != spelling || type == Type::enumeration || type == Type::unknown) continue;
    // In a record's text an array of jsonb cannot be told from an array with more dimensions.
    if (array && type == Type::jsonb) break;
    return {type, array};
  }
  return {};
}

}  // namespace viewgate::projection
