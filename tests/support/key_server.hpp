// An issuer's key set on a port of this machine, as gateways fetch it; its keys can change, and it can go away.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace viewgate::testing {

class KeyServer {
 public:
  explicit KeyServer(std::string body);
  ~KeyServer();
  KeyServer(const KeyServer&) = delete;
  KeyServer& operator=(const KeyServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/keys"; }
  void serve(std::string body);
  /// Connections are taken and never answered.
  void fall_silent() { silent_ = true; }
  int requests() const { return requests_; }

 private:
  void run();

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::string body_;
  std::atomic<bool> stop_{false}, silent_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
};

}  // namespace viewgate::testing
