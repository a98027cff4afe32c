// Goal: each change is told to exactly those views that it matters to, once, as what it means to them.
// Method: commits by hand, and the exact text of the events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "projection/fixture.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;
using ::testing::IsEmpty;

constexpr const char* columns = "id int primary key, status text, owner text, a int, b int, title text";

class OneView : public ::testing::Test {
 protected:
  void open(std::string_view condition, std::string_view claims = "{}", std::string_view select = "id, status") {
    group_ = group_where(columns, select, condition, "{}", claims);
    projector_.add(group_);
  }
  std::string commit(std::vector<ledger::Change> changes) {
    const auto part = Make::part("s1", ++sequence_, std::move(changes));
    const std::string events = events_of(projector_, part);
    const auto replayed = Replay(group_).project(part).value();
    EXPECT_EQ(replayed ? replayed->events : "", events) << "history gives the bytes that the stream gave";
    return events;
  }

  Projector projector_;
  GroupPtr group_;
  std::int64_t sequence_ = 0;
};

constexpr const char* opened = R"({"id": 1, "title": "t", "status": "open"})";
constexpr const char* closed = R"({"id": 1, "title": "t", "status": "closed"})";

TEST_F(OneView, case_08_a_record_that_leaves_is_told_once) {
  open("status = 'open'");
  EXPECT_EQ(commit({Make::updated("r", "[1]", opened, closed)}), R"([{"kind":"removed_from_scope","key":[1]}])");
  EXPECT_EQ(commit({Make::updated("r", "[1]", closed, opened)}),
            R"([{"kind":"entered","key":[1],"record":{"id":1,"status":"open"}}])");
  EXPECT_EQ(commit({Make::updated("r", "[1]", opened, closed), Make::updated("r", "[1]", closed, opened)}), "")
      << "both in one commit: nothing, never a stale remove";
  EXPECT_EQ(commit({Make::updated("r", "[1]", closed, opened), Make::updated("r", "[1]", opened, closed)}), "");
}

TEST_F(OneView, case_09_who_loses_a_record_sees_its_key_alone) {
  Projector projector;
  const ModelPtr model = model_where(columns, "id, owner, title", "owner = claims.sub");
  const GroupPtr alice = projection::bind(*model, "v", "{}", R"({"sub":"alice"})", "s1").value().group;
  const GroupPtr bob = projection::bind(*model, "v", "{}", R"({"sub":"bob"})", "s1").value().group;
  projector.add(alice);
  projector.add(bob);
  const auto told = projector
                        .project(Make::part("s1", 6,
                                            {Make::updated("r", "[1]", R"({"id": 1, "owner": "alice", "title": "x"})",
                                                           R"({"id": 1, "owner": "bob", "title": "secret"})")}))
                        .value();
  ASSERT_EQ(told.size(), 2U);
  for (const GroupEvents& events : told) {
    EXPECT_EQ(events.position.sequence.value, 6);
    EXPECT_EQ(events.events,
              events.group == alice
                  ? R"([{"kind":"removed_from_scope","key":[1]}])"
                  : R"([{"kind":"entered","key":[1],"record":{"id":1,"owner":"bob","title":"secret"}}])");
  }
}

TEST_F(OneView, case_10_membership_for_two_reasons_ends_with_the_last) {
  open("a = 1 or b = 1", "{}", "id, a");
  EXPECT_EQ(commit({Make::updated("r", "[1]", R"({"a": 1, "b": 1, "id": 1})", R"({"a": 0, "b": 1, "id": 1})")}),
            R"([{"kind":"updated","key":[1],"changed":{"a":0}}])");
  EXPECT_EQ(commit({Make::updated("r", "[1]", R"({"a": 0, "b": 1, "id": 1})", R"({"a": 0, "b": 0, "id": 1})")}),
            R"([{"kind":"removed_from_scope","key":[1]}])");
}

TEST_F(OneView, case_11_a_key_change_is_leave_and_enter_in_one_commit) {
  open("status = 'open'");
  EXPECT_EQ(commit({Make::deleted("r", "[1]", opened), Make::created("r", "[2]", R"({"id": 2, "status": "open"})")}),
            R"([{"kind":"deleted","key":[1]},{"kind":"entered","key":[2],"record":{"id":2,"status":"open"}}])");
}

TEST_F(OneView, case_12_who_never_saw_a_record_is_not_told_of_its_end) {
  open("owner = claims.sub", R"({"sub":"alice"})");
  EXPECT_EQ(commit({Make::deleted("r", "[9]", R"({"id": 9, "owner": "bob"})")}), "");
  EXPECT_EQ(commit({Make::updated("r", "[9]", R"({"id": 9, "owner": "bob"})", R"({"id": 9, "owner": "carol"})")}), "");
  EXPECT_EQ(commit({Make::deleted("r", "[9]", R"({"id": 9, "owner": "alice"})")}), R"([{"kind":"deleted","key":[9]}])");
}

