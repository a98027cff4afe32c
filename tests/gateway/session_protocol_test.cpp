// What a session answers and when it closes, message by message, on a clock that the test moves.
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

std::uint64_t times_reached(SessionWorld& world, std::string_view limit) {
  const auto at = std::find(limit_names.begin(), limit_names.end(), limit) - limit_names.begin();
  return world.fanout.tally().limits.at(static_cast<std::size_t>(at)).value();
}

TEST(session_protocol, hello_is_answered_by_welcome) {
  SessionWorld world;
  auto client = world.connect();
  client->say_message(Hello{1, world.token("ann")});
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("welcome"));
  EXPECT_EQ(member(documents[0], "principal"), "ann");
  EXPECT_EQ(client->session->principal().subject, "ann");
}

TEST(session_protocol, bytes_may_be_cut_anywhere) {
  SessionWorld world;
  auto client = world.connect();
  std::string text;
  append_document(text, Hello{1, world.token("ann")});
  std::string frame;
  append_ws_masked(frame, WsOpcode::text, text, 77);
  for (char& byte : frame) client->session->on_bytes(std::span(&byte, 1), world.now);
  world.run();
  EXPECT_THAT(types(client->take()), ElementsAre("welcome"));
}

TEST(session_protocol, row_20_no_hello_in_time_or_another_message_first_is_4001) {
  SessionWorld world;
  auto silent = world.connect();
  world.pass(seconds{5});
  EXPECT_EQ(silent->close_code, 4001);
  auto eager = world.connect();
  eager->say_message(subscribe("a"));
  world.run();
  EXPECT_EQ(eager->close_code, 4001);
  auto stranger = world.connect();
  stranger->say_message(Hello{1, "not.a.token"});
  world.run();
  EXPECT_EQ(stranger->close_code, 4001);
}

TEST(session_protocol, another_protocol_version_is_4010) {
  SessionWorld world;
  auto client = world.connect();
  client->say_message(Hello{2, world.token("ann")});
  world.run();
  EXPECT_EQ(client->close_code, 4010);
}

TEST(session_protocol, row_06_a_binary_message_is_1003) {
  SessionWorld world;
  auto client = world.open();
  client->send(WsOpcode::binary, "abc");
  world.run();
  EXPECT_EQ(client->close_code, 1003);
}

TEST(session_protocol, row_07_a_message_over_the_limit_is_1009) {
  SessionWorld world;
  auto client = world.open();
  client->send(WsOpcode::text, std::string(limits::client_message_bytes + 1, ' '));
  world.run();
  EXPECT_EQ(client->close_code, 1009);
}

TEST(session_protocol, row_07_of_a_stranger_no_more_is_kept_than_a_hello_may_have) {
  constexpr std::size_t hello_bytes = std::size_t{16} * 1024;
  SessionWorld world;
  auto stranger = world.connect();
  stranger->send(WsOpcode::text, std::string(hello_bytes + 1, ' '));
  world.run();
  EXPECT_EQ(stranger->close_code, 1009);

  std::string hello;
  append_document(hello, Hello{1, world.token("ann")});
  hello.insert(1, std::string(hello_bytes - hello.size(), ' '));
  auto client = world.connect();
  std::string both;  // in one read, so that the second is read behind the first
  append_ws_masked(both, WsOpcode::text, hello, 77);
  std::string pong = R"({"type":"pong"})";
  pong.insert(1, std::string(limits::client_message_bytes - pong.size(), ' '));
  append_ws_masked(both, WsOpcode::text, pong, 78);
  client->session->on_bytes(both, world.now);
  client->say_message(subscribe("a"));
  world.run();
  EXPECT_EQ(client->close_code, 0);
  EXPECT_THAT(types(client->take()), ElementsAre("welcome", "subscribed"));
}

