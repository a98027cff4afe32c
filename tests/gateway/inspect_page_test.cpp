// Pages of long lists: each row once and in order, whatever its neighbours do; and a question that is wrong is told what
// would be right.
#include "gateway/inspect_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "gateway/table_walk.hpp"

namespace viewgate::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const PageForm form{{"-size", "name"}, {"view"}};

PageQuestion asked(const std::string& query) {
  auto parsed = parse_page("/v1/inspect/things" + query, form);
  if (const auto* wrong = std::get_if<std::string>(&parsed)) throw std::runtime_error(*wrong);
  return std::get<PageQuestion>(std::move(parsed));
}

std::string refusal(const std::string& query, const PageForm& of = form) {
  const auto parsed = parse_page("/v1/inspect/things" + query, of);
  const auto* wrong = std::get_if<std::string>(&parsed);
  return wrong == nullptr ? "" : *wrong;
}

struct Thing {
  std::string id;
  std::int64_t size = 0;
};

RowPlace place_of(const Thing& thing, const PageQuestion& question) {
  RowPlace out;
  out.id = thing.id;
  if (question.sort == "size") out.number = thing.size;
  if (question.sort == "name") out.text = thing.id;
  return out;
}

PageOf<std::string> page_of(const std::vector<Thing>& things, const PageQuestion& question) {
  PageOf<std::string> out(question);
  for (const auto& each : things) {
    auto place = place_of(each, question);
    if (is_found_in(each.id, question.search) && out.takes(place)) out.add(std::move(place), each.id);
  }
  return out;
}

std::vector<std::string> rows_of(const PageOf<std::string>& page) {
  std::vector<std::string> out;
  for (const auto* each : page.rows()) out.push_back(*each);
  return out;
}

/// Every page, one after the other, by what the one before told.
std::vector<std::string> all_pages(const std::vector<Thing>& things, const std::string& query) {
  std::vector<std::string> out;
  PageQuestion question = asked(query);
  for (;;) {
    const auto page = page_of(things, question);
    const auto rows = rows_of(page);
    EXPECT_LE(rows.size(), question.limit);
    out.insert(out.end(), rows.begin(), rows.end());
    const auto next = page.next();
    if (!next) return out;
    question.after = parse_place(place_text(*next));
  }
}

std::vector<Thing> some_things(std::size_t count) {
  std::mt19937 random(7);
  std::vector<Thing> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back({"thing " + std::to_string(i), static_cast<std::int64_t>(random() % 20)});
  }
  std::ranges::shuffle(out, random);
  return out;
}

TEST(inspect_page, pages_one_after_the_other_are_the_whole_list_in_order) {
  const auto things = some_things(500);
  for (const bool down : {false, true}) {
    auto sorted = things;
    std::ranges::sort(sorted, [&](const Thing& one, const Thing& other) {
      if (one.size != other.size) return (one.size < other.size) != down;
      return one.id < other.id;
    });
    std::vector<std::string> expected;
    for (const auto& each : sorted) expected.push_back(each.id);
    EXPECT_EQ(all_pages(things, down ? "?sort=-size&limit=7" : "?sort=size&limit=7"), expected);
  }
}

