// Goal: what the engine tells a reactor, and in which order: joined before every frame above it, each commit once,
// progress behind what it speaks of, resets after what was delivered. Method: the engine alone, its surroundings faked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/engine_world.hpp"
#include "gateway/mutation_door.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EngineFollow : public ::testing::Test {
 protected:
  ActiveModelPtr model = active_model();
  GroupSpecPtr overdrawn = spec_of(model, subscribe_to("overdrawn"));
  GroupSpecPtr owned = spec_of(model, subscribe_to("owned", R"({"owner":"ann"})"));
  World world;
  FakeReactor& first = world.reactors[0];
  FakeReactor& second = world.reactors[1];
};

TEST_F(EngineFollow, a_join_waits_for_the_tail_and_is_answered_with_its_head) {
  world.engine.join(0, overdrawn);
  world.run();
  EXPECT_THAT(world.tail.calls, ElementsAre("watch s"));
  EXPECT_THAT(first.take(), IsEmpty());
  world.engine.on_watched("s", at(5));
  world.run();
  EXPECT_THAT(first.take(), ElementsAre("joined " + overdrawn->channel + " at 5"));
}

TEST_F(EngineFollow, a_commit_is_encoded_once_and_reaches_each_reactor_that_has_the_group) {
  world.follow(0, overdrawn, 5);
  world.engine.join(1, spec_of(model, subscribe_to("overdrawn")));
  world.run();
  first.take();
  second.take();
  const std::shared_ptr<ledger::CommitPart> part = change(6, 1, 10, -10);
  part->provenance.at = "2024-02-29T12:00:00.000001Z";
  world.commit(part);
  EXPECT_THAT(first.take(), ElementsAre("frame 6", "head s 6"));
  EXPECT_THAT(second.take(), ElementsAre("frame 6", "head s 6"));
  std::string expected;
  append_commit(expected, overdrawn->channel, 6, overdrawn->sealer.seal(at(6)),
                R"([{"kind":"entered","key":[1],"record":{"id":1,"balance":-10}}])", "2024-02-29T12:00:00.000001Z");
  EXPECT_EQ(first.documents, expected + "\n");
}

TEST_F(EngineFollow, a_reactor_without_the_space_hears_nothing_of_it) {
  world.follow(0, overdrawn, 5);
  world.commit(change(6, 1, 10, -10));
  EXPECT_THAT(second.take(), IsEmpty());
}

TEST_F(EngineFollow, a_commit_that_touches_no_group_moves_the_head_only) {
  world.follow(0, overdrawn, 5);
  first.take();
  world.commit(change(6, 1, 10, 20));
  EXPECT_THAT(first.take(), ElementsAre("head s 6"));
}

TEST(EngineBacklog, a_reactor_that_takes_nothing_has_a_bounded_backlog_and_is_joined_anew_when_it_goes_on) {
  const auto model = active_model();
  const auto overdrawn = spec_of(model, subscribe_to("overdrawn"));
  EngineLimits limits;
  limits.reactor_backlog_bytes = 4000;
  World world(limits);
  world.follow(0, overdrawn, 0);
  FakeReactor& reactor = world.reactors[0];
  reactor.take();
  constexpr int commits = 1000;
  for (int i = 1; i <= commits; ++i) {
    world.engine.on_part(change(i, i, 10, -10));
    world.engine.on_turn();
  }
  EXPECT_LT(world.posts.size(), 20U);
  world.run();
  const auto before = reactor.take();
  ASSERT_FALSE(before.empty());
  EXPECT_EQ(before.front(), "frame 1");
  EXPECT_LT(reactor.documents.size(), limits.reactor_backlog_bytes);

  world.engine.tick();
  world.run();
  EXPECT_THAT(reactor.take(), ElementsAre("joined " + overdrawn->channel + " at " + std::to_string(commits)));
  world.commit(change(commits + 1, 1, 10, -10));
  EXPECT_THAT(reactor.take(), ElementsAre("frame 1001", "head s 1001"));
}

