// A snapshot or a history on its way to a client: what does not lie in memory, and what must not leave any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/session_world.hpp"
#include "gateway/spill.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A client that waits for the snapshot of "a", its group joined at 10.
std::unique_ptr<Client> bootstrapping(SessionWorld& world) {
  auto out = world.open();
  out->say_message(subscribe("a"));
  world.run();
  world.joined(10);
  return out;
}

/// Two documents in a file, of which nothing is in the page cache.
SpilledTextsPtr uncached() {
  std::string problem;
  auto file = SpillFile::make("/var/tmp", std::make_shared<SpillBudget>(1000), problem);
  EXPECT_EQ(problem, "");
  std::vector<SpilledTexts::Place> places;
  for (const std::string text : {"{\"type\":\"s1\"}\n", "{\"type\":\"s2\"}\n"}) {
    places.push_back({file->append(text).value_or(0), text.size()});
  }
  return std::make_shared<const SpilledTexts>(std::move(file), std::move(places), SpilledTexts::PageCache::not_asked);
}

void answer_bootstrap(SessionWorld& world, SpilledTextsPtr spilled) {
  auto snapshot = std::make_shared<SnapshotChunks>();
  snapshot->at = at(10);
  snapshot->position_token = "p10";
  snapshot->spilled = std::move(spilled);
  world.engine.bootstraps.front().reply(BootstrapReply(std::shared_ptr<const SnapshotChunks>(std::move(snapshot))));
  world.engine.bootstraps.pop_front();
  world.run();
}

/// Up to 10, where the second of the documents in the file stands.
void answer_history(SessionWorld& world, SpilledTextsPtr spilled) {
  auto history = std::make_shared<History>();
  history->text = "{\"type\":\"s0\"}\n";
  history->spilled = std::move(spilled);
  history->through = at(10);
  history->position_token = "p10";
  history->is_told = true;
  world.engine.histories.front().reply(HistoryReply(std::shared_ptr<const History>(std::move(history))));
  world.engine.histories.pop_front();
  world.run();
}

/// A client that was away, at 5, and whose group is joined at 10.
std::unique_ptr<Client> came_back(SessionWorld& world) {
  auto out = world.open();
  out->say_message(returning(world, 5));
  world.run();
  world.joined(10);
  return out;
}

/// The thread of bootstraps has read what was asked for.
void answer_spill(SessionWorld& world) {
  const auto asked = std::move(world.engine.spills.front());
  world.engine.spills.pop_front();
  asked.reply(asked.texts->text(asked.index));
  world.run();
}

TEST(session_snapshot, what_is_not_in_the_page_cache_is_asked_for_one_by_one_and_nobody_waits_for_it) {
  SessionWorld world;
  auto client = bootstrapping(world);
  answer_bootstrap(world, uncached());
  ASSERT_THAT(world.engine.spills, SizeIs(1));
  EXPECT_THAT(types(client->take()), ElementsAre("subscribed"));
  client->say_message(subscribe("b", "owned", R"({"owner":"ann"})"));
  world.run();
  EXPECT_THAT(types(client->take()), ElementsAre("subscribed")) << "the socket goes on";
  EXPECT_THAT(world.engine.spills, SizeIs(1)) << "asked once";
  answer_spill(world);
  EXPECT_THAT(types(client->take()), ElementsAre("s1"));
  answer_spill(world);
  EXPECT_THAT(types(client->take()), ElementsAre("s2", "ready"));
}

TEST(session_snapshot, a_disk_that_fails_ends_the_socket_and_an_answer_after_the_end_finds_nobody) {
  SessionWorld world;
  auto client = bootstrapping(world);
  answer_bootstrap(world, uncached());
  world.engine.spills.front().reply(std::nullopt);
  world.run();
  EXPECT_EQ(client->close_code, close_code::internal_error);
  SessionWorld other;
  auto gone = bootstrapping(other);
  answer_bootstrap(other, uncached());
  gone->say_message(Unsubscribe{"a"});
  other.run();
  answer_spill(other);
  EXPECT_THAT(types(gone->take()), ElementsAre("subscribed", "unsubscribed"));
}

