// Goal: three-valued logic with the error as a fourth value, and PostgreSQL's semantics of each type, case by case.
// Method: tables. The differential test asks PostgreSQL itself; here stands what must never change.
#include <gtest/gtest.h>

#include <array>

#include "projection/fixture.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;

constexpr Truth no = Truth::no;
constexpr Truth yes = Truth::yes;
constexpr Truth unknown = Truth::unknown;
constexpr Truth error = Truth::error;

TEST(FourTruthValues, and_is_decided_by_no_then_by_error) {
  constexpr std::array<Truth, 4> order{no, yes, unknown, error};
  constexpr Truth table[4][4] = {
      {no, no, no, no}, {no, yes, unknown, error}, {no, unknown, unknown, error}, {no, error, error, error}};
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) EXPECT_EQ(truth_and(order[a], order[b]), table[a][b]) << a << " and " << b;
  }
}

TEST(FourTruthValues, or_is_decided_by_yes_then_by_error) {
  constexpr std::array<Truth, 4> order{no, yes, unknown, error};
  constexpr Truth table[4][4] = {
      {no, yes, unknown, error}, {yes, yes, yes, yes}, {unknown, yes, unknown, error}, {error, yes, error, error}};
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) EXPECT_EQ(truth_or(order[a], order[b]), table[a][b]) << a << " or " << b;
  }
  EXPECT_EQ(truth_not(unknown), unknown);
  EXPECT_EQ(truth_not(error), error);
}

struct Decision {
  const char* condition;
  const char* record;
  std::optional<bool> inside;  ///< nothing: an error, so outside and counted
};

void check(const char* columns, std::initializer_list<Decision> decisions) {
  for (const Decision& each : decisions) {
    SCOPED_TRACE(std::string(each.condition) + " on " + each.record);
    EXPECT_EQ(decide(*group_where(columns, "id", each.condition), each.record), each.inside);
  }
}

// cases.md 13, as PostgreSQL 15 answers; JSON null and a missing member are both NULL.
TEST(Cases, case_13_null_in_filters) {
  constexpr const char* columns = "id int primary key, x text, n int";
  constexpr const char* null = R"({"id": 1, "x": null})";
  constexpr const char* missing = R"({"id": 1})";
  constexpr const char* a = R"({"id": 1, "x": "a"})";
  constexpr const char* b = R"({"id": 1, "x": "b"})";
  check(columns, {{"x <> 'a'", null, false},
                  {"x <> 'a'", missing, false},
                  {"x <> 'a'", a, false},
                  {"x <> 'a'", b, true},
                  {"not (x = 'a')", null, false},
                  {"not (x = 'a')", missing, false},
                  {"not (x = 'a')", a, false},
                  {"not (x = 'a')", b, true},
                  {"x is distinct from 'a'", null, true},
                  {"x is distinct from 'a'", missing, true},
                  {"x is distinct from 'a'", a, false},
                  {"x is distinct from 'a'", b, true},
                  {"n not in (2, null)", R"({"id": 1, "n": 1})", false},
                  {"n not in (2, null)", R"({"id": 1, "n": 2})", false},
                  {"1 not in (2, null)", b, false},
                  {"n in (2, null)", R"({"id": 1, "n": 2})", true},
                  {"n in (2, null)", R"({"id": 1, "n": 1})", false},
                  {"(n in (2, null)) is unknown", R"({"id": 1, "n": 1})", true}});
}

TEST(Evaluate, an_error_is_outside_unless_the_rest_decides) {
  constexpr const char* columns = "id int primary key, n int, s text";
  check(columns, {{"10 / n > 1", R"({"id": 1, "n": 2})", true},
                  {"10 / n > 1", R"({"id": 1, "n": 0})", std::nullopt},
                  {"not (10 / n > 1)", R"({"id": 1, "n": 0})", std::nullopt},
                  {"n <> 0 and 10 / n > 1", R"({"id": 1, "n": 0})", false},
                  {"10 / n > 1 and n <> 0", R"({"id": 1, "n": 0})", false},
                  {"n = 0 or 10 / n > 1", R"({"id": 1, "n": 0})", true},
                  {"10 / n > 1 or n = 0", R"({"id": 1, "n": 0})", true},
                  {"10 / n > 1 or n = 1", R"({"id": 1, "n": 0})", std::nullopt},
                  {"(10 / n) is null", R"({"id": 1, "n": 0})", std::nullopt},
                  {"(10 / n > 1) is not true", R"({"id": 1, "n": 0})", std::nullopt},
                  {"s::int > 5", R"({"id": 1, "s": "7"})", true},
                  {"s::int > 5", R"({"id": 1, "s": "seven"})", std::nullopt},
                  {"n + 1 > 0", R"({"id": 1, "n": 2147483647})", std::nullopt},
                  {"n::int8 + 1 > 0", R"({"id": 1, "n": 2147483647})", true}});
}

