// Goal: a reader that was away gets exactly what lies after its position, from recent commits or from one read of the
// ledger for all who need it, and a position of another history is told so. Method: the engine alone, its surroundings
// faked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/engine_world.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const History& history_of(const HistoryReply& reply) { return *std::get<std::shared_ptr<const History>>(reply); }
ResetReason reason_of(const HistoryReply& reply) { return std::get<ResetReason>(std::get<Refusal>(reply).why); }
ErrorCode error_of(const HistoryReply& reply) { return std::get<ErrorCode>(std::get<Refusal>(reply).why); }

class EngineHistory : public ::testing::Test {
 protected:
  EngineHistory() { world.follow(0, overdrawn, 5); }

  std::vector<std::string_view> documents_of(const std::string& text) { return split_documents(text); }
  /// Everything that was delivered live is what history gives, byte for byte.
  std::string live() { return world.reactors[0].documents; }

  ActiveModelPtr model = active_model();
  GroupSpecPtr overdrawn = spec_of(model, subscribe_to("overdrawn"));
  World world;
};

TEST_F(EngineHistory, recent_commits_answer_without_the_ledger_and_with_the_same_bytes) {
  world.commit(change(6, 1, 10, -10));
  world.commit(change(7, 2, 10, 20));
  world.commit(change(8, 1, -10, 10));
  const auto reply = world.ask_history(overdrawn, at(5));
  EXPECT_EQ(history_of(*reply).text, live());
  EXPECT_EQ(history_of(*reply).through, at(8));
  EXPECT_EQ(history_of(*reply).position_token, overdrawn->sealer.seal(at(8)));
  EXPECT_THAT(world.reader.reads, IsEmpty());
}

TEST_F(EngineHistory, a_reader_at_the_head_gets_nothing_and_its_own_position) {
  world.commit(change(6, 1, 10, -10));
  const auto reply = world.ask_history(overdrawn, at(6));
  EXPECT_THAT(history_of(*reply).text, IsEmpty());
  EXPECT_EQ(history_of(*reply).through, at(6));
}

TEST_F(EngineHistory, what_was_erased_is_in_no_memory_any_more_and_its_readers_are_the_ledgers_to_answer) {
  for (int i = 6; i <= 8; ++i) world.commit(change(i, i, 10, -10));
  const auto shared = world.ask_history(overdrawn, at(5));
  EXPECT_EQ(history_of(*shared).through, at(8));
  world.engine.on_erased("s", {7});
  world.run();
  EXPECT_EQ(world.reactors[0].told.back(), "erased s 7");
  const auto inside = world.ask_history(overdrawn, at(5));
  ASSERT_THAT(world.reader.reads, SizeIs(1)) << "the same question as before, whose answer is still held";
  world.reader.reads.front().done(ledger::Error{ledger::errc::history_erased, "", ""});
  world.run();
  EXPECT_EQ(reason_of(*inside), ResetReason::state_unavailable);
  const auto after = world.ask_history(overdrawn, at(7));
  EXPECT_EQ(history_of(*after).through, at(8));
}

TEST_F(EngineHistory, what_was_read_before_values_were_erased_is_told_to_nobody) {
  const auto reply = world.ask_history(overdrawn, at(2));
  ASSERT_THAT(world.reader.reads, SizeIs(1));
  world.reader.reads.front().on_part(change(3, 1, 10, -10));
  world.engine.on_erased("s", {3});
  world.reader.reads.front().done(at(5));
  world.run();
  ASSERT_THAT(world.reader.reads, SizeIs(2)) << "it is read again";
  world.reader.reads.back().done(ledger::Error{ledger::errc::history_erased, "", ""});
  world.run();
  EXPECT_EQ(reason_of(*reply), ResetReason::state_unavailable);
}

