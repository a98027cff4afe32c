// Goal: what a client writes becomes exactly the text that PostgreSQL's to_jsonb prints for that type, and what PostgreSQL
// would refuse is refused here. Method: each value is put to both.
#include <gmock/gmock.h>

#include <random>
#include <set>

#include "projection/column_value.hpp"
#include "projection/fixture.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;

constexpr std::string_view columns =
    "id int4 primary key, boolean bool, small int2, middle int4, big int8, amount numeric, label text, name varchar, "
    "uid uuid, at timestamptz, due date, doc jsonb, ratio float8, small_ratio float4, local timestamp";

class ColumnValues : public ::testing::Test {
 protected:
  ColumnValues() : session_(PostgresCluster::shared().create_empty_database()) {
    session_.run("set timezone = 'UTC'; set client_min_messages = error");
  }

  /// As our column's value; nothing: refused.
  std::optional<std::string> ours(const std::string& column, const std::string& json) {
    const auto value = parse_json(json);
    if (!value) return std::nullopt;
    std::string out;
    if (append_column_value(out, *table_, table_->find_column(column).value(), *value, ValueLimits{}))
      return std::nullopt;
    return out;
  }
  /// As PostgreSQL's; nothing: it raises.
  std::optional<std::string> theirs(const std::string& column, const std::string& json) {
    const std::string type = table_->type_names[table_->find_column(column).value()];
    const std::string text = type == "jsonb"
                                 ? "select $1::jsonb::text"
                                 : "select coalesce(to_jsonb(($1::jsonb #>> '{}')::" + type + "), 'null')::text";
    try {
      return session_.value(text, {json});
    } catch (const PgError&) {
      return std::nullopt;
    }
  }
  void expect_same(const std::string& column, const std::vector<std::string>& values) {
    for (const std::string& json : values) {
      EXPECT_EQ(ours(column, json), theirs(column, json)) << column << " of " << json;
    }
  }

  ModelPtr model_ = parse_or_throw("create table r (" + std::string(columns) +
                                   "); create policy w on r for all using (true) with check (true)");
  std::shared_ptr<const Table> table_ = model_->tables.find("r")->second;
  PgSession session_;
};

