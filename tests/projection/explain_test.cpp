// Goal: an explanation says what membership says, names the pieces that decided, and tells a record's story as subscribers saw
// it. Method: models and records by hand, and each verdict beside Group's own decision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "projection/explain.hpp"
#include "projection/fixture.hpp"
#include "projection/record_story.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view text = R"(
create table issues (id int4, part text, status text, assignee text, priority int4, primary key (id, part));
create view board as select id, part, status, 10 / priority as share from issues
  where status = 'open' and (assignee = claims.sub or priority > params.least or 100 / priority > 50);
create policy members on board using (space.name = any(claims.spaces));
create policy managers on board using (claims.role = 'manager');
create policy visible on issues for select using (part <> 'hidden');
create policy all_of_it on issues for select using (claims.role = 'manager');
)";

Explainer explainer(std::string_view claims = R"({"sub":"ann","spaces":["s1"]})") {
  auto made = Explainer::make(parse_or_throw(text)->view("board"), R"({"least":7})", claims, "s1");
  return std::move(*made);
}

/// As "condition = value", what decided.
std::vector<std::string> reasons(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> out;
  for (const Verdict& each : verdicts) out.push_back(each.condition + " = " + std::string(name(each.value)));
  return out;
}

std::string record(std::string_view status, std::string_view assignee, std::string_view priority,
                   std::string_view part = "\"a\"") {
  return "{\"id\": 1, \"part\": " + std::string(part) + ", \"status\": " + std::string(status) +
         ", \"assignee\": " + std::string(assignee) + ", \"priority\": " + std::string(priority) + "}";
}

TEST(Explain, what_is_inside_is_so_by_every_conjunct_and_by_one_operand_of_an_or) {
  const auto judged = explainer().judge(record("\"open\"", "\"ann\"", "3"));
  EXPECT_TRUE(judged->inside);
  EXPECT_THAT(reasons(deciding(judged->verdicts)),
              ElementsAre("status = 'open' = true", "assignee = claims.sub = true", "part <> 'hidden' = true"));
}

TEST(Explain, what_is_outside_is_so_by_the_conjunct_that_does_not_hold) {
  const auto judged = explainer().judge(record("\"shut\"", "\"ann\"", "3"));
  EXPECT_FALSE(judged->inside);
  const auto why = deciding(judged->verdicts);
  ASSERT_THAT(reasons(why), ElementsAre("status = 'open' = false"));
  EXPECT_THAT(why.front().reads, ElementsAre(std::pair("status", "\"shut\"")));
}

TEST(Explain, values_of_the_caller_and_the_subscription_stand_in_the_bound_condition) {
  const auto judged = explainer().judge(record("\"open\"", "\"bob\"", "3"));
  ASSERT_EQ(judged->verdicts.size(), 3U);
  const auto& pieces = judged->verdicts[1].pieces;
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].bound, "assignee = 'ann'");
  EXPECT_EQ(pieces[1].bound, "priority > 7");
  EXPECT_EQ(pieces[2].bound, "");
  EXPECT_FALSE(judged->inside);
  EXPECT_THAT(
      reasons(deciding(judged->verdicts)),
      ElementsAre("assignee = claims.sub = false", "priority > params.least = false", "(100 / priority) > 50 = false"));
}

TEST(Explain, an_error_and_a_null_are_told_as_what_they_are) {
  const auto null = explainer().judge(record("\"open\"", "null", "null"));
  EXPECT_FALSE(null->inside);
  EXPECT_EQ(null->verdicts[1].value, Truth::unknown);
  const auto error = explainer().judge(record("\"open\"", "\"bob\"", "0"));
  EXPECT_FALSE(error->inside);
  const auto why = deciding(error->verdicts);
  ASSERT_THAT(reasons(why), ElementsAre("(100 / priority) > 50 = error"));
  EXPECT_EQ(why.front().fault, "division by zero");
}

TEST(Explain, an_entry_of_the_select_list_without_a_value_is_the_reason) {
  const auto judged = explainer().judge(record("\"open\"", "\"ann\"", "0"));
  EXPECT_FALSE(judged->inside);
  const auto why = deciding(judged->verdicts);
  ASSERT_EQ(why.size(), 1U);
  EXPECT_EQ(why.front().origin, "select list, as share");
  EXPECT_EQ(why.front().fault, "division by zero");
}

