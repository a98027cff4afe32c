// Reads commits that are too large to be read along with others, one at a time, on a connection of its own: a commit of a
// million changes is sorted for seconds before its first row comes, and the commits of other spaces do not wait for it.
//
// Lives on the executor's thread. Stopped by whoever owns it, and calls nothing after that.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "ledger/part_builder.hpp"
#include "ledger/pg/connection.hpp"

namespace viewgate::ledger {

struct LargeReaderOptions {
  pg::ConnectOptions connect;
  std::size_t part_bytes_max = 0;
  std::chrono::milliseconds silence_max{};  ///< for the first row, and for each after it
  std::chrono::milliseconds pause{};        ///< after a failure
};

struct LargeReaderEvents {
  std::function<void(CommitPartPtr)> on_part;
  /// It is tried again.
  std::function<void(const std::string& space, const Error& error)> on_failed;
  /// The next commit of the follower was handed on, or as much of it as could be had; its position and fault say which.
  std::function<void(const FollowerPtr&)> on_done;
};

class LargeReader : public std::enable_shared_from_this<LargeReader> {
 public:
  LargeReader(boost::asio::any_io_executor executor, LargeReaderOptions options, LargeReaderEvents events);

  /// The commit after the follower's position.
  void read(FollowerPtr follower);
  void stop();

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<LargeReader> self);
  pg::Task<void> read_commit(FollowerPtr follower);

  boost::asio::any_io_executor executor_;
  const LargeReaderOptions options_;
  const LargeReaderEvents events_;
  pg::Connection connection_;
  boost::asio::steady_timer pause_;
  std::deque<FollowerPtr> waiting_;
  bool running_ = false;
  bool stopped_ = false;
};

}  // namespace viewgate::ledger
