// What it costs to give one group's commits to many sockets, and what an idle socket holds. The clients are another process on
// loopback, so that their work is not counted: only the reactor thread's CPU time is.
//
//   fanout_bench [sockets] [commits] [bytes of a document]
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <new>
#include <thread>

#include "gateway/log.hpp"
#include "gateway/loop_engine.hpp"
#include "support/eventually.hpp"
#include "support/raw_socket.hpp"

namespace viewgate::gateway::testing {
namespace {

using std::chrono::steady_clock;
constexpr char mark = '~';  // once in every document

/// What both processes see.
struct Shared {
  std::atomic<std::uint16_t> port = 0;
  std::atomic<std::size_t> idle = 0;
  std::atomic<bool> subscribe = false;
  std::atomic<std::size_t> subscribed = 0;
  std::atomic<std::uint64_t> delivered = 0;
};

void wait_for(auto condition) {
  if (!viewgate::testing::eventually(condition, std::chrono::minutes(2))) {
    std::fprintf(stderr, "fanout_bench: the other side did not come along in two minutes\n");
    std::exit(1);
  }
}

void read_until(viewgate::testing::RawWebSocket& socket, std::string_view type) {
  for (auto frame = socket.read_frame(); frame; frame = socket.read_frame()) {
    if (frame->payload.find("\"type\":\"" + std::string(type)) != std::string::npos) return;
  }
  std::exit(1);
}

[[noreturn]] void be_clients(Shared& shared, std::size_t count) {
  wait_for([&] { return shared.port != 0; });
  std::vector<std::unique_ptr<viewgate::testing::RawWebSocket>> sockets;
  std::string hello;
  append_document(hello, Hello{1, token_for("ann", wall_seconds())});
  for (std::size_t i = 0; i < count; ++i) {
    sockets.push_back(std::make_unique<viewgate::testing::RawWebSocket>(shared.port));
    sockets.back()->send_text(hello);
    read_until(*sockets.back(), "welcome");
    ++shared.idle;
  }
  wait_for([&] { return shared.subscribe.load(); });
  std::string text;
  append_document(text, subscribe("a"));
  const int poll = epoll_create1(0);
  for (const auto& each : sockets) {
    each->send_text(text);
    read_until(*each, "ready");
    epoll_event event{.events = EPOLLIN, .data = {.fd = each->socket().fd()}};
    epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
    ++shared.subscribed;
  }
  std::array<epoll_event, 256> events;
  std::vector<char> buffer(256 * 1024);
  for (;;) {
    const int ready = epoll_wait(poll, events.data(), events.size(), -1);
    for (int i = 0; i < ready; ++i) {
      const auto got = ::read(events[static_cast<std::size_t>(i)].data.fd, buffer.data(), buffer.size());
      if (got <= 0) std::_Exit(0);
      shared.delivered += static_cast<std::uint64_t>(std::count(buffer.begin(), buffer.begin() + got, mark));
    }
  }
}

std::chrono::nanoseconds cpu_time_of(Reactor& reactor) {
  std::promise<std::chrono::nanoseconds> out;
  reactor.post([&](ReactorPort&) {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    out.set_value(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  });
  return out.get_future().get();
}

std::string document_of(std::size_t bytes) {
  std::string out = "{\"type\":\"commit\",\"text\":\"~\"}\n";
  if (bytes > out.size()) out.insert(out.size() - 3, std::string(bytes - out.size(), 'x'));
  return out;
}

/// `together`: so many commits arrive in one turn of the loop.
void measure(RunningReactor& running, Shared& shared, std::size_t sockets, std::size_t commits, std::size_t bytes,
             std::size_t together) {
  const std::uint64_t before = shared.delivered;
  const auto cpu_before = cpu_time_of(*running.reactor);
  const auto begin = steady_clock::now();
  for (std::size_t sent = 0; sent < commits; sent += together) {
    running.engine.commit(std::vector<std::string>(together, document_of(bytes)));
    // All of a turn before the next one, so that no two become one message.
    while (shared.delivered < before + (sent + together) * sockets) std::this_thread::yield();
  }
  const std::chrono::duration<double> wall = steady_clock::now() - begin;
  const std::chrono::duration<double> cpu = cpu_time_of(*running.reactor) - cpu_before;
  const auto deliveries = static_cast<double>(commits * sockets);
  std::printf("%4zu commits a turn: %.0f deliveries/s, %.2f CPU-s of the reactor per million deliveries\n", together,
              deliveries / wall.count(), cpu.count() / deliveries * 1e6);
}

void run(std::size_t sockets, std::size_t commits, std::size_t bytes) {
  log::start(log::Level::error, log::Format::text);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& shared = *new (memory) Shared;
  const pid_t clients = fork();
  if (clients == 0) be_clients(shared, sockets);
  {
    ReactorOptions options;
    options.session.silence = std::chrono::hours(1);
    options.session.heartbeat = std::chrono::hours(1);
    RunningReactor running(options);
    const std::size_t held_before = mallinfo2().uordblks;
    shared.port = running.port;
    wait_for([&] { return shared.idle == sockets; });
    const std::size_t held_idle = mallinfo2().uordblks;
    std::printf("%zu idle connections: %zu bytes each (session object %zu)\n", sockets,
                (held_idle - held_before) / sockets, sizeof(Session));
    shared.subscribe = true;
    wait_for([&] { return shared.subscribed == sockets; });
    std::printf("with one subscription: %zu bytes more each\n", (mallinfo2().uordblks - held_idle) / sockets);
    for (const std::size_t together : {1, 10, 50}) measure(running, shared, sockets, commits, bytes, together);
  }
  waitpid(clients, nullptr, 0);
}

}  // namespace
}  // namespace viewgate::gateway::testing

int main(int argc, char** argv) {
  const auto argument = [&](int index, std::size_t fallback) {
    return argc > index ? std::strtoul(argv[index], nullptr, 10) : fallback;
  };
  viewgate::gateway::testing::run(argument(1, 1000), argument(2, 1000), argument(3, 300));
}
