// The judge is judged: every broken promise that the fold is there to find is played to it once, and a good stream
// passes.
#include <gmock/gmock.h>

#include "loadtest/checker.hpp"
#include "loadtest/fold.hpp"

namespace viewgate::loadtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class FoldTest : public ::testing::Test {
 protected:
  Violations violations;
  Fold fold{"fold", violations};

  void bootstrap() {
    fold.subscribed("ctx", false);
    fold.snapshot(R"([{"key":[1],"record":{"aid":1,"n":1.10}},{"key":[2],"record":{"aid":2,"n":9007199254740993}}])");
    fold.ready(5, "p5", 5);
  }
  std::string only_violation() {
    EXPECT_EQ(violations.count(), 1U);
    return violations.kept().empty() ? "none" : violations.kept().front();
  }
};

TEST_F(FoldTest, a_snapshot_and_its_commits_make_the_set) {
  bootstrap();
  fold.commit(6, "p6", R"([{"kind":"entered","key":[3],"record":{"aid":3,"n":0}},{"kind":"deleted","key":[1]}])", true);
  fold.commit(8, "p8", R"([{"kind":"updated","key":[2],"changed":{"n":1e400}}])", true);
  EXPECT_THAT(fold.records(),
              UnorderedElementsAre(Pair("[2]", R"({"aid":2,"n":1e400})"), Pair("[3]", R"({"aid":3,"n":0})")));
  EXPECT_EQ(fold.cursor(), "ctx.p8");
  EXPECT_THAT(violations.kept(), IsEmpty());
}

TEST_F(FoldTest, the_parts_of_a_commit_are_applied_at_its_end_and_the_cursor_moves_there) {
  bootstrap();
  fold.commit(6, "", R"([{"kind":"deleted","key":[1]}])", false);
  EXPECT_EQ(fold.records().size(), 2U);
  EXPECT_EQ(fold.cursor(), "ctx.p5");
  fold.commit(6, "p6", R"([{"kind":"deleted","key":[2]}])", true);
  EXPECT_THAT(fold.records(), IsEmpty());
  EXPECT_EQ(fold.cursor(), "ctx.p6");
  EXPECT_THAT(violations.kept(), IsEmpty());
}

TEST_F(FoldTest, what_was_not_complete_when_the_link_was_lost_is_forgotten) {
  bootstrap();
  fold.commit(6, "", R"([{"kind":"deleted","key":[1]}])", false);
  fold.lost();
  fold.subscribed("ctx", true);
  fold.commit(6, "p6", R"([{"kind":"deleted","key":[2]}])", true);
  fold.ready(6, "p6", 6);
  EXPECT_THAT(fold.records(), ElementsAre(Pair("[1]", R"({"aid":1,"n":1.10})")));
  EXPECT_THAT(violations.kept(), IsEmpty());
  fold.lost();
  fold.subscribed("ctx2", false);
  fold.snapshot(R"([{"key":[9],"record":{"aid":9}}])");
  fold.lost();
  EXPECT_EQ(fold.cursor(), std::nullopt);
  EXPECT_THAT(fold.records(), IsEmpty());
}

TEST_F(FoldTest, a_commit_that_comes_twice_is_found) {
  bootstrap();
  fold.commit(6, "p6", R"([{"kind":"deleted","key":[1]}])", true);
  fold.commit(6, "p6", R"([{"kind":"deleted","key":[2]}])", true);
  EXPECT_THAT(only_violation(), HasSubstr("commit 6 after 6: an event twice"));
}

struct Scripted {
  const char* name;
  const char* events;
  const char* found;
};

class BadEvents : public FoldTest, public ::testing::WithParamInterface<Scripted> {};