TEST_F(EngineHistory, who_comes_back_from_one_position_at_once_shares_one_answer) {
  world.commit(change(6, 1, 10, -10));
  const auto first = world.ask_history(overdrawn, at(5));
  const auto second = world.ask_history(overdrawn, at(5), 1);
  EXPECT_EQ(&history_of(*first), &history_of(*second));
  world.commit(change(7, 2, 10, -10));
  EXPECT_EQ(history_of(*world.ask_history(overdrawn, at(6))).through, at(7));
}

TEST_F(EngineHistory, what_was_shared_before_another_history_began_is_told_to_nobody_after_it) {
  world.commit(change(6, 1, 10, -10));
  const auto old = world.ask_history(overdrawn, at(5));
  world.engine.on_broken("s", ledger::errc::history_diverged, at(5));
  world.follow(0, overdrawn, 5);
  auto other = change(6, 3, 10, -10);
  other->position = at(6, 9);
  world.commit(other);
  const auto now = world.ask_history(overdrawn, at(5));
  EXPECT_EQ(history_of(*now).through, at(6, 9));
  EXPECT_THAT(history_of(*now).text, HasSubstr(R"("key":[3])"));
}

TEST_F(EngineHistory, another_stamp_among_recent_commits_is_another_history) {
  world.commit(change(6, 1, 10, -10));
  EXPECT_EQ(reason_of(*world.ask_history(overdrawn, at(6, 9))), ResetReason::history_diverged);
  EXPECT_EQ(reason_of(*world.ask_history(overdrawn, at(5, 9))), ResetReason::history_diverged);
}

TEST_F(EngineHistory, one_read_serves_everyone_whose_position_lies_in_it) {
  const auto owned = spec_of(model, subscribe_to("owned", R"({"owner":"ann"})"));
  world.engine.join(1, owned);
  const auto oldest = world.ask_history(overdrawn, at(1));
  const auto newer = world.ask_history(overdrawn, at(2));
  const auto same = world.ask_history(overdrawn, at(2), 1);
  const auto other = world.ask_history(owned, at(2));
  ASSERT_THAT(world.reader.reads, SizeIs(1)) << "the first one's read has begun";
  world.reader.reads[0].on_part(change(2, 1, 10, -10));
  world.reader.reads[0].done(at(2));
  world.run();
  EXPECT_EQ(history_of(*oldest).through, at(2));
  ASSERT_THAT(world.reader.reads, SizeIs(2)) << "all who came meanwhile share the next";
  EXPECT_EQ(world.reader.reads[1].after, at(2));
  world.reader.reads[1].on_part(change(3, 2, 10, -10));
  world.reader.reads[1].on_part(change(4, 2, -10, -20));
  world.reader.reads[1].done(at(4));
  world.run();
  EXPECT_THAT(documents_of(history_of(*newer).text), SizeIs(2));
  EXPECT_EQ(&history_of(*newer), &history_of(*same)) << "encoded once";
  EXPECT_THAT(history_of(*other).text, HasSubstr(owned->channel));
  EXPECT_EQ(history_of(*other).through, at(4));
  EXPECT_THAT(world.reader.reads, SizeIs(2));
}

TEST_F(EngineHistory, a_position_inside_a_read_is_proved_by_its_stamp) {
  static_cast<void>(world.ask_history(overdrawn, at(0)));
  const auto lowest = world.ask_history(overdrawn, at(1));
  const auto liar = world.ask_history(overdrawn, at(2, 9));
  const auto honest = world.ask_history(overdrawn, at(2));
  world.reader.reads[0].done(at(0));
  world.run();
  ASSERT_THAT(world.reader.reads, SizeIs(2));
  world.reader.reads[1].on_part(change(2, 1, 10, -10));
  world.reader.reads[1].on_part(change(3, 1, -10, 10));
  world.reader.reads[1].done(at(3));
  world.run();
  EXPECT_THAT(documents_of(history_of(*lowest).text), SizeIs(2));
  EXPECT_THAT(documents_of(history_of(*honest).text), SizeIs(1));
  EXPECT_EQ(reason_of(*liar), ResetReason::history_diverged);
}

