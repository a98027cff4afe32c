// Goal: one snapshot per group for everyone who needs it, exact rows, bounded memory, and an answer that says when to
// return where a bound is reached. Method: the engine alone, its surroundings faked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/bootstrap_world.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(EngineBootstrap, every_row_is_decided_again_and_encoded_once_for_all) {
  start();
  const auto one = world->ask_bootstrap(overdrawn);
  const auto two = world->ask_bootstrap(overdrawn, 1);
  ASSERT_THAT(world->reader.snapshots, SizeIs(1));
  auto& snapshot = world->reader.snapshots[0];
  EXPECT_TRUE(snapshot.on_row(account(1, -5)));
  EXPECT_TRUE(snapshot.on_row(account(2, 5))) << "outside of the view: left out, and no reason to stop";
  snapshot.done(at(9));
  world->run();
  const auto chunks = chunks_of(*one);
  EXPECT_EQ(chunks, chunks_of(*two));
  EXPECT_EQ(chunks->at, at(9));
  EXPECT_EQ(chunks->position_token, overdrawn->sealer.seal(at(9)));
  std::string expected;
  append_snapshot(expected, overdrawn->channel, R"([{"key":[1],"record":{"id":1,"balance":-5}}])");
  ASSERT_THAT(chunks->chunks, SizeIs(1));
  EXPECT_EQ(*chunks->chunks[0], expected + "\n");
}

TEST_F(EngineBootstrap, a_snapshot_of_a_ledger_whose_head_went_back_is_not_shown) {
  start();  // the tail is at 5
  for (const ledger::Position lost : {at(4), ledger::Position{at(5).sequence, ledger::Stamp{99}}}) {
    const auto reply = world->ask_bootstrap(overdrawn);
    EXPECT_TRUE(world->reader.snapshots.back().on_row(account(1, -5)));
    world->reader.snapshots.back().done(lost);
    world->run();
    EXPECT_EQ(error_of(*reply), ErrorCode::unavailable) << "until the tail has looked again";
  }
  const auto reply = world->ask_bootstrap(overdrawn);
  world->reader.snapshots.back().done(at(5));
  world->run();
  EXPECT_EQ(chunks_of(*reply)->at, at(5)) << "and nothing of the refused ones was kept";
}

TEST_F(EngineBootstrap, an_empty_view_has_no_chunk) {
  start();
  const auto reply = world->ask_bootstrap(overdrawn);
  world->reader.snapshots[0].done(at(5));
  world->run();
  EXPECT_THAT(chunks_of(*reply)->chunks, IsEmpty());
}

TEST_F(EngineBootstrap, a_large_one_comes_in_chunks) {
  EngineLimits limits;
  limits.snapshot_chunk_bytes = 100;
  start(limits);
  const auto reply = world->ask_bootstrap(overdrawn);
  for (int id = 0; id < 10; ++id) EXPECT_TRUE(world->reader.snapshots[0].on_row(account(id, -1)));
  world->reader.snapshots[0].done(at(5));
  world->run();
  std::size_t records = 0;
  for (const auto& chunk : chunks_of(*reply)->chunks) {
    const auto document = std::get<Snapshot>(*parse_server_document(split_documents(*chunk).at(0)));
    records += read_records(document.records)->size();
    EXPECT_LT(chunk->size(), 300U);
  }
  EXPECT_EQ(records, 10U);
}

TEST_F(EngineBootstrap, who_comes_a_little_later_shares_it_and_who_comes_too_late_does_not) {
  start();
  const auto first = world->ask_bootstrap(overdrawn);
  world->reader.snapshots[0].done(at(5));
  world->run();
  world->now += std::chrono::seconds(1);
  EXPECT_EQ(chunks_of(*world->ask_bootstrap(overdrawn)), chunks_of(*first));
  world->now += std::chrono::seconds(2);
  static_cast<void>(world->ask_bootstrap(overdrawn));
  EXPECT_THAT(world->reader.snapshots, SizeIs(2));
}

