#include "projection/type.hpp"

#include <array>
#include <utility>

namespace viewgate::projection {
namespace {

constexpr std::array<std::pair<std::string_view, Type>, 17> spellings{{
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
    {"text", Type::text},
    {"varchar", Type::text},
    {"character varying", Type::text},
    {"uuid", Type::uuid},
    {"timestamptz", Type::timestamptz},
    {"timestamp with time zone", Type::timestamptz},
}};

}  // namespace

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
    case Type::text:
      return "text";
    case Type::uuid:
      return "uuid";
    case Type::timestamptz:
      return "timestamp with time zone";
    case Type::carried:
      return "carried";
  }
  return "carried";
}

Type type_from_name(std::string_view spelling) {
  for (const auto& [text, type] : spellings) {
    if (text == spelling) return type;
  }
  return Type::carried;
}

}  // namespace viewgate::projection