TEST(session_snapshot, erased_values_in_one_that_is_being_sent_are_not_sent_any_more) {
  SessionWorld world;
  auto client = bootstrapping(world);
  EXPECT_THAT(types(client->take()), ElementsAre("subscribed"));
  client->stalled = true;
  world.snapshot(10, {"{\"type\":\"erased\"}\n"});
  world.fanout.on_erased("s", {10});
  EXPECT_THAT(world.engine.bootstraps, IsEmpty()) << "it was taken when the values were gone";
  world.fanout.on_erased("other", {11});
  EXPECT_THAT(world.engine.bootstraps, IsEmpty()) << "another space's";
  world.fanout.on_erased("s", {11});
  ASSERT_THAT(world.engine.bootstraps, SizeIs(1)) << "it starts anew";
  client->stalled = false;
  world.run();
  const auto told = client->take();
  ASSERT_THAT(types(told), ElementsAre("reset_required", "subscribed"));
  EXPECT_EQ(member(told[0], "reason"), "state_unavailable");
  world.snapshot(12);
  EXPECT_THAT(types(client->take()), ElementsAre("snapshot", "ready"));
}

TEST(session_snapshot, a_history_goes_on_in_its_file_and_then_in_the_ring) {
  SessionWorld world;
  auto client = came_back(world);
  answer_history(world, uncached());
  EXPECT_THAT(types(client->take()), ElementsAre("subscribed", "ready", "s0"));
  world.deliver({world.frame(world.spec(subscribe("a")), 11)}, 11);
  EXPECT_THAT(types(client->take()), IsEmpty()) << "in order";
  answer_spill(world);
  EXPECT_THAT(types(client->take()), ElementsAre("s1"));
  answer_spill(world);
  EXPECT_THAT(types(client->take()), ElementsAre("s2", "c11"));
}

TEST(session_snapshot, a_disk_that_fails_under_a_history_starts_the_view_anew) {
  SessionWorld world;
  auto client = came_back(world);
  answer_history(world, uncached());
  client->take();
  world.engine.spills.front().reply(std::nullopt);
  world.run();
  const auto told = client->take();
  ASSERT_THAT(types(told), ElementsAre("reset_required", "subscribed"));
  EXPECT_EQ(member(told[0], "reason"), "state_unavailable");
  world.snapshot(10);
  EXPECT_THAT(types(client->take()), ElementsAre("snapshot", "ready"));
}

TEST(session_snapshot, a_file_that_is_read_too_slowly_is_4008_when_its_time_is_over) {
  SessionOptions options;
  options.silence = std::chrono::hours(1);
  options.no_progress = std::chrono::seconds(30);
  options.snapshot_bytes_per_second = 1;
  SessionWorld world(options);
  auto client = came_back(world);
  answer_history(world, uncached());
  const auto bytes = static_cast<std::int64_t>(uncached()->bytes());
  world.pass(std::chrono::seconds(1));
  world.pass(std::chrono::seconds(28 + bytes));
  EXPECT_EQ(client->close_code, 0);
  world.pass(std::chrono::seconds(3));
  EXPECT_EQ(client->close_code, close_code::slow_reader);
}

TEST(session_snapshot, erased_values_in_a_history_that_is_being_sent_are_not_sent_any_more) {
  SessionWorld world;
  auto client = came_back(world);
  client->stalled = true;
  world.history(10, "{\"type\":\"erased\"}\n");
  world.fanout.on_erased("s", {8});
  ASSERT_THAT(world.engine.bootstraps, SizeIs(1));
  client->stalled = false;
  world.run();
  world.snapshot(12);
  const auto told = types(client->take());
  EXPECT_THAT(told, ::testing::Not(::testing::Contains("erased")));
  EXPECT_EQ(told.back(), "ready");
}

}  // namespace
}  // namespace viewgate::gateway::testing
