// Goal: the types and functions without a database, so that sanitizers see them; what a view computes reaches clients as
// to_jsonb prints it. Method: tables of expressions with the values that PostgreSQL 15 gives. That all of it is exact is
// what the differential test shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "projection/fixture.hpp"
#include "projection/regex.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;

constexpr const char* columns =
    "id int4 primary key, s text, ch char(6), b bool, i2 int2, i8 int8, n numeric, f4 float4, f8 float8, d date, "
    "ts timestamp, tz timestamptz, y bytea, j jsonb, st text[], it int4[]";
constexpr const char* record =
    R"({"b": true, "d": "2024-01-31", "j": {"a": [1, {"b": null}], "n": 1.10, "s": "x"}, "n": 2.50, "s": "Été %", )"
    R"("y": "\\x00ff", "ch": "ab    ", "f4": 0.1, "f8": 1e22, "i2": -7, "i8": 9007199254740993, "id": 1, )"
    R"("it": [[3, 1], [2, null]], "st": ["a", "B", null], "ts": "2024-01-02T03:04:05.6", )"
    R"("tz": "2024-01-02T03:04:05.6+00:00"})";

struct Computed {
  const char* expression;
  const char* json;  ///< "error": it cannot be computed, and the record is outside
};

TEST(Language, computed_columns_have_postgresql_s_values_and_to_jsonb_s_text) {
  for (const Computed& each :
       std::initializer_list<Computed>{{"lower(s)", R"("Été %")"},
                                       {"upper(s || 'é')", R"("ÉTé %é")"},
                                       {"length(s) + octet_length(s)", "12"},
                                       {"left(s, -2) || right(s, 1)", R"("Été%")"},
                                       {"substr(s, 0, 3)", R"("Ét")"},
                                       {"substr(s, 2, i2)", "error"},
                                       {"substring(s from 3)", R"("é %")"},
                                       {"position('t' in s)", "2"},
                                       {"trim(both 'É%' from s)", R"("té ")"},
                                       {"ch::text || '|'", R"("ab|")"},
                                       {"length(ch)", "2"},
                                       {"starts_with(s, 'É')", "true"},
                                       {"s like '_t%\\%'", "true"},
                                       {"s like s || '\\'", "error"},
                                       {"s ilike 'É_É \\%'", "false"},
                                       {"s ~ '^.t. %$' and s !~* 'x'", "true"},
                                       {"i2 / 2", "-3"},
                                       {"i2 % 2", "-1"},
                                       {"abs(i2) + 0.50", "7.50"},
                                       {"i8 * 9007199254740993", "error"},
                                       {"n / 3", "0.83333333333333333333"},
                                       {"f4 + 0", "0.10000000149011612"},
                                       {"f4 * f4", "0.010000001"},
                                       {"f8 * 1e300", "error"},
                                       {"f8::int8", "error"},
                                       {"(f4 * 25)::int4", "3"},
                                       {"f8 / 0", "error"},
                                       {"f4::numeric", "0.1"},
                                       {"- f8", "-10000000000000000000000"},
                                       {"'NaN'::float8 > f8", "true"},
                                       {"d + 1", R"("2024-02-01")"},
                                       {"d - '2023-12-31'", "31"},
                                       {"d::timestamptz", R"("2024-01-31T00:00:00+00:00")"},
                                       {"tz::date", R"("2024-01-02")"},
                                       {"greatest(d, ts)", R"("2024-01-31T00:00:00")"},
                                       {"coalesce(nullif(s, s), 'none')", R"("none")"},
                                       {"case i2 when -7 then 'seven' when 8 then 'eight' end", R"("seven")"},
                                       {"case when b then null else n end", "null"},
                                       {"least(i8, n)", "2.50"},
                                       {"y", R"("\\x00ff")"},
                                       {"y > '\\x00'", "true"},
                                       {"j -> 'a' -> -1", R"({"b": null})"},
                                       {"j -> 'a' -> 1 ->> 'b'", "null"},
                                       {"j ->> 'n'", R"("1.10")"},
                                       {"(j ->> 'n')::numeric = 1.1", "true"},
                                       {"(j -> 'n')::float8", "1.1"},
                                       {"(j -> 's')::int4", "error"},
                                       {"j @> '{\"a\": [{}], \"n\": 1.1}'", "true"},
                                       {"j ?& array['a', 'n'] and not j ? 'z'", "true"},
                                       {"jsonb_typeof(j -> 'a')", R"("array")"},
                                       {"'{\"b\": 1e2, \"a\": 1, \"b\": 1.0}'::jsonb", R"({"a": 1, "b": 1.0})"},
                                       {"st", R"(["a", "B", null])"},
                                       {"st @> array['B'] and not st && array['c']", "true"},
                                       {"2 = any(it) and cardinality(it) = 4", "true"},
                                       {"5 <> all(it)", "null"},
                                       {"(i2, n) < (-7, 2.6)", "true"},
                                       {"(i2, n) in ((1, 2), (-7, 2.5))", "true"}}) {
    const ModelPtr model =
        parse_or_throw("create table r (" + std::string(columns) + "); create view v as select id, " + each.expression +
                       " as x from r; create policy p on v using (true)");
    const GroupPtr group = projection::bind(*model, "v", "{}", "{}", "s1").value().group;
    const auto snapshot = group->snapshot_record(record).value();
    const std::string expected = std::string(R"({"key":[1],"record":{"id":1,"x":)") + each.json + "}}";
    EXPECT_EQ(snapshot.value_or("error"), std::string_view(each.json) == "error" ? "error" : expected)
        << each.expression;
    EXPECT_EQ(group->evaluation_errors(), snapshot ? 0U : 1U) << each.expression;
  }
}

