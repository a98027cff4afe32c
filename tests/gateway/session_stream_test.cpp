// What a subscription is sent, for every road to the live stream and off it again. The engine's answers are the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/session_world.hpp"

namespace viewgate::gateway::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(session_stream, a_new_subscription_gets_its_snapshot_then_ready_then_what_follows) {
  SessionWorld world;
  auto client = world.open();
  client->say_message(subscribe("a"));
  world.run();
  EXPECT_THAT(types(client->take()), ElementsAre("subscribed"));
  const auto spec = world.engine.joins.front();
  world.joined(10);
  world.deliver({world.frame(spec, 11), world.frame(spec, 13)}, 13);
  EXPECT_THAT(client->take(), IsEmpty()) << "nothing before the snapshot";
  world.snapshot(12);
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("snapshot", "ready", "c13"));
  EXPECT_EQ(member(documents[1], "sequence"), "12");
  EXPECT_EQ(member(documents[1], "position"), "p12");
  EXPECT_EQ(member(documents[1], "head"), "13");
  world.deliver({world.frame(spec, 15)}, 15);
  EXPECT_THAT(types(client->take()), ElementsAre("c15"));
}

TEST(session_stream, a_snapshot_ahead_of_the_stream_skips_what_it_holds_already) {
  SessionWorld world;
  auto client = live(world, 10);
  const auto spec = world.spec(subscribe("a"));
  auto second = world.open("bob");
  second->say_message(subscribe("b"));
  world.run();
  world.snapshot(12);
  EXPECT_THAT(types(second->take()), ElementsAre("subscribed", "snapshot", "ready"));
  world.deliver({world.frame(spec, 11)}, 11);
  world.deliver({world.frame(spec, 12)}, 12);
  EXPECT_THAT(types(client->take()), ElementsAre("c11", "c12"));
  EXPECT_THAT(second->take(), IsEmpty());
  world.deliver({world.frame(spec, 14)}, 14);
  EXPECT_THAT(types(second->take()), ElementsAre("c14"));
}

TEST(session_stream, an_empty_view_is_ready_without_a_snapshot) {
  SessionWorld world;
  auto client = world.open();
  client->say_message(subscribe("a"));
  world.run();
  world.joined(0);
  world.snapshot(0, {});
  EXPECT_THAT(types(client->take()), ElementsAre("subscribed", "ready"));
}

TEST(session_stream, a_snapshot_goes_at_the_pace_of_its_reader_in_messages_of_bounded_size) {
  SessionOptions options;
  options.server_message_bytes = 1000;
  SessionWorld world(options);
  auto client = world.open();
  client->say_message(subscribe("a"));
  world.run();
  world.joined(1);
  std::vector<std::string> chunks(20, "{\"type\":\"snapshot\"" + std::string(280, ' ') + "}\n");
  chunks.push_back("{\"type\":\"snapshot\"" + std::string(3000, ' ') + "}\n");
  client->stalled = true;
  world.snapshot(1, chunks);
  EXPECT_THAT(types(client->take()), ElementsAre("subscribed"));
  client->stalled = false;
  client->message_bytes.clear();
  client->session->mark_due();
  world.run();
  EXPECT_EQ(client->take().size(), 22U);
  std::size_t above = 0;
  for (const auto bytes : client->message_bytes) above += bytes > 1000 ? 1U : 0U;
  EXPECT_EQ(above, 1U) << "only the document that is larger by itself";
  EXPECT_GE(client->message_bytes.size(), 7U);
}

TEST(session_stream, a_burst_is_one_message_and_a_slow_reader_gets_all_of_it_later) {
  SessionWorld world;
  auto fast = live(world, 1);
  auto slow = live(world, 1);
  const auto spec = world.spec(subscribe("a"));
  slow->stalled = true;
  fast->message_bytes.clear();
  slow->message_bytes.clear();
  auto delivery = std::make_shared<Delivery>();
  for (int i = 2; i <= 50; ++i) delivery->frames.push_back(world.frame(spec, i));
  delivery->heads.emplace_back("s", at(50));
  world.fanout.on_delivery(delivery);
  world.run();
  EXPECT_EQ(fast->message_bytes.size(), 1U);
  EXPECT_EQ(fast->take().size(), 49U);
  for (int i = 51; i <= 60; ++i) world.deliver({world.frame(spec, i)}, i);
  EXPECT_EQ(fast->message_bytes.size(), 11U);
  slow->stalled = false;
  slow->session->mark_due();
  world.run();
  EXPECT_EQ(slow->message_bytes.size(), 1U);
  EXPECT_EQ(slow->take().size(), 59U);
}

