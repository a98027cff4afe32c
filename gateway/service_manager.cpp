#include "gateway/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace viewgate::gateway {
namespace {

/// The value, which is taken out of the environment.
std::string take_variable(const char* name) {
  const char* const value = std::getenv(name);
  std::string out = value == nullptr ? "" : value;
  ::unsetenv(name);
  return out;
}

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out <= 0) return std::nullopt;
  return out;
}

}  // namespace

ServiceManager::ServiceManager() : address_(take_variable("NOTIFY_SOCKET")) {
  const auto microseconds = number_in(take_variable("WATCHDOG_USEC"));
  const std::string watched = take_variable("WATCHDOG_PID");
  const bool is_other = !watched.empty() && number_in(watched) != std::int64_t{::getpid()};
  if (microseconds && !is_other) watchdog_ = std::chrono::microseconds(*microseconds);
  if (!address_.empty()) socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::ready(std::string_view status) const { send("READY=1\nSTATUS=" + std::string(status)); }

void ServiceManager::reloading() const {
  // The time tells a reload that was asked for from one that had begun before: sd_notify(3), MONOTONIC_USEC.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void ServiceManager::stopping(std::chrono::milliseconds time_max) const {
  const auto microseconds = std::chrono::microseconds(time_max).count();
  send("STOPPING=1\nSTATUS=clients are told to leave\nEXTEND_TIMEOUT_USEC=" + std::to_string(microseconds));
}

void ServiceManager::alive() const { send("WATCHDOG=1"); }

void ServiceManager::send(const std::string& text) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_ < 0 || address_.size() >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, address_.data(), address_.size());
  if (address_.front() == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  static_cast<void>(
      ::sendto(socket_, text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size));
}

}  // namespace viewgate::gateway
