// What bootstraps may hold: in memory, in files, and what makes room for what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/bootstrap_world.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::SizeIs;

TEST_F(EngineBootstrap, memory_counts_until_the_last_holder_lets_go) {
  std::string document;
  append_snapshot(document, overdrawn->channel, R"([{"key":[1],"record":{"id":1,"balance":-1}}])");
  EngineLimits limits;
  constexpr std::size_t newline_and_hash = 1 + 8;
  limits.snapshot_total_bytes = document.size() + newline_and_hash;  // exactly one
  start(limits);
  const auto reply = world->ask_bootstrap(overdrawn);
  EXPECT_TRUE(world->reader.snapshots[0].on_row(account(1, -1)));
  world->reader.snapshots[0].done(at(5));
  world->run();
  const auto owned = spec_of(model, subscribe_to("owned", R"({"owner":"ann"})"));
  world->engine.join(0, owned);
  world->now += std::chrono::seconds(3);
  world->engine.tick();
  const auto read = [&] {
    const auto told = world->ask_bootstrap(owned);
    const bool went_in = world->reader.snapshots.back().on_row(account(1, -1));
    world->reader.snapshots.back().done(at(5));
    world->run();
    return went_in && std::holds_alternative<std::shared_ptr<const SnapshotChunks>>(*told);
  };
  EXPECT_FALSE(read()) << "a socket still holds the chunk";
  *reply = Refusal{ErrorCode::bad_request};
  EXPECT_TRUE(read());
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

TEST_F(EngineBootstrap, hashes_of_keys_count_as_memory_while_it_is_read_and_not_afterwards) {
  EngineLimits limits;
  limits.snapshot_chunk_bytes = 1;
  start(limits);
  const auto reply = world->ask_bootstrap(overdrawn);
  for (int id = 0; id < 10; ++id) EXPECT_TRUE(world->reader.snapshots[0].on_row(account(id, -1)));
  const std::size_t while_read = world->engine.snapshot_memory_bytes();
  world->reader.snapshots[0].done(at(5));
  world->run();
  EXPECT_EQ(world->engine.snapshot_memory_bytes(), chunks_of(*reply)->bytes());
  EXPECT_EQ(while_read, chunks_of(*reply)->bytes() + 10 * sizeof(std::uint64_t));
}

TEST_F(EngineBootstrap, the_least_recently_used_makes_room_and_no_more_than_is_needed) {
  EngineLimits limits;
  limits.snapshot_memory_bytes = 1;
  limits.snapshot_disk_bytes = 400;  // three of one record, 112 bytes each with its hash, but not four
  limits.snapshot_reuse = std::chrono::hours(1);
  start(limits);
  const auto spec = [&](const std::string& owner) {
    return spec_of(model, subscribe_to("owned", R"({"owner":")" + owner + "\"}"));
  };
  // Whether it had to be read, and was given.
  const auto get = [&](const std::string& owner) {
    const auto before = world->reader.snapshots.size();
    world->engine.join(0, spec(owner));
    const auto reply = world->ask_bootstrap(spec(owner));
    const bool is_read = world->reader.snapshots.size() > before;
    if (is_read) {
      static_cast<void>(world->reader.snapshots.back().on_row(account(1, -1, owner)));
      world->reader.snapshots.back().done(at(5));
      world->run();
    }
    return std::pair(is_read, std::holds_alternative<std::shared_ptr<const SnapshotChunks>>(*reply));
  };
  const auto read = std::pair(true, true);
  const auto kept = std::pair(false, true);
  for (const char* owner : {"a", "b", "c"}) EXPECT_EQ(get(owner), read) << owner;
  EXPECT_EQ(get("a"), kept) << "used again, so b is the oldest now";
  EXPECT_EQ(get("d"), std::pair(true, false)) << "there is no room; now it is known how much would be too little";
  for (const char* owner : {"c", "a"}) EXPECT_EQ(get(owner), kept) << "nothing went for one that was not made";
  EXPECT_EQ(get("d"), read);
  EXPECT_EQ(get("a"), kept) << "used last";
  EXPECT_EQ(get("b"), read) << "it made room";
}

TEST_F(EngineBootstrap, what_changes_again_and_again_while_it_is_read_does_not_let_its_file_grow) {
  constexpr int rows = 4'000;
  EngineLimits limits;
  limits.snapshot_page_rows = rows;
  limits.snapshot_chunk_bytes = std::size_t{16} * 1024;
  limits.snapshot_memory_bytes = std::size_t{100} * 1024;
  limits.snapshot_total_bytes = limits.snapshot_memory_bytes;
  limits.snapshot_disk_bytes = 64 * mebibyte;
  start(limits);
  const auto reply = world->ask_bootstrap(overdrawn);
  auto& reader = world->reader;
  for (int id = 0; id < rows; ++id) EXPECT_TRUE(reader.snapshots[0].on_row(account(id, -1)));
  reader.snapshots[0].done(at(5));
  const std::size_t once = world->engine.snapshot_disk_bytes();
  ASSERT_GT(once, 0U);
  std::int64_t sequence = 5;
  const auto change_all = [&](int balance) {
    for (int id = 0; id < rows; ++id) reader.reads.front().on_part(change(++sequence, id, -1, balance));
  };
  reader.snapshots[1].done(at(5 + 6 * rows));
  for (int round = 1; round <= 6; ++round) change_all(-round);
  reader.reads.front().done(at(sequence));
  world->run();
  const auto records = records_of(*chunks_of(*reply));
  EXPECT_THAT(records, SizeIs(rows));
  EXPECT_EQ(records.at("[7]"), R"({"id":7,"balance":-6})");
  EXPECT_LT(world->engine.snapshot_disk_bytes(), 3 * once) << "six rounds were written";
}

}  // namespace
}  // namespace viewgate::gateway::testing
