// The reactor over real sockets, with an engine in the same process: what the kernel, cut reads and full buffers add to what
// the session's tests show.
#include "gateway/reactor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "gateway/listening.hpp"
#include "gateway/loop_engine.hpp"
#include "support/eventually.hpp"
#include "support/raw_socket.hpp"

namespace viewgate::gateway::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using viewgate::testing::eventually;
using viewgate::testing::RawSocket;
using viewgate::testing::RawWebSocket;

/// A blocking client that keeps the documents it was sent.
class SocketClient {
 public:
  explicit SocketClient(std::uint16_t port, int receive_buffer = 0) : socket(port, receive_buffer) {}

  void open() {
    std::string hello;
    append_document(hello, Hello{1, token_for("ann", wall_seconds())});
    socket.send_text(hello);
    std::string subscribe_text;
    append_document(subscribe_text, subscribe("a"));
    socket.send_text(subscribe_text);
    read_to("ready");
  }

  /// Reads until a document of this type has come; false when the connection ended first.
  bool read_to(const std::string& type) {
    for (;;) {
      while (next_ < documents.size()) {
        if (member(documents[next_++], "type") == type) return true;
      }
      const auto frame = socket.read_frame();
      if (!frame || frame->opcode == viewgate::testing::Opcode::close) return false;
      for (const auto each : split_documents(frame->payload)) documents.emplace_back(each);
    }
  }

  RawWebSocket socket;
  std::vector<std::string> documents;

 private:
  std::size_t next_ = 0;
};

std::string commit_text(int number, std::size_t bytes = 0) {
  std::string out = "{\"type\":\"c" + std::to_string(number) + "\"}\n";
  if (bytes > out.size()) out.insert(1, std::string(bytes - out.size(), ' '));
  return out;
}

std::string http(std::uint16_t port, const std::string& target,
                 const std::string& rest = " HTTP/1.1\r\nHost: localhost\r\n\r\n") {
  RawSocket socket(port);
  socket.send("GET " + target + rest);
  const auto answer = socket.read_until("\r\n\r\n");
  EXPECT_TRUE(socket.wait_closed());
  return answer;
}

TEST(reactor_socket, a_client_lives_a_whole_life) {
  RunningReactor running;
  SocketClient client(running.port);
  client.open();
  running.engine.commit({commit_text(1), commit_text(2)});
  ASSERT_TRUE(client.read_to("c2"));
  std::vector<std::string> names = types(client.documents);
  EXPECT_THAT(names, ::testing::ElementsAre("welcome", "subscribed", "ready", "c1", "c2"));
}

