// TLS on the public port: which versions, what it makes of everything that is none, a certificate that is renewed under
// connections that stay, and the same stream as without.
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

#include "loadtest/process_use.hpp"
#include "row_test.hpp"
#include "support/tls_client.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Tls : public Row {
 protected:
  Tls() { write_certificate(certificate, key, "first"); }
  ~Tls() override {
    std::filesystem::remove(certificate);
    std::filesystem::remove(key);
  }
  GatewayOptions options() {
    GatewayOptions out = line.gateway_options();
    out.set("--tls-certificate", certificate);
    out.set("--tls-key", key);
    out.set("--tls-check", "24h");
    // A handshake is work, and machines are slow.
    out.set("--time-handshake", patient_flag(std::chrono::seconds(5)));
    out.set("--time-hello", patient_flag(std::chrono::seconds(5)));
    out.good_client = [this](std::uint16_t port) {
      const TlsGate gate(port);
      return line.serve_a_good_client(gate.port());
    };
    return out;
  }
  void write(const std::string& space, int id, int bytes = 1) {
    line.session().query(
        "insert into items (space, id, owner, status, x) values ($1, $2, 'alice', 'open', repeat('x', $3::int))",
        {space, std::to_string(id), std::to_string(bytes)});
  }

  const std::string certificate = temporary_path("certificate.pem");
  const std::string key = temporary_path("key.pem");
};

TEST_F(Tls, versions_1_2_and_1_3_are_spoken_older_ones_and_renegotiation_are_refused) {
  GatewayProcess gateway(options());
  const TlsGate gate(gateway.port());
  WsClient other(gate.port(), line.reader());
  const std::string space = line.new_space();
  other.open({.space = space});
  const TlsMeeting two = meet(gateway.port(), TlsVersion::v1_2);
  EXPECT_TRUE(two.agreed);
  EXPECT_EQ(two.version, "TLSv1.2");
  EXPECT_TRUE(two.refused_renegotiation);
  const TlsMeeting three = meet(gateway.port(), TlsVersion::v1_3);
  EXPECT_TRUE(three.agreed);
  EXPECT_EQ(three.version, "TLSv1.3");
  EXPECT_EQ(three.name, "first");
  EXPECT_FALSE(meet(gateway.port(), TlsVersion::v1_1).agreed);
  static int id = 5000;
  write(space, ++id);
  EXPECT_THAT(other.next_of("commit").text, HasSubstr("[" + std::to_string(id) + "]"))
      << "others notice nothing of what was refused";
}

TEST_F(Tls, a_client_over_tls_gets_snapshots_commits_large_ones_and_receipts_as_without) {
  GatewayProcess gateway(options());
  TlsGate gate(gateway.port());
  const std::string space = line.new_space();
  constexpr int large = 400'000;
  for (int id = 6100; id < 6104; ++id) write(space, id, large);
  WsClient plain(line.port(), line.reader()), client(gate.port(), line.reader(), "over-tls");
  const SubscribeText all{.space = space, .view = "everything"};
  const Opened here = plain.open(all), there = client.open(all);
  EXPECT_EQ(there.records.size(), 4U);
  EXPECT_EQ(there.records, here.records);
  for (int id = 6110; id < 6130; ++id) {
    write(space, id, id % 2 == 0 ? large : 1);
    EXPECT_EQ(client.next().raw("events"), plain.next().raw("events"));
  }
  client.mutate(space, 1, R"([{"kind":"create","collection":"labels","key":["a"],"record":{"colour":"red"}}])");
  EXPECT_THAT(client.receipt_of(1).text, HasSubstr("\"applied\""));
}

