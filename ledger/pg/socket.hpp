// What a connection's calls wait on: the descriptor that libpq has opened, and a time limit.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

namespace viewgate::ledger::pg {

/// The descriptor and the deadline's timer. Shared with the timer's handler, which may run after the connection is
/// gone. What ended a wait its caller looks at: the deadline, the connection's end, or data.
class Socket : public std::enable_shared_from_this<Socket> {
 public:
  explicit Socket(const boost::asio::any_io_executor& executor) : descriptor_(executor), timer_(executor) {}

  void assign(int fd) { descriptor_.assign(fd); }

  /// Gives the descriptor back to libpq, which closes it; ends a pending wait.
  void release() {
    if (descriptor_.is_open()) descriptor_.release();
  }

  boost::asio::awaitable<void> wait_readable();
  boost::asio::awaitable<void> wait_writable();
  boost::asio::awaitable<void> wait_either();

  void arm(std::chrono::steady_clock::time_point when);
  void disarm();
  [[nodiscard]] bool expired() const { return expired_; }

 private:
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_;
  std::uint64_t round_ = 0;
  bool expired_ = false;
};

/// One call's time limit; `progress` grants it anew.
class Deadline {
 public:
  Deadline(Socket& socket, std::chrono::milliseconds limit) : socket_(socket), limit_(limit) { arm(); }
  ~Deadline() { socket_.disarm(); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  /// Called per read from the socket: moves the timer only when a noticeable part of the time is used.
  void progress() {
    if (Clock::now() - armed_at_ > limit_ / 8) arm();
  }
  [[nodiscard]] bool expired() const { return socket_.expired(); }
  [[nodiscard]] std::chrono::milliseconds limit() const { return limit_; }

 private:
  using Clock = std::chrono::steady_clock;

  void arm() {
    armed_at_ = Clock::now();
    socket_.arm(armed_at_ + limit_);
  }

  Socket& socket_;
  std::chrono::milliseconds limit_;
  Clock::time_point armed_at_;
};

}  // namespace viewgate::ledger::pg
