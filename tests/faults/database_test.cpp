// Rows about PostgreSQL under a running gateway, and about the gateway's own end.
#include <algorithm>
#include <csignal>

#include "row_test.hpp"
#include "support/log_lines.hpp"
#include "support/tcp_gate.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class Database : public Row {
 protected:
  void write(const std::string& space, int id) {
    line.sql("insert into items (space, id, status) values ('" + space + "', " + std::to_string(id) + ", 'open')");
  }
  static std::string through(const TcpGate& gate, Line& to) {
    return "host=127.0.0.1 port=" + std::to_string(gate.port()) + " user=" + to.value("select current_user") +
           " dbname=" + to.value("select current_database()") + " sslmode=disable gssencmode=disable";
  }
  static std::string http(std::uint16_t port, const std::string& path) {
    RawSocket socket(port);
    socket.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return socket.read_until("\r\n");
  }
};

TEST_F(Database, row_54_sigterm_tells_clients_when_to_return_closes_with_1012_and_ends_with_status_0) {
  GatewayOptions options = line.gateway_options();
  options.set("--time-drain", "2s");
  GatewayProcess gateway(options);
  EXPECT_THAT(http(gateway.port(), "/readyz"), HasSubstr(" 200 "));
  EXPECT_THAT(http(gateway.port(), "/healthz"), HasSubstr(" 200 "));
  const std::string space = line.new_space();
  std::vector<std::unique_ptr<WsClient>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<WsClient>(gateway.port(), line.reader()));
    clients.back()->open({.space = space});
  }
  RawSocket early(gateway.port());  // connected, and has not said anything yet
  gateway.process().signal(SIGTERM);
  for (auto& client : clients) {
    EXPECT_GE(client->next_of("drain").number("reconnect_after"), 0);
    EXPECT_EQ(client->closed_with(), 1012);
  }
  EXPECT_EQ(gateway.process().wait(patience), 0) << gateway.log();
  // By its own clock: the window, the time that a close may take, and what is left to be ended behind it.
  const auto begun = time_of_line(gateway.log(), " draining "), ended = time_of_line(gateway.log(), " stopped");
  ASSERT_TRUE(begun && ended) << gateway.log();
  EXPECT_LE(*ended - *begun, std::chrono::seconds(2) + patient(std::chrono::seconds(2)));
}

TEST_F(Database, row_54_while_it_drains_it_is_not_ready_and_takes_nobody_new) {
  GatewayOptions options = line.gateway_options();
  options.set("--time-drain", "5s");
  GatewayProcess gateway(options);
  const std::string space = line.new_space();
  WsClient watcher(gateway.port(), line.reader());
  watcher.open({.space = space});
  gateway.process().signal(SIGTERM);
  watcher.next_of("drain");
  // Either the door is shut or what stands behind it says no.
  try {
    EXPECT_THAT(http(gateway.port(), "/readyz"), ::testing::Not(HasSubstr(" 200 ")));
  } catch (const std::runtime_error& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("nobody listens"));
  }
  EXPECT_EQ(gateway.process().wait(patient(std::chrono::seconds(15))), 0) << gateway.log();
}

TEST_F(Database, row_53_clients_of_a_node_that_is_killed_resume_on_another) {
  GatewayProcess one(line.gateway_options());
  GatewayProcess other(line.gateway_options());
  const std::string space = line.new_space();
  WsClient client(one.port(), line.reader());
  const Opened opened = client.open({.space = space});
  std::string cursor = opened.cursor();
  std::int64_t sequence = opened.ready.number("sequence");
  for (int id = 5301; id <= 5320; ++id) {
    write(space, id);
    if (id == 5310) one.process().kill();
    if (id >= 5310) continue;
    const Document commit = client.next_of("commit");
    cursor = opened.context() + "." + commit.plain("position");
    EXPECT_EQ(commit.number("sequence"), ++sequence);
  }
  WsClient again(other.port(), line.reader());
  EXPECT_TRUE(again.open({.space = space, .cursor = cursor}).resumed());
  for (int id = 5310; id <= 5320; ++id) {
    const Document commit = again.next();
    EXPECT_EQ(commit.number("sequence"), ++sequence) << "none twice, none missing";
    EXPECT_THAT(commit.text, HasSubstr("[" + std::to_string(id) + "]"));
  }
}

TEST_F(Database, row_55_postgresql_restarts_and_the_sockets_stay) {
  const std::string space = line.new_space();
  WsClient client(line.port(), line.reader());
  client.also_show("notice");
  client.open({.space = space});
  int id = 5500;
  for (const ledger::Shutdown how : {ledger::Shutdown::fast, ledger::Shutdown::kill}) {
    write(space, ++id);
    EXPECT_THAT(client.next_of("commit").text, HasSubstr("[" + std::to_string(id) + "]"));
    line.cluster().restart(how);
    line.reconnect();
    EXPECT_EQ(client.next().plain("kind"), "degraded");
    EXPECT_EQ(client.next().plain("kind"), "restored");
    write(space, ++id);
    const Document commit = client.next();
    EXPECT_EQ(commit.type(), "commit") << commit.text;
    EXPECT_THAT(commit.text, HasSubstr("[" + std::to_string(id) + "]"));
  }
  EXPECT_EQ(WsClient(line.port(), line.reader()).open({.space = space}).records.size(), 4U);
}

