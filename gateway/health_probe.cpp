#include "gateway/health_probe.hpp"

#include <netdb.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <memory>

#include "gateway/errors.hpp"
#include "gateway/process_files.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::string_view request = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

Endpoint reachable(Endpoint endpoint) {
  if (endpoint.address == "0.0.0.0") endpoint.address = "127.0.0.1";
  if (endpoint.address == "::") endpoint.address = "::1";
  return endpoint;
}

class Socket {
 public:
  Socket(const Endpoint& endpoint, std::chrono::milliseconds time_max) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(endpoint.address.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found) != 0) return;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> address(found, ::freeaddrinfo);
    descriptor_ = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time_max);
    const auto rest = std::chrono::microseconds(time_max - seconds);
    const timeval limit{seconds.count(), rest.count()};
    // Of the connecting, too: socket(7).
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    connected_ = ::connect(descriptor_, address->ai_addr, address->ai_addrlen) == 0;
  }
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  bool connected_ = false;
};

/// What the other side says first, as much as one read gives; empty: nothing.
std::string ask_plainly(const Socket& socket) {
  std::string answer(256, '\0');
  if (::send(socket.descriptor(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
  const auto count = ::recv(socket.descriptor(), answer.data(), answer.size(), 0);
  answer.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return answer;
}

std::string ask_over_tls(const Socket& socket) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<SSL, void (*)(SSL*)> tls(context ? SSL_new(context.get()) : nullptr, SSL_free);
  if (!tls || SSL_set_fd(tls.get(), socket.descriptor()) != 1 || SSL_connect(tls.get()) != 1) return {};
  std::string answer(256, '\0');
  if (SSL_write(tls.get(), request.data(), static_cast<int>(request.size())) <= 0) return {};
  const int count = SSL_read(tls.get(), answer.data(), static_cast<int>(answer.size()));
  answer.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return answer;
}

}  // namespace

std::string probe_readiness(const Endpoint& endpoint, ProbeOver over, std::chrono::milliseconds time_max) {
  const Endpoint target = reachable(endpoint);
  const Socket socket(target, time_max);
  if (!socket.connected()) throw Stop(ExitStatus::failed, "nobody answers on " + endpoint_text(target));
  const std::string answer = over == ProbeOver::tls ? ask_over_tls(socket) : ask_plainly(socket);
  std::string line = answer.substr(0, answer.find('\r'));
  if (!line.starts_with("HTTP/1.1 ")) {
    throw Stop(ExitStatus::failed, endpoint_text(target) + " does not answer as viewgate does" +
                                       (over == ProbeOver::tls ? " with TLS" : " without TLS"));
  }
  return line;
}

}  // namespace viewgate::gateway