TEST_F(EngineHistory, who_was_not_reached_is_read_for_next) {
  static_cast<void>(world.ask_history(overdrawn, at(0)));
  const auto far = world.ask_history(overdrawn, at(1));
  const auto near = world.ask_history(overdrawn, at(4));
  world.reader.reads[0].done(at(0));
  world.reader.reads[1].on_part(change(2, 1, 10, -10));
  world.reader.reads[1].done(at(2));
  world.run();
  EXPECT_EQ(history_of(*far).through, at(2));
  ASSERT_THAT(world.reader.reads, SizeIs(3));
  EXPECT_EQ(world.reader.reads[2].after, at(4));
  world.reader.reads[2].done(at(5));
  world.run();
  EXPECT_EQ(history_of(*near).through, at(5));
}

TEST_F(EngineHistory, row_42_what_was_pruned_is_told_and_hurts_nobody_else) {
  static_cast<void>(world.ask_history(overdrawn, at(0)));
  const auto pruned = world.ask_history(overdrawn, at(1));
  const auto kept = world.ask_history(overdrawn, at(3));
  world.reader.reads[0].done(at(0));
  world.reader.reads[1].done(ledger::Error{ledger::errc::history_unavailable, "", "below the horizon"});
  world.run();
  EXPECT_EQ(reason_of(*pruned), ResetReason::history_pruned);
  ASSERT_THAT(world.reader.reads, SizeIs(3));
  EXPECT_EQ(world.reader.reads[2].after, at(3));
  world.reader.reads[2].done(at(5));
  world.run();
  EXPECT_EQ(history_of(*kept).through, at(5));
}

TEST_F(EngineHistory, thousands_that_come_back_from_below_the_horizon_are_told_by_few_reads) {
  constexpr int positions = 1000;
  constexpr int horizon = 700;
  EngineLimits limits;
  limits.history_groups = positions;
  World storm(limits);
  storm.follow(0, overdrawn, positions + 1);
  std::vector<std::shared_ptr<HistoryReply>> replies;
  for (int i = 0; i < positions; ++i) replies.push_back(storm.ask_history(overdrawn, at(i * 7 % positions)));
  for (std::size_t read = 0; read < storm.reader.reads.size(); ++read) {
    const auto from = storm.reader.reads[read].after.sequence.value;
    if (from < horizon) {
      storm.reader.reads[read].done(ledger::Error{ledger::errc::history_unavailable, "", "below the horizon"});
    } else {
      for (auto next = from + 1; next <= positions; ++next) storm.reader.reads[read].on_part(change(next, 1, 10, -10));
      storm.reader.reads[read].done(at(positions));
    }
    storm.run();
    ASSERT_LT(read, 24U) << "a thousand places are halved ten times";
  }
  for (int i = 0; i < positions; ++i) {
    const HistoryReply& reply = *replies[static_cast<std::size_t>(i)];
    if (i * 7 % positions >= horizon) {
      EXPECT_TRUE(std::holds_alternative<std::shared_ptr<const History>>(reply));
    } else {
      EXPECT_EQ(reason_of(reply), ResetReason::history_pruned);
    }
  }
}

TEST_F(EngineHistory,
       a_kept_snapshot_whose_place_leads_nowhere_is_not_given_again_and_an_older_cursor_does_not_spoil_it) {
  static_cast<void>(world.ask_bootstrap(overdrawn));
  ASSERT_THAT(world.reader.snapshots, SizeIs(1));
  world.reader.snapshots[0].done(at(5));
  world.run();
  const auto fails_at = [&](std::int64_t sequence) {
    static_cast<void>(world.ask_history(overdrawn, at(sequence)));
    world.reader.reads.back().done(ledger::Error{ledger::errc::history_unavailable, "", "below the horizon"});
    world.run();
    static_cast<void>(world.ask_bootstrap(overdrawn));
    return world.reader.snapshots.size();
  };
  EXPECT_EQ(fails_at(1), 1U) << "still shared";
  EXPECT_EQ(fails_at(9), 2U);
}

