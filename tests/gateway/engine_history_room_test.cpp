// Goal: what is collected for those who catch up stays within one bound of memory, however many groups a commit or a storm
// touches, and what is above it lies in one file. Method: the engine alone, its surroundings faked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "gateway/engine_world.hpp"
#include "gateway/log.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::size_t open_descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::string text_of(const History& history) {
  std::string out = history.text;
  for (std::size_t i = 0; history.spilled && i < history.spilled->count(); ++i) out += *history.spilled->text(i);
  return out;
}

class EngineHistoryRoom : public ::testing::Test {
 protected:
  EngineHistoryRoom() { log::info("begun"); }  // the log's own descriptors are there before others are counted

  /// One commit of ten parts that sets balances of ann's accounts, of which each group below is told.
  static void commit_in_parts(World& world, std::int64_t sequence) {
    for (int i = 1; i <= 10; ++i) {
      auto part = change(sequence, i, 10, -10);
      part->first = i == 1;
      part->last = i == 10;
      part->by_key = true;
      world.commit(part);
    }
  }
  static EngineLimits limits() {
    EngineLimits out;
    out.frame_bytes = 1;
    out.snapshot_disk_bytes = mebibyte;
    return out;
  }
  std::shared_ptr<const History> history_at(World& world, const GroupSpecPtr& spec, std::int64_t sequence) {
    return std::get<std::shared_ptr<const History>>(*world.ask_history(spec, at(sequence)));
  }

  ActiveModelPtr model = active_model();
  std::vector<GroupSpecPtr> groups{spec_of(model, subscribe_to("overdrawn")),
                                   spec_of(model, subscribe_to("owned", R"({"owner":"ann"})"))};
};

TEST_F(EngineHistoryRoom, a_commit_in_parts_of_many_groups_has_one_bound_of_memory_and_one_file) {
  EngineLimits tight = limits();
  tight.history_total_bytes = 500;
  World small(tight);
  World wide(limits());
  const std::size_t before = open_descriptors();
  for (World* each : {&small, &wide}) {
    for (const auto& group : groups) each->follow(0, group, 5);
    commit_in_parts(*each, 6);
  }
  EXPECT_EQ(open_descriptors(), before + 1);
  std::size_t in_memory = 0;
  for (const auto& group : groups) {
    const auto history = history_at(small, group, 5);
    const auto compared = history_at(wide, group, 5);
    in_memory += history->text.size();
    EXPECT_NE(history->spilled, nullptr);
    EXPECT_EQ(compared->spilled, nullptr);
    EXPECT_EQ(text_of(*history), text_of(*compared));
    EXPECT_TRUE(history->is_told);
  }
  EXPECT_GT(in_memory, 0U);
  EXPECT_LE(in_memory, tight.history_total_bytes);
  EXPECT_THAT(small.reader.reads, IsEmpty());
}

TEST_F(EngineHistoryRoom, what_nobody_reads_any_more_makes_room_for_the_next_commit) {
  World wide(limits());
  wide.follow(0, groups[0], 5);
  commit_in_parts(wide, 6);
  EngineLimits tight = limits();
  tight.history_total_bytes = history_at(wide, groups[0], 5)->text.size();
  World small(tight);
  small.follow(0, groups[0], 5);
  const std::size_t before = open_descriptors();
  for (std::int64_t sequence = 6; sequence < 9; ++sequence) {
    commit_in_parts(small, sequence);
    EXPECT_EQ(history_at(small, groups[0], sequence - 1)->spilled, nullptr) << sequence;
    small.now += tight.snapshot_reuse;
    small.engine.tick();
    small.run();
  }
  EXPECT_EQ(open_descriptors(), before) << "no file was needed";
}

TEST_F(EngineHistoryRoom, a_read_for_many_groups_has_the_same_bound_and_one_file) {
  EngineLimits tight = limits();
  tight.history_total_bytes = 500;
  World small(tight);
  for (const auto& group : groups) small.follow(0, group, 30);
  const std::size_t before = open_descriptors();
  static_cast<void>(small.ask_history(groups[0], at(40)));  // alone, so that those below share the next read
  const auto one = small.ask_history(groups[0], at(1));
  const auto two = small.ask_history(groups[1], at(1));
  small.reader.reads[0].done(at(40));
  ASSERT_THAT(small.reader.reads, SizeIs(2));
  for (int i = 2; i <= 20; ++i) small.reader.reads[1].on_part(change(i, i, 10, -10));
  small.reader.reads[1].done(at(20));
  small.run();
  EXPECT_EQ(open_descriptors(), before + 1);
  std::size_t in_memory = 0;
  for (const auto& reply : {one, two}) {
    const auto history = std::get<std::shared_ptr<const History>>(*reply);
    in_memory += history->text.size();
    ASSERT_NE(history->spilled, nullptr);
    EXPECT_EQ(history->through, at(20));
    EXPECT_THAT(split_documents(text_of(*history)), SizeIs(19));
  }
  EXPECT_LE(in_memory, tight.history_total_bytes);
}

}  // namespace
}  // namespace viewgate::gateway::testing
