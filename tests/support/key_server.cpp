#include "support/key_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace viewgate::testing {

KeyServer::KeyServer(std::string body)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), body_(std::move(body)) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(any);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&any), size) != 0 || ::listen(listener_, 64) != 0) {
    throw std::runtime_error("the key server cannot listen");
  }
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &size);
  port_ = ntohs(any.sin_port);
  thread_ = std::thread([this] { run(); });
}

KeyServer::~KeyServer() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

void KeyServer::serve(std::string body) {
  const std::scoped_lock lock(mutex_);
  body_ = std::move(body);
}

void KeyServer::run() {
  std::vector<int> unanswered;
  while (!stop_) {
    pollfd watched{listener_, POLLIN, 0};
    constexpr int look_ms = 20;
    if (::poll(&watched, 1, look_ms) <= 0) continue;
    const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) continue;
    ++requests_;
    if (silent_) {
      unanswered.push_back(peer);
      continue;
    }
    std::array<char, 4096> request;
    static_cast<void>(::recv(peer, request.data(), request.size(), 0));
    const std::scoped_lock lock(mutex_);
    const std::string answer =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
        std::to_string(body_.size()) + "\r\n\r\n" + body_;
    static_cast<void>(::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL));
    ::close(peer);
  }
  for (const int peer : unanswered) ::close(peer);
}

}  // namespace viewgate::testing