TEST(Language, values_that_are_equal_are_one_group_and_others_are_not) {
  const auto id = [](const char* condition, const char* params) {
    return group_where(columns, "id", condition, params)->id();
  };
  EXPECT_EQ(id("f8 = params.x", R"({"x": 0})"), id("f8 = params.x", R"({"x": "-0"})"));
  EXPECT_EQ(id("f8 = params.x", R"({"x": "NaN"})"), id("f8 = params.x", R"({"x": "nan"})"));
  EXPECT_EQ(id("f4 = params.x", R"({"x": 0.1})"), id("f4 = params.x", R"({"x": 0.100000001})"));
  EXPECT_NE(id("f8 = params.x", R"({"x": 0.1})"), id("f8 = params.x", R"({"x": 0.100000001})"));
  EXPECT_EQ(id("ch = params.x", R"({"x": "a"})"), id("ch = params.x", R"({"x": "a  "})"));
  EXPECT_NE(id("s = params.x", R"({"x": "a"})"), id("s = params.x", R"({"x": "a  "})"));
  EXPECT_EQ(id("tz = params.x", R"({"x": "2024-01-02 01:00:00+01"})"), id("tz = params.x", R"({"x": "2024-01-02"})"));
  EXPECT_EQ(id("y = params.x", R"({"x": "\\x61"})"), id("y = params.x", R"({"x": "a"})"));
  EXPECT_EQ(id("st && params.x", R"({"x": ["a", "b"]})"), id("st && params.x::text[]", R"({"x": ["a", "b"]})"));
}

TEST(Language, a_number_and_a_date_are_found_by_their_equals) {
  const auto inside = [](const char* condition, const char* params) {
    return decide(*group_where(columns, "id", condition, params), record);
  };
  EXPECT_EQ(inside("f4 = params.x", R"({"x": 0.1})"), true);
  EXPECT_EQ(inside("f4 = 0.1", "{}"), false) << "PostgreSQL compares double precision here";
  EXPECT_EQ(inside("f4 in (0.1, 0.2)", "{}"), true) << "and here real, as the list is";
  EXPECT_EQ(inside("d = params.x::timestamptz", R"({"x": "2024-01-31 01:00:00+01"})"), true);
  EXPECT_EQ(inside("j = params.x", R"({"x": {"s": "x", "n": 1.1, "a": [1, {"b": null}]}})"), true);
}

struct Pattern {
  const char* pattern;
  const char* text;
  bool matches;
};

TEST(Language, regular_expressions_match_as_in_postgresql) {
  for (const Pattern& each : std::initializer_list<Pattern>{{"a.c", "a\nc", true},
                                                            {"^b", "a\nb", false},
                                                            {"a$", "a\nb", false},
                                                            {"^(a|b)+$", "abab", true},
                                                            {"[]x-]", "]", true},
                                                            {"[^a-y]", "abc", false},
                                                            {"\\s", "\v", true},
                                                            {"\\w", "é", false},
                                                            {"^\\W$", "é", true},
                                                            {"x{2,3}y", "xxy", true},
                                                            {"^[é]$", "é", true},
                                                            {"a\\.b", "axb", false},
                                                            {"}", "}", true}}) {
    const auto compiled = Regex::compile(each.pattern, Regex::Case::sensitive);
    ASSERT_TRUE(std::holds_alternative<RegexPtr>(compiled)) << std::get<std::string>(compiled);
    EXPECT_EQ(std::get<RegexPtr>(compiled)->matches(each.text), each.matches) << each.pattern << " " << each.text;
  }
  const auto ignoring = std::get<RegexPtr>(Regex::compile("^[K]k$", Regex::Case::ignored));
  EXPECT_TRUE(ignoring->matches("kK"));
  EXPECT_FALSE(ignoring->matches("\u212A\u212A")) << "the Kelvin sign is no k in the C collation";
}

TEST(Language, a_pattern_that_could_mean_something_else_is_refused) {
  for (const char* pattern : {"",           "a|",     "()",  "(?i)a", "(?=a)",   "a*?", "a**",         "{1}",   "a{1",
                              "a{2,1}",     "a{256}", "\\1", "\\y",   "\\u00e9", "[a",  "[[:alpha:]]", "[\\d]", "[z-a]",
                              "[a-\u00e9]", "(",      ")",   "a)",    "***:x",   "^*",  "\\"}) {
    EXPECT_TRUE(std::holds_alternative<std::string>(Regex::compile(pattern, Regex::Case::sensitive))) << pattern;
  }
  EXPECT_TRUE(std::holds_alternative<std::string>(Regex::compile(std::string(60, '(') + std::string(60, ')'), {})));
}

}  // namespace
}  // namespace viewgate::testing