TEST_P(BadEvents, are_found) {
  bootstrap();
  fold.commit(6, "p6", GetParam().events, true);
  EXPECT_THAT(only_violation(), HasSubstr(GetParam().found));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadEvents,
    ::testing::Values(
        Scripted{"entered_twice", R"([{"kind":"entered","key":[1],"record":{"aid":1,"n":2}}])",
                 "it was inside already"},
        Scripted{"updated_unknown", R"([{"kind":"updated","key":[7],"changed":{"n":2}}])", "it was not inside"},
        Scripted{"left_unknown", R"([{"kind":"removed_from_scope","key":[7]}])", "it was not inside"},
        Scripted{"deleted_unknown", R"([{"kind":"deleted","key":[7]}])", "it was not inside"},
        Scripted{"left_with_values", R"([{"kind":"removed_from_scope","key":[1],"n":7}])", "tells more than the key"},
        Scripted{"two_events",
                 R"([{"kind":"updated","key":[1],"changed":{"n":2}},{"kind":"updated","key":[1],"changed":{"n":3}}])",
                 "two events for [1]"},
        Scripted{"nothing_changed", R"([{"kind":"updated","key":[1],"changed":{"n":1.10}}])", "is what it was"},
        Scripted{"empty_change", R"([{"kind":"updated","key":[1],"changed":{}}])", "nothing changed"},
        Scripted{"strange_column", R"([{"kind":"updated","key":[1],"changed":{"m":2}}])",
                 "a column that the record does not have"},
        Scripted{"no_events", "[]", "has no event"}),
    [](const auto& each) { return each.param.name; });

TEST_F(FoldTest, a_commit_before_ready_is_found) {
  fold.subscribed("ctx", false);
  fold.commit(6, "p6", R"([{"kind":"deleted","key":[1]}])", true);
  EXPECT_THAT(only_violation(), HasSubstr("before ready"));
}

TEST_F(FoldTest, a_cursor_inside_a_commit_is_found) {
  bootstrap();
  fold.commit(6, "p6", R"([{"kind":"deleted","key":[1]}])", false);
  EXPECT_THAT(only_violation(), HasSubstr("has a position inside it"));
}

TEST_F(FoldTest, a_commit_below_what_at_had_promised_is_found) {
  bootstrap();
  fold.complete_through(9);
  fold.commit(9, "p9", R"([{"kind":"deleted","key":[1]}])", true);
  EXPECT_THAT(only_violation(), HasSubstr("after `at` 9"));
}

TEST(Checker, every_kind_of_difference_is_named) {
  const Fold::Records answer{
      {"[1]", R"({"aid": 1, "n": 1.10})"}, {"[2]", R"({"aid": 2, "n": 2})"}, {"[3]", R"({"aid": 3, "n": 3})"}};
  EXPECT_THAT(
      differences("fold",
                  {{"[1]", R"({"n":1.10,"aid":1})"}, {"[2]", R"({"aid":2,"n":2})"}, {"[3]", R"({"aid":3,"n":3})"}},
                  answer),
      IsEmpty());
  EXPECT_THAT(
      differences("fold", {{"[1]", R"({"aid":1,"n":1.1})"}, {"[2]", R"({"aid":2})"}, {"[4]", R"({"aid":4,"n":4})"}},
                  answer),
      UnorderedElementsAre("fold: [1]: column n is 1.1, the query says 1.10", "fold: [2]: column n is missing",
                           HasSubstr("fold: [3] is missing"),
                           HasSubstr("fold: [4] is there, the query does not have it")));
  EXPECT_THAT(
      differences(
          "fold",
          {{"[1]", R"({"aid":1,"n":1.10,"secret":7})"}, {"[2]", R"({"aid":2,"n":2})"}, {"[3]", R"({"aid":3,"n":3})"}},
          answer),
      ElementsAre("fold: [1]: it has columns that the view does not select"));
}

TEST(Slices, values_are_cut_out_as_they_stand) {
  std::vector<Member> object;
  ASSERT_TRUE(members(R"( {"a\"b": "x,}\\" , "n": -1e400,"o":{"k":[1,"]"]}} )", object));
  ASSERT_EQ(object.size(), 3U);
  EXPECT_EQ(object[0].name, R"(a\"b)");
  EXPECT_EQ(object[0].value, R"("x,}\\")");
  EXPECT_EQ(member(object, "n"), "-1e400");
  EXPECT_EQ(member(object, "o"), R"({"k":[1,"]"]})");
  for (const char* bad :
       {"", "{", R"({"a":})", R"({"a" 1})", R"({"a":1,})", R"({"a":1} 2)", R"({a:1})", R"({"a":"1})", "[1]"}) {
    EXPECT_FALSE(members(bad, object)) << bad;
  }
  EXPECT_EQ(key_text(R"([1, "a, b" ])"), R"([1,"a, b"])");
}

}  // namespace
}  // namespace viewgate::loadtest
