#include "projection/condition_maker.hpp"

#include <algorithm>

#include "projection/json_text.hpp"
#include "projection/pushdown.hpp"

namespace viewgate::testing {
namespace {

using projection::encode_json_string;
using projection::is_integer;
using projection::is_number;
using projection::quote_literal;
using projection::Type;

const char* short_name(Type type) {
  switch (type) {
    case Type::boolean:
      return "bool";
    case Type::int2:
      return "int2";
    case Type::int4:
      return "int4";
    case Type::int8:
      return "int8";
    case Type::numeric:
      return "numeric";
    case Type::uuid:
      return "uuid";
    case Type::timestamptz:
      return "timestamptz";
    default:
      return "text";
  }
}

std::string object_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out = "{";
  for (const auto& [name, value] : members) out += (out.size() > 1 ? "," : "") + encode_json_string(name) + ":" + value;
  return out + "}";
}

}  // namespace

ConditionMaker::Condition ConditionMaker::condition() {
  params_.clear();
  claims_.clear();
  strict_ = true;
  Both made = truth(pick(4));
  return {std::move(made.model), std::move(made.sql), object_of(params_), object_of(claims_), strict_};
}

ConditionMaker::Condition ConditionMaker::printed_value() {
  params_ = {{"told", "\"\""}};
  claims_.clear();
  strict_ = true;
  static constexpr Type types[] = {Type::numeric, Type::numeric, Type::numeric,     Type::int2,   Type::int4,
                                   Type::int8,    Type::uuid,    Type::timestamptz, Type::boolean};
  const Both made = computed(one_of(types), 2);
  return {"(" + made.model + ")::text = params.told::text", "(" + made.sql + ")::text", object_of(params_),
          object_of(claims_), strict_};
}

std::string ConditionMaker::row() {
  static constexpr const char* moments[] = {"2024-01-02 03:04:05.6+05:30",
                                            "infinity",
                                            "-infinity",
                                            "abc",
                                            "0044-03-15 BC",
                                            "2024-02-30",
                                            "2024-01-01T00:00:00Z",
                                            "294276-12-31 23:59:59.999999+00",
                                            "294277-01-01",
                                            "4714-11-24 00:00:00+00 BC"};
  std::string out = "'s1'";
  for (const Type type : {Type::int2, Type::int4, Type::int8, Type::numeric, Type::text, Type::text}) {
    out += ", " + (chance(15) ? std::string("null") : sql_literal(type, text_of(type)));
  }
  out += ", " + (chance(15) ? std::string("null") : quote_literal(one_of(moments)));
  for (const Type type : {Type::boolean, Type::uuid, Type::timestamptz}) {
    out += ", " + (chance(15) ? std::string("null") : sql_literal(type, text_of(type)));
  }
  return out;
}