TEST(session_stream, a_reader_that_falls_off_the_ring_comes_back_by_history) {
  SessionOptions options;
  options.ring_bytes = 1024;
  SessionWorld world(options);
  auto client = live(world, 1);
  const auto spec = world.spec(subscribe("a"));
  world.deliver({world.frame(spec, 2)}, 2);
  EXPECT_THAT(types(client->take()), ElementsAre("c2"));
  client->stalled = true;
  for (int i = 3; i <= 40; ++i) world.deliver({world.frame(spec, i, 100)}, i);
  client->stalled = false;
  client->session->mark_due();
  world.run();
  EXPECT_THAT(client->take(), IsEmpty());
  ASSERT_EQ(world.engine.histories.size(), 1U);
  EXPECT_EQ(world.engine.histories.front().after, at(2));
  world.history(10, world.line(3) + world.line(10));
  EXPECT_THAT(types(client->take()), ElementsAre("c3", "c10"));
  ASSERT_EQ(world.engine.histories.size(), 1U) << "not in the ring yet: asks on";
  EXPECT_EQ(world.engine.histories.front().after, at(10));
  world.history(38, world.line(38));
  EXPECT_THAT(types(client->take()), ElementsAre("c38", "c39", "c40"));
  EXPECT_THAT(world.engine.histories, IsEmpty());
}

TEST(session_stream, a_snapshot_that_is_read_too_slowly_is_4008_when_its_time_is_over) {
  SessionOptions options;
  options.silence = std::chrono::hours(1);
  options.no_progress = std::chrono::seconds(10);
  options.snapshot_bytes_per_second = 1000;
  SessionWorld world(options);
  auto client = world.open();
  client->say_message(subscribe("a"));
  world.run();
  world.joined(5);
  client->stalled = true;
  const std::string chunk = "{\"type\":\"snapshot\"" + std::string(1979, ' ') + "}\n";
  world.snapshot(5, std::vector<std::string>(10, chunk));
  world.pass(std::chrono::seconds(20));  // a heartbeat: from now on it counts
  world.pass(std::chrono::seconds(29));
  EXPECT_EQ(client->session->subscription_count(), 1U);
  world.pass(std::chrono::seconds(2));
  client->stalled = false;
  client->session->mark_due();
  world.run();
  EXPECT_EQ(client->close_code, 4008);
}

TEST(session_stream, row_42_43_and_44_lost_history_resets_this_subscription_and_a_bootstrap_follows) {
  for (const auto reason : {ResetReason::history_pruned, ResetReason::history_diverged}) {
    SessionOptions options;
    options.ring_bytes = 1024;
    SessionWorld world(options);
    auto client = live(world, 1);
    const auto spec = world.spec(subscribe("a"));
    client->stalled = true;
    for (int i = 2; i <= 40; ++i) world.deliver({world.frame(spec, i, 100)}, i);
    client->stalled = false;
    client->session->mark_due();
    world.run();
    world.refuse_history({reason});
    auto documents = client->take();
    ASSERT_THAT(types(documents), ElementsAre("reset_required", "subscribed"));
    EXPECT_EQ(member(documents[0], "reason"), name(reason));
    EXPECT_EQ(member(documents[1], "resumed"), "false");
    world.snapshot(39);
    EXPECT_THAT(types(client->take()), ElementsAre("snapshot", "ready", "c40"));
  }
}

TEST(session_stream, a_history_that_is_not_available_ends_the_subscription_and_says_when_to_come_back) {
  SessionWorld world;
  auto client = world.open();
  client->say_message(returning(world, 5));
  world.run();
  world.joined(9);
  world.refuse_history({ErrorCode::unavailable, milliseconds{700}});
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("error"));
  EXPECT_EQ(member(documents[0], "code"), "unavailable");
  EXPECT_EQ(member(documents[0], "retry_after"), "700");
  EXPECT_EQ(client->session->subscription_count(), 0U);
  EXPECT_EQ(client->close_code, 0);
}

TEST(session_stream, a_cursor_that_the_ledger_confirms_resumes_at_once) {
  SessionWorld world;
  auto client = world.open();
  const auto request = returning(world, 5);
  client->say_message(request);
  world.run();
  EXPECT_THAT(client->take(), IsEmpty()) << "not subscribed before it is known to be resumed";
  world.joined(9);
  EXPECT_EQ(world.engine.histories.front().after, at(5));
  world.history(9, world.line(7));
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("subscribed", "ready", "c7", "progress"));
  EXPECT_EQ(member(documents[3], "position"), "p9") << "what came after 7 does not touch the view";
  EXPECT_EQ(member(documents[0], "resumed"), "true");
  EXPECT_EQ(member(documents[1], "sequence"), "5");
  EXPECT_EQ(member(documents[0], "context") + "." + member(documents[1], "position"), *request.cursor);
  EXPECT_EQ(member(documents[1], "head"), "9");
  world.deliver({world.frame(world.spec(request), 10)}, 10);
  EXPECT_THAT(types(client->take()), ElementsAre("c10"));
}

