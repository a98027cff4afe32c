// Goal: one snapshot per group for everyone who needs it, exact rows, bounded memory, and an answer that says when to
// return where a bound is reached. Method: the engine alone, its surroundings faked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "gateway/engine_world.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::shared_ptr<const SnapshotChunks> chunks_of(const BootstrapReply& reply) {
  return std::get<std::shared_ptr<const SnapshotChunks>>(reply);
}
ErrorCode error_of(const BootstrapReply& reply) { return std::get<ErrorCode>(std::get<Refusal>(reply).why); }

class EngineBootstrap : public ::testing::Test {
 protected:
  void start(const EngineLimits& limits = {}) {
    world = std::make_unique<World>(limits);
    world->follow(0, overdrawn, 5);
  }

  ActiveModelPtr model = active_model();
  GroupSpecPtr overdrawn = spec_of(model, subscribe_to("overdrawn"));
  std::unique_ptr<World> world;
};

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
  world->reader.snapshots[0].done(at(5));
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

TEST_F(EngineBootstrap, memory_counts_until_the_last_holder_lets_go) {
  std::string document;
  append_snapshot(document, overdrawn->channel, R"([{"key":[1],"record":{"id":1,"balance":-1}}])");
  EngineLimits limits;
  limits.snapshot_total_bytes = document.size() + 1;  // exactly one
  start(limits);
  const auto reply = world->ask_bootstrap(overdrawn);
  EXPECT_TRUE(world->reader.snapshots[0].on_row(account(1, -1)));
  world->reader.snapshots[0].done(at(5));
  world->run();
  const auto owned = spec_of(model, subscribe_to("owned", R"({"owner":"ann"})"));
  world->engine.join(0, owned);
  world->now += std::chrono::seconds(3);
  world->engine.tick();
  EXPECT_EQ(error_of(*world->ask_bootstrap(owned)), ErrorCode::unavailable) << "a socket still holds the chunk";
  *reply = Refusal{ErrorCode::bad_request};
  static_cast<void>(world->ask_bootstrap(owned));
  EXPECT_THAT(world->reader.snapshots, SizeIs(2));
}

/// The records of a snapshot, wherever they lie, as key -> record.
std::map<std::string, std::string> records_of(const SnapshotChunks& snapshot) {
  std::string text;
  for (const auto& chunk : snapshot.chunks) text += *chunk;
  for (std::size_t i = 0; snapshot.spilled && i < snapshot.spilled->count(); ++i) text += *snapshot.spilled->text(i);
  std::map<std::string, std::string> out;
  for (const auto document : split_documents(text)) {
    const auto parsed = std::get<Snapshot>(*parse_server_document(document));
    const auto records = read_records(parsed.records).value();
    for (const auto& each : records) {
      EXPECT_TRUE(out.emplace(each.key, each.record).second) << each.key << " stands twice";
    }
  }
  return out;
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

TEST_F(EngineBootstrap, what_is_in_files_is_bounded_and_what_is_only_kept_makes_room) {
  EngineLimits limits;
  limits.snapshot_memory_bytes = 1;
  limits.snapshot_disk_bytes = 250;
  start(limits);
  const auto fill = [&](const std::shared_ptr<BootstrapReply>& reply, int rows) {
    auto snapshot = std::move(world->reader.snapshots.back());
    for (int id = 0; id < rows; ++id) static_cast<void>(snapshot.on_row(account(id, -1)));
    snapshot.done(at(5));
    world->run();
    return std::holds_alternative<Refusal>(*reply);
  };
  const auto first = world->ask_bootstrap(overdrawn);
  EXPECT_FALSE(fill(first, 3));
  const auto owned = spec_of(model, subscribe_to("owned", R"({"owner":"ann"})"));
  world->engine.join(0, owned);
  const auto held = world->ask_bootstrap(owned);
  EXPECT_TRUE(fill(held, 3)) << "a socket still holds the first one";
  *first = Refusal{ErrorCode::bad_request};
  EXPECT_FALSE(fill(world->ask_bootstrap(owned), 3)) << "and it was not kept for later ones any more";
}

TEST_F(EngineBootstrap, where_no_file_can_be_made_memory_serves_up_to_what_all_may_have) {
  EngineLimits limits;
  limits.snapshot_memory_bytes = 1;
  limits.snapshot_total_bytes = 150;
  limits.snapshot_reuse = {};
  limits.snapshot_disk_bytes = mebibyte;
  limits.snapshot_directory = "/nowhere/at/all";
  start(limits);
  const auto small = world->ask_bootstrap(overdrawn);
  EXPECT_TRUE(world->reader.snapshots[0].on_row(account(1, -1)));
  world->reader.snapshots[0].done(at(5));
  world->run();
  EXPECT_THAT(records_of(*chunks_of(*small)), SizeIs(1));
  const auto large = world->ask_bootstrap(overdrawn);
  for (int id = 0; id < 9; ++id) static_cast<void>(world->reader.snapshots[1].on_row(account(id, -1)));
  world->reader.snapshots[1].done(at(5));
  world->run();
  EXPECT_EQ(error_of(*large), ErrorCode::unavailable);
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
