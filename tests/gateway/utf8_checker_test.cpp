// The checker accepts exactly the encodings of RFC 3629, judged against the definition for every sequence of up to
// three bytes and for the borders of four, in one piece and byte by byte.
#include "gateway/utf8.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace viewgate::gateway {
namespace {

// The definition: the shortest encoding of a code point that is no surrogate.
std::string encode(std::uint32_t code_point) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (code_point < 0x80) return {byte(code_point)};
  if (code_point < 0x800) return {byte(0xC0 | code_point >> 6), byte(0x80 | (code_point & 0x3F))};
  if (code_point < 0x10000) {
    return {byte(0xE0 | code_point >> 12), byte(0x80 | (code_point >> 6 & 0x3F)), byte(0x80 | (code_point & 0x3F))};
  }
  return {byte(0xF0 | code_point >> 18), byte(0x80 | (code_point >> 12 & 0x3F)), byte(0x80 | (code_point >> 6 & 0x3F)),
          byte(0x80 | (code_point & 0x3F))};
}

constexpr bool is_surrogate(std::uint32_t code_point) { return code_point >= 0xD800 && code_point <= 0xDFFF; }

bool accepts_byte_by_byte(const std::string& text) {
  Utf8Checker checker;
  for (const char byte : text) {
    if (!checker.feed({&byte, 1})) return false;
  }
  return checker.complete();
}

TEST(Utf8, every_code_point_is_accepted_and_every_surrogate_refused) {
  for (std::uint32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    const std::string text = encode(code_point);
    ASSERT_EQ(is_utf8(text), !is_surrogate(code_point)) << code_point;
    ASSERT_EQ(accepts_byte_by_byte(text), !is_surrogate(code_point)) << code_point;
  }
  EXPECT_FALSE(is_utf8(encode(0x110000)));
}

TEST(Utf8, the_number_of_accepted_sequences_of_two_and_three_bytes_is_that_of_the_definition) {
  std::size_t two = 0;
  std::size_t three = 0;
  for (std::uint32_t bytes = 0; bytes <= 0xFFFFFF; ++bytes) {
    const std::string text{static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8), static_cast<char>(bytes)};
    if ((bytes >> 16) == 0 && is_utf8(text.substr(1))) ++two;
    if (is_utf8(text)) ++three;
  }
  constexpr std::size_t ones = 0x80;
  constexpr std::size_t twos = 0x800 - 0x80;
  constexpr std::size_t threes = 0x10000 - 0x800 - 0x800;  // without the surrogates
  EXPECT_EQ(two, ones * ones + twos);
  EXPECT_EQ(three, ones * ones * ones + 2 * ones * twos + threes);
}

TEST(Utf8, overlong_and_impossible_sequences_are_refused) {
  for (const std::string text :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE",
        "\xFF", "\x80", "\xC2", "\xE2\x82", "\xF0\x9F\x98", "a\x80", "12345678\xFF"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_FALSE(accepts_byte_by_byte(text));
  }
}

TEST(Utf8, a_prefix_ends_between_characters) {
  const std::string text = "a\xE2\x82\xAC";
  EXPECT_EQ(utf8_prefix(text, 10), text);
  EXPECT_EQ(utf8_prefix(text, 4), text);
  EXPECT_EQ(utf8_prefix(text, 3), "a");
  EXPECT_EQ(utf8_prefix(text, 1), "a");
  EXPECT_EQ(utf8_prefix(text, 0), "");
}

}  // namespace
}  // namespace viewgate::gateway
