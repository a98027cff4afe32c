#include "support/notify_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "support/child_process.hpp"

namespace viewgate::testing {

NotifySocket::NotifySocket()
    : path_(temporary_path("notify")), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof(address.sun_path)) throw std::runtime_error(path_ + " is too long for a socket");
  std::memcpy(address.sun_path, path_.data(), path_.size());
  std::filesystem::remove(path_);
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error(path_ + " cannot be bound");
  }
}

NotifySocket::~NotifySocket() {
  ::close(socket_);
  std::filesystem::remove(path_);
}

std::optional<std::string> NotifySocket::next(std::chrono::milliseconds time_max) {
  pollfd ready{socket_, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(time_max.count())) != 1) return std::nullopt;
  std::string out(4096, '\0');
  const auto count = ::recv(socket_, out.data(), out.size(), 0);
  if (count < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(count));
  return out;
}

std::optional<std::string> NotifySocket::next_of(const std::string& beginning, std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    auto out = next(std::max(left, std::chrono::milliseconds(0)));
    if (!out || out->starts_with(beginning)) return out;
  }
}

void NotifySocket::clear() {
  while (next(std::chrono::milliseconds(0))) {
  }
}

}  // namespace viewgate::testing
