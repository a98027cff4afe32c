// Row 27 and case 20: a token that was revoked shows nothing more, on any node, of what was not yet on its way.
#include <fstream>
#include <sstream>

#include "row_test.hpp"
#include "support/clock.hpp"
#include "support/log_lines.hpp"
#include "support/tcp_gate.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Revocation : public Row {
 protected:
  void write(const std::string& space, int id, int bytes = 1) {
    line.session().query(
        "insert into items (space, id, owner, status, x) values ($1, $2, 'alice', 'open', repeat('x', $3::int))",
        {space, std::to_string(id), std::to_string(bytes)});
  }
  /// `viewgate revoke` with these arguments.
  void revoke(std::vector<std::string> arguments) {
    std::vector<std::string> all{program("viewgate"), "revoke", "--database", line.database()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished done = run(all);
    EXPECT_EQ(done.status, 0) << done.output;
  }
  /// The code that a hello with this token is closed with; 0: it is welcome.
  std::uint16_t hello_code(std::uint16_t port, const std::string& token) {
    WsClient client(port);
    client.send(R"({"type":"hello","protocol":1,"token":")" + token + "\"}");
    if (client.next().type() == "welcome") return 0;
    return client.closed_with();
  }
  /// By the clocks of this machine: from before the revocation until the gateway has ended the session, whose frames that waited
  /// went with it. Promised is a second for each; one of a few may have met a machine that did something else.
  void expect_ended_within_a_second(const std::vector<std::chrono::system_clock::duration>& times) {
    auto sorted = times;
    std::ranges::sort(sorted);
    EXPECT_LE(sorted.at(sorted.size() / 2), patient(std::chrono::seconds(1)));
  }
  /// Of the session that calls its connection so.
  std::chrono::system_clock::time_point ended_at(GatewayProcess& gateway, const std::string& connection) {
    const std::string line_text = "session_revoked connection=" + connection;
    EXPECT_TRUE(eventually([&] { return time_of_line(gateway.log(), line_text).has_value(); })) << gateway.log();
    return time_of_line(gateway.log(), line_text).value_or(std::chrono::system_clock::time_point::max());
  }
  static std::string claims_of(const std::string& subject, const std::string& more) {
    return R"({"iss":"viewgate","aud":"viewgate","sub":")" + subject + R"(","role":"reader","exp":)" +
           std::to_string(std::time(nullptr) + 3600) + more + "}";
  }
};

TEST_F(Revocation, row_27_a_revoked_principal_is_closed_with_4005_on_every_node_and_others_go_on) {
  GatewayProcess other(line.gateway_options());
  const std::string space = line.new_space();
  WsClient here(line.port(), line.reader("mallory")), there(other.port(), line.reader("mallory"));
  WsClient bystander(line.port(), line.reader("bob"));
  for (WsClient* each : {&here, &there, &bystander}) each->open({.space = space});
  revoke({"--principal", "mallory"});
  EXPECT_EQ(here.closed_with(), 4005);
  EXPECT_EQ(there.closed_with(), 4005);
  write(space, 2701);
  EXPECT_THAT(bystander.next().text, HasSubstr("[2701]"));
  for (const std::uint16_t port : {line.port(), other.port()}) {
    EXPECT_EQ(hello_code(port, line.reader("mallory")), 4005);
    EXPECT_EQ(hello_code(port, line.reader("bob")), 0);
  }
}

TEST_F(Revocation, row_27_case_20_a_session_ends_within_a_second_of_the_revocation) {
  const std::string space = line.new_space();
  std::vector<std::chrono::system_clock::duration> times;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "eve-" + std::to_string(i);
    WsClient client(line.port(), line.reader(name));
    client.open({.space = space});
    const auto before = std::chrono::system_clock::now();
    line.sql("select viewgate.revoke(principal => '" + name + "')");
    EXPECT_EQ(client.closed_with(), 4005);
    times.push_back(ended_at(line.gateway(), client.welcome().plain("connection")) - before);
  }
  expect_ended_within_a_second(times);
}