TEST(Explain, the_policies_of_the_table_limit_and_those_of_the_view_admit) {
  const auto hidden = explainer().judge(record("\"open\"", "\"ann\"", "3", "\"hidden\""));
  EXPECT_FALSE(hidden->inside);
  EXPECT_EQ(hidden->verdicts.back().origin, "policies on issues");
  EXPECT_THAT(reasons(deciding(hidden->verdicts)),
              ElementsAre("part <> 'hidden' = false", "claims.role = 'manager' = null"));
  EXPECT_TRUE(explainer().admitted());
  EXPECT_EQ(explainer().admission().front().origin, "policy members on board");
  const Explainer other = explainer(R"({"sub":"ann","spaces":["s2"]})");
  EXPECT_FALSE(other.admitted());
  EXPECT_EQ(other.admission().front().value, Truth::no);
}

TEST(Explain, long_values_and_conditions_are_cut) {
  std::string list = "'x'";
  for (int i = 0; i < 2000; ++i) list += ", '" + std::to_string(i) + "é'";
  const ModelPtr model = model_where("id int4 primary key, title text", "id", "title in (" + list + ")");
  auto made = Explainer::make(model->view("v"), "{}", "{}", "s1");
  const auto judged = made->judge(R"({"id": 1, "title": ")" + std::string(5000, 'y') + "\"}");
  const Verdict& verdict = judged->verdicts.front();
  EXPECT_LE(verdict.condition.size(), 510U);
  EXPECT_TRUE(valid_utf8(verdict.condition));
  EXPECT_THAT(verdict.reads, ElementsAre(std::pair("title", "{\"left_out_bytes\":5002}")));
}

TEST(Explain, a_key_is_what_stands_in_events) {
  const ModelPtr model = parse_or_throw(text);
  const Table& table = *model->tables.find("issues")->second;
  const auto key = [&](std::string_view given) {
    std::string out;
    const auto wrong = append_key(out, table, given);
    return wrong ? *wrong : out;
  };
  EXPECT_EQ(key(R"([1,"a"])"), R"([1, "a"])");
  EXPECT_EQ(key(R"([ 1.0 , "\u0061" ])"), R"([1, "a"])");
  EXPECT_THAT(
      key("1"),
      HasSubstr("the key is not a JSON array; a record is named by a JSON array of its key: [id int4, part text]"));
  EXPECT_THAT(key("[1]"), HasSubstr("the key has 1 values"));
  EXPECT_THAT(key(R"([null,"a"])"), HasSubstr("id is null"));
  EXPECT_THAT(key(R"(["x","a"])"), HasSubstr("id must be a whole number"));
}

class Story : public ::testing::Test {
 protected:
  void take(ledger::Change change) {
    ASSERT_FALSE(story_.take(Make::part("s1", ++sequence_, {std::move(change)})).has_error());
  }
  void create(std::string after) { take(Make::created("issues", key, std::move(after))); }
  void update(std::string before, std::string after) {
    take(Make::updated("issues", key, std::move(before), std::move(after)));
  }
  std::vector<std::string> told() const {
    std::vector<std::string> out;
    for (const StoryEvent& event : story_.events()) {
      out.push_back(std::to_string(event.sequence.value) + " " + event.what);
      for (const auto& reason : reasons(event.reasons)) out.back() += "; " + reason;
      for (const auto& column : event.changed) out.back() += " " + column;
      if (event.moved) out.back() += " moved";
    }
    return out;
  }

  static constexpr const char* key = "[1, \"a\"]";
  const std::string open = record("\"open\"", "\"ann\"", "3");
  const std::string shut = record("\"shut\"", "\"ann\"", "3");
  const Explainer explainer_ = explainer();
  StoryBounds bounds_{4, 1000, [](const StoryEvent& event) { return event.what.size(); }, {}};
  RecordStory story_{explainer_, bounds_};
  std::int64_t sequence_ = 0;
};

