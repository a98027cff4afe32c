// Rows about more than one's share: sockets, handshakes, bytes, descriptors. Whoever is inside goes on.
#include "loadtest/process_use.hpp"
#include "row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class AttackLimits : public Row {
 protected:
  std::unique_ptr<GatewayProcess> gateway_with(const std::vector<std::pair<std::string, std::string>>& flags,
                                               std::optional<std::uint64_t> descriptors = {}) {
    GatewayOptions options = line.gateway_options();
    for (const auto& [flag, value] : flags) options.set(flag, value);
    options.descriptors = descriptors;
    return std::make_unique<GatewayProcess>(options);
  }
  void expect_commit(WsClient& client, const std::string& space) {
    const std::string id = line.value(
        "insert into items (space, id, status) values ($1, nextval('items_id'), 'open') returning id", {space});
    Document commit = client.next_of("commit");  // other clients' writes may come before
    while (!commit.text.empty() && commit.text.find("[" + id + "]") == std::string::npos)
      commit = client.next_of("commit");
    EXPECT_THAT(commit.text, HasSubstr("[" + id + "]"));
  }
  static bool is_refused(std::uint16_t port) {
    RawSocket socket(port);
    socket.send(upgrade_bytes());
    return socket.read_until("\r\n\r\n").empty();
  }
};

TEST_F(AttackLimits, row_38_an_address_has_its_number_of_sockets_and_gets_them_back) {
  const auto gateway = gateway_with({{"--limit-address-connections", "5"}});
  const std::string space = line.new_space();
  WsClient inside(gateway->port(), line.reader());
  inside.open({.space = space});
  // Welcomed, so that each has its place before the next one asks for one.
  std::vector<std::unique_ptr<WsClient>> others;
  for (int i = 0; i < 4; ++i) others.push_back(std::make_unique<WsClient>(gateway->port(), line.reader()));
  EXPECT_TRUE(eventually([&] { return is_refused(gateway->port()); }));
  expect_commit(inside, space);
  others.clear();
  EXPECT_TRUE(eventually([&] { return !is_refused(gateway->port()); }));
}

TEST_F(AttackLimits, row_38_an_address_that_opens_sockets_too_fast_is_cut_off_for_a_second) {
  const auto gateway = gateway_with({{"--limit-address-handshakes", "10"}});
  int refused = 0;
  for (int i = 0; i < 200; ++i) refused += is_refused(gateway->port()) ? 1 : 0;
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(eventually([&] { return !is_refused(gateway->port()); }));
}

TEST_F(AttackLimits, row_38_a_principal_has_its_number_of_sockets_on_all_reactors_together) {
  const auto gateway = gateway_with({{"--limit-principal-connections", "3"}});
  std::vector<std::unique_ptr<WsClient>> hers;
  for (int i = 0; i < 3; ++i) hers.push_back(std::make_unique<WsClient>(gateway->port(), line.reader()));
  WsClient fourth(gateway->port());
  const std::string hello = R"({"type":"hello","protocol":1,"token":")" + line.reader() + "\"}";
  fourth.send(hello);
  EXPECT_EQ(fourth.closed_with(), 4029);
  EXPECT_EQ(WsClient(gateway->port(), line.reader("bob")).welcome().type(), "welcome");
  hers.pop_back();
  EXPECT_TRUE(eventually([&] {
    WsClient again(gateway->port());
    again.send(hello);
    return again.next().type() == "welcome";
  }));
}

