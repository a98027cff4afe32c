// The operators' port: nobody without its credential gets a word, it answers when descriptors have run out, and what is revoked
// there is revoked everywhere. And whom a trusted proxy speaks for.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "loadtest/process_use.hpp"
#include "operators.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::chrono::seconds long_time{60};

TEST_F(Operators, row_66_without_the_credential_there_is_401_whatever_is_asked_for) {
  GatewayProcess gateway(options());
  const std::uint16_t port = admin_port(gateway);
  const std::string body = R"({"principal":"mallory"})";
  for (const char* path : {"/v1/revocations", "/metrics", "/", "/v1/socket"}) {
    for (const std::string& shown :
         {std::string(), std::string("Bearer "), std::string("Bearer wrong"), std::string(credential),
          "Bearer " + line.reader(), std::string("Bearer ") + credential + "x", std::string("Basic ") + credential}) {
      const Answer answer = ask(port, "POST", path, body, shown);
      EXPECT_THAT(answer.head, StartsWith("HTTP/1.1 401 ")) << path << " " << shown;
      EXPECT_THAT(answer.head, HasSubstr("WWW-Authenticate: Bearer")) << path;
      EXPECT_EQ(answer.body, "{\"error\":\"auth_required\"}\n");
    }
  }
  EXPECT_THAT(ask(gateway.port(), "POST", "/v1/revocations", body).head, StartsWith("HTTP/1.1 404 "))
      << "the public port has it not, whoever asks";
  EXPECT_EQ(hello_code(gateway.port(), line.reader("mallory")), 0);
  EXPECT_THAT(gateway.log(), Not(HasSubstr(credential)));
  expect_a_good_client_works(line, gateway.port());
}