TEST(EngineBacklog, receipts_that_one_who_takes_nothing_cannot_have_are_told_as_lost) {
  const auto model = active_model();
  const auto overdrawn = spec_of(model, subscribe_to("overdrawn"));
  EngineLimits limits;
  limits.reactor_backlog_bytes = 4000;
  World world(limits);
  world.follow(0, overdrawn, 0);
  world.reactors[0].take();
  for (int i = 1; i <= 100; ++i) {
    const auto part = change(i, i, 10, -10);
    part->provenance.principal = "ann";
    part->provenance.client = i <= 50 ? "early" : "late";
    part->receipt = ledger::CommitReceipt{i, std::string(200, 'x'), ""};
    world.engine.on_part(part);
    world.engine.on_turn();
  }
  world.run();
  EXPECT_THAT(world.reactors[0].take(), ::testing::Not(::testing::Contains(HasSubstr("lost"))));
  world.engine.tick();
  world.commit(change(101, 1, 10, -10));
  EXPECT_THAT(world.reactors[0].take(), ::testing::IsSupersetOf({"lost " + client_key_of("ann", "early"),
                                                                 "lost " + client_key_of("ann", "late")}));
}

TEST(EngineBacklog, the_other_reactors_do_not_notice_one_that_is_behind) {
  const auto model = active_model();
  const auto overdrawn = spec_of(model, subscribe_to("overdrawn"));
  EngineLimits limits;
  limits.reactor_backlog_bytes = 1000;
  World world(limits);
  world.follow(0, overdrawn, 0);
  world.engine.join(1, overdrawn);
  world.run();
  world.reactors[1].take();
  for (int i = 1; i <= 100; ++i) {
    world.engine.on_part(change(i, i, 10, -10));
    world.engine.on_turn();
    world.run_only(1);
  }
  EXPECT_EQ(world.reactors[1].take().size(), 200U);
}

TEST_F(EngineFollow, frames_of_the_turn_come_before_the_answer_of_a_join_in_it) {
  world.follow(0, overdrawn, 5);
  first.take();
  world.engine.on_part(change(6, 1, 10, -10));
  world.engine.join(0, owned);
  world.engine.on_part(change(7, 1, -10, 10));
  world.engine.on_turn();
  world.run();
  EXPECT_THAT(first.take(),
              ElementsAre("frame 6", "joined " + owned->channel + " at 6", "frame 7", "frame 7", "head s 7"));
}

TEST_F(EngineFollow, a_join_inside_a_commit_in_parts_is_answered_at_its_end) {
  world.follow(0, overdrawn, 5);
  first.take();
  auto part = change(6, 1, 10, -10);
  part->last = false;
  part->by_key = true;
  world.commit(part);
  EXPECT_THAT(first.take(), ElementsAre("head s 5"));
  world.engine.join(1, owned);
  world.run();
  EXPECT_THAT(second.take(), IsEmpty());
  auto rest = change(6, 2, 10, 20);
  rest->first = false;
  rest->by_key = true;
  world.commit(rest);
  EXPECT_THAT(first.take(), ElementsAre("frame 6", "head s 6"));
  EXPECT_THAT(second.take(), ElementsAre("joined " + owned->channel + " at 6", "head s 6"));
}

