// Follows the log for this process: numbers what writers have committed, and hands on every commit of the watched
// spaces, in order and once, as parts. Implements Tail over PostgreSQL.
//
//   look connection    looks, reads, checks; decides by tailer_plan
//   large reader       reads what others should not wait for, on a connection that is there only then
//   listen connection  nothing but LISTEN; what it hears only wakes the other
//   housekeeper        checks the captured tables and prunes, on a connection of its own
//
// Lives on the io_context's thread; sink and io_context outlive it. Everything that breaks is retried for ever and told
// to the sink (on_degraded, on_restored). After stop() or destruction no callback comes any more.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ledger/housekeeping_failures.hpp"
#include "ledger/ledger_size.hpp"
#include "ledger/ports.hpp"
#include "ledger/watchlist.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::ledger {

struct TailerOptions {
  TailerTimes times;
  /// For a connection or an answer; six times that for the next row of the log.
  std::chrono::milliseconds time_max{10000};
  std::size_t part_bytes_max = std::size_t{1024} * 1024;      ///< of one CommitPart, soft by two records
  std::size_t turn_bytes_max = std::size_t{4} * 1024 * 1024;  ///< handed on between two on_turn
  std::size_t changes_per_read = 5000;                        ///< per space, soft: a commit is never cut
  std::size_t spaces_per_read = 256;

  std::chrono::milliseconds captures_interval{2000};  ///< between checks of the captured tables
  std::chrono::milliseconds prune_interval{60000};
  std::chrono::milliseconds size_interval{30000};  ///< between looks at what the ledger takes of the disk

  bool ignore_notifications = false;  ///< as if none ever arrived: for tests
  std::string node = {};              ///< what other nodes read of this one in the database, see Inspection
};

/// What happened so far.
struct TailerStats {
  Wakeups wakeups = Wakeups::poll;
  std::uint64_t looks = 0;
  std::uint64_t notified = 0;  ///< hints that arrived
  std::uint64_t canaries = 0;  ///< notifications to itself that it sent
  std::uint64_t canaries_heard = 0;
  std::uint64_t numbered = 0;
  std::uint64_t parts = 0;
  std::uint64_t changes = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t connects = 0;  ///< attempts of the look connection
  std::uint64_t listens = 0;   ///< times that LISTEN succeeded
  std::uint64_t pruned = 0;
  HousekeepingFailures housekeeping;
  LedgerSize size;  ///< when it was last looked at
};

class Tailer final : public Tail {
 public:
  Tailer(boost::asio::io_context& io, std::string conninfo, TailerOptions options, TailSink& sink);
  ~Tailer() override;

  void start();
  void stop();

  /// Follows the space from its head on: on_watched says which. Watching a watched space changes nothing. A space that
  /// does not exist has head 0.
  void watch(std::string space) override;
  void unwatch(const std::string& space) override;

  /// A commit was written in this process: looks at once. Any number of calls before the look are one.
  void wake();

  [[nodiscard]] TailerStats stats() const;
  /// Watched spaces that are behind the ledger now, and by how much.
  [[nodiscard]] std::vector<SpaceLag> lags() const;
  [[nodiscard]] SpaceLag lag(const std::string& space) const;

 private:
  class Runner;
  std::shared_ptr<Runner> runner_;
};

}  // namespace viewgate::ledger