TEST_F(EngineBootstrap, one_of_before_values_were_erased_is_given_to_nobody) {
  start();
  static_cast<void>(world->ask_bootstrap(overdrawn));
  world->reader.snapshots[0].done(at(5));
  world->commit(change(6, 1, 10, 20));
  world->engine.on_erased("s", {6});
  const auto reply = world->ask_bootstrap(overdrawn);
  ASSERT_THAT(world->reader.snapshots, SizeIs(2)) << "the kept one is gone";
  world->commit(change(7, 1, 20, 10));
  world->engine.on_erased("s", {7});
  world->reader.snapshots[1].done(at(6));
  world->run();
  EXPECT_EQ(error_of(*reply), ErrorCode::unavailable) << "it was taken before";
  const auto again = world->ask_bootstrap(overdrawn);
  world->reader.snapshots[2].done(at(7));
  world->run();
  EXPECT_EQ(chunks_of(*again)->at, at(7));
}

TEST_F(EngineBootstrap, one_that_lies_too_many_commits_back_is_not_shared) {
  EngineLimits limits;
  limits.snapshot_reuse_commits = 1;
  start(limits);
  static_cast<void>(world->ask_bootstrap(overdrawn));
  world->reader.snapshots[0].done(at(5));
  world->commit(change(6, 1, 10, 20));
  static_cast<void>(world->ask_bootstrap(overdrawn));
  EXPECT_THAT(world->reader.snapshots, SizeIs(1));
  world->commit(change(7, 1, 10, 20));
  static_cast<void>(world->ask_bootstrap(overdrawn));
  EXPECT_THAT(world->reader.snapshots, SizeIs(2));
}

TEST_F(EngineBootstrap, so_many_at_once_so_many_waiting_and_the_surplus_is_told_when_to_return) {
  EngineLimits limits;
  limits.snapshot_concurrent = 1;
  limits.snapshot_queue = 1;
  start(limits);
  std::vector<std::shared_ptr<BootstrapReply>> replies;
  for (const char* owner : {"a", "b", "c"}) {
    const auto spec = spec_of(model, subscribe_to("owned", std::string(R"({"owner":")") + owner + "\"}"));
    world->engine.join(0, spec);
    replies.push_back(world->ask_bootstrap(spec));
  }
  EXPECT_THAT(world->reader.snapshots, SizeIs(1));
  EXPECT_EQ(error_of(*replies[2]), ErrorCode::unavailable);
  EXPECT_EQ(std::get<Refusal>(*replies[2]).retry_after, limits.retry_after);
  EXPECT_EQ(world->engine.bootstrap_queue_full(), 1U);
  world->reader.snapshots[0].done(at(5));
  world->run();
  ASSERT_THAT(world->reader.snapshots, SizeIs(2));
  world->reader.snapshots[1].done(at(5));
  world->run();
  EXPECT_EQ(chunks_of(*replies[0])->at, at(5));
  EXPECT_EQ(chunks_of(*replies[1])->at, at(5));
}

TEST_F(EngineBootstrap, one_beyond_its_bound_is_given_up_and_its_memory_is_free_again) {
  EngineLimits limits;
  limits.snapshot_chunk_bytes = 50;
  limits.snapshot_bytes = 200;
  start(limits);
  const auto reply = world->ask_bootstrap(overdrawn);
  auto snapshot = std::move(world->reader.snapshots[0]);
  int rows = 0;
  while (rows < 100 && snapshot.on_row(account(rows, -1))) ++rows;
  EXPECT_LT(rows, 10);
  snapshot.done(ledger::Error{ledger::errc::rejected, "", "given up"});
  world->run();
  EXPECT_EQ(error_of(*reply), ErrorCode::unavailable);
}