TEST_F(EngineFollow, a_commit_in_parts_that_is_too_much_for_a_frame_is_told_as_history_without_a_read) {
  EngineLimits limits;
  limits.frame_bytes = 500;
  limits.history_commit_bytes = 400;
  limits.snapshot_disk_bytes = mebibyte;
  World small(limits);
  auto& reactor = small.reactors[0];
  small.follow(0, overdrawn, 5);
  small.commit(change(6, 1, 10, 20));  // touches no group: its readers still stand at 5
  reactor.take();
  for (int i = 1; i <= 10; ++i) {
    auto part = change(7, i, 10, -10);
    part->first = i == 1;
    part->last = i == 10;
    part->by_key = true;
    small.commit(part);
    const bool is_told = ::testing::Value(reactor.told, ::testing::Contains(HasSubstr("7")));
    EXPECT_EQ(is_told, i == 10) << "nothing of it before its end";
  }
  EXPECT_THAT(reactor.take(), ::testing::Contains("joined " + overdrawn->channel + " at 7"));
  EXPECT_THAT(reactor.documents, IsEmpty());
  std::shared_ptr<const History> first_history;
  for (const auto& place : {at(5), at(6)}) {
    const auto history = std::get<std::shared_ptr<const History>>(*small.ask_history(overdrawn, place));
    EXPECT_EQ(history->through, at(7));
    EXPECT_TRUE(history->is_told);
    ASSERT_NE(history->spilled, nullptr);
    if (!first_history) first_history = history;
    EXPECT_EQ(history, first_history) << "shared";
  }
  EXPECT_THAT(small.reader.reads, IsEmpty());
  small.commit(change(8, 1, -10, 10));
  EXPECT_THAT(reactor.take(), ElementsAre("frame 8", "head s 8")) << "and it goes on";
  first_history = nullptr;
  EXPECT_GT(small.engine.snapshot_disk_bytes(), 0U);
  small.now += limits.snapshot_reuse;
  small.engine.tick();
  small.run();
  EXPECT_EQ(small.engine.snapshot_disk_bytes(), 0U) << "nobody reads it any more";
}

TEST_F(EngineFollow, a_commit_in_parts_that_the_disk_does_not_take_resets_its_group_and_no_other) {
  EngineLimits limits;
  limits.history_commit_bytes = 100;
  World small(limits);
  small.follow(0, overdrawn, 5);
  small.engine.join(1, spec_of(model, subscribe_to("owned", R"({"owner":"bob"})")));
  small.run();
  small.reactors[0].take();
  small.reactors[1].take();
  for (int i = 1; i <= 3; ++i) {
    auto part = change(6, i, 10, -10);
    part->first = i == 1;
    part->last = i == 3;
    part->by_key = true;
    small.commit(part);
  }
  EXPECT_THAT(small.reactors[0].take(), ElementsAre("reset state_unavailable"));
  EXPECT_THAT(small.reactors[1].take(), ::testing::Each(::testing::Not(HasSubstr("reset"))));
}

TEST_F(EngineFollow, values_that_are_erased_before_a_commit_in_parts_has_ended_are_told_to_nobody) {
  world.follow(0, overdrawn, 5);
  auto part = change(6, 1, 10, -10);
  part->last = false;
  part->by_key = true;
  world.commit(part);
  world.engine.on_erased("s", {6});
  world.run();
  EXPECT_THAT(first.take(), ::testing::Contains("reset state_unavailable"));
}

TEST_F(EngineFollow, progress_moves_a_quiet_view_to_the_head_and_never_inside_a_commit) {
  world.follow(0, overdrawn, 5);
  world.commit(change(6, 1, 10, 20));
  first.take();
  auto part = change(7, 1, 10, 20);
  part->last = false;
  world.commit(part);
  world.now += std::chrono::seconds(3);
  world.engine.tick();
  world.run();
  EXPECT_THAT(first.documents, IsEmpty());
  auto rest = change(7, 2, 10, 20);
  rest->first = false;
  world.commit(rest);
  world.now += std::chrono::seconds(3);
  world.engine.tick();
  world.run();
  std::string expected;
  append_progress(expected, overdrawn->channel, 7, overdrawn->sealer.seal(at(7)));
  EXPECT_EQ(first.documents, expected + "\n");
  world.now += std::chrono::seconds(3);
  world.engine.tick();
  world.run();
  EXPECT_EQ(first.documents, expected + "\n") << "told twice";
}