TEST_F(OneView, only_visible_columns_that_changed_are_told) {
  open("a > 0", "{}", "id, title, b");
  EXPECT_EQ(commit({Make::updated("r", "[1]", R"({"a": 1, "b": 1, "id": 1, "title": "x"})",
                                  R"({"a": 2, "b": 1, "id": 1, "title": "x"})")}),
            "");
  EXPECT_EQ(commit({Make::updated("r", "[1]", R"({"a": 1, "b": 1, "id": 1, "title": "x"})",
                                  R"({"a": 2, "id": 1, "title": "x"})")}),
            R"([{"kind":"updated","key":[1],"changed":{"b":null}}])")
      << "a member that goes away is null";
}

// I11 and cases.md 31: text is relayed.
TEST_F(OneView, case_31_values_are_the_bytes_that_postgresql_printed) {
  open("id > 0", "{}", "id, title, a");
  EXPECT_EQ(commit({Make::created("r", "[1]", R"({"a": 9007199254740993, "id": 1, "title": "\\u0041 \" é \n"})")}),
            R"([{"kind":"entered","key":[1],"record":{"id":1,"title":"\\u0041 \" é \n","a":9007199254740993}}])");
  EXPECT_EQ(commit({Make::updated("r", "[1]", R"({"a": 1.10, "id": 1})", R"({"a": 1.1, "id": 1})")}),
            R"([{"kind":"updated","key":[1],"changed":{"a":1.1}}])");
  EXPECT_EQ(commit({Make::created("r", "[1]", R"({"a": 1e400, "id": 1, "title": {"deep": [1, {"x": "}"}]}})")}),
            R"([{"kind":"entered","key":[1],"record":{"id":1,"title":{"deep": [1, {"x": "}"}]},"a":1e400}}])");
}

TEST_F(OneView, a_commit_has_one_event_per_record) {
  open("status = 'open'");
  EXPECT_EQ(commit({Make::created("r", "[1]", opened), Make::updated("r", "[1]", opened, closed),
                    Make::deleted("r", "[1]", closed)}),
            "");
  EXPECT_EQ(commit({Make::created("r", "[1]", opened), Make::deleted("r", "[1]", opened)}), "");
  EXPECT_EQ(commit({Make::deleted("r", "[1]", opened), Make::created("r", "[1]", opened)}), "") << "the same again";
  EXPECT_EQ(
      commit({Make::deleted("r", "[1]", opened), Make::created("r", "[1]", R"({"id": 1, "status": "open", "a": 7})")}),
      "");
  EXPECT_EQ(commit({Make::updated("r", "[1]", opened, closed), Make::deleted("r", "[1]", closed)}),
            R"([{"kind":"deleted","key":[1]}])");
  EXPECT_EQ(commit({Make::created("r", "[1]", closed), Make::updated("r", "[1]", closed, opened)}),
            R"([{"kind":"entered","key":[1],"record":{"id":1,"status":"open"}}])");
}

TEST_F(OneView, a_record_that_moves_to_another_space_leaves) {
  open("status = 'open'");
  EXPECT_EQ(commit({Make::moved("r", "[1]", opened)}), R"([{"kind":"removed_from_scope","key":[1]}])");
  EXPECT_EQ(commit({Make::moved("r", "[1]", closed)}), "");
  EXPECT_EQ(commit({Make::moved("r", "[1]", opened), Make::created("r", "[1]", opened)}), "") << "there and back";
}

TEST_F(OneView, an_evaluation_error_is_outside_and_counted) {
  open("10 / a > 1");
  EXPECT_EQ(commit({Make::created("r", "[1]", R"({"a": 0, "id": 1})")}), "");
  EXPECT_EQ(group_->evaluation_errors(), 2U) << "once in the stream, once in the replay";
  EXPECT_EQ(commit({Make::updated("r", "[1]", R"({"a": 5, "id": 1})", R"({"a": 0, "id": 1})")}),
            R"([{"kind":"removed_from_scope","key":[1]}])");
}

TEST_F(OneView, other_spaces_and_collections_do_not_touch_the_group) {
  open("status = 'open'");
  EXPECT_EQ(commit({Make::created("other", "[1]", opened)}), "");
  EXPECT_THAT(projector_.project(Make::part("s2", 1, {Make::created("r", "[1]", opened)})).value(), IsEmpty());
  EXPECT_EQ(commit({}), "");
  projector_.remove(group_->id());
  EXPECT_THAT(projector_.project(Make::part("s1", 99, {Make::created("r", "[1]", opened)})).value(), IsEmpty());
}