TEST_F(Operators, what_the_operators_port_is_not_asked_right_it_refuses_by_name) {
  GatewayProcess gateway(options());
  const std::uint16_t port = admin_port(gateway);
  EXPECT_THAT(ask(port, "GET", "/nothing").head, StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(port, "GET", "/v1/revocations").head, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask(port, "POST", "/v1/revocations", std::string(70'000, ' ')).head, StartsWith("HTTP/1.1 413 "));
  for (const char* body :
       {"", "[]", "null", "{}", R"({"principal":""})", R"({"principal":7})", R"({"principal":"a","token_id":"b"})",
        R"({"principal":"a","for":"soon"})", R"({"principal":"a","for":"876001h"})",
        R"({"principal":"a","principal":"b"})", R"({"principal":"a","more":"x"})"}) {
    const Answer answer = ask(port, "POST", "/v1/revocations", body);
    EXPECT_THAT(answer.head, StartsWith("HTTP/1.1 400 ")) << body;
    EXPECT_THAT(answer.body, HasSubstr("\"bad_request\"")) << body;
  }
  RawSocket garbage(port);
  garbage.send("\x16\x03\x01\x02");
  EXPECT_TRUE(garbage.wait_closed());
  for (const char* lasting : {"1h", "876000h"}) {
    const std::string body = std::string(R"({"token_id":"nobodys","for":")") + lasting + "\"}";
    EXPECT_THAT(ask(port, "POST", "/v1/revocations", body).body, StartsWith("{\"revocation\":"));
  }
}

TEST_F(Operators, row_27_what_is_revoked_over_http_is_revoked_on_every_node) {
  GatewayProcess gateway(options());
  const std::string space = line.new_space();
  WsClient here(gateway.port(), line.reader("judy")), there(line.port(), line.reader("judy"));
  for (WsClient* each : {&here, &there}) each->open({.space = space});
  const Answer answer = ask(admin_port(gateway), "POST", "/v1/revocations", R"({"principal":"judy"})");
  EXPECT_THAT(answer.head, StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(here.closed_with(), 4005);
  EXPECT_EQ(there.closed_with(), 4005);
  EXPECT_EQ(hello_code(line.port(), line.reader("judy")), 4005);
}

TEST_F(Operators, row_63_out_of_descriptors_the_operators_port_still_answers) {
  GatewayOptions few = options();
  few.descriptors = 64;
  few.set("--time-handshake", "1m");
  few.set("--time-hello", "1m");
  GatewayProcess gateway(few);
  const std::uint16_t port = admin_port(gateway);
  // Those inside are nobody's to let go: the reactors have no descriptor left for another, and close it.
  std::vector<std::unique_ptr<WsClient>> inside;
  const auto comes_in = [&] {
    try {
      inside.push_back(std::make_unique<WsClient>(gateway.port(), line.reader()));
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  while (comes_in()) ASSERT_LT(inside.size(), 64U);
  EXPECT_THAT(inside, Not(::testing::IsEmpty()));
  std::vector<std::unique_ptr<RawSocket>> pressing;
  for (int i = 0; i < 50; ++i) pressing.push_back(std::make_unique<RawSocket>(gateway.port()));
  EXPECT_TRUE(eventually([&] { return gateway.log().find("accept_failed") != std::string::npos; }));
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(ask(port, "GET", "/nothing").head, StartsWith("HTTP/1.1 404 "));
  }
  EXPECT_THAT(ask(port, "POST", "/v1/revocations", R"({"token_id":"nobodys"})").head, StartsWith("HTTP/1.1 200 "));
}

TEST_F(Operators, row_63_out_of_memory_newcomers_wait_and_those_inside_and_operators_go_on) {
  std::uint64_t idle = 0;
  GatewayOptions few = options();
  few.measure_memory();
  {
    GatewayProcess gateway(few);
    expect_a_good_client_works(line, gateway.port());
    idle = gateway.rss_bytes();
  }
  // An idle one takes less than nine tenths of it, and what is about to come is more than the rest.
  constexpr std::uint64_t body_bytes = std::uint64_t{2} << 20;
  constexpr std::uint64_t coming = 2 * 16 * body_bytes;  // of two threads
  const std::uint64_t bound = (idle + coming / 2) * 10 / 9;
  few.set("--limit-memory", std::to_string(bound));
  few.set("--limit-body-bytes", std::to_string(body_bytes));
  few.set("--time-handshake", "1m");
  GatewayProcess gateway(few);
  const std::uint16_t port = admin_port(gateway);
  const std::string space = line.new_space();
  WsClient inside(gateway.port(), line.reader());
  inside.open({.space = space});
  const std::string head =
      "POST /v1/spaces/" + space + "/mutations HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + line.reader() +
      "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body_bytes) + "\r\n\r\n";
  const std::string most_of_a_body(body_bytes - 1, ' ');
  std::vector<std::unique_ptr<RawSocket>> others;
  const auto was_short = [&] { return metrics(port).body.find("{limit=\"limit.memory\"} 0\n") == std::string::npos; };
  const auto begun = std::chrono::steady_clock::now();
  const double cpu_before = gateway.use().cpu_seconds;
  std::uint64_t most = 0;
  for (int i = 0; i < 200 && !was_short(); ++i) {
    others.push_back(std::make_unique<RawSocket>(gateway.port()));
    if (others.back()->send(head)) others.back()->send(most_of_a_body);
    most = std::max(most, gateway.rss_bytes());
  }
  // It is looked at when somebody comes, and not more often than five times a second.
  const auto is_found_short = [&] {
    const RawSocket newcomer(gateway.port());
    return was_short();
  };
  EXPECT_TRUE(eventually(is_found_short)) << most << " bytes of " << bound << ", idle " << idle;
  // Whoever has not said all that it came to say goes first; clients and operators notice nothing.
  for (int i = 0; i < 10; ++i) {
    for (int newcomers = 0; newcomers < 5; ++newcomers) {
      others.push_back(std::make_unique<RawSocket>(gateway.port()));
    }
    line.session().query("insert into items (space, id, status) values ($1, nextval('items_id'), 'open')", {space});
    EXPECT_THAT(inside.next_of("commit").text, HasSubstr("\"entered\""));
    EXPECT_THAT(metrics(port).head, StartsWith("HTTP/1.1 200 "));
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
  EXPECT_LT(gateway.use().cpu_seconds - cpu_before, 0.9 * wall.count() + 1) << "two reactors that spin use twice that";
  others.clear();
  EXPECT_TRUE(eventually([&] {
    RawSocket late(gateway.port());
    late.send(upgrade_bytes());
    return late.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 ");
  })) << gateway.rss_bytes()
      << " bytes of " << bound;
}

TEST_F(Operators, row_64_a_log_that_cannot_be_written_stops_nothing_and_what_it_lost_is_counted) {
  GatewayOptions full = options();
  full.log_file = "/dev/full";
  full.set("--log-level", "debug");
  const std::uint16_t port = free_port();  // of which the log cannot tell
  full.set("--admin-listen", "127.0.0.1:" + std::to_string(port));
  GatewayProcess gateway(full);
  const auto lost_lines = [](std::uint16_t at_port) -> std::uint64_t {
    const std::string text = metrics(at_port).body, name = "\nviewgate_log_lines_lost_total ";
    const std::size_t at = text.find(name);
    if (at == std::string::npos) throw std::runtime_error("no figure of lost lines: " + text);
    return std::stoull(text.substr(at + name.size()));
  };
  std::uint64_t before = lost_lines(port);
  EXPECT_GT(before, 0U) << "what a start says";
  for (int i = 0; i < 3; ++i) {
    RawSocket garbage(gateway.port());
    garbage.send("\x16\x03\x01");
    EXPECT_TRUE(garbage.wait_closed());
    expect_a_good_client_works(line, gateway.port());
    const std::uint64_t after = lost_lines(port);
    EXPECT_GT(after, before);
    before = after;
  }
  EXPECT_TRUE(gateway.process().running());
  GatewayProcess other(options());
  expect_a_good_client_works(line, other.port());
  EXPECT_EQ(lost_lines(admin_port(other)), 0U) << "where there is room";
}

TEST_F(Operators, row_64_a_log_that_nobody_reads_stops_nothing_not_even_the_end) {
  const std::string pipe = temporary_path("log");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);  // there, and reads nothing
  ASSERT_GE(reader, 0);
  const int page = ::fcntl(reader, F_SETPIPE_SZ, 4096);
  ASSERT_GT(page, 0);
  GatewayOptions stalled = options();
  stalled.log_file = pipe;
  GatewayProcess gateway(stalled);
  // One line for each, as many as there may be of an event in a second.
  const auto make_lines = [&] {
    for (int i = 0; i < 20; ++i) {
      RawSocket garbage(gateway.port());
      garbage.send("\x16\x03\x01");
      EXPECT_TRUE(garbage.wait_closed());
    }
  };
  int taken = 0;
  EXPECT_TRUE(eventually(
      [&] {
        make_lines();
        ::ioctl(reader, FIONREAD, &taken);
        return taken > page - 200;  // there is no room for two lines more
      },
      long_time))
      << taken;
  for (int i = 0; i < 3; ++i) {
    make_lines();
    expect_a_good_client_works(line, gateway.port());
  }
  gateway.process().signal(SIGTERM);
  EXPECT_EQ(gateway.process().wait(long_time), 0);
  ::close(reader);
  std::filesystem::remove(pipe);
}

TEST_F(Operators, a_hole_in_a_capture_and_keys_that_do_not_come_are_figures_until_they_are_mended) {
  Line owned(line.cluster());
  const std::string issuers = temporary_path("issuers.toml");
  std::ofstream(issuers) << "[[issuer]]\nname = \"a\"\naudience = \"viewgate\"\nalgorithms = [\"RS256\"]\njwks_url = "
                            "\"http://127.0.0.1:"
                         << free_port() << "/nobody\"\n";
  GatewayOptions watched = owned.gateway_options();
  watched.set("--admin-listen", "127.0.0.1:0");
  watched.set("--admin-key-file", credential_file);
  watched.set("--auth-issuers", issuers);
  watched.good_client = {};  // whose tokens are another issuer's
  GatewayProcess gateway(watched);
  const std::uint16_t port = admin_port(gateway);
  const auto comes = [&](const std::string& figure) {
    return eventually([&] { return metrics(port).body.find("\n" + figure + "\n") != std::string::npos; }, long_time);
  };
  EXPECT_TRUE(comes("viewgate_issuers_without_fresh_keys 1"));
  EXPECT_TRUE(comes("viewgate_captures_broken 0"));
  owned.sql("alter table items disable trigger viewgate_update");
  EXPECT_TRUE(comes("viewgate_captures_broken 1"));
  EXPECT_TRUE(eventually([&] { return gateway.log().find(" capture_broken ") != std::string::npos; }));
  EXPECT_EQ(run({program("viewgate"), "capture", "items", "--space", "space", "--database", owned.database()}).status,
            0);
  EXPECT_TRUE(comes("viewgate_captures_broken 0"));
  std::ofstream(issuers)
      << "[[issuer]]\nname = \"a\"\naudience = \"viewgate\"\n[[issuer.key]]\nid = \"k\"\nalgorithm = "
         "\"HS256\"\nfile = \""
      << key_file() << "\"\n";
  gateway.process().signal(SIGHUP);
  EXPECT_TRUE(comes("viewgate_issuers_without_fresh_keys 0"));
  std::filesystem::remove(issuers);
}

TEST_F(Operators, row_66_strangers_who_say_nothing_keep_no_operator_out) {
  GatewayProcess gateway(options());
  const std::uint16_t port = admin_port(gateway);
  constexpr std::size_t many = 48;  // more than there are places
  std::vector<std::unique_ptr<RawSocket>> silent;
  for (std::size_t i = 0; i < many; ++i) {
    silent.push_back(std::make_unique<RawSocket>(port));
    if (i % 2 == 0) silent.back()->send("GET /metrics HTTP/1.1\r\n");  // and no more of it
  }
  for (int i = 0; i < 5; ++i) EXPECT_THAT(ask(port, "GET", "/nothing").head, StartsWith("HTTP/1.1 404 "));
  EXPECT_TRUE(silent.front()->wait_closed()) << "the oldest made room";
}

TEST_F(Operators, another_credential_in_the_file_counts_from_the_next_reload_on) {
  GatewayProcess gateway(options());
  const std::uint16_t port = admin_port(gateway);
  const auto status = [&](const std::string& shown) {
    return ask(port, "GET", "/nothing", "", "Bearer " + shown).head.substr(0, 13);
  };
  const auto reloaded = [&](const std::string& credential_of_the_file, const std::string& says) {
    std::ofstream(credential_file) << credential_of_the_file << "\n";
    const std::size_t before = gateway.log().size();
    gateway.process().signal(SIGHUP);
    return eventually([&] { return gateway.log().find(says, before) != std::string::npos; }, long_time);
  };
  const std::string fresh = "another-credential-of-the-tests";
  EXPECT_EQ(status(fresh), "HTTP/1.1 401 ");
  ASSERT_TRUE(reloaded(fresh, " config_reloaded "));
  EXPECT_EQ(status(fresh), "HTTP/1.1 404 ");
  EXPECT_EQ(status(credential), "HTTP/1.1 401 ");
  ASSERT_TRUE(reloaded("short", " config_not_reloaded reason="));
  EXPECT_THAT(gateway.log(), HasSubstr("admin.key_file must hold at least 16"));
  EXPECT_EQ(status(fresh), "HTTP/1.1 404 ") << "the one that is in force stays";
}

TEST_F(Operators, a_credential_that_is_too_short_or_a_port_that_is_taken_is_told_at_the_start) {
  GatewayProcess gateway(options());
  const auto refusal = [&](const std::string& listen, const std::string& file) {
    return run({program("viewgate"), "serve", "--database", line.database(), "--listen", "127.0.0.1:0",
                "--auth-key-file", key_file(), "--admin-listen", listen, "--admin-key-file", file});
  };
  const Finished taken = refusal("127.0.0.1:" + std::to_string(admin_port(gateway)), credential_file);
  EXPECT_EQ(taken.status, 71) << taken.output;
  EXPECT_THAT(taken.output, HasSubstr("admin.listen"));
  const std::string short_file = temporary_path("short");
  std::ofstream(short_file) << "short";
  const Finished weak = refusal("127.0.0.1:0", short_file);
  EXPECT_EQ(weak.status, 78) << weak.output;
  EXPECT_THAT(weak.output, HasSubstr("at least 16"));
  std::filesystem::remove(short_file);
}

TEST_F(Operators, no_secret_is_on_the_command_line_in_the_environment_or_in_a_core) {
  GatewayProcess gateway(options());
  const std::string directory = "/proc/" + std::to_string(gateway.process().pid());
  const std::string shown = file_text(directory + "/cmdline") + file_text(directory + "/environ");
  EXPECT_THAT(shown, HasSubstr(credential_file));
  EXPECT_THAT(shown, Not(HasSubstr(credential)));
  EXPECT_THAT(shown, Not(HasSubstr(file_text(key_file()))));
  EXPECT_EQ(file_text(directory + "/coredump_filter"), "00000000\n") << "no mapping is written into a core";
}

TEST_F(Operators, whom_a_trusted_proxy_speaks_for_is_counted_and_whom_another_claims_is_not) {
  const auto gateway_with = [&](const std::string& trusted) {
    GatewayOptions out = line.gateway_options();
    out.set("--limit-address-connections", "2");
    out.set("--proxy-trusted", trusted);
    out.set("--time-handshake", "1m");
    out.set("--time-hello", "1m");
    return out;
  };
  const auto is_upgraded = [](RawSocket& socket, const std::string& forwarded) {
    UpgradeRequest request;
    request.extra_headers = "X-Forwarded-For: " + forwarded + "\r\n";
    socket.send(upgrade_bytes(request));
    return socket.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 ");
  };
  GatewayProcess behind(gateway_with("10.0.0.0/8,127.0.0.1"));
  std::vector<std::unique_ptr<RawSocket>> sockets;
  const auto comes_in = [&](const GatewayProcess& gateway, const std::string& forwarded) {
    sockets.push_back(std::make_unique<RawSocket>(gateway.port()));
    return is_upgraded(*sockets.back(), forwarded);
  };
  EXPECT_TRUE(comes_in(behind, "192.0.2.1"));
  EXPECT_TRUE(comes_in(behind, "198.51.100.9, 192.0.2.1, 10.1.2.3")) << "what stands left is the client's own word";
  EXPECT_FALSE(comes_in(behind, "203.0.113.5, 192.0.2.1")) << "the third of that client";
  EXPECT_TRUE(comes_in(behind, "192.0.2.2"));
  EXPECT_TRUE(comes_in(behind, "2001:db8::1"));
  EXPECT_TRUE(comes_in(behind, "[2001:db8::2]:4711"));
  EXPECT_FALSE(comes_in(behind, "2001:db8::3")) << "one /64 is one client";
  sockets.clear();

  GatewayProcess direct(gateway_with("10.0.0.0/8"));
  EXPECT_TRUE(comes_in(direct, "192.0.2.1"));
  EXPECT_TRUE(comes_in(direct, "192.0.2.2"));
  EXPECT_FALSE(comes_in(direct, "192.0.2.3")) << "the peer is no proxy: it is the client, whatever it claims";
  sockets.clear();
}

TEST_F(Operators, limits_that_were_reached_and_what_is_open_are_counted) {
  GatewayOptions few = options();
  few.set("--threads", "1");
  few.set("--limit-subscriptions", "1");
  few.set("--limit-principal-connections", "4");
  GatewayProcess gateway(few);
  const std::string space = line.new_space();
  WsClient client(gateway.port(), line.reader());
  client.open({.id = "first", .space = space});
  client.send(subscribe_text({.id = "second", .space = space}));
  EXPECT_EQ(client.next_of("error").plain("code"), "too_many_subscriptions");
  const std::uint16_t port = admin_port(gateway);
  EXPECT_THAT(metrics(port).body, HasSubstr("viewgate_limits_reached_total{limit=\"limit.subscriptions\"} 1\n"));
  std::vector<std::unique_ptr<WsClient>> crowd;
  for (int i = 0; i < 4; ++i) crowd.push_back(std::make_unique<WsClient>(gateway.port(), line.reader("crowd")));
  EXPECT_EQ(hello_code(gateway.port(), line.reader("crowd")), 4029);
  EXPECT_THAT(metrics(port).body,
              HasSubstr("viewgate_limits_reached_total{limit=\"limit.principal_connections\"} 1\n"));
  // As of the last sweep.
  EXPECT_TRUE(eventually(
      [&] { return metrics(port).body.find("viewgate_subscriptions{reactor=\"0\"} 1\n") != std::string::npos; }));
  EXPECT_THAT(metrics(port).body, HasSubstr("viewgate_blocked_sockets{reactor=\"0\"} 0\n"));
  EXPECT_TRUE(
      eventually([&] { return metrics(port).body.find("viewgate_canaries_heard_total 0\n") == std::string::npos; }));
}

TEST_F(Operators, the_metrics_of_a_node_tell_what_its_clients_had) {
  GatewayProcess gateway(options());
  const std::uint16_t port = admin_port(gateway);
  expect_a_good_client_works(line, gateway.port());
  // A write is counted after it, and its reader may be quicker.
  EXPECT_TRUE(eventually(
      [&] { return metrics(port).body.find("viewgate_commit_to_socket_seconds_count 1\n") != std::string::npos; }));
  const auto [head, text] = metrics(port);
  EXPECT_THAT(head, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  for (const char* expected :
       {"viewgate_hellos_accepted_total 1\n", "viewgate_subscriptions_opened_total 1\n",
        "viewgate_database_available 1\n", "viewgate_bootstrap_seconds_count 1\n",
        "viewgate_commit_to_socket_seconds_count 1\n", "viewgate_spaces 1\n", "viewgate_groups 1\n",
        "viewgate_errors_total{code=\"forbidden\"} 0\n", "viewgate_pool_connections_max{pool=\"read\"} 2\n",
        "viewgate_pool_waiting{pool=\"read\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(expected));
  }
  EXPECT_THAT(ask(gateway.port(), "GET", "/metrics").head, StartsWith("HTTP/1.1 404 ")) << "not on the public port";
}

TEST_F(Operators, what_the_ledger_takes_of_the_disk_is_told_by_metrics_and_when_it_is_too_much_by_the_log) {
  GatewayOptions watching = options();
  watching.set("--ledger-disk-check", "50ms");
  watching.set("--ledger-disk-bytes", "64KiB");
  GatewayProcess gateway(watching);
  EXPECT_TRUE(eventually([&] { return gateway.log().find("disk_over") != std::string::npos; })) << gateway.log();
  EXPECT_THAT(gateway.log(), HasSubstr("budget_bytes=65536"));
  RawSocket socket(admin_port(gateway));
  socket.send(std::string("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ") + credential +
              "\r\n\r\n");
  const std::string text = socket.read_until("process_max_fds ");
  EXPECT_THAT(text, HasSubstr("viewgate_ledger_budget_bytes 65536\n"));
  for (const char* table : {"changes", "commits", "records", "others"}) {
    const std::string name = std::string("viewgate_ledger_bytes{table=\"") + table + "\"} ";
    ASSERT_THAT(text, HasSubstr(name));
    EXPECT_GE(std::stoll(text.substr(text.find(name) + name.size())), 8192)
        << table << ": a page at least, of an index";
  }
}

}  // namespace
}  // namespace viewgate::testing
