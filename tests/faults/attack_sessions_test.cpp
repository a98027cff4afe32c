// Rows about what a client with a sound socket may try: other people's data, other people's tokens, more than its share.
#include <ctime>

#include "row_test.hpp"
#include "support/clock.hpp"

namespace viewgate::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::Not;

class AttackSessions : public Row {
 protected:
  void write(const std::string& space, int id, const std::string& n = "0") {
    line.session().query("insert into items (space, id, owner, status, n) values ($1, $2, 'alice', 'open', $3)",
                         {space, std::to_string(id), n});
  }
  /// The answer to one subscribe.
  std::string answer(WsClient& client, const SubscribeText& what) {
    client.send(subscribe_text(what));
    return client.next().text;
  }
  /// Of a gateway whose clock is hours ahead.
  std::function<std::chrono::milliseconds(std::uint16_t)> after_the_step() {
    return [this](std::uint16_t port) { return line.serve_a_good_client(port, lasting_token()); };
  }
  static std::string lasting_token();
  static std::string refresh(const std::string& token) { return R"({"type":"refresh","token":")" + token + "\"}"; }
};

std::string claims_until(std::chrono::seconds from_now, const std::string& more = R"("role":"reader")") {
  return R"({"iss":"viewgate","aud":"viewgate","sub":"alice",)" + more +
         ",\"exp\":" + std::to_string(std::time(nullptr) + from_now.count()) + "}";
}

std::string AttackSessions::lasting_token() { return token_of_claims(claims_until(hours(100))); }

TEST_F(AttackSessions, row_25_expiry_is_told_before_and_ends_the_session_with_4004) {
  SteppedClock clock;
  GatewayOptions options = line.gateway_options();
  clock.rule(options);
  options.set("--time-heartbeat", patient_flag(std::chrono::milliseconds(200)));
  options.good_client = after_the_step();
  options.set("--auth-leeway", "0s");
  GatewayProcess gateway(options);
  WsClient client(gateway.port(), token_of_claims(claims_until(hours(1))));
  client.also_show("notice");
  client.open({.space = line.new_space()});
  clock.step(minutes(59) + std::chrono::seconds(15));
  const Document notice = client.next();
  EXPECT_EQ(notice.plain("kind"), "auth_expiring") << notice.text;
  EXPECT_GT(notice.number("in"), 0);
  EXPECT_LE(notice.number("in"), 60);
  clock.step(minutes(61));
  EXPECT_EQ(client.closed_with(), 4004);
}

TEST_F(AttackSessions, row_25_a_refreshed_token_lets_the_session_live_on) {
  SteppedClock clock;
  GatewayOptions options = line.gateway_options();
  clock.rule(options);
  options.set("--time-heartbeat", patient_flag(std::chrono::milliseconds(200)));
  options.good_client = after_the_step();
  GatewayProcess gateway(options);
  WsClient client(gateway.port(), token_of_claims(claims_until(hours(1))));
  client.also_show("notice");
  const std::string space = line.new_space();
  client.open({.space = space});
  for (int round = 1; round <= 2; ++round) {
    clock.step(round * hours(1) - std::chrono::seconds(30));
    EXPECT_EQ(client.next().plain("kind"), "auth_expiring");
    client.send(refresh(token_of_claims(claims_until((round + 1) * hours(1)))));
  }
  clock.step(hours(2) + minutes(1));
  write(space, 2501);
  EXPECT_THAT(client.next().text, HasSubstr("[2501]"));
}

TEST_F(AttackSessions, row_26_a_token_of_another_subject_or_issuer_ends_the_session_with_4003_and_a_bad_one_with_4001) {
  const std::vector<std::pair<std::string, int>> tokens{
      {line.reader("bob"), 4003},
      {token("alice", {"role=reader"}) + "x", 4001},
      {token_of_claims(claims_until(std::chrono::seconds(-60))), 4001},
      {"", 4001},
  };
  for (const auto& [other, code] : tokens) {
    WsClient client(line.port(), line.reader());
    client.open({.space = line.new_space()});
    client.send(refresh(other));
    EXPECT_EQ(client.closed_with(), code) << other;
  }
}

TEST_F(AttackSessions, row_28_claims_that_narrow_the_view_start_it_anew_and_what_is_outside_now_does_not_come) {
  const std::string space = line.new_space();
  write(space, 2801, "5");
  write(space, 2802, "50");
  WsClient client(line.port(), token("alice", {"role=reader", "ceiling:=100"}));
  EXPECT_EQ(client.open({.space = space, .view = "below"}).records.size(), 2U);
  client.send(refresh(token("alice", {"role=reader", "ceiling:=10"})));
  const Document reset = client.next();
  EXPECT_EQ(reset.type(), "reset_required") << reset.text;
  EXPECT_EQ(reset.plain("reason"), "authorization_changed");
  EXPECT_EQ(client.next().type(), "subscribed");
  const Document snapshot = client.next();
  EXPECT_THAT(snapshot.text, ::testing::AllOf(HasSubstr("[2801]"), Not(HasSubstr("[2802]"))));
  EXPECT_EQ(client.next().type(), "ready");
  write(space, 2803, "60");
  write(space, 2804, "6");
  EXPECT_THAT(client.next().text, ::testing::AllOf(HasSubstr("[2804]"), Not(HasSubstr("[2803]"))));
}