TEST_F(Story, each_event_says_which_pieces_changed) {
  create(shut);
  update(shut, open);
  update(open, record("\"open\"", "\"ann\"", "5"));
  update(record("\"open\"", "\"ann\"", "5"), record("\"open\"", "\"bob\"", "5"));
  EXPECT_THAT(told(), ElementsAre("2 entered; status = 'open' = true", "3 updated share",
                                  "4 removed_from_scope; assignee = claims.sub = false"));
  EXPECT_EQ(story_.began_inside(), std::optional(false));
}

TEST_F(Story, what_begins_inside_may_be_deleted_or_moved) {
  update(open, open);
  take(Make::moved("issues", key, open));
  create(open);
  take(Make::deleted("issues", key, open));
  EXPECT_EQ(story_.began_inside(), std::optional(true));
  EXPECT_THAT(told(),
              ElementsAre("2 removed_from_scope moved",
                          "3 entered; status = 'open' = true; assignee = claims.sub = true; part <> 'hidden' = true",
                          "4 deleted"));
}

TEST_F(Story, holes_of_the_log_are_told) {
  create(open);
  update(shut, shut);
  ledger::Change erased = Make::deleted("issues", key, open);
  erased.kind = ledger::ChangeKind::erased;
  erased.before.reset();
  take(erased);
  update(open, shut);
  story_.end(ledger::Sequence{9}, true);
  EXPECT_THAT(told(),
              ElementsAre("2 unrecorded", "3 erased", "4 removed_from_scope; status = 'open' = false", "9 unrecorded"));
  EXPECT_EQ(story_.left_out(), 1U);
}

TEST_F(Story, the_latest_are_kept_as_far_as_they_fit_and_older_ones_are_asked_for) {
  const auto story_of = [&](StoryBounds bounds) {
    RecordStory story(explainer_, std::move(bounds));
    for (std::int64_t at = 1; at <= 8; at += 2) {
      EXPECT_TRUE(story.take(Make::part("s1", at, {Make::updated("issues", key, shut, open)})));
      EXPECT_TRUE(story.take(Make::part("s1", at + 1, {Make::updated("issues", key, open, shut)})));
    }
    std::vector<std::int64_t> out{static_cast<std::int64_t>(story.left_out())};
    for (const StoryEvent& event : story.events()) out.push_back(event.sequence.value);
    return out;
  };
  const auto ten = [](const StoryEvent&) { return std::size_t{10}; };
  EXPECT_THAT(story_of({100, 1000, ten, {}}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(story_of({100, 35, ten, {}}), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(story_of({100, 35, ten, ledger::Sequence{6}}), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(story_of({100, 35, ten, ledger::Sequence{3}}), ElementsAre(0, 1, 2));
  EXPECT_THAT(story_of({2, 1000, ten, ledger::Sequence{6}}), ElementsAre(3, 4, 5));
  EXPECT_THAT(story_of({100, 5, ten, {}}), ElementsAre(7, 8)) << "the latest whatever it takes";
}

TEST_F(Story, the_events_of_a_commit_are_left_out_together) {
  RecordStory story(explainer_, {3, 1000, [](const StoryEvent&) { return std::size_t{1}; }, {}});
  // Each comes in; that it went out in between is not in the log, and told with the next.
  for (std::int64_t at = 1; at <= 3; ++at)
    ASSERT_TRUE(story.take(Make::part("s1", at, {Make::updated("issues", key, shut, open)})));
  EXPECT_EQ(story.left_out(), 3U);
  ASSERT_EQ(story.events().size(), 2U);
  EXPECT_EQ(story.events().front().what, "unrecorded");
  EXPECT_EQ(story.events().front().sequence, ledger::Sequence{3});
}

TEST_F(Story, before_an_erased_beginning_nothing_is_known) {
  ledger::Change erased = Make::deleted("issues", key, open);
  erased.kind = ledger::ChangeKind::erased;
  erased.before.reset();
  take(erased);
  EXPECT_EQ(story_.began_inside(), std::nullopt);
  EXPECT_TRUE(story_.has_commits());
}

}  // namespace
}  // namespace viewgate::testing
