// Several subscriptions of a socket, of a group, of a space: what they share, what they move together, and what happens to them
// when claims, model or group are others. The engine's answers are the test's.
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

TEST(session_groups, a_second_subscription_of_a_group_shares_the_stream_and_inherits_it) {
  SessionWorld world;
  auto client = live(world, 1);
  client->say_message(subscribe("b"));
  world.run();
  auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("subscribed"));
  EXPECT_EQ(member(documents[0], "same_as"), "a");
  const auto spec = world.spec(subscribe("a"));
  world.deliver({world.frame(spec, 2)}, 2);
  EXPECT_THAT(types(client->take()), ElementsAre("c2")) << "once for both";
  client->say_message(Unsubscribe{"a"});
  world.run();
  EXPECT_THAT(types(client->take()), ElementsAre("unsubscribed"));
  world.deliver({world.frame(spec, 3)}, 3);
  EXPECT_THAT(types(client->take()), ElementsAre("c3")) << "nothing lost, nothing again";
  client->say_message(Unsubscribe{"b"});
  world.run();
  client->take();
  world.deliver({world.frame(spec, 4)}, 4);
  EXPECT_THAT(client->take(), IsEmpty());
}

TEST(session_groups, who_inherits_a_stream_that_waits_for_a_cursor_does_not_resume_with_it) {
  SessionWorld world;
  auto client = world.open();
  client->say_message(returning(world, 5, "a"));
  client->say_message(subscribe("b"));
  client->say_message(Unsubscribe{"a"});
  world.run();
  auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("subscribed", "unsubscribed"));
  EXPECT_EQ(member(documents[0], "id"), "b");
  EXPECT_EQ(member(documents[0], "resumed"), "false");
  world.joined(9);
  EXPECT_THAT(world.engine.histories, IsEmpty());
  world.snapshot(9);
  EXPECT_THAT(types(client->take()), ElementsAre("snapshot", "ready"));
}

TEST(session_groups, several_views_of_one_space_move_together) {
  SessionWorld world;
  auto client = live(world, 1);
  const auto other = subscribe("b", "owned", R"({"owner":"x"})");
  client->say_message(other);
  world.run();
  world.joined(1);
  world.snapshot(1);
  client->take();
  world.deliver({world.frame(world.spec(subscribe("a")), 2)}, 3);
  auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("c2", "at"));
  EXPECT_EQ(member(documents[1], "sequence"), "3");
  world.deliver({world.frame(world.spec(subscribe("a")), 4), world.frame(world.spec(other), 5)}, 5);
  documents = client->take();
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(member(documents[2], "sequence"), "5");
  client->say_message(Unsubscribe{"b"});
  world.run();
  client->take();
  world.deliver({world.frame(world.spec(subscribe("a")), 6)}, 6);
  EXPECT_THAT(types(client->take()), ElementsAre("c6")) << "one view alone moves by itself";
}

TEST(session_groups, at_is_never_ahead_of_what_was_written) {
  SessionOptions options;
  options.server_message_bytes = 200;
  SessionWorld world(options);
  auto client = live(world, 1);
  const auto other = subscribe("b", "owned", R"({"owner":"x"})");
  client->say_message(other);
  world.run();
  world.joined(1);
  world.snapshot(1);
  client->take();
  const auto a = world.spec(subscribe("a"));
  const auto b = world.spec(other);
  client->stalled = true;
  for (int i = 2; i <= 20; i += 2) world.deliver({world.frame(a, i, 90), world.frame(b, i + 1, 90)}, i + 1);
  client->stalled = false;
  client->session->mark_due();
  world.run();
  std::int64_t seen_a = 1;
  std::int64_t seen_b = 1;
  std::int64_t last = 0;
  for (const auto& document : client->take()) {
    const auto type = member(document, "type");
    if (type == "at") {
      last = std::stoll(member(document, "sequence"));
      EXPECT_LE(last, std::min(seen_a + 1, seen_b + 1)) << "the next of each was not written yet";
    } else {
      const auto sequence = std::stoll(type.substr(1));
      (sequence % 2 == 0 ? seen_a : seen_b) = sequence;
    }
  }
  EXPECT_EQ(last, 21);
}

TEST(session_groups, a_void_group_starts_anew_for_each_of_its_names) {
  SessionWorld world;
  auto client = live(world, 5);
  client->say_message(subscribe("b"));
  world.run();
  client->take();
  world.fanout.on_reset(world.spec(subscribe("a"))->id, ResetReason::history_diverged);
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("reset_required", "reset_required", "subscribed", "subscribed"));
  EXPECT_EQ(member(documents[3], "same_as"), "a");
  ASSERT_EQ(world.engine.joins.size(), 1U) << "the engine has forgotten the group: it is joined again";
  world.joined(3);
  world.snapshot(3);
  EXPECT_THAT(types(client->take()), ElementsAre("snapshot", "ready"));
}

constexpr const char* claims_model = R"(
create table accounts (id int4 primary key, owner text, balance int4);
create view mine as select id, balance from accounts where owner = claims.sub and balance < claims.limit::int4;
create view guarded as select id, balance from accounts where balance < 0;
create policy everybody on mine using (true);
create policy bosses on guarded using (claims.role = 'boss');
)";