TEST(session_protocol, row_08_a_message_that_is_not_finished_in_time_is_1008) {
  SessionWorld world;
  auto client = world.open();
  std::string frame;
  append_ws_masked(frame, WsOpcode::text, R"({"type":"pong"})", 1);
  client->session->on_bytes(std::span(frame).first(8), world.now);
  world.pass(seconds{9});
  EXPECT_EQ(client->close_code, 0);
  world.pass(seconds{1});
  EXPECT_EQ(client->close_code, 1008);
}

TEST(session_protocol, row_10_data_after_close_is_ignored_and_the_socket_goes_in_time) {
  SessionWorld world;
  auto client = world.open();
  client->send(WsOpcode::close, std::string("\x03\xe8", 2));
  client->say_message(subscribe("a"));
  world.run();
  EXPECT_EQ(client->close_code, 1000);
  EXPECT_TRUE(client->session->said_goodbye());
  EXPECT_THAT(world.engine.joins, IsEmpty());
  world.pass(milliseconds{1});
  EXPECT_FALSE(client->session->over());
  world.pass(seconds{2});
  EXPECT_TRUE(client->session->over());
}

TEST(session_protocol, row_11_pings_are_answered_and_a_flood_is_4029) {
  SessionWorld world;
  auto client = world.open();
  client->send(WsOpcode::ping, "one");
  client->send(WsOpcode::ping, "two");
  world.run();
  EXPECT_EQ(client->pong, "two");
  world.pass(seconds{1});
  for (std::size_t i = 0; i < limits::control_frames_per_second; ++i) client->send(WsOpcode::pong, {});
  world.run();
  EXPECT_EQ(client->close_code, 0);
  client->send(WsOpcode::pong, {});
  world.run();
  EXPECT_EQ(client->close_code, 4029);
  EXPECT_EQ(times_reached(world, "limit.control_frames"), 1U);
  EXPECT_EQ(times_reached(world, "limit.messages"), 0U);
}

TEST(session_protocol, row_11_each_limit_of_a_client_is_counted_by_its_own_name) {
  SessionOptions few;
  few.messages_per_second = 3;
  few.input_bytes_per_second = 4096;
  SessionWorld world(few);
  auto talker = world.open();
  for (int i = 0; i < 4; ++i) talker->say_message(Pong{});
  world.run();
  EXPECT_EQ(talker->close_code, 4029);
  EXPECT_EQ(times_reached(world, "limit.messages"), 1U);
  EXPECT_EQ(times_reached(world, "limit.input_bytes"), 0U);
  auto sender = world.open();
  sender->send(WsOpcode::text, std::string(5000, ' '));
  world.run();
  EXPECT_EQ(sender->close_code, 4029);
  EXPECT_EQ(times_reached(world, "limit.messages"), 1U);
  EXPECT_EQ(times_reached(world, "limit.input_bytes"), 1U);
}

TEST(session_protocol, row_26_a_refreshed_token_of_another_principal_is_4003) {
  SessionWorld world;
  auto client = world.open("ann");
  client->say_message(Refresh{world.token("bob")});
  world.run();
  EXPECT_EQ(client->close_code, 4003);
}

TEST(session_protocol, row_25_the_end_of_the_token_is_told_before_and_is_4004) {
  SessionWorld world;
  auto client = world.open();
  const auto live_on = [&](int steps) {  // of 40 s, in which the client answers
    for (int i = 0; i < steps; ++i) {
      world.pass(seconds{40});
      client->say_message(Pong{});
    }
  };
  live_on(88);
  client->documents.clear();
  world.pass(seconds{20});
  EXPECT_THAT(client->take(), ::testing::Contains(HasSubstr("auth_expiring")));
  client->say_message(Refresh{world.token("ann")});
  live_on(88);
  EXPECT_EQ(client->close_code, 0) << "a fresh token moves the end";
  live_on(2);
  EXPECT_EQ(client->close_code, 4004);
}