TEST_F(EngineHistory, a_position_above_the_head_is_the_ledgers_to_judge) {
  const auto reply = world.ask_history(overdrawn, at(9));
  ASSERT_THAT(world.reader.reads, SizeIs(1));
  world.reader.reads[0].done(ledger::Error{ledger::errc::history_diverged, "", ""});
  world.run();
  EXPECT_EQ(reason_of(*reply), ResetReason::history_diverged);
}

TEST_F(EngineHistory, a_database_that_is_away_answers_all_with_a_time_to_come_back) {
  static_cast<void>(world.ask_history(overdrawn, at(0)));
  const auto one = world.ask_history(overdrawn, at(1));
  const auto two = world.ask_history(overdrawn, at(3));
  world.reader.reads[0].done(at(0));
  world.reader.reads[1].done(ledger::Error{ledger::errc::timeout, "", ""});
  world.run();
  EXPECT_EQ(error_of(*one), ErrorCode::unavailable);
  EXPECT_EQ(error_of(*two), ErrorCode::unavailable);
  EXPECT_GT(std::get<Refusal>(*two).retry_after.count(), 0);
  EXPECT_THAT(world.reader.reads, SizeIs(2));
}

TEST_F(EngineHistory, a_stretch_that_would_not_fit_in_memory_starts_the_view_anew) {
  EngineLimits limits;
  limits.history_commit_bytes = 50;
  World small(limits);
  small.follow(0, overdrawn, 5);
  const auto reply = small.ask_history(overdrawn, at(1));
  small.reader.reads[0].on_part(change(2, 1, 10, -10));
  small.reader.reads[0].done(at(2));
  small.run();
  EXPECT_EQ(reason_of(*reply), ResetReason::state_unavailable);
}

TEST_F(EngineHistory, a_stretch_that_would_not_fit_in_memory_lies_in_a_file_and_is_the_same) {
  EngineLimits limits;
  limits.history_commit_bytes = 400;
  limits.snapshot_disk_bytes = mebibyte;
  World small(limits);
  small.follow(0, overdrawn, 30);
  const auto reply = small.ask_history(overdrawn, at(1));
  const auto compared = world.ask_history(overdrawn, at(1));
  for (int i = 2; i <= 20; ++i) {
    small.reader.reads[0].on_part(change(i, i, 10, -10));
    world.reader.reads[0].on_part(change(i, i, 10, -10));
  }
  small.reader.reads[0].done(at(20));
  world.reader.reads[0].done(at(20));
  small.run();
  world.run();
  const History& history = history_of(*reply);
  ASSERT_NE(history.spilled, nullptr);
  EXPECT_LE(history.text.size(), 400U);
  EXPECT_TRUE(history.is_told);
  std::string text = history.text;
  for (std::size_t i = 0; i < history.spilled->count(); ++i) text += *history.spilled->text(i);
  EXPECT_EQ(text, history_of(*compared).text);
  EXPECT_THAT(documents_of(text), SizeIs(19));
  EXPECT_GT(small.engine.snapshot_disk_bytes(), 0U);
}

TEST_F(EngineHistory, a_stretch_that_the_disk_does_not_take_either_starts_the_view_anew) {
  EngineLimits limits;
  limits.history_commit_bytes = 50;
  limits.snapshot_disk_bytes = 100;
  World small(limits);
  small.follow(0, overdrawn, 5);
  const auto reply = small.ask_history(overdrawn, at(1));
  small.reader.reads[0].on_part(change(2, 1, 10, -10));
  small.run_asides();
  small.reader.reads[0].on_part(change(3, 1, -10, 10));
  small.reader.reads[0].done(at(3));
  small.run();
  EXPECT_EQ(reason_of(*reply), ResetReason::state_unavailable);
  EXPECT_EQ(small.engine.snapshot_disk_bytes(), 0U) << "and leaves nothing there";
}