TEST_F(EngineBootstrap, a_view_of_several_pages_is_made_exact_by_the_log_between_them) {
  for (const std::size_t memory : {std::size_t{1}, std::size_t{200}, mebibyte}) {
    EngineLimits limits;
    limits.snapshot_page_rows = 2;
    limits.snapshot_chunk_bytes = 30;
    limits.snapshot_total_bytes = memory;
    limits.snapshot_disk_bytes = mebibyte;
    limits.snapshot_hold = std::chrono::milliseconds(0);  // pages do not grow
    start(limits);
    const auto reply = world->ask_bootstrap(overdrawn);
    auto& reader = world->reader;
    const auto page = [&](std::vector<std::string> rows, std::int64_t sequence) {
      ASSERT_FALSE(reader.snapshots.empty());
      auto snapshot = std::move(reader.snapshots.front());
      reader.snapshots.pop_front();
      for (const auto& row : rows) EXPECT_TRUE(snapshot.on_row(row));
      snapshot.done(at(sequence));
    };
    EXPECT_EQ(reader.snapshots.front().query.after, "");
    page({account(1, -1), account(2, -2)}, 5);
    EXPECT_EQ(reader.snapshots.front().query.after, "[2]");
    page({account(3, -30)}, 9);  // the second page has one row where it may have one
    EXPECT_EQ(reader.snapshots.front().query.after, "[3]");
    page({}, 9);
    ASSERT_THAT(reader.reads, SizeIs(1));
    EXPECT_EQ(reader.reads[0].after, at(5));
    reader.reads[0].on_part(change(6, 1, -1, 10));    // leaves after its page was read
    reader.reads[0].on_part(change(7, 3, -3, -30));   // its page shows it already
    reader.reads[0].on_part(change(8, 4, 4, -4));     // enters behind the reader's back
    reader.reads[0].on_part(change(9, 0, 5, 7));      // was never inside
    reader.reads[0].on_part(change(10, 2, -2, -20));  // after the last page: the stream's
    reader.reads[0].done(at(10));
    world->run();
    const auto snapshot = chunks_of(*reply);
    EXPECT_EQ(snapshot->at, at(9));
    EXPECT_EQ(snapshot->spilled != nullptr, memory < mebibyte);
    EXPECT_THAT(records_of(*snapshot), ::testing::ElementsAre(::testing::Pair("[2]", R"({"id":2,"balance":-2})"),
                                                              ::testing::Pair("[3]", R"({"id":3,"balance":-30})"),
                                                              ::testing::Pair("[4]", R"({"id":4,"balance":-4})")));
  }
}

TEST_F(EngineBootstrap, pages_of_two_histories_are_not_put_together) {
  EngineLimits limits;
  limits.snapshot_page_rows = 1;
  for (const ledger::Position second : {at(5), ledger::Position{at(6).sequence, ledger::Stamp{99}}, at(7, 9)}) {
    start(limits);
    const auto reply = world->ask_bootstrap(overdrawn);
    EXPECT_TRUE(world->reader.snapshots[0].on_row(account(1, -5)));
    world->reader.snapshots[0].done(at(6));
    ASSERT_THAT(world->reader.snapshots, SizeIs(2));
    world->reader.snapshots[1].done(second);
    if (!world->reader.reads.empty()) {
      world->reader.reads[0].on_part(change(7, 1, -5, -6));
      world->reader.reads[0].done(at(7));
    }
    world->run();
    EXPECT_EQ(error_of(*reply), ErrorCode::unavailable);
  }
}