TEST(reactor_socket, health_and_readiness_are_told_and_nothing_else_is_here) {
  RunningReactor running;
  EXPECT_THAT(http(running.port, "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(http(running.port, "/readyz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(http(running.port, "/metrics"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(http(running.port, "/"), HasSubstr("Connection: close"));
  running.reactor->set_ready(false);
  EXPECT_THAT(http(running.port, "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(http(running.port, "/readyz"), StartsWith("HTTP/1.1 503"));
}

// As HAProxy's `option httpchk GET /readyz` asks.
TEST(reactor_socket, who_checks_health_need_not_speak_http_1_1_nor_name_a_host_and_others_must) {
  RunningReactor running;
  for (const char* rest : {" HTTP/1.0\r\n\r\n", " HTTP/1.0\r\nConnection: close\r\n\r\n", " HTTP/1.1\r\n\r\n"}) {
    running.reactor->set_ready(true);
    EXPECT_THAT(http(running.port, "/healthz", rest), StartsWith("HTTP/1.1 200")) << rest;
    EXPECT_THAT(http(running.port, "/readyz", rest), StartsWith("HTTP/1.1 200")) << rest;
    running.reactor->set_ready(false);
    EXPECT_THAT(http(running.port, "/readyz", rest), StartsWith("HTTP/1.1 503")) << rest;
    EXPECT_THAT(http(running.port, "/v1/socket", rest), StartsWith("HTTP/1.1 400")) << rest;
  }
}

TEST(reactor_socket, row_10_data_after_close_is_ignored_and_the_connection_ends) {
  ReactorOptions options;
  options.session.close_time = milliseconds{200};
  options.sweep = milliseconds{20};
  RunningReactor running(options);
  SocketClient client(running.port);
  client.open();
  client.socket.send({.opcode = viewgate::testing::close}, viewgate::testing::close_payload(1000));
  for (int i = 0; i < 100; ++i) client.socket.send_text("{\"type\":\"pong\"}");
  EXPECT_EQ(client.socket.read_close(), 1000);
  EXPECT_TRUE(client.socket.socket().wait_closed());
  EXPECT_TRUE(eventually([&] { return running.reactor->counters().connections == 0; }));
}

TEST(reactor_socket, row_13_and_15_garbage_is_cut_and_a_bad_request_is_answered) {
  RunningReactor running;
  RawSocket garbage(running.port);
  garbage.send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  EXPECT_TRUE(garbage.wait_closed());
  RawSocket large(running.port);
  large.send("GET /v1/socket HTTP/1.1\r\nX: " + std::string(9000, 'x'));
  EXPECT_THAT(large.read_until("\r\n"), HasSubstr("431"));
  EXPECT_TRUE(large.wait_closed());
  SocketClient client(running.port);
  client.open();
}

TEST(reactor_socket, row_19_a_head_that_does_not_come_is_cut_and_others_connect_meanwhile) {
  ReactorOptions options;
  options.handshake_time = milliseconds{200};
  options.sweep = milliseconds{20};
  RunningReactor running(options);
  std::vector<std::unique_ptr<RawSocket>> slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(std::make_unique<RawSocket>(running.port));
    slow.back()->send("GET /v1");
  }
  SocketClient client(running.port);
  client.open();
  for (const auto& each : slow) EXPECT_TRUE(each->wait_closed());
}

TEST(reactor_socket, row_19_only_strangers_count_as_strangers_and_the_oldest_of_them_makes_room) {
  ReactorOptions options;
  options.strangers = 3;
  options.handshake_time = std::chrono::hours{1};
  RunningReactor running(options);
  RawSocket slow(running.port);
  slow.send("GET /healthz");
  std::vector<std::unique_ptr<SocketClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<SocketClient>(running.port));
    clients.back()->open();
    EXPECT_THAT(http(running.port, "/healthz"), StartsWith("HTTP/1.1 200"));
    // The probe is gone, and the slow one is there.
    ASSERT_TRUE(eventually([&] { return running.reactor->counters().connections == 1 + clients.size(); }));
  }
  slow.send(" HTTP/1.1\r\n");
  RawSocket second(running.port), third(running.port), fourth(running.port);
  EXPECT_TRUE(slow.wait_closed());
  for (auto* each : {&second, &third, &fourth}) {
    each->send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(each->read_until("\r\n"), StartsWith("HTTP/1.1 200"));
  }
  running.engine.commit({commit_text(1)});
  for (const auto& each : clients) EXPECT_TRUE(each->read_to("c1"));
}

TEST(reactor_socket, a_node_that_is_not_ready_or_full_says_1013) {
  ReactorOptions options;
  options.connections = 1;
  RunningReactor running(options);
  SocketClient first(running.port);
  first.open();
  RawWebSocket second(running.port);
  EXPECT_EQ(second.read_close(), 1013);
  running.reactor->set_ready(false);
  RawWebSocket third(running.port);
  EXPECT_EQ(third.read_close(), 1013);
  running.engine.commit({commit_text(1)});
  EXPECT_TRUE(first.read_to("c1")) << "who is there stays";
}

TEST(reactor_socket, row_51_a_reader_that_stalls_in_a_burst_gets_all_of_it_and_harms_nobody) {
  ReactorOptions options;
  options.session.ring_bytes = 256 * 1024;
  RunningReactor running(options);
  SocketClient slow(running.port, 4096);
  slow.open();
  SocketClient fast(running.port);
  fast.open();
  constexpr int count = 4000;
  for (int i = 1; i <= count; ++i) running.engine.commit({commit_text(i, 4000)});
  ASSERT_TRUE(fast.read_to("c" + std::to_string(count)));
  ASSERT_TRUE(slow.read_to("c" + std::to_string(count)));
  for (const auto* each : {&fast, &slow}) {
    const auto names = types(each->documents);
    ASSERT_EQ(names.size(), 3U + count);
    for (int i = 1; i <= count; ++i) ASSERT_EQ(names[static_cast<std::size_t>(i) + 2], "c" + std::to_string(i));
  }
  EXPECT_GT(running.engine.histories, 0) << "the slow one fell off the ring";
  EXPECT_LE(running.reactor->counters().ring_bytes, 256U * 1024);
}

TEST(reactor_socket, a_reader_that_takes_nothing_at_all_is_cut) {
  ReactorOptions options;
  options.session.no_progress = milliseconds{200};
  options.session.close_time = milliseconds{50};
  options.sweep = milliseconds{20};
  RunningReactor running(options);
  SocketClient stuck(running.port, 4096);
  stuck.open();
  SocketClient reads(running.port);
  reads.open();
  std::vector<std::string> burst;
  for (int i = 1; i <= 200; ++i) burst.push_back(commit_text(i, 60'000));
  running.engine.commit(std::move(burst));
  ASSERT_TRUE(reads.read_to("c200"));
  EXPECT_TRUE(eventually([&] { return running.reactor->counters().connections == 1; }));
}

TEST(reactor_socket, a_cut_connection_takes_nothing_with_it) {
  RunningReactor running;
  SocketClient stays(running.port);
  stays.open();
  for (int i = 0; i < 20; ++i) {
    SocketClient goes(running.port);
    if (i % 2 == 0) goes.open();
    goes.socket.socket().reset();
    running.engine.commit({commit_text(i, 5000)});
  }
  ASSERT_TRUE(stays.read_to("c19"));
  EXPECT_TRUE(eventually([&] { return running.reactor->counters().connections == 1; }));
}

TEST(reactor_socket, row_54_a_drain_tells_everybody_when_to_return_and_ends) {
  RunningReactor running;
  std::vector<std::unique_ptr<SocketClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<SocketClient>(running.port));
    clients.back()->open();
  }
  RawSocket half_open(running.port);
  half_open.send("GET /v1");
  std::atomic<bool> done = false;
  running.reactor->drain(milliseconds{10'000}, [&] { done = true; });
  std::set<std::string> delays;
  for (const auto& each : clients) {
    ASSERT_TRUE(each->read_to("drain"));
    delays.insert(member(each->documents.back(), "reconnect_after"));
    EXPECT_EQ(each->socket.read_close(), 1012);
    each->socket.send({.opcode = viewgate::testing::close}, viewgate::testing::close_payload(1012));
    EXPECT_TRUE(each->socket.socket().wait_closed());
  }
  EXPECT_EQ(delays.size(), clients.size()) << "spread over the window";
  clients.clear();
  EXPECT_TRUE(eventually([&] { return done.load(); }));
  EXPECT_THROW(RawSocket{running.port}, std::exception);
}

TEST(reactor_socket, two_reactors_share_a_port_that_nobody_else_may_take) {
  RunningReactor running;
  EXPECT_THROW(static_cast<void>(reserve_port("127.0.0.1", running.port)), std::system_error);
  EXPECT_THROW(static_cast<void>(reserve_port("192.0.2.1", 0)), std::system_error);
  ReactorOptions options;
  options.index = 1;
  options.port = running.port;
  LoopEngine engine;
  Reactor second(options, engine, running.verifier, active_model());
  engine.attach(second);
  second.listen();
  second.set_ready(true);
  second.start();
  std::vector<std::unique_ptr<SocketClient>> clients;
  EXPECT_TRUE(eventually([&] {
    clients.push_back(std::make_unique<SocketClient>(running.port));
    clients.back()->open();
    return running.reactor->counters().connections > 0 && second.counters().connections > 0;
  })) << "the kernel spreads connections over both";
}

}  // namespace
}  // namespace viewgate::gateway::testing
