// The thread of bootstraps: it reads their rows from the database, decides and encodes them, and writes and reads the files of
// what is too much for memory. A disk that is slow, or a view that is large, so holds neither the engine, which follows the
// log for everybody, nor a reactor.
//
// The engine's reader of bootstraps (LogReader): it is asked on the engine's thread and its ends are told there, but rows and
// parts of commits are handed on here. `engine` must outlive it; after `stop` no callback comes any more.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ledger/log_reader.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::gateway {

class BootstrapThread final : public ledger::LogReader {
 public:
  BootstrapThread(boost::asio::io_context& engine, const std::string& conninfo, ledger::ReaderOptions options);
  /// Stops.
  ~BootstrapThread() override;
  BootstrapThread(const BootstrapThread&) = delete;
  BootstrapThread& operator=(const BootstrapThread&) = delete;

  void read(std::string space, ledger::Position after, std::size_t bytes_max,
            std::function<void(ledger::CommitPartPtr)> on_part,
            std::function<void(ledger::Result<ledger::Position>)> done) override;
  void snapshot(ledger::SnapshotQuery query, std::chrono::milliseconds time_max,
                std::function<bool(std::string_view)> on_row,
                std::function<void(ledger::Result<ledger::Position>)> done) override;
  void receipts(ledger::ReceiptsQuery query, std::function<void(ledger::Result<ledger::ReceiptsPage>)> done) override;

  /// For EngineSurroundings::aside. What it returns may outlive the thread; a job that comes after its end is not run.
  [[nodiscard]] std::function<void(std::function<void()> job, std::function<void()> done)> aside() const;

  /// Its connections to the database; from any thread.
  [[nodiscard]] ledger::pg::PoolStats pool() const;

  /// The loop that it runs; ends with `stop`.
  [[nodiscard]] boost::asio::io_context& loop();

  /// Joins the thread: waits for the job that it is at.
  void stop();

 private:
  class Loop;
  const std::shared_ptr<Loop> loop_;
};

}  // namespace viewgate::gateway