TEST_F(Tls, a_slow_reader_over_tls_lags_loses_nothing_and_keeps_nobody_waiting) {
  GatewayProcess gateway(options());
  TlsGate gate(gateway.port()), own_gate(gateway.port());
  const std::string space = line.new_space();
  WsClient quick(own_gate.port(), line.reader("bob")), slow(gate.port(), line.reader());
  const SubscribeText all{.space = space, .view = "everything"};
  quick.open(all);
  slow.open(all);
  constexpr int commits = 25;
  for (int id = 0; id < commits; ++id) {
    write(space, 6200 + id, 600'000);
    EXPECT_THAT(quick.next().text, HasSubstr("[" + std::to_string(6200 + id) + "]"));
  }
  for (int id = 0; id < commits; ++id) {
    EXPECT_THAT(slow.next().text, HasSubstr("\"key\":[" + std::to_string(6200 + id) + "]"));
  }
}

TEST_F(Tls, row_13_what_is_no_tls_is_closed_without_an_answer_over_http) {
  GatewayProcess gateway(options());
  for (const std::string& bytes : {upgrade_bytes(), std::string("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
                                   std::string(200, '\0'), std::string(5000, 'x'), std::string("\x16\x03\x01\xff\xff"),
                                   std::string("\x16\x03\x01\x00\x05hello and more of it", 25)}) {
    RawSocket socket(gateway.port());
    socket.send(bytes);
    EXPECT_THAT(socket.read_until("\r\n"), Not(HasSubstr("HTTP")));
    EXPECT_TRUE(socket.wait_closed());
  }
  EXPECT_THAT(gateway.log(), HasSubstr("tls_failed"));
  TlsGate gate(gateway.port());
  expect_a_good_client_works(line, gate.port());
}

TEST_F(Tls, row_19_handshakes_that_stand_still_are_cut_and_bounded_in_memory) {
  GatewayOptions quick_to_cut = options();
  quick_to_cut.set("--time-handshake", patient_flag(std::chrono::seconds(4)));
  GatewayProcess gateway(quick_to_cut);
  const std::uint64_t before = gateway.rss_bytes();
  constexpr std::size_t many = 200;
  std::vector<std::unique_ptr<RawSocket>> still;
  for (std::size_t i = 0; i < many; ++i) {
    still.push_back(std::make_unique<RawSocket>(gateway.port()));
    still.back()->send(std::string("\x16\x03\x01\x40\x00", 5));  // a record of 16 KiB that never comes
    still.back()->send(std::string(1000, 'x'));
  }
  TlsGate gate(gateway.port());
  expect_a_good_client_works(line, gate.port());
  constexpr std::uint64_t each_max = std::uint64_t{64} * 1024;
  EXPECT_LT(gateway.rss_bytes(), before + memory_factor * (many * each_max + (std::uint64_t{32} << 20)));
  for (auto& each : still) EXPECT_TRUE(each->wait_closed());
  EXPECT_TRUE(eventually([&] { return gateway.client_sockets() == 0; }));
}

TEST_F(Tls, floods_of_records_without_data_are_cut_and_keep_nobody_waiting) {
  GatewayOptions one_thread = options();
  one_thread.set("--threads", "1");
  one_thread.set("--time-handshake", "1h");  // it is not what ends them
  GatewayProcess gateway(one_thread);
  TlsGate gate(gateway.port());
  constexpr int few = 50, many = 20'000;
  std::atomic<bool> is_over = false;
  auto floods = std::async(std::launch::async, [&] {
    std::string answer;
    while (answer.empty() && !is_over) answer = answer_after_key_updates(gateway.port(), many);
    return answer;
  });
  const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> end(
      &is_over, [](std::atomic<bool>* each) { *each = true; });  // also where something below throws
  expect_a_good_client_works(line, gate.port());
  EXPECT_TRUE(eventually([&] { return gateway.log().find("too many records without data") != std::string::npos; }));
  is_over = true;
  EXPECT_EQ(floods.get(), "");
  EXPECT_THAT(answer_after_key_updates(gateway.port(), few), HasSubstr("200 OK")) << "who changes keys now and then";
}

TEST_F(Tls, a_renewed_certificate_is_shown_to_new_connections_and_the_old_ones_go_on) {
  GatewayOptions looking = options();
  const std::string credential_file = temporary_path("credential");
  std::ofstream(credential_file) << "an-operator-of-the-tests";
  const std::uint16_t admin_port = free_port();
  looking.set("--admin-listen", "127.0.0.1:" + std::to_string(admin_port));
  looking.set("--admin-key-file", credential_file);
  GatewayProcess gateway(looking);
  const auto is_stale = [&] {
    RawSocket asking(admin_port);
    asking.send("GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer an-operator-of-the-tests\r\n\r\n");
    asking.read_until("\nviewgate_tls_stale ");
    return asking.read_exactly(1) == "1";
  };
  TlsGate gate(gateway.port());
  const std::string space = line.new_space();
  WsClient client(gate.port(), line.reader());
  client.open({.space = space});
  const auto shown = [&] { return meet(gateway.port(), TlsVersion::v1_3).name; };
  EXPECT_EQ(shown(), "first");
  write_certificate(certificate, key, "second");
  gateway.process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return shown() == "second"; }));
  write(space, 6300);
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[6300]"));

  // One that does not fit its key changes nothing, and is told.
  const std::string other_key = temporary_path("other.pem");
  write_certificate(certificate, other_key, "third");
  gateway.process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return gateway.log().find("tls_not_renewed") != std::string::npos; }));
  EXPECT_THAT(gateway.log(), HasSubstr("tls.key is not the key of the certificate"));
  EXPECT_EQ(shown(), "second");
  EXPECT_TRUE(is_stale());
  std::filesystem::rename(other_key, key);
  gateway.process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return shown() == "third"; }));
  EXPECT_TRUE(eventually([&] { return !is_stale(); }));
  std::filesystem::remove(credential_file);
  write(space, 6301);
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[6301]"));
}

