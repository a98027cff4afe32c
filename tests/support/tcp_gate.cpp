#include "support/tcp_gate.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>

namespace viewgate::testing {

struct TcpGate::Pair {
  int client = -1, server = -1;
  bool swallow = false;
  std::string partial;  ///< the begin of a server message, while notifications are taken out

  ~Pair() {
    ::close(client);
    ::close(server);
  }
};

namespace {

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Takes whole messages (a type byte, a big-endian length that counts itself, a body) off `bytes`; those of type 'A'
/// are lost.
std::string without_notifications(std::string& bytes, std::atomic<std::uint64_t>& lost) {
  std::string out;
  std::size_t at = 0;
  while (bytes.size() - at >= 5) {
    std::size_t length = 0;
    for (std::size_t i = 1; i <= 4; ++i) length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
    if (bytes.size() - at < length + 1) break;
    if (bytes[at] == 'A') {
      ++lost;
    } else {
      out.append(bytes, at, length + 1);
    }
    at += length + 1;
  }
  bytes.erase(0, at);
  return out;
}

}  // namespace

TcpGate::TcpGate(std::string unix_socket) : unix_socket_(std::move(unix_socket)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(any);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&any), size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &size) != 0) {
    throw std::runtime_error("the gate cannot listen");
  }
  port_ = ntohs(any.sin_port);
  thread_ = std::thread([this] { run(); });
}

TcpGate::~TcpGate() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

void TcpGate::run() {
  while (!stop_) {
    if (shut_) pairs_.clear();
    std::vector<pollfd> watched{{listener_, POLLIN, 0}};
    for (const auto& pair : pairs_) {
      watched.push_back({pair->client, POLLIN, 0});
      watched.push_back({pair->server, POLLIN, 0});
    }
    if (::poll(watched.data(), watched.size(), 20) <= 0) continue;
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      const bool good = (watched[2 * i + 1].revents == 0 || relay(*pairs_[i], true)) &&
                        (watched[2 * i + 2].revents == 0 || relay(*pairs_[i], false));
      if (!good) pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (watched[0].revents != 0) accept_one();
  }
  pairs_.clear();
}

void TcpGate::accept_one() {
  auto pair = std::make_unique<Pair>();
  pair->client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (shut_) return;
  const int on = 1;
  ::setsockopt(pair->client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  pair->server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  pair->swallow = swallow_;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, unix_socket_.c_str(), sizeof(to.sun_path) - 1);
  if (::connect(pair->server, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) return;
  ++connections_;
  pairs_.push_back(std::move(pair));
}

bool TcpGate::relay(Pair& pair, bool from_client) {
  std::array<char, 65536> bytes;
  const ssize_t count = ::recv(from_client ? pair.client : pair.server, bytes.data(), bytes.size(), 0);
  if (count <= 0) return false;
  const std::string_view got(bytes.data(), static_cast<std::size_t>(count));
  if (from_client) return send_all(pair.server, got);
  if (!pair.swallow) return send_all(pair.client, got);
  pair.partial += got;
  return send_all(pair.client, without_notifications(pair.partial, swallowed_));
}

}  // namespace viewgate::testing