TEST_F(Revocation, row_27_with_a_full_queue_nothing_of_it_is_handed_to_the_kernel_any_more_after_a_second) {
  GatewayOptions options = line.gateway_options();
  options.set("--time-no-progress", "10m");  // it is not what ends them
  GatewayProcess gateway(options);
  const std::string space = line.new_space();
  constexpr int small_buffer = 4096;
  const SubscribeText all{.space = space, .view = "everything"};
  const std::vector<std::string> names{"trent", "trudy", "tess", "theo", "tina"};
  std::vector<std::unique_ptr<WsClient>> slow;
  std::vector<std::string> connections;
  for (const std::string& name : names) {
    WsClient& each = *slow.emplace_back(std::make_unique<WsClient>(gateway.port(), small_buffer));
    each.send(R"({"type":"hello","protocol":1,"token":")" + line.reader(name) + "\"}");
    const Document welcome = each.next();
    EXPECT_EQ(welcome.type(), "welcome");
    connections.push_back(welcome.plain("connection"));
    each.open(all);
  }
  WsClient quick(gateway.port(), line.reader("bob"));
  quick.open(all);
  // Far more than kernels keep for one connection: the last ones wait in the gateway when the revocation comes.
  constexpr int commits = 25;
  for (int i = 0; i < commits; ++i) {
    write(space, 2710 + i, 600'000);
    EXPECT_THAT(quick.next().text, HasSubstr("[" + std::to_string(2710 + i) + "]"));
  }
  // Nobody reads there, so each ends without a close frame, and before what is written from now on.
  std::vector<std::chrono::system_clock::duration> times;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto before = std::chrono::system_clock::now();
    line.sql("select viewgate.revoke(principal => '" + names[i] + "')");
    times.push_back(ended_at(gateway, connections[i]) - before);
  }
  expect_ended_within_a_second(times);
  EXPECT_TRUE(eventually([&] { return gateway.client_sockets() == 1; }));
  write(space, 2799);
  EXPECT_THAT(quick.next().text, HasSubstr("[2799]"));
  for (const auto& each : slow) {
    std::string seen;
    while (const auto frame = each->raw().read_frame()) seen += frame->payload;
    EXPECT_THAT(seen, Not(HasSubstr("[" + std::to_string(2710 + commits - 1) + "]")));
    EXPECT_THAT(seen, Not(HasSubstr("[2799]")));
  }
}

TEST_F(Revocation, row_27_a_mutation_that_waits_when_its_principal_is_revoked_writes_nothing_by_either_door) {
  const std::string space = line.new_space();
  // Somebody else's transaction holds the space: what comes now waits for it.
  PgSession holder(line.database());
  holder.run("begin");
  holder.run("select viewgate.lock_space('" + space + "')");
  const std::string text = R"([{"kind":"create","collection":"labels","key":["KEY"],"record":{"colour":"red"}}])";
  const auto labelled = [&](const std::string& key) { return std::string(text).replace(text.find("KEY"), 3, key); };
  WsClient socket(line.port(), line.reader("walter"), "desk");
  socket.mutate(space, 1, labelled("by-socket"));
  const std::string body = R"({"client":"importer","number":"1","mutations":)" + labelled("by-http") + "}";
  RawSocket http(line.port());
  http.send("POST /v1/spaces/" + space + "/mutations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
            line.reader("walter") +
            "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  ASSERT_TRUE(eventually([&] {
    return line.value(
               "select count(*) from pg_stat_activity where datname = current_database() and "
               "application_name = 'viewgate write' and wait_event_type = 'Lock'") != "0";
  }));
  revoke({"--principal", "walter"});
  EXPECT_EQ(socket.closed_with(), 4005);
  holder.run("commit");
  EXPECT_THAT(http.read_until("\r\n\r\n"), ::testing::StartsWith("HTTP/1.1 401 "));
  EXPECT_TRUE(http.wait_closed());
  // Whatever of them was processed has its receipt by now, or comes before this one's.
  WsClient other(line.port(), line.reader("bob"), "desk-of-bob");
  other.mutate(space, 1, labelled("by-bob"));
  EXPECT_THAT(other.receipt_of(1).text, HasSubstr("\"applied\""));
  EXPECT_EQ(line.value("select string_agg(key, ' ') from viewgate.records where space = $1", {space}), R"(["by-bob"])");
}