TEST_F(EngineBootstrap, a_restore_between_two_pages_is_noticed_though_the_number_was_reached_again) {
  EngineLimits limits;
  limits.snapshot_page_rows = 1;
  limits.snapshot_hold = std::chrono::milliseconds(0);
  start(limits);
  const auto read = [&](std::uint64_t line_of_second) {
    world->reader.snapshots.clear();
    world->reader.reads.clear();
    const auto reply = world->ask_bootstrap(overdrawn);
    int id = 0;
    for (const auto position : {at(5), at(8, line_of_second), at(11)}) {
      EXPECT_TRUE(world->reader.snapshots.back().on_row(account(++id, -1)));
      world->reader.snapshots.back().done(position);
    }
    world->reader.snapshots.back().done(at(11));
    for (int sequence = 6; sequence <= 11; ++sequence) {
      world->reader.reads.front().on_part(change(sequence, 100, 5, sequence));
    }
    world->reader.reads.front().done(at(11));
    world->run();
    return reply;
  };
  EXPECT_EQ(error_of(*read(9)), ErrorCode::unavailable) << "the log has another commit 8 than the second page";
  EXPECT_EQ(chunks_of(*read(7))->at, at(11)) << "and it works again";
}

TEST_F(EngineBootstrap, one_whose_pages_take_too_long_all_together_is_given_up) {
  EngineLimits limits;
  limits.snapshot_page_rows = 1;
  limits.snapshot_hold = std::chrono::milliseconds(0);
  limits.snapshot_read_time = std::chrono::seconds(10);
  start(limits);
  for (const bool in_the_log : {false, true}) {
    world->reader.snapshots.clear();
    const auto reply = world->ask_bootstrap(overdrawn);
    EXPECT_TRUE(world->reader.snapshots.back().on_row(account(1, -1)));
    world->now += std::chrono::seconds(6);
    world->reader.snapshots.back().done(at(5));
    if (!in_the_log) world->now += std::chrono::seconds(3);
    EXPECT_EQ(error_of(*reply), ErrorCode::bad_request) << "no answer yet";
    if (!in_the_log) {
      EXPECT_TRUE(world->reader.snapshots.back().on_row(account(2, -1)));
    }
    world->now += std::chrono::seconds(4);
    world->reader.snapshots.back().done(at(6));
    world->run();
    EXPECT_EQ(error_of(*reply), ErrorCode::bootstrap_timeout);
  }
  const auto reply = world->ask_bootstrap(overdrawn);
  world->reader.snapshots.back().done(at(6));
  world->run();
  EXPECT_EQ(chunks_of(*reply)->at, at(6)) << "and it works again";
}

TEST_F(EngineBootstrap, who_asks_once_shares_the_read_and_nothing_is_followed_afterwards) {
  world = std::make_unique<World>();
  auto replies = std::make_shared<std::vector<BootstrapReply>>();
  const auto ask = [&] {
    world->engine.bootstrap_once(overdrawn, "", [=](BootstrapReply told) { replies->push_back(told); });
  };
  ask();
  EXPECT_THAT(world->reader.snapshots, IsEmpty()) << "the space is not followed yet";
  world->engine.on_watched("s", at(5));
  ask();
  world->engine.join(0, overdrawn);
  const auto socket = world->ask_bootstrap(overdrawn);
  world->engine.leave(0, overdrawn->id);
  ASSERT_THAT(world->reader.snapshots, SizeIs(1)) << "one read for all";
  world->now += std::chrono::minutes(1);
  world->engine.tick();
  EXPECT_EQ(world->engine.groups(), 1U) << "as long as somebody waits";
  world->reader.snapshots[0].done(at(5));
  world->run();
  ASSERT_THAT(*replies, SizeIs(2));
  for (const auto& each : *replies) EXPECT_EQ(chunks_of(each), chunks_of(*socket));
  world->now += std::chrono::minutes(1);
  world->engine.tick();
  EXPECT_EQ(world->engine.groups(), 1U) << "as long as somebody is being sent it";
  replies->clear();
  *socket = Refusal{ErrorCode::bad_request};
  world->now += std::chrono::minutes(1);
  world->engine.tick();
  EXPECT_EQ(world->engine.groups(), 0U);
  world->engine.on_degraded(ledger::Error{ledger::errc::unavailable, "", ""});
  ask();
  EXPECT_EQ(error_of(replies->back()), ErrorCode::unavailable);
}