TEST_F(ColumnValues, are_printed_as_postgresql_prints_them) {
  expect_same("boolean", {"true", "false", "null"});
  for (const char* column : {"small", "middle", "big"}) {
    expect_same(column, {"0", "-1", "32767", "32768", "-32768", "-32769", "2147483647", "2147483648", "-2147483649",
                         "9223372036854775807", "9223372036854775808", "-9223372036854775808", "null", "[]", "{}"});
  }
  expect_same("big", {R"("9007199254740993")", R"("-5")", R"("x")", R"("")", R"("9223372036854775808")"});
  expect_same("amount", {"0",
                         "-0",
                         "-0.0",
                         "1.10",
                         "1.100",
                         "0.1",
                         "1e2",
                         "1E+2",
                         "1e-7",
                         "1.5e3",
                         "1e400",
                         "1e131071",
                         "1e131072",
                         "1e-16382",
                         "1e-16384",
                         "18446744073709551616",
                         "0.30000000000000004",
                         R"("1.10")",
                         R"("1e400")",
                         R"("-12.50")",
                         R"("abc")",
                         R"("")",
                         R"("1.2.3")",
                         "null",
                         "[1]"});
  for (const char* column : {"ratio", "small_ratio"}) {
    expect_same(column, {"0", "0.1", "1.10", "-2.5e-7", "1e30", "16777217", "0.30000000000000004", "123456.789",
                         "1e400", "-1e400", "null", "[]"});
  }
  expect_same("ratio", {"-0", "-0.0", "1e300", "5e-324", "1e-400", "9007199254740993"});
  expect_same("local", {R"("2024-01-02 03:04:05.60")", R"("2024-01-02T03:04:05")", R"("infinity")", R"("2024-02-30")",
                        R"("x")"});
  for (const char* column : {"label", "name"}) {
    expect_same(column, {R"("")", R"("plain")", R"("é 😀 \u00e9 \ud83d\ude00")", R"("\"\\\/\b\f\n\r\t\u001f\u007f")",
                         R"("\u0000")", R"("\ud800")", R"("\udc00x")", R"("; drop table r; -- '$1")", R"("a\u2028b")"});
  }
  expect_same("uid", {R"("7F0C0AD2-9D2A-4F0E-8A3B-2B3D6C1E4F55")", R"("{7f0c0ad29d2a4f0e8a3b2b3d6c1e4f55}")",
                      R"("7f0c-0ad2-9d2a-4f0e-8a3b-2b3d-6c1e-4f55")", R"("7f0c")", R"("")", "7"});
  expect_same("at", {R"("2024-01-02 03:04:05.6+05:30")", R"("2024-01-02T03:04:05Z")", R"("2024-01-02")",
                     R"("2024-01-02 03:04:05.123456")", R"("infinity")", R"("-infinity")",
                     R"("0044-03-15 12:00:00+00 BC")", R"("2024-02-30")", R"("2024-01-02 25:00")", R"("")", R"("x")"});
  expect_same("due", {R"("2024-01-02")", R"("0044-03-15 BC")", R"("infinity")", R"("2024-02-30")", R"("")", R"("x")"});
}

TEST_F(ColumnValues, of_jsonb_keep_every_digit_and_take_its_order) {
  expect_same("doc", {"{}", "[]", "[[], {}]", R"({"b":1,"a":2,"aa":3,"B":4})",
                      R"({ "n" : 9007199254740993 , "m":1.10})", R"([1,1.0,1e2,-0,1E-3,18446744073709551616])",
                      R"({"é":"\u00e9","":{"x":[null,true,false]}})", R"({"\n":"\u001f"})", R"({"a":"\u0000"})",
                      R"({"a\u0000":1})", R"(["\ud800"])", R"({"x":1e131072})", R"("text")", "5", "true"});
}

TEST_F(ColumnValues, random_ones_are_the_same_text) {
  const unsigned seed = seed_from_environment();
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::vector<std::string> texts{"", "a", "é", "\\n", "\\\"", "\\u0001", "😀", "0", " "};
  const auto number = [&] {
    std::string out = below(2) == 0 ? "-" : "";
    out += std::to_string(random() >> below(60));
    if (below(2) == 0) out += "." + std::to_string(random() >> below(60));
    if (below(3) == 0) out += (below(2) == 0 ? "e" : "E-") + std::to_string(below(30));
    return out;
  };
  const std::function<std::string(int)> json = [&](int depth) -> std::string {
    switch (below(depth > 3 ? 4 : 6)) {
      case 0:
        return number();
      case 1:
        return '"' + texts[below(texts.size())] + texts[below(texts.size())] + '"';
      case 2:
        return "null";
      case 3:
        return below(2) == 0 ? "true" : "false";
      case 4: {
        std::string out = "[";
        for (std::size_t i = below(4); i > 0; --i) out += json(depth + 1) + (i > 1 ? "," : "");
        return out + "]";
      }
      default: {
        std::string out = "{";
        std::set<std::string> names;
        for (std::size_t i = below(5); i > 0; --i) names.insert(texts[below(texts.size())] + texts[below(3)]);
        for (const std::string& name : names)
          out += (out.size() > 1 ? "," : "") + ('"' + name + "\":") + json(depth + 1);
        return out + "}";
      }
    }
  };
  for (int i = 0; i < 2000; ++i) {
    expect_same("doc", {json(0)});
    expect_same("amount", {number()});
    if (HasFailure()) break;
  }
}

TEST_F(ColumnValues, row_34_what_a_column_cannot_hold_is_refused_by_what_it_must_be) {
  const auto fault = [&](const std::string& column, const std::string& json) {
    std::string out;
    ValueLimits limits;
    limits.record_bytes = 2000;
    limits.depth = 3;
    return append_column_value(out, *table_, table_->find_column(column).value(), parse_json(json).value(), limits)
        .value_or("");
  };
  EXPECT_EQ(fault("boolean", "\"true\""), "must be true or false");
  EXPECT_EQ(fault("small", "40000"), "must be a whole number from -32768 to 32767");
  EXPECT_EQ(fault("middle", "1.5"), "must be a whole number from -2147483648 to 2147483647");
  EXPECT_EQ(fault("middle", "\"1\""), "must be a whole number from -2147483648 to 2147483647");
  EXPECT_EQ(fault("amount", "\"NaN\""), "must be a finite number that numeric can hold, as a number or a string");
  EXPECT_EQ(fault("amount", "\"Infinity\""), "must be a finite number that numeric can hold, as a number or a string");
  EXPECT_EQ(fault("label", "5"), "must be a string");
  EXPECT_EQ(fault("label", "\"a\\u0000\""), "must not hold U+0000");
  EXPECT_EQ(fault("uid", "\"x\""), "must be a uuid, as a string");
  EXPECT_EQ(fault("at", "\"tomorrow\""), "must be a time in ISO 8601 form, as a string");
  EXPECT_EQ(fault("due", "\"2024-01-02 10:00\""), "must be a date, as a string");
  EXPECT_EQ(fault("due", "\"20240102T1000\""), "must be a date, as a string");
  EXPECT_EQ(fault("id", "null"), "must not be null");
  EXPECT_EQ(fault("doc", "[[[1]]]"), "");
  EXPECT_EQ(fault("doc", "[[[[1]]]]"), "is nested deeper than 3");
  EXPECT_EQ(fault("amount", "1e1000"), "");
  EXPECT_EQ(fault("amount", "1e3000"), "makes the record larger than 2000 bytes");
  EXPECT_EQ(fault("doc", "[1e1500,1e1500]"), "makes the record larger than 2000 bytes");
}

}  // namespace
}  // namespace viewgate::testing