TEST_F(EngineFollow, a_broken_history_resets_the_groups_of_its_space_and_follows_from_the_new_head) {
  world.follow(0, overdrawn, 5);
  const auto elsewhere = spec_of(model, subscribe_to("overdrawn", "{}", "t"));
  world.follow(1, elsewhere, 1);
  first.take();
  second.take();
  world.engine.on_part(change(6, 1, 10, -10));
  world.engine.on_broken("s", ledger::errc::history_diverged, at(3, 9));
  world.run();
  EXPECT_THAT(first.take(), ElementsAre("frame 6", "reset history_diverged"));
  EXPECT_THAT(second.take(), IsEmpty());
  world.engine.join(0, overdrawn);
  world.run();
  EXPECT_THAT(first.take(), ElementsAre("joined " + overdrawn->channel + " at 3"));
  auto next = change(4, 1, 10, -10);
  world.commit(next);
  EXPECT_THAT(first.take(), ElementsAre("frame 4", "head s 4"));
}

TEST_F(EngineFollow, a_gap_from_the_tail_is_never_delivered_as_if_it_were_none) {
  world.follow(0, overdrawn, 5);
  first.take();
  world.commit(change(8, 1, 10, -10));
  EXPECT_THAT(first.take(), ElementsAre("reset state_unavailable"));
}

TEST_F(EngineFollow, a_damaged_record_resets_the_space_and_the_process_lives) {
  world.follow(0, overdrawn, 5);
  first.take();
  auto part = change(6, 1, 10, -10);
  part->changes[0].after = "{broken";
  world.commit(part);
  EXPECT_THAT(first.take(), ElementsAre("reset state_unavailable"));
  world.engine.join(0, overdrawn);
  world.commit(change(7, 2, 10, -10));
  EXPECT_THAT(first.take(), ElementsAre("joined " + overdrawn->channel + " at 6", "frame 7", "head s 7"));
}

TEST_F(EngineFollow, a_group_that_nobody_has_is_followed_for_its_linger_and_then_its_space_too) {
  world.follow(0, overdrawn, 5);
  world.engine.leave(0, overdrawn->id);
  world.engine.tick();
  EXPECT_EQ(world.engine.groups(), 1U);
  world.engine.join(1, overdrawn);
  world.run();
  EXPECT_THAT(second.take(), ElementsAre("joined " + overdrawn->channel + " at 5"));
  world.now += std::chrono::seconds(6);
  world.engine.tick();
  EXPECT_EQ(world.engine.groups(), 1U) << "it is in use again";
  world.engine.leave(1, overdrawn->id);
  world.now += std::chrono::seconds(6);
  world.engine.tick();
  EXPECT_EQ(world.engine.groups(), 0U);
  world.now += std::chrono::seconds(6);
  world.engine.tick();
  EXPECT_EQ(world.engine.spaces(), 0U);
  EXPECT_THAT(world.tail.calls, ElementsAre("watch s", "unwatch s"));
}

TEST_F(EngineFollow, a_new_model_resets_what_changed_and_leaves_what_did_not) {
  world.follow(0, overdrawn, 5);
  world.engine.join(0, owned);
  world.run();
  first.take();
  std::string text = model_text;
  text.replace(text.find("balance < 0"), 11, "balance < 1");
  world.engine.set_model(active_model(text));
  world.run();
  EXPECT_THAT(first.take(), ElementsAre("model", "reset view_changed"));
  EXPECT_EQ(world.engine.groups(), 1U);
  world.commit(change(6, 1, 10, -10));
  EXPECT_THAT(first.take(), ElementsAre("frame 6", "head s 6"));
}

TEST_F(EngineFollow, a_hole_in_a_capture_resets_its_views) {
  world.follow(0, overdrawn, 5);
  first.take();
  auto holed = std::make_shared<ActiveModel>(*model);
  holed->broken.emplace("accounts", "a trigger is disabled");
  world.engine.set_model(holed);
  world.run();
  EXPECT_THAT(first.take(), ElementsAre("model", "reset view_changed"));
}

TEST_F(EngineFollow, everyone_hears_that_the_database_is_away_and_that_it_is_back) {
  world.engine.on_degraded(ledger::Error{ledger::errc::unavailable, "", "gone"});
  world.engine.on_restored();
  world.run();
  EXPECT_THAT(first.take(), ElementsAre("notice degraded", "notice restored"));
  EXPECT_THAT(second.take(), ElementsAre("notice degraded", "notice restored"));
}

}  // namespace
}  // namespace viewgate::gateway::testing
