// What the service manager that started the program is told: the datagrams of sd_notify(3), to the socket that NOTIFY_SOCKET names.
// Where nobody asked for them, nothing is sent. A datagram that cannot be sent is dropped: nothing here may end a server.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace viewgate::gateway {

class ServiceManager {
 public:
  /// Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that no program that this one starts speaks in
  /// its name. While the process has one thread.
  ServiceManager();
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  /// Clients are welcome. `status`: one line for `systemctl status`.
  void ready(std::string_view status) const;
  /// The configuration is read again; `ready` ends it.
  void reloading() const;
  /// The end has begun, and takes at most so long.
  void stopping(std::chrono::milliseconds time_max) const;
  void alive() const;

  /// Within which `alive` must come again and again, else the program is killed; absent: nobody watches.
  [[nodiscard]] std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

 private:
  void send(const std::string& text) const;

  std::string address_;  // of the socket; a leading '@' stands for the abstract name space
  std::optional<std::chrono::microseconds> watchdog_;
  int socket_ = -1;
};

}  // namespace viewgate::gateway