TEST(session_groups, other_claims_rebind_each_subscription) {
  SessionWorld world({}, claims_model);
  auto client = world.open("ann", R"({"limit":"5","role":"boss"})");
  client->say_message(subscribe("m", "mine"));
  client->say_message(subscribe("g", "guarded"));
  world.run();
  ASSERT_THAT(types(client->take()), ElementsAre("subscribed", "subscribed"));
  client->say_message(Refresh{world.token("ann", R"({"limit":"5","role":"boss","color":"red"})")});
  world.run();
  EXPECT_THAT(client->take(), IsEmpty()) << "a claim that no view uses changes nothing";
  client->say_message(Refresh{world.token("ann", R"({"limit":"9","role":"clerk"})")});
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("unsubscribed", "reset_required", "subscribed"));
  EXPECT_EQ(member(documents[0], "reason"), "forbidden");
  EXPECT_EQ(member(documents[0], "id"), "g");
  EXPECT_EQ(member(documents[1], "reason"), "authorization_changed");
  EXPECT_EQ(client->session->subscription_count(), 1U);
}

TEST(session_groups, another_model_rebinds_what_it_changes_and_leaves_the_rest_alone) {
  SessionWorld world({}, claims_model);
  auto client = world.open("ann", R"({"limit":"5","role":"boss"})");
  client->say_message(subscribe("m", "mine"));
  client->say_message(subscribe("g", "guarded"));
  world.run();
  client->take();
  world.fanout.on_model(active_model(claims_model));
  world.run();
  EXPECT_THAT(client->take(), IsEmpty());
  std::string changed = claims_model;
  changed.replace(changed.find("'boss'"), 6, "'chief'");
  world.fanout.on_model(active_model(changed));
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("unsubscribed"));
  EXPECT_EQ(member(documents[0], "id"), "g");
}

TEST(session_groups, a_group_is_left_when_nobody_used_it_for_a_while) {
  SessionWorld world;
  auto client = live(world, 5);
  client->say_message(Unsubscribe{"a"});
  world.run();
  world.pass(seconds{1});
  EXPECT_THAT(world.engine.leaves, IsEmpty());
  client->say_message(returning(world, 5));
  world.run();
  EXPECT_THAT(world.engine.joins, IsEmpty()) << "still followed";
  EXPECT_THAT(types(client->take()), ElementsAre("unsubscribed", "subscribed", "ready"));
  client->say_message(Unsubscribe{"a"});
  world.run();
  world.pass(seconds{1});
  world.pass(seconds{5});
  EXPECT_EQ(world.engine.leaves.size(), 1U);
  EXPECT_EQ(world.fanout.groups(), 0U);
}

TEST(session_groups, a_group_that_the_engine_cannot_join_is_refused_in_time) {
  SessionWorld world;
  auto client = world.open();
  client->say_message(subscribe("a"));
  world.run();
  client->take();
  world.pass(seconds{1});
  EXPECT_THAT(client->take(), IsEmpty());
  world.pass(seconds{10});
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("error"));
  EXPECT_EQ(member(documents[0], "code"), "unavailable");
  world.joined(4);
  EXPECT_EQ(client->close_code, 0);
}

TEST(session_groups, a_client_that_goes_takes_nothing_with_it) {
  SessionWorld world;
  auto stays = live(world, 5);
  auto goes = live(world, 5);
  world.forget(*goes);
  auto asks = world.open("bob");
  asks->say_message(subscribe("x", "owned", R"({"owner":"x"})"));
  world.run();
  world.joined(5);
  world.forget(*asks);
  asks.reset();
  goes.reset();
  world.snapshot(5);  // the answer finds nobody
  const auto spec = world.spec(subscribe("a"));
  world.deliver({world.frame(spec, 6)}, 6);
  EXPECT_THAT(types(stays->take()), ElementsAre("c6"));
}

TEST(session_groups, rings_that_hold_too_much_together_are_trimmed_and_nothing_is_lost) {
  SessionOptions options;
  options.ring_bytes = 64 * 1024;
  options.rings_bytes = 16 * 1024;
  SessionWorld world(options);
  auto client = live(world, 1);
  const auto spec = world.spec(subscribe("a"));
  client->stalled = true;
  for (int i = 2; i <= 600; ++i) world.deliver({world.frame(spec, i, 100)}, i);
  const auto before = world.fanout.ring_bytes();
  world.pass(milliseconds{1});
  EXPECT_LT(world.fanout.ring_bytes(), before);
  client->stalled = false;
  client->session->mark_due();
  world.run();
  EXPECT_EQ(world.engine.histories.size(), 1U);
}

TEST(session_groups, rings_of_many_views_stay_within_their_bound_and_who_has_read_to_the_end_does_not_notice) {
  constexpr int views = 50;
  SessionOptions options;
  options.rings_bytes = 4 * 1024;  // far below one segment for each
  SessionWorld world(options);
  auto client = world.open();
  std::vector<GroupSpecPtr> specs;
  for (int i = 0; i < views; ++i) {
    const auto owned = subscribe(std::to_string(i), "owned", R"({"owner":"x)" + std::to_string(i) + "\"}");
    client->say_message(owned);
    world.run();
    world.joined(1);
    world.snapshot(1);
    specs.push_back(world.spec(owned));
  }
  client->take();
  for (int sequence = 2; sequence <= 5; ++sequence) {
    std::vector<GroupFramePtr> frames;
    for (const auto& each : specs) frames.push_back(world.frame(each, sequence, 200));
    world.deliver(frames, sequence);
    EXPECT_GT(world.fanout.ring_bytes(), options.rings_bytes);
    world.pass(milliseconds{1});
    EXPECT_LE(world.fanout.ring_bytes(), options.rings_bytes);
    EXPECT_EQ(types(client->take()).size(), std::size_t{views} + 1) << "a commit for each, and where the space is now";
  }
  EXPECT_THAT(world.engine.histories, IsEmpty());
}

}  // namespace
}  // namespace viewgate::gateway::testing
