// Goal: a record's text is cut into its columns without changing a byte, whatever stands in it.
#include <gtest/gtest.h>

#include "projection/json_text.hpp"
#include "projection/record.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;

RecordLayout layout_of(std::initializer_list<const char*> names) {
  std::vector<RecordLayout::Column> columns;
  for (const char* name : names) columns.push_back({name, Type::carried});
  return RecordLayout(std::move(columns));
}

TEST(Record, slices_are_the_bytes_that_postgresql_printed) {
  const RecordLayout layout = layout_of({"n", "text", "nested", "list", "gone"});
  const std::string text =
      R"({"n": 1.10, "list": [1, {"n": 2}, "]"], "text": "a\"}\\", "nested": {"text": {"n": "}{"}, "x": []}})";
  const auto record = Record::parse(layout, text);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->slice(0), "1.10");
  EXPECT_EQ(record->slice(1), R"("a\"}\\")");
  EXPECT_EQ(record->slice(2), R"({"text": {"n": "}{"}, "x": []})");
  EXPECT_EQ(record->slice(3), R"([1, {"n": 2}, "]"])");
  EXPECT_EQ(record->slice(4), "null");
}

// cases.md 35: names are compared exactly, as jsonb spells them.
TEST(Record, odd_names_are_found) {
  const RecordLayout layout = layout_of({"A b", "__proto__", "q\"\\", "tab\t", "\xC3\xA9"});
  const auto record = Record::parse(
      layout, "{\"\xC3\xA9\": 5, \"A b\": 1, \"tab\\t\": 4, \"q\\\"\\\\\": 3, \"a b\": 0, \"__proto__\": 2}");
  ASSERT_TRUE(record);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(record->slice(i), std::to_string(i + 1));
}

TEST(Record, what_is_not_an_object_is_refused) {
  const RecordLayout layout = layout_of({"a"});
  for (const char* text : {"", "{", "}", "[]", "null", R"({"a")", R"({"a": })", R"({"a": 1)", R"({"a": "})",
                           R"({"a": [1})", R"({"a": 1}})", R"({"a": 1} )", R"({a: 1})", R"({"a" 1})"}) {
    EXPECT_FALSE(Record::parse(layout, text)) << text;
  }
  EXPECT_TRUE(Record::parse(layout, "{}"));
}

TEST(JsonText, the_strict_reader_takes_json_and_nothing_else) {
  for (const char* text :
       {"{}", " [1, -0, 1.5e+3, \"\\u00e9\\ud83d\\ude00\", null, true, {\"a\": {}}] ", "0", "\"\"", "-12.50"}) {
    EXPECT_TRUE(parse_json(text)) << text;
  }
  for (const char* text : {"",
                           "{",
                           "{}{}",
                           "[1,]",
                           "{\"a\":1,}",
                           "{\"a\":1,\"a\":2}",
                           "01",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "NaN",
                           "nul",
                           "'a'",
                           "\"\\x\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\x01\"",
                           "\"\xFF\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xC0\x80\"",
                           "\"open",
                           "{a:1}",
                           "[1 2]",
                           "\xEF\xBB\xBF{}"}) {
    EXPECT_FALSE(parse_json(text)) << text;
  }
  EXPECT_TRUE(parse_json(std::string(json_depth_max, '[') + std::string(json_depth_max, ']')));
  EXPECT_FALSE(parse_json(std::string(json_depth_max + 2, '[') + std::string(json_depth_max + 2, ']')));
  EXPECT_EQ(parse_json(R"({"n":1e400})")->find("n")->text, "1e400");
}

}  // namespace
}  // namespace viewgate::testing