TEST_F(EngineHistory, a_disk_that_fails_when_nobody_waits_for_it_any_more_is_found_by_who_reads) {
  EngineLimits limits;
  limits.history_commit_bytes = 50;
  limits.snapshot_disk_bytes = 100;
  World small(limits);
  small.follow(0, overdrawn, 5);
  const auto reply = small.ask_history(overdrawn, at(1));
  small.reader.reads[0].on_part(change(2, 1, 10, -10));
  small.reader.reads[0].done(at(2));
  small.run();
  EXPECT_EQ(history_of(*reply).spilled->text(0), std::nullopt);
}

TEST_F(EngineHistory, more_than_may_wait_for_the_disk_starts_the_view_anew) {
  EngineLimits limits;
  limits.history_commit_bytes = 50;
  limits.snapshot_disk_bytes = mebibyte;
  limits.snapshot_memory_bytes = 100;
  World small(limits);
  small.follow(0, overdrawn, 5);
  const auto reply = small.ask_history(overdrawn, at(1));
  for (int i = 2; i <= 4; ++i) small.reader.reads[0].on_part(change(i, i, 10, -10));
  small.reader.reads[0].done(at(4));
  small.run();
  EXPECT_EQ(reason_of(*reply), ResetReason::state_unavailable);
}

TEST_F(EngineHistory, a_thousand_that_come_to_a_node_which_knows_nothing_are_served_by_two_reads) {
  std::vector<std::shared_ptr<HistoryReply>> replies;
  for (int i = 0; i < 1000; ++i) replies.push_back(world.ask_history(overdrawn, at(4 - i % 4), i % 2));
  ASSERT_THAT(world.reader.reads, SizeIs(1)) << "of the first one, who was alone";
  const auto serve = [&](std::size_t read) {
    for (auto next = world.reader.reads[read].after.sequence.value + 1; next <= 5; ++next)
      world.reader.reads[read].on_part(change(next, 1, next % 2 == 0 ? 10 : -10, next % 2 == 0 ? -10 : 10));
    world.reader.reads[read].done(at(5));
    world.run();
  };
  serve(0);
  ASSERT_THAT(world.reader.reads, SizeIs(2));
  EXPECT_EQ(world.reader.reads[1].after, at(1)) << "the lowest, not the first: it serves all";
  serve(1);
  EXPECT_THAT(world.reader.reads, SizeIs(2));
  for (std::size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(history_of(*replies[i]).through, at(5));
    EXPECT_THAT(documents_of(history_of(*replies[i]).text), SizeIs(1 + i % 4));
  }
  EXPECT_THAT(documents_of(history_of(*world.ask_history(overdrawn, at(1))).text), SizeIs(4));
  EXPECT_THAT(world.reader.reads, SizeIs(2)) << "who comes later needs no read at all";
}

TEST_F(EngineHistory, who_was_passed_over_is_the_first_of_the_next_read) {
  static_cast<void>(world.ask_history(overdrawn, at(4)));
  const auto passed = world.ask_history(overdrawn, at(3));
  static_cast<void>(world.ask_history(overdrawn, at(1)));
  world.reader.reads[0].done(at(4));
  world.run();
  EXPECT_EQ(world.reader.reads[1].after, at(1));
  static_cast<void>(world.ask_history(overdrawn, at(0)));
  world.reader.reads[1].on_part(change(2, 1, 10, -10));
  world.reader.reads[1].done(at(2));
  world.run();
  EXPECT_EQ(world.reader.reads[2].after, at(3)) << "though somebody waits at 0";
  world.reader.reads[2].done(at(5));
  world.run();
  EXPECT_EQ(history_of(*passed).through, at(5));
}

TEST_F(EngineHistory, a_group_that_was_reset_has_no_history) {
  world.engine.on_broken("s", ledger::errc::history_unavailable, at(5));
  EXPECT_EQ(reason_of(*world.ask_history(overdrawn, at(5))), ResetReason::state_unavailable);
}

}  // namespace
}  // namespace viewgate::gateway::testing