TEST(session_stream, a_cursor_whose_position_is_in_the_ring_asks_nobody) {
  SessionWorld world;
  auto live_one = live(world, 1);
  const auto spec = world.spec(subscribe("a"));
  for (int i = 2; i <= 6; ++i) world.deliver({world.frame(spec, i)}, i);
  auto client = world.open();
  client->say_message(returning(world, 4));
  world.run();
  EXPECT_THAT(world.engine.histories, IsEmpty());
  EXPECT_THAT(types(client->take()), ElementsAre("subscribed", "ready", "c5", "c6"));
}

TEST(session_stream, a_cursor_from_a_node_that_is_ahead_skips_what_comes_late_here) {
  SessionWorld world;
  auto client = world.open();
  client->say_message(returning(world, 12));
  world.run();
  world.joined(9);
  world.history(12, "");
  EXPECT_THAT(types(client->take()), ElementsAre("subscribed", "ready"));
  const auto spec = world.spec(subscribe("a"));
  for (int i = 10; i <= 14; ++i) world.deliver({world.frame(spec, i)}, i);
  EXPECT_THAT(types(client->take()), ElementsAre("c13", "c14"));
}

TEST(session_stream, a_snapshot_ahead_of_a_stream_that_takes_another_line_is_found_out) {
  SessionWorld world;
  auto client = live(world, 10);
  auto second = world.open("bob");
  second->say_message(subscribe("b"));
  world.run();
  world.snapshot(12);
  EXPECT_THAT(types(second->take()), ElementsAre("subscribed", "snapshot", "ready"));
  const auto spec = world.spec(subscribe("a"));
  // The database lost 11 and 12 and gave the numbers again; the stream stood at 10 and saw nothing of it.
  world.deliver({world.frame(spec, 13)}, 13);
  EXPECT_THAT(second->take(), IsEmpty());
  ASSERT_EQ(world.engine.histories.size(), 1U);
  EXPECT_EQ(world.engine.histories.front().after, at(12));
  world.refuse_history({ResetReason::history_diverged});
  EXPECT_THAT(types(second->take()), ElementsAre("reset_required", "subscribed"));
}

TEST(session_stream, a_place_ahead_of_the_stream_is_asked_for_again_when_the_database_was_away) {
  SessionWorld world;
  auto client = live(world, 10);
  auto second = world.open("bob");
  second->say_message(subscribe("b"));
  world.run();
  world.snapshot(12);
  second->take();
  world.fanout.on_notice(NoticeKind::degraded);
  world.fanout.on_notice(NoticeKind::restored);
  world.run();
  ASSERT_EQ(world.engine.histories.size(), 1U) << "the one ahead, and not the one that follows the stream";
  world.refuse_history({ResetReason::history_diverged});
  EXPECT_THAT(types(second->take()), ElementsAre("notice", "notice", "reset_required", "subscribed"));
}

TEST(session_stream, a_refused_cursor_is_followed_by_a_bootstrap_on_the_same_subscription) {
  SessionWorld world;
  auto client = world.open();
  client->say_message(returning(world, 5));
  world.run();
  world.joined(9);
  world.refuse_history({ResetReason::history_pruned});
  EXPECT_THAT(types(client->take()), ElementsAre("reset_required", "subscribed"));
  world.snapshot(9);
  EXPECT_THAT(types(client->take()), ElementsAre("snapshot", "ready"));
}

TEST(session_stream, joined_twice_loses_nothing) {
  SessionWorld world;
  auto client = live(world, 5);
  const auto spec = world.spec(subscribe("a"));
  world.deliver({world.frame(spec, 6)}, 6);
  client->take();
  world.fanout.on_joined(spec->id, at(8));
  world.run();
  ASSERT_EQ(world.engine.histories.size(), 1U);
  EXPECT_EQ(world.engine.histories.front().after, at(6));
  world.history(8, world.line(8));
  world.deliver({world.frame(spec, 9)}, 9);
  EXPECT_THAT(types(client->take()), ElementsAre("c8", "c9"));
}

}  // namespace
}  // namespace viewgate::gateway::testing
