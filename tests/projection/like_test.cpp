// Goal: LIKE as PostgreSQL has it, and in time that no pattern of a client makes long.
// Method: random short texts and patterns beside a matcher that tries everything; and long ones, which would not end if each place of
// the text were tried with all of the pattern.
#include "projection/like.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "projection/characters.hpp"
#include "projection/function.hpp"
#include "projection/text_functions.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;

/// true, false or error.
std::string outcome(const Value& value) {
  if (is_fault(value)) return "error";
  return std::get<bool>(value) ? "true" : "false";
}

std::string like(std::string_view text, std::string_view pattern) { return outcome(text_like(text, pattern)); }

/// By the definition, for patterns whose escapes are whole.
bool matches(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '%') {
    for (;; text = without_first_character(text)) {
      if (matches(text, pattern.substr(1))) return true;
      if (text.empty()) return false;
    }
  }
  if (text.empty()) return false;
  if (pattern.front() == '_') return matches(without_first_character(text), pattern.substr(1));
  if (pattern.front() == '\\') pattern.remove_prefix(1);
  return text.front() == pattern.front() && matches(text.substr(1), pattern.substr(1));
}

TEST(Like, is_what_trying_every_place_finds) {
  const unsigned seed = seed_from_environment();
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto some = [&random](std::initializer_list<const char*> from, std::size_t count_max) {
    std::string out;
    for (std::size_t i = random() % (count_max + 1); i > 0; --i) out += *(from.begin() + random() % from.size());
    return out;
  };
  std::size_t found = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string text = some({"a", "b", "é", "ê", "_", "%"}, 8);
    const std::string pattern = some({"a", "b", "é", "_", "%", "%", "\\_", "\\%", "\\a", "\\é"}, 6);
    const bool expected = matches(text, pattern);
    found += expected ? 1 : 0;
    ASSERT_EQ(like(text, pattern), expected ? "true" : "false") << "'" << text << "' like '" << pattern << "'";
  }
  EXPECT_GT(found, 2'000U);
}

TEST(Like, a_pattern_that_ends_in_an_escape_is_an_error_where_matching_gets_that_far) {
  struct Case {
    const char* text;
    const char* pattern;
    bool is_error;
  };
  for (const auto& [text, pattern, is_error] : std::initializer_list<Case>{{"ab", "a\\", true},
                                                                           {"a", "a\\", false},
                                                                           {"b", "a\\", false},
                                                                           {"", "%\\", false},
                                                                           {"a", "%\\", true},
                                                                           {"a", "%_\\", true},
                                                                           {"xab", "%a\\", true},
                                                                           {"xa", "%a\\", false},
                                                                           {"xay", "%b\\", false},
                                                                           {"xaya", "%a%a\\", false},
                                                                           {"xayaz", "%a%a\\", true}}) {
    EXPECT_EQ(like(text, pattern), is_error ? "error" : "false") << "'" << text << "' like '" << pattern << "'";
  }
}

TEST(Like, long_patterns_over_long_texts_come_to_an_end) {
  const std::string text(4'000'000, 'a');
  const std::string most(30'000, 'a');
  EXPECT_EQ(like(text, "%" + most + "b%"), "false");
  EXPECT_EQ(like(text, "%" + most + "b%%" + most + "c%"), "false");
  EXPECT_EQ(like(text, "%" + most + "b"), "false");
  EXPECT_EQ(like(text + "b" + text, "%" + most + "b%" + most), "true");
  EXPECT_EQ(like(text, "%" + std::string(1'000, 'a') + "_b%"), "false");
  EXPECT_EQ(like(text, "%" + most + "_b%"), "error") << "with _ it has a bound";
  std::string wildcards;
  for (int i = 0; i < 30'000; ++i) wildcards += "%a";
  EXPECT_EQ(like(text, wildcards + "%b%"), "false");
  EXPECT_EQ(text_position(text, most + "b"), 0);
  std::string many;
  for (int i = 0; i < 20'000; ++i)
    many += "\xe4" + std::string(1, static_cast<char>(0x80 + i / 64 % 64)) +
            std::string(1, static_cast<char>(0x80 + i % 64));
  EXPECT_EQ(text_trim(TrimEnds::both, many + text.substr(0, 1'000'000) + many, many + "a"), "");
}

TEST(Like, sets_of_thousands_are_asked_for_thousands) {
  Array numbers, others, keys;
  for (std::int64_t i = 0; i < 200'000; ++i) numbers.elements.emplace_back((i * 7919) % 200'003);
  for (std::int64_t i = 0; i < 50'000; ++i) others.elements.emplace_back(-1 - i);
  std::string object = "{";
  for (int i = 0; i < 100'000; ++i) {
    object += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\": 1";
    keys.elements.emplace_back("x" + std::to_string(i));
  }
  object += "}";
  const auto value_of = [](Array array) { return Value(std::make_shared<const Array>(std::move(array))); };
  const Value haystack = value_of(numbers), needles = value_of(others), names = value_of(keys), document(Jsonb{object});
  const auto ask = [](Function function, const Value& left, const Value& right) {
    const std::array<const Value*, 2> arguments{&left, &right};
    return outcome(call(function, Type::boolean, arguments));
  };
  EXPECT_EQ(ask(Function::array_overlaps, haystack, needles), "false");
  EXPECT_EQ(ask(Function::array_contains, haystack, haystack), "true");
  EXPECT_EQ(ask(Function::json_has_any, document, names), "false");
}

}  // namespace
}  // namespace viewgate::testing