TEST_F(Revocation, case_20_what_was_committed_after_the_revocation_does_not_leave) {
  const std::string space = line.new_space();
  WsClient client(line.port(), line.reader("oscar"));
  client.open({.space = space});
  write(space, 2019);
  EXPECT_THAT(client.next().text, HasSubstr("[2019]"));
  line.sql("select viewgate.revoke(principal => 'oscar', issuer => 'viewgate')");
  EXPECT_TRUE(eventually([&] { return hello_code(line.port(), line.reader("oscar")) == 4005; }));
  for (int id = 2020; id < 2026; ++id) write(space, id);
  line.settled_head(space);
  std::string seen;
  std::uint16_t code = 0;
  while (const auto frame = client.raw().read_frame()) {
    if (frame->opcode == Opcode::close)
      code = static_cast<std::uint16_t>(static_cast<std::uint8_t>(frame->payload[0]) << 8 |
                                        static_cast<std::uint8_t>(frame->payload[1]));
    seen += frame->payload;
  }
  EXPECT_EQ(code, 4005);
  for (int id = 2020; id < 2026; ++id) EXPECT_THAT(seen, Not(HasSubstr("[" + std::to_string(id) + "]")));
}

TEST_F(Revocation, row_27_one_token_of_a_principal_is_revoked_by_its_id_and_no_other) {
  const std::string lost = token_of_claims(claims_of("carol", R"(,"jti":"lost")"));
  const std::string kept = token_of_claims(claims_of("carol", R"(,"jti":"kept")"));
  WsClient phone(line.port(), lost), desk(line.port(), kept);
  const std::string space = line.new_space();
  phone.open({.space = space});
  desk.open({.space = space});
  revoke({"--token-id", "lost"});
  EXPECT_EQ(phone.closed_with(), 4005);
  write(space, 2751);
  EXPECT_THAT(desk.next().text, HasSubstr("[2751]"));
  desk.send(R"({"type":"refresh","token":")" + lost + "\"}");
  EXPECT_EQ(desk.closed_with(), 4005) << "nor does it help to refresh with it";
}

TEST_F(Revocation, row_27_it_survives_a_restart_and_ends_by_itself_and_later_tokens_count) {
  GatewayOptions options = line.gateway_options();
  GatewayProcess gateway(options);
  revoke({"--principal", "peggy"});
  line.sql("select viewgate.revoke(principal => 'victor', lasting => '1 millisecond')");
  gateway.process().kill();
  gateway.start_again();
  EXPECT_EQ(hello_code(gateway.port(), line.reader("peggy")), 4005);
  EXPECT_EQ(hello_code(gateway.port(), line.reader("victor")), 0);
  const auto issued = [&](long at) { return token_of_claims(claims_of("peggy", R"(,"iat":)" + std::to_string(at))); };
  EXPECT_EQ(hello_code(gateway.port(), issued(std::time(nullptr) - 10)), 4005);
  EXPECT_EQ(hello_code(gateway.port(), issued(std::time(nullptr) + 600)), 0);
  // docs/protocol.md has it to the second.
  const long revoked = std::stol(line.value(
      "select ceil(extract(epoch from max(revoked)))::bigint from viewgate.revocations where principal = 'peggy'"));
  constexpr long leeway = 5;  // the default
  EXPECT_EQ(hello_code(gateway.port(), issued(revoked + leeway)), 4005);
  EXPECT_EQ(hello_code(gateway.port(), issued(revoked + leeway + 1)), 0);
  EXPECT_EQ(hello_code(gateway.port(), token_of_claims(claims_of("peggy", ""))), 4005)
      << "one that does not say when it was issued";
}

TEST_F(Revocation, row_27_it_ends_on_a_running_node_by_its_clock_and_a_step_of_that_forgets_nothing) {
  SteppedClock clock;
  GatewayOptions options = line.gateway_options();
  options.good_client = {};  // who would be of another time
  clock.rule(options);
  GatewayProcess gateway(options);
  const auto token = [&](const std::string& subject) {
    constexpr long day = 86'400;
    return token_of_claims(R"({"iss":"viewgate","aud":"viewgate","sub":")" + subject + R"(","role":"reader","exp":)" +
                           std::to_string(std::time(nullptr) + day) + "}");
  };
  const auto becomes = [&](const std::string& subject, std::uint16_t code) {
    return eventually([&] { return hello_code(gateway.port(), token(subject)) == code; });
  };
  revoke({"--principal", "ivan", "--for", "1h"});
  EXPECT_TRUE(becomes("ivan", 4005));
  clock.step(std::chrono::hours(2));
  EXPECT_TRUE(becomes("ivan", 0));
  revoke({"--principal", "judy"});
  EXPECT_TRUE(becomes("judy", 4005));
  clock.step(std::chrono::hours(0));
  EXPECT_TRUE(becomes("ivan", 4005));
}

