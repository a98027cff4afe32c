// A small epoll loop: thousands of sockets on one thread, and nothing else. Timers are the owner's: it looks at its
// clients between two turns.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace viewgate::loadtest {

using Clock = std::chrono::steady_clock;

class Watcher {
 public:
  virtual ~Watcher() = default;
  /// `events` as epoll gives them.
  virtual void on_ready(std::uint32_t events) = 0;
};

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void watch(int fd, std::uint32_t events, Watcher* watcher);
  void change(int fd, std::uint32_t events, Watcher* watcher);
  /// A watcher may be dropped inside its own or another's callback: what was pending for it in this turn is not
  /// delivered.
  void drop(int fd, Watcher* watcher);
  void turn(std::chrono::milliseconds wait_max);

 private:
  int epoll_;
  std::vector<Watcher*> dropped_;
};

}  // namespace viewgate::loadtest