TEST_F(EngineBootstrap, a_log_that_cannot_be_read_refuses_and_one_that_says_more_than_memory_holds_is_exact) {
  EngineLimits limits;
  limits.snapshot_page_rows = 1;
  limits.snapshot_memory_bytes = 400;
  limits.snapshot_reuse = {};
  start(limits);
  auto& reader = world->reader;
  const auto read_two_pages = [&] {
    reader.snapshots.clear();
    const auto reply = world->ask_bootstrap(overdrawn);
    EXPECT_TRUE(reader.snapshots.back().on_row(account(1, -1)));
    reader.snapshots.back().done(at(5));
    reader.snapshots.back().done(at(9));
    return reply;
  };
  const auto pruned = read_two_pages();
  reader.reads.back().done(ledger::Error{ledger::errc::history_unavailable, "", "below the horizon"});
  world->run();
  EXPECT_EQ(error_of(*pruned), ErrorCode::unavailable);
  const auto much = read_two_pages();
  reader.reads.back().on_part(change(6, 6, 1, -1));
  reader.reads.back().on_part(change(7, 7, 1, -1));
  reader.reads.back().on_part(change(8, 6, -1, -5));
  reader.reads.back().on_part(change(9, 7, -1, 1));
  reader.reads.back().done(at(9));
  world->run();
  EXPECT_THAT(records_of(*chunks_of(*much)),
              ::testing::ElementsAre(::testing::Pair("[1]", R"({"id":1,"balance":-1})"),
                                     ::testing::Pair("[6]", R"({"id":6,"balance":-5})")));
  const auto right = read_two_pages();
  reader.reads.back().on_part(change(9, 1, -1, -9));
  reader.reads.back().done(at(9));
  world->run();
  EXPECT_THAT(records_of(*chunks_of(*right)),
              ::testing::ElementsAre(::testing::Pair("[1]", R"({"id":1,"balance":-9})")));
}

TEST_F(EngineBootstrap, too_long_and_away_have_their_names) {
  start();
  const auto slow = world->ask_bootstrap(overdrawn);
  world->reader.snapshots[0].done(ledger::Error{ledger::errc::timeout, "", ""});
  world->run();
  EXPECT_EQ(error_of(*slow), ErrorCode::bootstrap_timeout);
  world->engine.on_degraded(ledger::Error{ledger::errc::unavailable, "", ""});
  EXPECT_EQ(error_of(*world->ask_bootstrap(overdrawn)), ErrorCode::unavailable);
  EXPECT_THAT(world->reader.snapshots, SizeIs(1)) << "not even tried";
  world->engine.on_restored();
  static_cast<void>(world->ask_bootstrap(overdrawn));
  EXPECT_THAT(world->reader.snapshots, SizeIs(2)) << "and it works again";
}

TEST_F(EngineBootstrap, one_that_was_read_across_a_break_is_never_used) {
  start();
  const auto reply = world->ask_bootstrap(overdrawn);
  auto before = std::move(world->reader.snapshots[0]);
  world->engine.on_broken("s", ledger::errc::history_diverged, at(3, 9));
  world->engine.join(0, overdrawn);
  world->run();
  EXPECT_EQ(std::get<ResetReason>(std::get<Refusal>(*reply).why), ResetReason::state_unavailable);
  const auto anew = world->ask_bootstrap(overdrawn);
  ASSERT_THAT(world->reader.snapshots, SizeIs(2));
  EXPECT_FALSE(before.on_row(account(1, -1)));
  before.done(at(5));
  world->reader.snapshots[1].done(at(3, 9));
  world->run();
  EXPECT_EQ(chunks_of(*anew)->at, at(3, 9));
}

}  // namespace
}  // namespace viewgate::gateway::testing
