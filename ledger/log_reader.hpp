// Reads the ledger's past and present for the engine: commits after a position, and snapshots that are exactly the
// state at a position. Implements LogReader over a few connections of its own.
//
// Lives on the io_context's thread. After stop() or destruction no callback comes any more. No callback runs inside the
// call that caused it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "ledger/pg/pool_stats.hpp"
#include "ledger/ports.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::ledger {

struct ReaderOptions {
  std::size_t connections_max = 4;                        ///< reads and snapshots at a time; more wait
  std::size_t part_bytes_max = std::size_t{1024} * 1024;  ///< of one CommitPart, soft by two records
  std::size_t changes_per_read = 5000;                    ///< soft: a commit is never cut
  /// For a connection or a lock; six times that for the next row of the log.
  std::chrono::milliseconds time_max{10000};
};

class Reader final : public LogReader {
 public:
  Reader(boost::asio::io_context& io, const std::string& conninfo, ReaderOptions options);
  ~Reader() override;

  void read(std::string space, Position after, std::size_t bytes_max, std::function<void(CommitPartPtr)> on_part,
            std::function<void(Result<Position>)> done) override;
  void snapshot(SnapshotQuery query, std::chrono::milliseconds time_max, std::function<bool(std::string_view)> on_row,
                std::function<void(Result<Position>)> done) override;

  void receipts(ReceiptsQuery query, std::function<void(Result<ReceiptsPage>)> done) override;

  /// Of the connections that read; a snapshot of a space where something waits has another one beside it for its lock.
  [[nodiscard]] pg::PoolStats pool() const;

  void stop();

 private:
  class Work;
  std::shared_ptr<Work> work_;
};

}  // namespace viewgate::ledger
