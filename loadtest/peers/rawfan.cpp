// The physical limit: an epoll loop that answers the upgrade and writes frames to every socket, and nothing else.
//
//   rawfan PORT BATCH      makes messages as fast as it can once a client has sent a frame, so many frames in one write
//   rawfan PORT CONNINFO   writes what PostgreSQL notifies on channel `changes`: the floor of commit to client
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "loadtest/peers/marks.hpp"

namespace {

using namespace viewgate::loadtest;

constexpr std::string_view upgraded =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

std::string server_frame(const std::string& payload) {
  std::string out{static_cast<char>(0x81), static_cast<char>(126), static_cast<char>(payload.size() >> 8),
                  static_cast<char>(payload.size() & 0xff)};
  return out + payload;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "rawfan: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

class RawFan {
 public:
  RawFan(std::uint16_t port, std::size_t batch, PGconn* database) : batch_(batch), database_(database) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) != 0 || listen(listener_, 4096) != 0)
      fail("port " + std::to_string(port));
    watch(listener_);
    if (database_ != nullptr) watch(PQsocket(database_));
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> events;
    for (;;) {
      const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), generating_ ? 0 : -1);
      for (int i = 0; i < count; ++i) handle(events[static_cast<std::size_t>(i)].data.fd);
      constexpr int rounds = 16;  // between two looks at the sockets
      for (int i = 0; i < rounds && generating_; ++i) generate();
    }
  }

 private:
  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  void handle(int fd) {
    if (fd == listener_) return accept_all();
    if (database_ != nullptr && fd == PQsocket(database_)) return relay();
    std::array<char, 4096> buffer;
    const ssize_t count = recv(fd, buffer.data(), buffer.size(), 0);
    const auto known = std::find(sockets_.begin(), sockets_.end(), fd);
    if (count <= 0) {
      close(fd);
      if (known != sockets_.end()) sockets_.erase(known);
      if (sockets_.empty()) generating_ = false;
    } else if (known != sockets_.end()) {
      generating_ = database_ == nullptr;
    } else if (write(fd, upgraded.data(), upgraded.size()) > 0) {
      sockets_.push_back(fd);
    }
  }

  void accept_all() {
    const int on = 1;
    for (int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); fd >= 0;
         fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) {
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      watch(fd);
    }
  }

  void generate() {
    std::string frames;
    for (std::size_t i = 0; i < batch_; ++i) frames += server_frame(marked_text({Clock::now(), ++number_}, 300));
    for (const int fd : sockets_) write_all(fd, frames);
  }

  void relay() {
    PQconsumeInput(database_);
    while (PGnotify* one = PQnotifies(database_)) {
      const std::string frame = server_frame(one->extra);
      PQfreemem(one);
      for (const int fd : sockets_) write_all(fd, frame);
    }
  }

  /// Nothing is queued: who does not read is waited for.
  static void write_all(int fd, const std::string& bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
      if (count > 0) {
        done += static_cast<std::size_t>(count);
      } else if (errno == EAGAIN) {
        pollfd room{fd, POLLOUT, 0};
        poll(&room, 1, 100);
      } else {
        return;
      }
    }
  }

  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  int listener_ = -1;
  std::size_t batch_;
  PGconn* database_;
  std::vector<int> sockets_;
  bool generating_ = false;
  std::uint32_t number_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "rawfan PORT BATCH | rawfan PORT CONNINFO\n");
    return 64;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const std::string_view second = argv[2];
  std::size_t batch = 1;
  PGconn* database = nullptr;
  if (std::from_chars(second.data(), second.data() + second.size(), batch).ptr != second.data() + second.size()) {
    database = PQconnectdb(argv[2]);
    if (PQstatus(database) != CONNECTION_OK) {
      std::fprintf(stderr, "rawfan: %s", PQerrorMessage(database));
      return 1;
    }
    PQclear(PQexec(database, "listen changes"));
  }
  RawFan(static_cast<std::uint16_t>(std::atoi(argv[1])), batch, database).run();
}