TEST_F(Revocation, row_27_what_a_restored_database_holds_under_ids_that_were_known_is_read) {
  TcpGate gate(line.cluster().server().socket_directory() / ".s.PGSQL.5432");
  GatewayOptions options = line.gateway_options();
  options.database = "host=127.0.0.1 port=" + std::to_string(gate.port()) +
                     " user=" + line.value("select current_user") +
                     " dbname=" + line.value("select current_database()") + " sslmode=disable gssencmode=disable";
  GatewayProcess gateway(options);
  revoke({"--principal", "frank"});
  EXPECT_TRUE(eventually([&] { return hello_code(gateway.port(), line.reader("frank")) == 4005; }));
  gate.shut();
  ASSERT_TRUE(eventually([&] {
    return line.value(
               "select count(*) from pg_stat_activity where datname = current_database() and "
               "application_name = 'viewgate revocations'") == "1";
  })) << "the line's own gateway";
  const std::string id = line.value("select max(id) from viewgate.revocations");
  line.sql("delete from viewgate.revocations where id = " + id);
  line.sql("alter table viewgate.revocations alter column id restart with " + id);
  revoke({"--principal", "heidi"});
  EXPECT_EQ(line.value("select max(id) from viewgate.revocations"), id);
  gate.open();
  EXPECT_TRUE(eventually([&] { return hello_code(gateway.port(), line.reader("heidi")) == 4005; }));
}

TEST_F(Revocation, row_27_one_that_lasts_as_long_as_may_be_or_for_ever_is_in_force) {
  const std::string space = line.new_space();
  const auto named = [&](const std::string& name) { return name + "-" + space; };
  WsClient inside(line.port(), line.reader(named("olivia")));
  inside.open({.space = space});
  revoke({"--principal", named("olivia"), "--for", "876000h"});
  EXPECT_EQ(inside.closed_with(), 4005);
  EXPECT_EQ(hello_code(line.port(), line.reader(named("olivia"))), 4005);
  line.sql("select viewgate.revoke('" + named("oscar") + "', lasting => '100 years')");
  EXPECT_TRUE(eventually([&] { return hello_code(line.port(), line.reader(named("oscar"))) == 4005; }));
  // Beyond that it is refused by name instead of taken for something else; what a table has from before counts.
  PgSession session(line.database());
  for (const char* lasting : {"101 years 200 days", "500 years", "270000 years"}) {
    EXPECT_EQ(session.refusal("select viewgate.revoke('peter', lasting => '" + std::string(lasting) + "')"), "P0001");
  }
  EXPECT_EQ(hello_code(line.port(), line.reader("peter")), 0);
  for (const std::string end : {"2263-01-01", "9999-12-31", "infinity"}) {
    const std::string name = named("of-" + end);
    line.sql("insert into viewgate.revocations (principal, until) values ('" + name + "', '" + end + "')");
    EXPECT_TRUE(eventually([&] { return hello_code(line.port(), line.reader(name)) == 4005; })) << end;
  }
}

TEST_F(Revocation, what_the_command_is_not_told_right_it_refuses) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"--principal", "a", "--token-id", "b"},
                                             {"--principal", "a", "--for", "soon"},
                                             {"--principal", "a", "--for", "876001h"},
                                             {"--principal", "a", "--for", "9999999h"},
                                             {"--principal", ""}}) {
    std::vector<std::string> all{program("viewgate"), "revoke", "--database", line.database()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished done = run(all);
    EXPECT_NE(done.status, 0) << done.output;
    EXPECT_EQ(std::count(done.output.begin(), done.output.end(), '\n'), 1) << done.output;
  }
}

}  // namespace
}  // namespace viewgate::testing
