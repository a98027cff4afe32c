// A gate on the way to PostgreSQL: it relays bytes between a TCP port of its own and the cluster's socket, and can be
// shut, or made to swallow every notification, as a pooler in transaction mode does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace viewgate::testing {

class TcpGate {
 public:
  /// `unix_socket`: the path of the server's socket.
  explicit TcpGate(std::string unix_socket);
  ~TcpGate();
  TcpGate(const TcpGate&) = delete;
  TcpGate& operator=(const TcpGate&) = delete;

  std::uint16_t port() const { return port_; }
  /// Everyone is cut and nobody is let in.
  void shut() { shut_ = true; }
  void open() { shut_ = false; }
  /// NotificationResponse messages are taken out of what the server says, exactly; for connections made afterwards.
  void swallow_notifications() { swallow_ = true; }
  std::uint64_t swallowed() const { return swallowed_; }
  std::uint64_t connections() const { return connections_; }

 private:
  struct Pair;

  void run();
  void accept_one();
  bool relay(Pair& pair, bool from_client);

  std::string unix_socket_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::atomic<bool> stop_{false}, shut_{false}, swallow_{false};
  std::atomic<std::uint64_t> swallowed_{0}, connections_{0};
  std::thread thread_;
};

}  // namespace viewgate::testing