std::string ConditionMaker::text_of(Type type) {
  static constexpr const char* small[] = {"0", "1", "2", "-1", "7", "10", "-10", "32767", "-32768"};
  static constexpr const char* middle[] = {"0", "1", "3", "-1", "10", "100", "2147483647", "-2147483648", "40000"};
  static constexpr const char* large[] = {
      "0", "1", "-1", "10", "9007199254740993", "9223372036854775807", "-9223372036854775808"};
  static constexpr const char* decimals[] = {"0",          "1",      "1.5",
                                             "-1.5",       "2.5",    "10",
                                             "0.1",        "NaN",    "123456789.123456789",
                                             "1e30",       "-1e-20", "100",
                                             "32767.5",    "-0.5",   "9223372036854775807.5",
                                             "0.00012345", "1e-30"};
  static constexpr const char* texts[] = {"",
                                          "a",
                                          "B",
                                          "ab",
                                          "\xC3\xA9",
                                          "10",
                                          " 7 ",
                                          "-3",
                                          "1.5",
                                          "x'y",
                                          "back\\slash",
                                          "true",
                                          "f",
                                          "NaN",
                                          "99999999999",
                                          "2147483648",
                                          "1e5",
                                          "+5",
                                          "--5",
                                          "on",
                                          "00000000-0000-0000-0000-000000000001",
                                          "{A0EEBC99-9C0B4EF8-BB6D6BB9BD380A11}",
                                          "line\nfeed"};
  static constexpr const char* uuids[] = {"00000000-0000-0000-0000-000000000001",
                                          "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                                          "ffffffff-ffff-ffff-ffff-ffffffffffff"};
  static constexpr const char* moments[] = {"2024-01-02 03:04:05.6+00",
                                            "2000-01-01 00:00:00+00",
                                            "infinity",
                                            "-infinity",
                                            "0044-03-15 12:00:00+00 BC",
                                            "12345-06-07 08:09:10.123456+00",
                                            "1999-12-31 23:59:59.999999+00"};
  switch (type) {
    case Type::boolean:
      return chance(50) ? "true" : "false";
    case Type::int2:
      return one_of(small);
    case Type::int4:
      return one_of(middle);
    case Type::int8:
      return one_of(large);
    case Type::numeric:
      return one_of(decimals);
    case Type::uuid:
      return one_of(uuids);
    case Type::timestamptz:
      return one_of(moments);
    default:
      return one_of(texts);
  }
}

std::string ConditionMaker::json_of(Type type, const std::string& text) {
  if (type == Type::boolean || is_integer(type) || (type == Type::numeric && text != "NaN")) return text;
  return encode_json_string(text);
}

std::string ConditionMaker::sql_literal(Type type, const std::string& text) {
  return "(" + quote_literal(text) + "::" + short_name(type) + ")";
}

Type ConditionMaker::any_type() {
  static constexpr Type types[] = {Type::int2, Type::int4, Type::int4, Type::int8,    Type::numeric,    Type::numeric,
                                   Type::text, Type::text, Type::uuid, Type::boolean, Type::timestamptz};
  return one_of(types);
}

Type ConditionMaker::other_number(Type type) {
  static constexpr Type numbers[] = {Type::int2, Type::int4, Type::int8, Type::numeric};
  return is_number(type) && chance(60) ? one_of(numbers) : type;
}

ConditionMaker::Both ConditionMaker::truth(int depth) {
  if (depth > 0 && chance(60)) return junction(depth - 1);
  switch (pick(10)) {
    case 0:
      return list(depth);
    case 1:
      return between(depth);
    case 2:
      return quantified(depth);
    case 3: {
      const Both tested = value(any_type(), 1);
      const char* test = chance(50) ? " is null)" : " is not null)";
      return {"(" + tested.model + test, "(" + tested.sql + test};
    }
    case 4: {
      static constexpr const char* tests[] = {" is true)",     " is false)",     " is unknown)",
                                              " is not true)", " is not false)", " is not unknown)"};
      const Both tested = depth > 0 ? truth(depth - 1) : comparison(0);
      const char* test = one_of(tests);
      return {"(" + tested.model + test, "(" + tested.sql + test};
    }
    case 5:
      return value(Type::boolean, 1);
    default:
      return comparison(depth);
  }
}

ConditionMaker::Both ConditionMaker::junction(int depth) {
  if (chance(25)) {
    const Both inner = truth(depth);
    return {"(not " + inner.model + ")", "(not " + inner.sql + ")"};
  }
  strict_ = false;
  Both out{"(", "("};
  const std::string joint = chance(50) ? " and " : " or ";
  const int count = 2 + pick(2);
  for (int i = 0; i < count; ++i) {
    const Both operand = truth(depth);
    out.model += (i == 0 ? "" : joint) + operand.model;
    out.sql += (i == 0 ? "" : joint) + operand.sql;
  }
  return {out.model + ")", out.sql + ")"};
}

ConditionMaker::Both ConditionMaker::comparison(int depth) {
  static constexpr const char* operators[] = {
      "=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from", "="};
  const Type type = any_type();
  const Both left = value(type, 1 + depth / 2);
  const Both right = value(other_number(type), 1);
  const std::string op = std::string(" ") + one_of(operators) + " ";
  const std::string collation = type == Type::text ? " collate \"C\"" : "";
  return {"(" + left.model + op + right.model + ")", "(" + left.sql + collation + op + right.sql + ")"};
}

ConditionMaker::Both ConditionMaker::list(int depth) {
  strict_ = false;
  const Type type = any_type();
  const Both left = value(type, 1 + depth / 2);
  const std::string op = chance(50) ? " in (" : " not in (";
  Both out{"(" + left.model + op, "(" + left.sql + (type == Type::text ? " collate \"C\"" : "") + op};
  const int count = 1 + pick(4);
  for (int i = 0; i < count; ++i) {
    const Both item = chance(15) ? Both{"null", "null"} : chance(70) ? literal(other_number(type)) : value(type, 1);
    out.model += (i == 0 ? "" : ", ") + item.model;
    out.sql += (i == 0 ? "" : ", ") + item.sql;
  }
  return {out.model + "))", out.sql + "))"};
}

ConditionMaker::Both ConditionMaker::between(int depth) {
  strict_ = false;
  const Type type = any_type();
  const Both middle = value(type, 1 + depth / 2);
  const Both low = value(other_number(type), 1);
  const Both high = value(other_number(type), 1);
  const std::string op = chance(70) ? " between " : " not between ";
  const std::string collation = type == Type::text ? " collate \"C\"" : "";
  return {"(" + middle.model + op + low.model + " and " + high.model + ")",
          "(" + middle.sql + collation + op + low.sql + " and " + high.sql + ")"};
}

ConditionMaker::Both ConditionMaker::quantified(int depth) {
  static constexpr const char* operators[] = {"=", "=", "<>", "<", ">="};
  strict_ = false;
  const Type type = any_type();
  const Both left = value(type, 1 + depth / 2);
  const Both right = array(type);
  const std::string op = std::string(" ") + one_of(operators) + (chance(70) ? " any(" : " all(");
  const std::string collation = type == Type::text ? " collate \"C\"" : "";
  return {"(" + left.model + op + right.model + "))", "(" + left.sql + collation + op + right.sql + "))"};
}

ConditionMaker::Both ConditionMaker::array(Type type) {
  const std::string name = "a" + std::to_string(params_.size() + claims_.size());
  const bool is_claim = chance(30);
  auto& members = is_claim ? claims_ : params_;
  const std::string cast = std::string("::") + short_name(type) + "[]";
  const std::string model = (is_claim ? "claims." : "params.") + name + (chance(50) ? cast : "");
  if (chance(10)) {
    members.emplace_back(name, "null");
    return {model, "null" + cast};
  }
  std::string json = "[";
  std::string sql = "(array[";
  const int count = pick(4);
  for (int i = 0; i < count; ++i) {
    const bool null = chance(15);
    const std::string text = text_of(type);
    json += (i == 0 ? "" : ",") + (null ? std::string("null") : json_of(type, text));
    sql += (i == 0 ? "" : ",") + (null ? std::string("null") : sql_literal(type, text));
  }
  members.emplace_back(name, json + "]");
  return {model, sql + "]" + cast + ")"};
}

ConditionMaker::Both ConditionMaker::value(Type type, int depth) {
  if (depth > 0 && chance(30)) return computed(type, depth - 1);
  switch (pick(6)) {
    case 0:
      return literal(type);
    case 1:
      return parameter(type);
    case 2:
      return claim(type);
    default:
      return column(type);
  }
}

ConditionMaker::Both ConditionMaker::column(Type type) {
  std::string name;
  switch (type) {
    case Type::boolean:
      name = "b";
      break;
    case Type::int2:
      name = "i2";
      break;
    case Type::int4:
      name = chance(80) ? "i4" : "id";
      break;
    case Type::int8:
      name = "i8";
      break;
    case Type::numeric:
      name = "n";
      break;
    case Type::uuid:
      name = "u";
      break;
    case Type::timestamptz:
      name = "ts";
      break;
    default:
      name = chance(70) ? "s" : "vc";
      break;
  }
  return {name, "t." + name};
}

ConditionMaker::Both ConditionMaker::computed(Type type, int depth) {
  if (!is_number(type) || chance(35)) return cast(type, depth);
  if (chance(15)) {
    const Both inner = column(type);
    return {"(- " + inner.model + ")", "(- " + inner.sql + ")"};
  }
  static constexpr const char* operators[] = {" + ", " - ", " * ", " / ", " % "};
  const std::string op = one_of(operators);
  const Both left = column(type);
  Type narrower = type;
  if (type == Type::int4 && chance(40)) narrower = Type::int2;
  if (type == Type::int8 && chance(40)) narrower = Type::int4;
  if (type == Type::numeric && chance(40)) narrower = Type::int8;
  const Both right = value(narrower, depth);
  return {"(" + left.model + op + right.model + ")", "(" + left.sql + op + right.sql + ")"};
}

/// Always of something with a column in it: what is constant and fails is refused when the model is loaded.
ConditionMaker::Both ConditionMaker::cast(Type to, int depth) {
  static constexpr Type numbers[] = {Type::int2, Type::int4, Type::int8, Type::numeric, Type::text};
  static constexpr Type printed[] = {Type::int2,    Type::int4, Type::numeric,
                                     Type::boolean, Type::uuid, Type::timestamptz};
  Both from;
  if (is_number(to)) {
    const Type source = to == Type::int4 && chance(20) ? Type::boolean : one_of(numbers);
    from = depth > 0 && is_number(source) ? computed(source, depth - 1) : column(source);
  } else if (to == Type::text) {
    from = column(one_of(printed));
  } else if (to == Type::boolean) {
    from = column(chance(50) ? Type::int4 : Type::text);
  } else if (to == Type::timestamptz) {
    from = {"moment", "t.moment"};
  } else {
    from = column(Type::text);
  }
  const std::string spelt = std::string("::") + short_name(to) + ")";
  return {"(" + from.model + spelt, "(" + from.sql + spelt};
}

ConditionMaker::Both ConditionMaker::literal(Type type) {
  if (chance(5)) {
    strict_ = false;
    const std::string null = std::string("(null::") + short_name(type) + ")";
    return {null, null};
  }
  const std::string text = text_of(type);
  if (is_integer(type)) return {"(" + quote_literal(text) + "::" + short_name(type) + ")", sql_literal(type, text)};
  if (type == Type::boolean) return {text, text};
  if (type == Type::numeric && text != "NaN") return {"(" + text + ")::numeric", "(" + text + ")::numeric"};
  return {sql_literal(type, text), sql_literal(type, text)};
}

ConditionMaker::Both ConditionMaker::parameter(Type type) {
  const std::string name = "p" + std::to_string(params_.size());
  const std::string reference = "params." + name + "::" + short_name(type);
  if (chance(8)) {
    strict_ = false;
    params_.emplace_back(name, "null");
    return {reference, std::string("(null::") + short_name(type) + ")"};
  }
  const std::string text = text_of(type);
  params_.emplace_back(name, json_of(type, text));
  return {reference, sql_literal(type, text)};
}

ConditionMaker::Both ConditionMaker::claim(Type type) {
  const std::string name = "c" + std::to_string(claims_.size());
  const std::string reference = "claims." + name + "::" + short_name(type);
  if (chance(10)) {
    strict_ = false;
    if (chance(50))
      claims_.emplace_back(name, "null");  // else absent: NULL as well
    else
      claims_.emplace_back(name + "other", "1");
    return {reference, std::string("(null::") + short_name(type) + ")"};
  }
  const std::string text = text_of(type);
  claims_.emplace_back(name, chance(50) ? encode_json_string(text) : json_of(type, text));
  return {reference, sql_literal(type, text)};
}

}  // namespace viewgate::testing