TEST_F(AttackLimits, row_38_more_bytes_a_second_than_allowed_are_4029) {
  const auto gateway = gateway_with({{"--limit-input-bytes", "64KiB"}});
  WsClient client(gateway->port(), line.reader());
  const std::string padded = "{\"type\":\"pong\"" + std::string(30'000, ' ') + "}";
  for (int i = 0; i < 10; ++i) client.send(padded);
  EXPECT_EQ(client.closed_with(), 4029);
}

TEST_F(AttackLimits, row_19_strangers_beyond_their_number_push_out_the_oldest_and_nobody_who_said_hello) {
  const auto gateway = gateway_with({{"--limit-strangers", "20"}, {"--time-handshake", "1m"}, {"--time-hello", "1m"}});
  const std::string space = line.new_space();
  WsClient inside(gateway->port(), line.reader());
  inside.open({.space = space});
  RawSocket oldest(gateway->port());
  oldest.send("GET ");
  std::vector<std::unique_ptr<RawSocket>> others;
  for (int i = 0; i < 100; ++i) others.push_back(std::make_unique<RawSocket>(gateway->port()));
  EXPECT_TRUE(oldest.wait_closed());
  EXPECT_TRUE(eventually([&] { return gateway->client_sockets() <= 2 * 20 + 1; })) << "twenty for each reactor";
  WsClient late(gateway->port(), line.reader("bob"));
  late.open({.space = space});
  expect_commit(inside, space);
  expect_commit(late, space);
}

TEST_F(AttackLimits, row_19_and_20_sockets_that_come_and_go_for_long_leave_nothing_behind) {
  GatewayOptions options = line.gateway_options();
  options.set("--threads", "1");
  options.set("--time-handshake", "1m");
  options.set("--time-hello", "1m");
  options.measure_memory();
  GatewayProcess gateway(options);
  const auto attack = [&] {
    constexpr int rounds = 10, at_once = 200;
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::unique_ptr<RawSocket>> sockets;
      for (int i = 0; i < at_once; ++i) {
        RawSocket& each = *sockets.emplace_back(std::make_unique<RawSocket>(gateway.port()));
        // A head that ends nowhere, and a session that never says hello but begins to.
        each.send(i % 2 == 0 ? "GET /v1/socket HTTP/1.1\r\nX: " + std::string(4000, 'x') : upgrade_bytes());
        if (i % 2 == 1) each.send(frame_bytes({.claimed_length = 16'000}, std::string(8000, '{')));
      }
      EXPECT_TRUE(eventually([&] { return gateway.client_sockets() == at_once; }));
      sockets.clear();
      EXPECT_TRUE(eventually([&] { return gateway.client_sockets() == 0; }));
    }
  };
  // The allocator has its share after two of them.
  attack();
  attack();
  const std::uint64_t before = gateway.rss_bytes();
  attack();
  EXPECT_LT(gateway.rss_bytes(), before + memory_factor * (std::uint64_t{12} << 20)) << "6 KiB for each socket";
}

TEST_F(AttackLimits, row_63_out_of_descriptors_those_inside_go_on_nothing_spins_and_honest_clients_get_in) {
  const auto gateway = gateway_with({{"--time-handshake", "1m"}}, 64);
  const std::string space = line.new_space();
  WsClient inside(gateway->port(), line.reader());
  inside.open({.space = space});
  std::vector<std::unique_ptr<RawSocket>> others;
  for (int i = 0; i < 150; ++i) others.push_back(std::make_unique<RawSocket>(gateway->port()));
  const auto descriptors = [&] { return loadtest::process_use(gateway->process().pid()).descriptors; };
  EXPECT_TRUE(eventually([&] { return descriptors() >= 64U - 20; }));
  EXPECT_LE(descriptors(), 64U - 8) << "the last ones are for operators and the database";
  const auto begun = std::chrono::steady_clock::now();
  const double cpu_before = loadtest::process_use(gateway->process().pid()).cpu_seconds;
  for (int i = 0; i < 20; ++i) expect_commit(inside, space);
  // Strangers are let go, one after the other, so whoever says hello comes in while they still press.
  WsClient late(gateway->port(), line.reader("bob"));
  late.open({.space = space});
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
  const double cpu = loadtest::process_use(gateway->process().pid()).cpu_seconds - cpu_before;
  EXPECT_LT(cpu, 0.9 * wall.count() + 0.1) << "two reactors that spin use twice that";
  others.clear();
  expect_commit(inside, space);
  expect_commit(late, space);
  const std::string log = gateway->log();
  std::size_t told = 0;
  for (std::size_t at = log.find("accept_failed"); at != std::string::npos; at = log.find("accept_failed", at + 1))
    ++told;
  EXPECT_LT(told, 200U) << "not once for each try";
}

}  // namespace
}  // namespace viewgate::testing