TEST_F(AttackSessions, row_28_claims_that_admit_no_longer_end_the_view_and_the_others_go_on) {
  const std::string space = line.new_space();
  WsClient client(line.port(), token("alice", {"role=reader", "spaces:=[\"" + space + "\"]"}));
  client.open({.id = "open", .space = space});
  client.open({.id = "walled", .space = space, .view = "walled"});
  client.send(refresh(token("alice", {"role=reader"})));
  const Document ended = client.next();
  EXPECT_EQ(ended.type(), "unsubscribed") << ended.text;
  EXPECT_EQ(ended.plain("id"), "walled");
  EXPECT_EQ(ended.plain("reason"), "forbidden");
  write(space, 2811);
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[2811]"));
}

TEST_F(AttackSessions, row_28_a_grant_that_is_data_takes_the_records_away_by_their_keys_alone) {
  const std::string space = line.new_space();
  write(space, 2821);
  WsClient client(line.port(), line.reader());
  EXPECT_EQ(client.open({.space = space, .view = "mine"}).records.size(), 1U);
  line.sql("update items set owner = 'bob', status = 'his secret' where id = 2821");
  const Document commit = client.next();
  EXPECT_THAT(commit.text, HasSubstr(R"("events":[{"kind":"removed_from_scope","key":[2821]}])"));
}

TEST_F(AttackSessions, row_29_what_does_not_exist_and_what_one_may_not_see_are_refused_with_the_same_bytes) {
  const std::string known = line.new_space(), mine = line.new_space();
  write(known, 2901);
  line.settled_head(known);
  WsClient client(line.port(), token("alice", {"spaces:=[\"" + mine + "\",\"not-yet\"]"}));
  const std::string refused = answer(client, {.space = known, .view = "walled"});
  EXPECT_THAT(refused, HasSubstr("\"forbidden\""));
  EXPECT_EQ(answer(client, {.space = "never-seen", .view = "walled"}), refused);
  EXPECT_EQ(answer(client, {.space = known, .view = "no_such_view"}), refused);
  EXPECT_EQ(answer(client, {.space = mine, .view = "no_such_view"}), refused);
  EXPECT_EQ(answer(client, {.space = known, .view = "open"}), refused) << "a view whose policy wants another claim";
  EXPECT_EQ(answer(client, {.space = known, .view = "items"}), refused) << "the table behind the views";
  EXPECT_EQ(answer(client, {.space = known, .view = "between_n", .params = R"({"wrong":1})"}), refused)
      << "what the parameters are called is not told";
  EXPECT_EQ(answer(client, {.space = known, .view = "pg_catalog.pg_authid"}), refused);
}

TEST_F(AttackSessions, row_29_a_space_that_a_policy_admits_and_that_does_not_exist_yet_is_an_empty_view) {
  const std::string space = line.new_space();
  WsClient client(line.port(), token("alice", {"spaces:=[\"" + space + "\"]"}));
  const Opened opened = client.open({.space = space, .view = "walled"});
  EXPECT_EQ(opened.records.size(), 0U);
  EXPECT_EQ(opened.ready.plain("sequence"), "0");
  write(space, 2911);
  EXPECT_THAT(client.next().text, ::testing::AllOf(HasSubstr("\"commit\""), HasSubstr("[2911]")));
}

TEST_F(AttackSessions, row_33_a_number_that_no_integer_of_the_protocol_is_is_a_bad_request_that_names_the_member) {
  for (const char* number : {"9007199254740992", "-9007199254740992", "1e400", "1.5", "1.0", "1e0", "-0", "-1",
                             "99999999999999999999999999999999"}) {
    WsClient client(line.port(), line.reader());
    client.send(R"({"type":"hello","protocol":)" + std::string(number) + R"(,"token":"x"})");
    const Document error = client.next();
    EXPECT_EQ(error.plain("code"), "bad_request") << number << ": " << error.text;
    EXPECT_EQ(client.open({.space = line.new_space()}).ready.type(), "ready") << "the connection stays";
  }
}

TEST_F(AttackSessions, row_36_a_parameter_that_is_unknown_missing_or_of_another_type_is_named) {
  WsClient client(line.port(), line.reader());
  const std::string space = line.new_space();
  for (const auto& [params, named] : std::vector<std::pair<std::string, std::string>>{
           {R"({"low":1,"high":2,"middle":3})", "middle"},
           {R"({"low":1})", "high"},
           {"", "high"},
           {R"({"low":"one","high":2})", "low"},
           {R"({"low":1,"high":[2]})", "high"},
           {R"({"low":{},"high":2})", "low"},
           {R"({"low":true,"high":2})", "low"},
       }) {
    const std::string error = answer(client, {.space = space, .view = "between_n", .params = params});
    EXPECT_THAT(error, HasSubstr("\"invalid_view\"")) << params;
    EXPECT_THAT(error, HasSubstr(named)) << params;
  }
  EXPECT_EQ(client.open({.space = space, .view = "between_n", .params = R"({"low":1,"high":2})"}).ready.type(),
            "ready");
}