TEST(session_protocol, row_25_who_reads_nothing_ends_with_its_token_all_the_same) {
  SessionOptions options;
  options.no_progress = std::chrono::minutes{10};
  SessionWorld world(options);
  auto client = world.open();
  const auto live_until = [&](std::chrono::sys_seconds end) {
    while (world.now.wall < end) {
      world.pass(std::min<std::chrono::milliseconds>(
          seconds{20}, std::chrono::ceil<std::chrono::milliseconds>(end - world.now.wall)));
      client->say_message(Pong{});
    }
  };
  const auto end = std::chrono::floor<seconds>(world.now.wall) + std::chrono::hours{1};
  live_until(end - seconds{70});
  client->stalled = true;
  client->session->on_blocked(world.now);
  live_until(end - seconds{61});
  client->session->on_written(world.now);
  EXPECT_LE(client->session->next_tick(), world.now.steady) << "what waited for room may be due";
  client->session->on_blocked(world.now);
  world.pass(seconds{0});
  EXPECT_LE(client->session->next_tick(), world.now.steady + seconds{1}) << "the end is to be told beforehand";
  live_until(end - seconds{5});
  world.pass(seconds{5});
  EXPECT_EQ(client->session->state(), "closing");
  client->stalled = false;
  client->documents.clear();
  client->flush(world.now);
  EXPECT_EQ(client->close_code, 4004);
  EXPECT_THAT(client->take(), ::testing::Contains(HasSubstr("auth_expiring")));
}

TEST(session_protocol, row_30_and_31_what_is_no_object_of_this_protocol_is_4000) {
  for (const auto* text : {"nonsense", "{} {}", "[]", R"({"type":"pong","type":"pong"})"}) {
    SessionWorld world;
    auto client = world.open();
    client->say(text);
    world.run();
    EXPECT_EQ(client->close_code, 4000) << text;
  }
}

TEST(session_protocol, row_32_the_third_bad_request_is_4000_and_each_is_answered) {
  SessionWorld world;
  auto client = world.open();
  client->say(R"({"type":"dance"})");
  client->say(R"({"type":"unsubscribe","id":7})");
  world.run();
  EXPECT_THAT(types(client->take()), ElementsAre("error", "error"));
  EXPECT_EQ(client->close_code, 0);
  client->say(R"({"type":"pong","extra":1})");
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("error"));
  EXPECT_EQ(member(documents[0], "code"), "bad_request");
  EXPECT_THAT(documents[0], HasSubstr("extra"));
  EXPECT_EQ(client->close_code, 4000);
}

TEST(session_protocol, row_37_a_second_subscription_of_one_id_is_refused_and_the_first_goes_on) {
  SessionWorld world;
  auto client = world.open();
  client->say_message(subscribe("a"));
  client->say_message(subscribe("a", "owned", R"({"owner":"x"})"));
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("subscribed", "error"));
  EXPECT_EQ(member(documents[1], "code"), "duplicate_subscription");
  EXPECT_EQ(client->session->subscription_count(), 1U);
}

TEST(session_protocol, row_38_too_many_subscriptions_are_refused_and_too_many_messages_are_4029) {
  SessionOptions options;
  options.subscriptions = 2;
  options.messages_per_second = 5;
  SessionWorld world(options);
  auto client = world.open();
  world.pass(seconds{1});
  for (const auto* id : {"a", "b", "c"}) client->say_message(subscribe(id));
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("subscribed", "subscribed", "error"));
  EXPECT_EQ(member(documents[2], "code"), "too_many_subscriptions");
  for (int i = 0; i < 3; ++i) client->say_message(Pong{});
  world.run();
  EXPECT_EQ(client->close_code, 4029);
}

TEST(session_protocol, groups_are_bounded_also_those_that_nobody_uses_any_more) {
  SessionOptions options;
  options.groups = 1;
  SessionWorld world(options);
  auto client = world.open();
  client->say_message(subscribe("a"));
  world.run();
  client->say_message(Unsubscribe{"a"});
  client->say_message(subscribe("again"));  // of the group that is kept
  auto other = subscribe("b");
  other.space = "t";
  client->say_message(other);
  world.run();
  const auto documents = client->take();
  EXPECT_EQ(member(documents.back(), "code"), "unavailable");
  EXPECT_EQ(member(documents.back(), "id"), "b");
  EXPECT_EQ(client->session->subscription_count(), 1U);
  EXPECT_EQ(world.fanout.groups(), 1U);
}