TEST_F(Tls, files_that_changed_are_read_without_a_signal_and_sighup_ends_nobody) {
  GatewayOptions looking = options();
  looking.set("--tls-check", "20ms");
  GatewayProcess gateway(looking);
  write_certificate(certificate, key, "second");
  EXPECT_TRUE(eventually([&] { return meet(gateway.port(), TlsVersion::v1_2).name == "second"; }));
  line.gateway().process().signal(SIGHUP);  // a gateway without TLS
  expect_a_good_client_works(line, line.port());
}

TEST_F(Tls, a_pipe_in_the_place_of_a_certificate_holds_up_nobody) {
  GatewayOptions looking = options();
  looking.set("--tls-check", "20ms");
  GatewayProcess gateway(looking);
  std::filesystem::remove(certificate);
  ASSERT_EQ(::mkfifo(certificate.c_str(), 0600), 0);
  EXPECT_TRUE(eventually([&] { return gateway.log().find("tls_not_renewed") != std::string::npos; }));
  EXPECT_EQ(meet(gateway.port(), TlsVersion::v1_3).name, "first");
  TlsGate gate(gateway.port());
  expect_a_good_client_works(line, gate.port());
  std::filesystem::remove(certificate);
  write_certificate(certificate, key, "second");
  EXPECT_TRUE(eventually([&] { return meet(gateway.port(), TlsVersion::v1_3).name == "second"; }));
}

TEST_F(Tls, a_wrong_pair_is_told_at_the_start) {
  const std::string other = temporary_path("wrong.pem");
  const auto refusal = [&](const std::string& with_certificate, const std::string& with_key) {
    return run({program("viewgate"), "serve", "--database", line.database(), "--listen", "127.0.0.1:0",
                "--auth-key-file", key_file(), "--tls-certificate", with_certificate, "--tls-key", with_key});
  };
  const auto expect = [&](const Finished& done, int status, const std::string& text) {
    EXPECT_EQ(done.status, status) << done.output;
    EXPECT_THAT(done.output, HasSubstr(text));
    EXPECT_THAT(done.output, Not(HasSubstr("PRIVATE KEY")));
  };
  expect(refusal(certificate, certificate), 78, "tls.key holds no private key");
  expect(refusal(key, key), 78, "tls.certificate holds no certificate");
  expect(refusal(certificate, ""), 78, "go together");
  expect(refusal("/nowhere/at/all", key), 66, "/nowhere/at/all");
  write_certificate(other + ".crt", other, "other");
  expect(refusal(certificate, other), 78, "not the key of the certificate");
  for (const std::string& each : {other, other + ".crt"}) std::filesystem::remove(each);
}

}  // namespace
}  // namespace viewgate::testing