TEST(inspect_page, a_page_of_a_hundred_thousand_holds_its_rows_and_one_more) {
  PageOf<std::string> page(asked("?limit=50"));
  std::size_t made = 0;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    RowPlace place{(i * 7919) % 100'000, "", std::to_string(i)};
    if (!page.takes(place)) continue;
    ++made;
    page.add(std::move(place), std::to_string(i));
  }
  EXPECT_EQ(page.matched(), 100'000U);
  EXPECT_EQ(page.rows().size(), 50U);
  EXPECT_LT(made, 2000U) << "rows are made for few of those that come by";
}

TEST(inspect_page, a_hundred_thousand_in_the_worst_order_are_a_page_too_searched_and_by_names) {
  constexpr std::size_t many = 100'000;
  std::vector<Thing> things;  // each goes before all that have come by
  for (std::size_t i = many; i-- > 0;) things.push_back({"thing " + std::to_string(many + i), 0});
  const auto page = page_of(things, asked("?sort=name&limit=200"));
  EXPECT_EQ(page.matched(), many);
  ASSERT_EQ(page.rows().size(), 200U);
  EXPECT_EQ(*page.rows().front(), "thing 100000");
  EXPECT_EQ(*page.rows().back(), "thing 100199");
  const auto found = page_of(things, asked("?sort=-name&q=THING%201999&limit=3"));
  EXPECT_EQ(found.matched(), 100U);
  EXPECT_THAT(rows_of(found), ElementsAre("thing 199999", "thing 199998", "thing 199997"));
}

TEST(inspect_page, what_comes_and_goes_before_a_page_moves_nothing_behind_it) {
  auto things = some_things(100);
  PageQuestion question = asked("?sort=size&limit=10");
  const auto first = page_of(things, question);
  question.after = first.next();
  const auto second = rows_of(page_of(things, question));
  std::erase_if(things, [&](const Thing& each) { return each.id == *first.rows().front(); });
  things.push_back({"a new one", -1});
  EXPECT_EQ(rows_of(page_of(things, question)), second);
}

TEST(inspect_page, parts_of_several_threads_are_one_page) {
  const auto things = some_things(300);
  const PageQuestion question = asked("?sort=-size&limit=20");
  auto whole = page_of({things.begin(), things.begin() + 100}, question);
  whole.merge(page_of({things.begin() + 100, things.end()}, question));
  const auto expected = page_of(things, question);
  EXPECT_EQ(rows_of(whole), rows_of(expected));
  EXPECT_EQ(whole.matched(), expected.matched());
  EXPECT_EQ(place_text(*whole.next()), place_text(*expected.next()));
}

TEST(inspect_page, a_row_that_comes_by_twice_is_shown_once) {
  PageOf<std::string> page(asked("?sort=size"));
  page.add({1, "", "a"}, "a");
  page.add({2, "", "b"}, "b");
  page.add({3, "", "a"}, "a, moved meanwhile");
  EXPECT_THAT(rows_of(page), ElementsAre("a", "b"));
}

TEST(inspect_page, places_survive_being_told_whatever_they_hold) {
  for (const auto& place : {RowPlace{-7, "", "0-12"}, RowPlace{0, "a:b:3:c", "x:y"}, RowPlace{1, "", ""}}) {
    const auto again = parse_place(place_text(place));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->number, place.number);
    EXPECT_EQ(again->text, place.text);
    EXPECT_EQ(again->id, place.id);
  }
  for (const char* wrong : {"", "x", "1", "1:", "1:2", "1:5:abc", "1:-1:abc", "1:99999999999999999999:a"}) {
    EXPECT_FALSE(parse_place(wrong)) << wrong;
  }
}

TEST(inspect_page, search_knows_no_case) {
  EXPECT_TRUE(is_found_in("Teller-7", "teller"));
  EXPECT_TRUE(is_found_in("anything", ""));
  EXPECT_FALSE(is_found_in("ann", "anna"));
  EXPECT_EQ(asked("?q=ANN").search, "ann");
}

TEST(inspect_page, a_wrong_question_is_told_what_would_be_right) {
  EXPECT_EQ(asked("").sort, "size");
  EXPECT_TRUE(asked("").descending);
  EXPECT_THAT(refusal("?sort=colour"), HasSubstr("size, name"));
  EXPECT_THAT(refusal("?limit=0"), HasSubstr("from 1 to 200"));
  EXPECT_THAT(refusal("?limit=201"), HasSubstr("from 1 to 200"));
  EXPECT_THAT(refusal("?after=here"), HasSubstr("next"));
  EXPECT_THAT(refusal("?key=an-operators-credential"),
              HasSubstr("key: is not known here; view, sort, q, limit, after"));
  EXPECT_THAT(refusal("?q=a&q=b"), HasSubstr("each name once"));
  EXPECT_THAT(refusal("?sort=size", PageForm{}), HasSubstr("nothing may be asked"));
  EXPECT_THAT(refusal("?" + std::string(39, 'k') + "%C3%A4=1"),
              ::testing::StartsWith(std::string(39, 'k') + ": is not"))
      << "a name is cut between characters";
}

TEST(table_walk, what_is_there_all_the_time_is_seen_and_growth_begins_anew) {
  std::unordered_map<int, int> table;
  for (int i = 0; i < 1000; ++i) table[i] = i;
  TableWalk walk;
  std::set<int> seen;
  const auto see = [&](const auto& item) { seen.insert(item.first); };
  ASSERT_EQ(walk_some(table, walk, 100, see), Steps::more);
  EXPECT_LE(seen.size(), 150U) << "a piece is bounded";
  table.erase(999);  // no growth
  Steps step = Steps::more;
  while ((step = walk_some(table, walk, 100, see)) == Steps::more) {
  }
  EXPECT_EQ(step, Steps::done);
  for (int i = 0; i < 999; ++i) EXPECT_TRUE(seen.contains(i)) << i;

  walk = {};
  ASSERT_EQ(walk_some(table, walk, 100, see), Steps::more);
  for (int i = 1000; i < 100'000; ++i) table[i] = i;
  EXPECT_EQ(walk_some(table, walk, 100, see), Steps::anew);
  seen.clear();
  while (walk_some(table, walk, 1000, see) == Steps::more) {
  }
  EXPECT_EQ(seen.size(), table.size());
}

}  // namespace
}  // namespace viewgate::gateway