TEST(session_protocol, row_29_and_36_an_unknown_view_is_forbidden_and_a_wrong_parameter_is_named) {
  SessionWorld world;
  auto client = world.open();
  client->say_message(subscribe("a", "secrets"));
  client->say_message(subscribe("b", "owned", R"({"ower":"x"})"));
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("error", "error"));
  EXPECT_EQ(member(documents[0], "code"), "forbidden");
  EXPECT_EQ(member(documents[1], "code"), "invalid_view");
  EXPECT_THAT(documents[1], HasSubstr("ower"));
}

TEST(session_protocol, row_39_a_broken_cursor_is_one_and_the_same_answer) {
  SessionWorld world;
  auto client = world.open();
  auto broken = subscribe("a");
  broken.cursor = "abc.def";
  client->say_message(broken);
  broken.cursor = "x";
  client->say_message(broken);
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("error", "error"));
  EXPECT_EQ(member(documents[0], "code"), "cursor_invalid");
  EXPECT_EQ(documents[0], documents[1]);
}

TEST(session_protocol, a_quiet_socket_gets_a_ping_and_a_silent_client_is_1001) {
  SessionWorld world;
  auto client = world.open();
  world.pass(seconds{20});
  EXPECT_THAT(types(client->take()), ElementsAre("ping"));
  client->say_message(Pong{});
  world.pass(seconds{20});
  EXPECT_THAT(types(client->take()), ElementsAre("ping"));
  world.pass(seconds{20});
  world.pass(seconds{10});
  EXPECT_EQ(client->close_code, 1001);
}

TEST(session_protocol, a_reader_that_takes_nothing_is_4008_and_gone_after_the_time_to_close) {
  SessionWorld world;
  auto client = world.open();
  client->stalled = true;
  client->session->on_blocked(world.now);
  world.pass(seconds{29});
  client->say_message(Pong{});
  EXPECT_FALSE(client->session->over());
  world.pass(seconds{1});
  world.pass(seconds{2});
  EXPECT_TRUE(client->session->over());
  client->stalled = false;
  world.run();
}

TEST(session_protocol, a_client_that_asks_and_does_not_read_is_not_read_either) {
  SessionOptions options;
  options.messages_per_second = 100'000;
  SessionWorld world(options);
  auto client = world.open();
  client->stalled = true;
  std::size_t asked = 0;
  for (; client->session->wants_input() && asked < 10'000; ++asked) client->say_message(subscribe("a", "secrets"));
  EXPECT_LT(asked, 1'000U);
  EXPECT_LT(client->session->held_bytes(), 200U * 1024);
  client->stalled = false;
  client->session->mark_due();
  world.run();
  EXPECT_TRUE(client->session->wants_input());
  EXPECT_EQ(client->take().size(), asked);
}

TEST(session_protocol, drain_tells_when_to_come_back_and_closes_with_1012) {
  SessionWorld world;
  auto client = world.open();
  client->session->drain(milliseconds{1234});
  world.run();
  const auto documents = client->take();
  ASSERT_THAT(types(documents), ElementsAre("drain"));
  EXPECT_EQ(member(documents[0], "reconnect_after"), "1234");
  EXPECT_EQ(client->close_code, 1012);
}

TEST(session_protocol, notices_reach_every_open_socket_and_those_that_come_later) {
  SessionWorld world;
  auto client = world.open();
  world.fanout.on_notice(NoticeKind::degraded);
  world.run();
  EXPECT_THAT(client->take(), ElementsAre(HasSubstr("degraded")));
  auto later = world.connect();
  later->say_message(Hello{1, world.token("bob")});
  world.run();
  EXPECT_THAT(types(later->take()), ElementsAre("welcome", "notice"));
  world.fanout.on_notice(NoticeKind::restored);
  world.run();
  EXPECT_THAT(client->take(), ElementsAre(HasSubstr("restored")));
}

}  // namespace
}  // namespace viewgate::gateway::testing