TEST_F(OneView, a_damaged_record_is_refused_by_name) {
  open("status = 'open'");
  const auto result = projector_.project(Make::part("s1", 1, {Make::created("r", "[1]", "{\"id\": 1")}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, errc::malformed_record);
  EXPECT_EQ(result.error().name, "r");
}

/// Three parts of one commit, ordered by key.
std::vector<ledger::CommitPart> three_parts(std::int64_t sequence) {
  std::vector<ledger::CommitPart> out;
  for (int i = 1; i <= 3; ++i) {
    const std::string id = std::to_string(i);
    auto part =
        Make::part("s1", sequence, {Make::created("r", "[" + id + "]", "{\"a\": " + id + ", \"id\": " + id + "}")});
    part.first = i == 1;
    part.last = i == 3;
    part.by_key = true;
    out.push_back(std::move(part));
  }
  return out;
}

TEST(Parts, a_group_touched_early_gets_the_end_of_the_commit) {
  Projector projector;
  const GroupPtr early = group_where(columns, "id", "a = 1");
  const GroupPtr late = group_where(columns, "id", "a >= 3");
  const GroupPtr never = group_where(columns, "id", "a > 100");
  for (const GroupPtr& group : {early, late, never}) projector.add(group);
  std::string told;
  for (const auto& part : three_parts(5)) {
    auto documents = projector.project(part).value();
    std::sort(documents.begin(), documents.end(), [&](const auto& a, const auto&) { return a.group == early; });
    for (const GroupEvents& each : documents) {
      told += (each.group == early  ? "early "
               : each.group == late ? "late "
                                    : "never ") +
              each.events + (each.first ? " first" : "") + (each.last ? " last" : "") + "\n";
    }
  }
  EXPECT_EQ(told,
            "early [{\"kind\":\"entered\",\"key\":[1],\"record\":{\"id\":1}}] first\n"
            "early [] last\n"
            "late [{\"kind\":\"entered\",\"key\":[3],\"record\":{\"id\":3}}] first last\n");
}

TEST(Parts, a_group_that_joins_inside_a_commit_starts_with_the_next) {
  Projector projector;
  const GroupPtr first = group_where(columns, "id", "a > 0");
  const GroupPtr joining = group_where(columns, "id", "a > 0 and id > 0");
  EXPECT_EQ(projector.add(first).value, 0);
  const auto parts = three_parts(5);
  EXPECT_EQ(projector.project(parts[0]).value().size(), 1U);
  EXPECT_EQ(projector.add(joining).value, 5);
  EXPECT_TRUE(projector.contains(joining->id()));
  EXPECT_EQ(projector.project(parts[1]).value().size(), 1U);
  EXPECT_EQ(projector.project(parts[2]).value().size(), 1U);
  EXPECT_EQ(projector.project(three_parts(6)[0]).value().size(), 2U);
}

TEST(Parts, a_commit_cut_short_is_forgotten_at_the_next_first_part) {
  Projector projector;
  const GroupPtr group = group_where(columns, "id", "a = 1");
  projector.add(group);
  EXPECT_EQ(projector.project(three_parts(5)[0]).value().size(), 1U);
  EXPECT_THAT(projector.project(Make::part("s1", 5, {})).value(), IsEmpty());
}

TEST(Parts, a_commit_cut_short_is_forgotten_on_reset) {
  Projector projector;
  const GroupPtr group = group_where(columns, "id", "a = 1");
  projector.add(group);
  EXPECT_EQ(projector.project(three_parts(5)[0]).value().size(), 1U);
  projector.reset("s1");
  const auto again =
      projector.project(Make::part("s1", 5, {Make::created("r", "[1]", R"({"a": 2, "id": 1})")})).value();
  EXPECT_THAT(again, IsEmpty());
  projector.remove(group->id());
  EXPECT_EQ(projector.size(), 0U);
}

TEST(Snapshot, a_row_and_the_stream_have_the_same_bytes) {
  const GroupPtr overdrawn = projection::bind(*parse_or_throw(demo_model), "overdrawn", "{}", "{}", "3").value().group;
  const auto row = [&](const char* text) { return overdrawn->snapshot_record(text).value().value_or("outside"); };
  EXPECT_EQ(row(R"({"aid": 7, "bid": 3, "filler": "   ", "abalance": -12})"),
            R"({"key":[7],"record":{"aid":7,"bid":3,"abalance":-12}})");
  EXPECT_EQ(row(R"({"aid": 7, "bid": 3, "filler": "   ", "abalance": 12})"), "outside");
  EXPECT_EQ(row(R"({"aid": 7, "bid": 4, "filler": "   ", "abalance": -12})"), "outside") << "another space";
  EXPECT_EQ(row(R"({"aid": 7, "bid": null, "filler": "   ", "abalance": -12})"), "outside");
  EXPECT_FALSE(overdrawn->snapshot_record("{"));
  const ModelPtr odd = parse_or_throw(
      "create table o (like public.odd) with (space = 'space'); create view v as select id, space, \"\"\"A b\\\" from "
      "o;"
      "create policy p on v using (true)");
  const GroupPtr group = projection::bind(*odd, "v", "{}", "{}", "s \"1\"").value().group;
  EXPECT_EQ(group->snapshot_record(R"({"id": 5, "\"A b\\": "x", "space": "s \"1\""})").value().value_or("outside"),
            R"({"key":["s \"1\"", 5],"record":{"id":5,"space":"s \"1\"","\"A b\\":"x"}})");
}

}  // namespace
}  // namespace viewgate::testing