TEST_F(AttackSessions, row_38_more_subscriptions_than_allowed_are_refused_and_more_messages_end_the_session) {
  GatewayOptions options = line.gateway_options();
  options.set("--limit-subscriptions", "3");
  options.set("--limit-messages", "30");
  GatewayProcess gateway(options);
  WsClient client(gateway.port(), line.reader());
  const std::string space = line.new_space();
  EXPECT_EQ(client.welcome().number("subscriptions"), 3);
  client.open({.id = "1", .space = space});
  client.open({.id = "2", .space = space, .view = "either"});
  client.open({.id = "3", .space = space, .view = "mine"});
  client.send(subscribe_text({.id = "4", .space = space, .view = "everything"}));
  EXPECT_EQ(client.next().plain("code"), "too_many_subscriptions");
  client.send(R"({"type":"unsubscribe","id":"3"})");
  EXPECT_EQ(client.next().type(), "unsubscribed");
  EXPECT_EQ(client.open({.id = "4", .space = space, .view = "everything"}).ready.type(), "ready") << "room again";
  std::string flood;
  for (int i = 0; i < 200; ++i) flood += text_frame(R"({"type":"pong"})");
  client.raw().socket().send(flood);
  EXPECT_EQ(client.closed_with(), 4029);
}

TEST_F(AttackSessions, row_51_a_client_that_stops_reading_costs_its_bound_harms_nobody_and_loses_nothing) {
  GatewayOptions options = line.gateway_options();
  options.set("--time-no-progress", "1s");
  options.set("--ring-group-bytes", "256KiB");
  options.set("--ring-space-bytes", "512KiB");
  options.set("--limit-frame-bytes", "64KiB");
  options.measure_memory();
  GatewayProcess gateway(options);
  const std::string space = line.new_space();
  const SubscribeText all{.space = space, .view = "everything"};
  constexpr int small_buffer = 4096;
  WsClient stalled(gateway.port(), small_buffer);
  stalled.send(R"({"type":"hello","protocol":1,"token":")" + line.reader() + "\"}");
  EXPECT_EQ(stalled.next().type(), "welcome");
  WsClient reading(gateway.port(), line.reader("bob"));
  const std::string cursor = stalled.open(all).cursor();
  reading.open(all);
  const std::uint64_t before = gateway.rss_bytes();
  constexpr int commits = 250;
  for (int i = 0; i < commits; ++i) {
    line.session().query("insert into items (space, id, x) values ($1, $2, repeat('x', 50000))",
                         {space, std::to_string(5'100'000 + i)});
    EXPECT_THAT(reading.next().text, HasSubstr("[" + std::to_string(5'100'000 + i) + "]"));
  }
  // What was written is 12.5 MB; what may be kept is two rings, parts on their way and what allocators hold back.
  constexpr std::uint64_t bound = std::uint64_t{8} << 20;
  EXPECT_LT(gateway.rss_bytes(), before + bound);
  EXPECT_TRUE(eventually([&] { return gateway.client_sockets() == 1; })) << "it is closed once it makes no progress";
  WsClient back(gateway.port(), line.reader());
  SubscribeText resumed = all;
  resumed.cursor = cursor;
  EXPECT_TRUE(back.open(resumed).resumed());
  for (int i = 0; i < commits; ++i) {
    ASSERT_THAT(back.next_of("commit").text, HasSubstr("[" + std::to_string(5'100'000 + i) + "]"));
  }
}

TEST_F(AttackSessions, row_62_a_step_of_the_clock_moves_no_timer_and_ends_only_tokens_that_are_over) {
  SteppedClock clock;
  GatewayOptions options = line.gateway_options();
  clock.rule(options);
  options.set("--time-heartbeat", patient_flag(std::chrono::milliseconds(200)));
  options.good_client = after_the_step();
  GatewayProcess gateway(options);
  const std::string space = line.new_space();
  const std::string lasting = token_of_claims(claims_until(hours(10)));
  WsClient brief(gateway.port(), token_of_claims(claims_until(minutes(30))));
  WsClient client(gateway.port(), lasting);
  const std::string cursor = client.open({.space = space}).cursor();
  int id = 6200;
  const auto commits_arrive = [&] {
    write(space, ++id);
    EXPECT_THAT(client.next_of("commit").text, HasSubstr("[" + std::to_string(id) + "]"));
  };
  clock.step(-hours(1));
  commits_arrive();
  EXPECT_EQ(WsClient(gateway.port(), lasting).open({.space = space, .cursor = cursor}).resumed(), true);
  clock.step(hours(1));
  EXPECT_EQ(brief.closed_with(), 4004) << "by the wall clock its token is over";
  commits_arrive();
  EXPECT_EQ(WsClient(gateway.port(), lasting).open({.space = space, .cursor = cursor}).resumed(), true);
  clock.step(hours(0));
  commits_arrive();
}

}  // namespace
}  // namespace viewgate::testing
