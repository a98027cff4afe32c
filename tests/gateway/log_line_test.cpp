// What a line of the log looks like, whatever is in it.
#include <gmock/gmock.h>

#include "gateway/log.hpp"

namespace viewgate::gateway::log {
namespace {

using ::testing::HasSubstr;

std::string json(const std::string& value) {
  const std::string whole = line(Format::json, "e", {{"v", value}});
  constexpr std::string_view before = R"("event":"e","v":)";
  EXPECT_TRUE(whole.starts_with(before)) << whole;
  return whole.substr(before.size());
}

TEST(LogLine, is_one_line_whatever_is_in_it) {
  const auto text = line(Format::text, "event", {{"reason", "a\r\nb\x1b[31m \"quoted\""}, {"n", 5}});
  EXPECT_EQ(text, R"(event reason="a\u000d\u000ab\u001b[31m \"quoted\"" n=5)");
  EXPECT_THAT(line(Format::json, "event", {{"n", 5}}), HasSubstr(R"("n":"5")"));
  EXPECT_LT(line(Format::text, "event", {{"reason", std::string(1'000'000, 'x')}}).size(), 500U);
}

TEST(LogLine, as_json_means_the_text_that_was_logged) {
  EXPECT_EQ(json("é, € and 😀"), "\"é, € and 😀\"");
  EXPECT_EQ(json("a\"b\\c\nd\x7f"), R"("a\"b\\c\u000ad\u007f")");
  EXPECT_EQ(json("\u0085\u2028\u202e\ufeff"), R"("\u0085\u2028\u202e\ufeff")") << "nothing that acts on who reads it";
}

TEST(LogLine, as_json_is_utf8_whatever_bytes_were_logged) {
  EXPECT_EQ(json("\xe9t\xe9"), R"("\ufffdt\ufffd")") << "Latin-1";
  EXPECT_EQ(json("\xc0\xaf"), R"("\ufffd\ufffd")") << "a slash in more bytes than it has";
  EXPECT_EQ(json("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")") << "half of a pair";
  EXPECT_EQ(json("\xe2\x82"), R"("\ufffd\ufffd")") << "cut";
  std::string many(value_bytes_max - 1, 'x');
  EXPECT_EQ(json(many + "é"), "\"" + many + "...\"") << "no half of a character where it is cut";
}

TEST(LogLine, as_text_is_ascii) { EXPECT_EQ(line(Format::text, "e", {{"v", "é"}}), R"(e v="\u00c3\u00a9")"); }

}  // namespace
}  // namespace viewgate::gateway::log
