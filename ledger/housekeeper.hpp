// What must be done now and then beside following the log: check the captured tables (viewgate.check_captures finds
// holes and moves the registry's mark, which the tailer's look sees), and prune. On a connection of its own, so that a
// long delete never delays a commit. Any node may do it, several at once do no harm.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "ledger/pg/connection.hpp"

namespace viewgate::ledger {

struct HousekeeperOptions {
  std::chrono::milliseconds captures_interval{2000};
  std::chrono::milliseconds prune_interval{5000};
  std::int64_t prune_keep = 0;  ///< commits per space; 0: nothing is pruned
  std::chrono::milliseconds time_max{10000};
};

class Housekeeper : public std::enable_shared_from_this<Housekeeper> {
 public:
  Housekeeper(boost::asio::any_io_executor executor, std::string conninfo, HousekeeperOptions options);

  void start();
  void stop();

  [[nodiscard]] std::uint64_t pruned() const { return pruned_; }

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<Housekeeper> self);
  pg::Task<void> turn();
  pg::Task<void> prune();
  pg::Task<void> prune_space(std::string space);

  boost::asio::any_io_executor executor_;
  const std::string conninfo_;
  const HousekeeperOptions options_;
  pg::Connection connection_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point captures_at_{};
  std::chrono::steady_clock::time_point prune_at_{};
  std::uint64_t pruned_ = 0;
  bool stopped_ = false;
};

}  // namespace viewgate::ledger