TEST(Evaluate, numbers_are_exact_beyond_doubles) {
  constexpr const char* columns = "id int primary key, big int8, n numeric";
  check(columns, {{"big = 9007199254740993", R"({"id": 1, "big": 9007199254740993})", true},
                  {"big = 9007199254740992", R"({"id": 1, "big": 9007199254740993})", false},
                  {"n = 1.1", R"({"id": 1, "n": 1.10})", true},
                  {"n = 0", R"({"id": 1, "n": -0.00})", true},
                  {"n > 1e399", R"({"id": 1, "n": 1e400})", true},
                  {"n > big", R"({"id": 1, "n": 9223372036854775807.5, "big": 9223372036854775807})", true},
                  {"n = 'NaN'", R"({"id": 1, "n": "NaN"})", true},
                  {"n > 'Infinity'", R"({"id": 1, "n": "NaN"})", true},
                  {"n < '-1e1000'", R"({"id": 1, "n": "-Infinity"})", true},
                  {"n / 3 = 0.33333333333333333333", R"({"id": 1, "n": 1})", true},
                  {"n % 2 = -1.5", R"({"id": 1, "n": -7.5})", true},
                  {"n::int4 = 3", R"({"id": 1, "n": 2.5})", true},
                  {"n::int4 = -3", R"({"id": 1, "n": -2.5})", true},
                  {"n::text = '1.10'", R"({"id": 1, "n": 1.10})", true},
                  {"big % 10 = -3", R"({"id": 1, "big": -13})", true}});
}

TEST(Evaluate, texts_compare_by_bytes) {
  constexpr const char* columns = "id int primary key, s text";
  check(columns, {{"s < 'a'", R"({"id": 1, "s": "B"})", true},
                  {"s > 'z'", "{\"id\": 1, \"s\": \"\xC3\xA9\"}", true},
                  {"s = 'it''s'", R"({"id": 1, "s": "it's"})", true},
                  {R"(s = 'a\b')", R"({"id": 1, "s": "a\\b"})", true},
                  {"s = 'a%'", R"({"id": 1, "s": "abc"})", false},
                  {"s = '\xF0\x9F\x98\x80'", R"({"id": 1, "s": "\ud83d\ude00"})", true},
                  {"s = ''", R"({"id": 1, "s": null})", false},
                  {"s = 'a '", R"({"id": 1, "s": "a"})", false}});
}

TEST(Evaluate, instants_compare_across_zones_and_eras) {
  constexpr const char* columns = "id int primary key, at timestamptz, u uuid, b boolean";
  check(columns, {{"at = '2024-01-02 03:04:05.6+00'", R"({"id": 1, "at": "2024-01-02T08:34:05.6+05:30"})", true},
                  {"at < '0001-01-01 00:00:00+00'", R"({"id": 1, "at": "0044-03-15T00:00:00+00:00 BC"})", true},
                  {"at > '9999-12-31 00:00:00+00'", R"({"id": 1, "at": "infinity"})", true},
                  {"at > '9999-12-31 00:00:00+00'", R"({"id": 1, "at": "10000-01-01T00:00:00+00:00"})", true},
                  {"at < '4713-01-01 00:00:00+00 BC'", R"({"id": 1, "at": "-infinity"})", true},
                  {"u = '{A0EEBC99-9C0B4EF8-BB6D6BB9BD380A11}'",
                   R"({"id": 1, "u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"})", true},
                  {"u > 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a10'",
                   R"({"id": 1, "u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"})", true},
                  {"b", R"({"id": 1, "b": true})", true},
                  {"b is not false", R"({"id": 1})", true},
                  {"b = (id = 1)", R"({"id": 1, "b": true})", true}});
}

TEST(Evaluate, a_value_of_another_type_than_its_column_is_an_error) {
  constexpr const char* columns = "id int primary key, n int, at timestamptz";
  check(columns, {{"n = 1", R"({"id": 1, "n": "1"})", std::nullopt},
                  {"n = 1", R"({"id": 1, "n": 1.0})", true},
                  {"n = 1", R"({"id": 1, "n": 1.5})", std::nullopt},
                  {"n = 1", R"({"id": 1, "n": 2147483648})", std::nullopt},
                  {"n is null", R"({"id": 1, "n": [1]})", std::nullopt},
                  {"at is not null", R"({"id": 1, "at": "tomorrow"})", std::nullopt}});
}

TEST(Numeric, text_and_canonical_form) {
  struct Row {
    const char* in;
    const char* text;
    const char* canonical;
  };
  for (const Row& row : std::initializer_list<Row>{{"1.10", "1.10", "11e-1"},
                                                   {" -0 ", "0", "0"},
                                                   {"-0.00", "0.00", "0"},
                                                   {"1e3", "1000", "1e3"},
                                                   {"1.5e1", "15", "15e0"},
                                                   {".5", "0.5", "5e-1"},
                                                   {"00012.", "12", "12e0"},
                                                   {"1E-5", "0.00001", "1e-5"},
                                                   {"nan", "NaN", "NaN"},
                                                   {"-inf", "-Infinity", "-Infinity"}}) {
    const auto value = Numeric::parse(row.in);
    ASSERT_TRUE(value) << row.in;
    EXPECT_EQ(value->text(), row.text) << row.in;
    EXPECT_EQ(value->canonical(), row.canonical) << row.in;
  }
  for (const char* text :
       {"", "-", ".", "1e", "1e+-5", "0x10", "1_000", "1 2", "--1", "-nan", "1e200000", "1e99999999999"}) {
    EXPECT_FALSE(Numeric::parse(text)) << text;
  }
  EXPECT_EQ(Numeric::parse("1e-20000")->text().size(), 2 + 16383U);
}

}  // namespace
}  // namespace viewgate::testing
