// A service manager's ear: the socket of sd_notify(3), for programs that are given its path as NOTIFY_SOCKET.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "support/patience.hpp"

namespace viewgate::testing {

class NotifySocket {
 public:
  NotifySocket();
  ~NotifySocket();
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  const std::string& path() const { return path_; }
  /// The next datagram; nothing when none came in the time.
  std::optional<std::string> next(std::chrono::milliseconds time_max = patient(std::chrono::seconds(30)));
  /// Reads on until one begins like this; nothing when none did in the time.
  std::optional<std::string> next_of(const std::string& beginning,
                                     std::chrono::milliseconds time_max = patient(std::chrono::seconds(30)));
  /// Forgets what has come until now.
  void clear();

 private:
  std::string path_;
  int socket_ = -1;
};

}  // namespace viewgate::testing