TEST_F(Database, row_55_what_was_committed_while_the_gateway_could_not_reach_postgresql_comes_afterwards) {
  TcpGate gate(line.cluster().server().socket_directory() / ".s.PGSQL.5432");
  GatewayOptions options = line.gateway_options();
  options.database = through(gate, line);
  GatewayProcess gateway(options);
  const std::string space = line.new_space();
  WsClient client(gateway.port(), line.reader());
  client.also_show("notice");
  client.open({.space = space});
  gate.shut();
  EXPECT_EQ(client.next().plain("kind"), "degraded");
  for (int id = 5551; id <= 5553; ++id) write(space, id);
  WsClient late(gateway.port(), line.reader());
  late.send(subscribe_text({.space = space, .view = "everything"}));
  const Document refused = late.next_of("error");
  EXPECT_EQ(refused.plain("code"), "unavailable") << refused.text;
  EXPECT_GE(refused.number("retry_after"), 0) << refused.text;
  gate.open();
  EXPECT_EQ(client.next().plain("kind"), "restored");
  for (int id = 5551; id <= 5553; ++id)
    EXPECT_THAT(client.next_of("commit").text, HasSubstr("[" + std::to_string(id) + "]"));
  EXPECT_EQ(late.open({.space = space, .view = "everything"}).records.size(), 3U)
      << "the socket that was refused goes on";
}

TEST_F(Database, row_56_while_postgresql_is_away_everybody_is_told_each_time_and_afterwards_everything_comes) {
  TcpGate gate(line.cluster().server().socket_directory() / ".s.PGSQL.5432");
  GatewayOptions options = line.gateway_options();
  options.database = through(gate, line);
  options.set("--ledger-database-time", patient_flag(std::chrono::seconds(1)));
  GatewayProcess gateway(options);
  const std::string space = line.new_space();
  WsClient live(gateway.port(), line.reader(), "live");
  live.also_show("notice");
  live.open({.space = space});
  gate.shut();
  EXPECT_EQ(live.next().plain("kind"), "degraded");
  // As long as it takes for every deadline of the database to pass several times. A bootstrap is refused at once, a mutation
  // when its deadline is over; no socket is lost, and strangers become clients.
  WsClient early(gateway.port(), line.reader());
  std::vector<std::chrono::steady_clock::duration> refusals;
  for (int round = 0; round < 5; ++round) {
    const auto asked = std::chrono::steady_clock::now();
    early.send(subscribe_text({.id = "round-" + std::to_string(round), .space = space, .view = "everything"}));
    const Document refused = early.next_of("error");
    refusals.push_back(std::chrono::steady_clock::now() - asked);
    EXPECT_EQ(refused.plain("code"), "unavailable") << refused.text;
    EXPECT_GT(refused.number("retry_after"), 0) << refused.text;
    live.mutate(space, 1, R"([{"kind":"create","collection":"labels","key":["a"],"record":{"colour":"red"}}])");
    const Document unwritten = live.next_of("error", patient(std::chrono::seconds(60)));
    EXPECT_EQ(unwritten.plain("code"), "unavailable") << unwritten.text;
    EXPECT_EQ(unwritten.plain("number"), "1");
    WsClient late(gateway.port(), line.reader("bob"));
    late.also_show("notice");
    EXPECT_EQ(late.next().plain("kind"), "degraded") << "a newcomer is told, too";
    write(space, 5600 + round);
  }
  std::ranges::sort(refusals);
  EXPECT_LE(refusals[2], patient(std::chrono::seconds(1))) << "they do not wait for a deadline of the database";
  gate.open();
  EXPECT_EQ(live.next().plain("kind"), "restored");
  for (int round = 0; round < 5; ++round) {
    EXPECT_THAT(live.next_of("commit").text, HasSubstr("[" + std::to_string(5600 + round) + "]"));
  }
  EXPECT_EQ(early.open({.id = "again", .space = space, .view = "everything"}).records.size(), 5U);
  live.mutate(space, 1, R"([{"kind":"create","collection":"labels","key":["a"],"record":{"colour":"red"}}])");
  EXPECT_THAT(live.receipt_of(1).text, HasSubstr("\"applied\""));
}

TEST_F(Database, row_57_commits_arrive_although_no_notification_ever_does) {
  // A database of its own: another gateway that follows it would number these commits first and hide what is tested.
  Line other(line.cluster());
  other.gateway().process().kill();
  TcpGate gate(line.cluster().server().socket_directory() / ".s.PGSQL.5432");
  gate.swallow_notifications();
  GatewayOptions options = other.gateway_options();
  options.database = through(gate, other);
  GatewayProcess gateway(options);
  const std::string space = other.new_space();
  WsClient client(gateway.port(), other.reader());
  client.open({.space = space});
  std::vector<std::chrono::steady_clock::duration> times;
  for (int id = 5701; id <= 5710; ++id) {
    other.sql("insert into items (space, id, status) values ('" + space + "', " + std::to_string(id) + ", 'open')");
    const auto committed = std::chrono::steady_clock::now();
    EXPECT_THAT(client.next_of("commit").text, HasSubstr("[" + std::to_string(id) + "]"));
    times.push_back(std::chrono::steady_clock::now() - committed);
  }
  // A look finds each, at the latest after ledger.look_idle; the median says nothing about a machine that was held up.
  std::ranges::sort(times);
  EXPECT_LE(times[times.size() / 2], patient(std::chrono::seconds(1)));
}

}  // namespace
}  // namespace viewgate::testing
