// Work that is done again and again, a turn at a time, on a connection of its own. A turn that fails closes the connection,
// and the next one opens it again, for ever: that the database cannot be reached is the tailer's to tell.
//
// Lives on the executor's thread. After stop() no turn begins any more; one that runs ends with an error at its next answer.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

#include "ledger/pg/connection.hpp"

namespace viewgate::ledger {

class Rounds : public std::enable_shared_from_this<Rounds> {
 public:
  virtual ~Rounds() = default;
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  void start();
  void stop();

 protected:
  using Clock = std::chrono::steady_clock;

  Rounds(boost::asio::any_io_executor executor, pg::ConnectOptions connect);

  /// Before the first turn on each connection.
  virtual void on_connected() {}
  /// On an open connection.
  virtual pg::Task<void> turn() = 0;
  /// When the next turn begins, after one that came to this; `unavailable` where it found no connection.
  virtual Clock::time_point next_turn(const Result<void>& done) = 0;

  [[nodiscard]] pg::Connection& connection() { return connection_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<Rounds> self);
  pg::Task<void> connect_and_turn();

  boost::asio::any_io_executor executor_;
  const pg::ConnectOptions connect_;
  pg::Connection connection_;
  boost::asio::steady_timer timer_;
  bool stopped_ = false;
};

}  // namespace viewgate::ledger
