// What must be done now and then beside following the log: check the captured tables (viewgate.check_captures finds
// holes and moves the registry's mark, which the tailer's look sees), prune what the rules in viewgate.retention let
// go, and see what the ledger takes of the disk. On a connection of its own, so that a long delete never delays a
// commit. Any node checks, several at once do no harm; one node at a time prunes, the one that holds an advisory lock.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "ledger/housekeeping_failures.hpp"
#include "ledger/ledger_size.hpp"
#include "ledger/pg/connection.hpp"
#include "ledger/rounds.hpp"

namespace viewgate::ledger {

struct HousekeeperOptions {
  std::chrono::milliseconds captures_interval{2000};
  std::chrono::milliseconds prune_interval{60000};
  std::chrono::milliseconds size_interval{30000};
  std::chrono::milliseconds time_max{10000};
};

class Housekeeper final : public Rounds {
 public:
  Housekeeper(boost::asio::any_io_executor executor, std::string conninfo, HousekeeperOptions options);

  [[nodiscard]] std::uint64_t pruned() const { return pruned_; }
  [[nodiscard]] const LedgerSize& size() const { return size_; }
  [[nodiscard]] const HousekeepingFailures& failures() const { return failures_; }
  /// Also of work that is not its own.
  void note_failure(std::string doing, const Error& error);

 private:
  /// Each of the three, also where another fails. Errors: the connection is gone, and with it what was left to do.
  pg::Task<void> turn() override;
  Clock::time_point next_turn(const Result<void>& done) override;
  pg::Task<void> check_and_measure();
  pg::Task<void> check_captures();
  pg::Task<void> measure();
  pg::Task<void> prune();
  pg::Task<void> prune_spaces();
  pg::Task<void> prune_space(std::string space, std::string kept);
  pg::Task<pg::Rows> ask(std::string sql, pg::Params params = {});

  const HousekeeperOptions options_;
  Clock::time_point captures_at_{};
  Clock::time_point prune_at_{};
  Clock::time_point size_at_{};
  std::uint64_t pruned_ = 0;
  LedgerSize size_;
  HousekeepingFailures failures_;
  std::string pruned_through_;  ///< a round that was cut short: the next one begins behind this space
};

}  // namespace viewgate::ledger
