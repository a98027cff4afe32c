// Writes managed collections: takes requests, and gives each its receipt. The requests that wait share one transaction
// (several commits, one flush), those of one space and those of several; transactions run side by side over a few
// connections. One that fails with several spaces is run again with each of them alone, so that a space whose lock is
// held, or a request that the database refuses, holds up nobody else.
//
//   transaction   1st round trip: begin; the spaces' locks, before anything is read; the records' locks; number what
//                 waits; read clients, receipts and records · decide, in the order of arrival ·
//                 2nd round trip: write everything in one statement; commit
//
// A transaction that fails in passing (lost connection, deadlock, lock timeout) is run again a few times. That is sound
// also where the outcome of COMMIT is unknown: what was processed is then found as a replay.
//
// Lives on the io_context's thread. After stop() or destruction no callback comes any more, also not for what waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ledger/pg/pool_stats.hpp"
#include "ledger/ports.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::ledger {

struct MutatorOptions {
  std::size_t connections_max = 8;                                ///< transactions side by side
  std::size_t batch_max = 128;                                    ///< requests in one transaction
  std::size_t batch_bytes_max = std::size_t{4} * 1024 * 1024;     ///< of them; a single request may be larger
  std::size_t waiting_max = 1024;                                 ///< requests per space; one more is `unavailable`
  std::size_t waiting_bytes_max = std::size_t{64} * 1024 * 1024;  ///< of requests in all spaces
  std::size_t lookups_max = 256;  ///< of receipts, at a time, on the same connections; one more is `unavailable`
  /// Of one record, and of all records of a request before and after it; above: rejected as `constraint`. A transaction
  /// comes to at most twice the second.
  std::size_t record_bytes_max = std::size_t{1024} * 1024;
  std::size_t effect_bytes_max = std::size_t{16} * 1024 * 1024;
  int attempts_max = 3;
  std::chrono::milliseconds lock_time_max{5000};
  std::chrono::milliseconds shared_lock_time_max{50};   ///< of a transaction of several spaces
  std::chrono::milliseconds record_lock_time_max{250};  ///< for a record that an append has; its space waits as long
  std::chrono::milliseconds idle_time_max{5000};        ///< how long a stopped process may hold a space's lock
  std::chrono::milliseconds time_max{10000};            ///< for a connection or an answer
};

/// What happened so far.
struct MutatorStats {
  std::uint64_t transactions = 0;
  std::uint64_t receipts = 0;
  std::uint64_t replays = 0;
  std::uint64_t retries = 0;
  std::uint64_t failures = 0;    ///< requests that were answered by an error
  std::uint64_t queue_full = 0;  ///< of these, those that found no room in the queue
  std::size_t waiting = 0;       ///< requests that wait now
  pg::PoolStats pool;            ///< of the connections that write
};

class Mutator final : public Mutations {
 public:
  /// on_committed: called after each COMMIT, to wake whoever follows the log in this process; may be empty.
  Mutator(boost::asio::io_context& io, const std::string& conninfo, MutatorOptions options,
          std::function<void()> on_committed);
  ~Mutator() override;

  void mutate(MutationRequest request, WriteRulesPtr rules, std::function<void(Result<MutationAnswer>)> done) override;
  void receipt(std::string space, std::string client, std::string principal, std::int64_t number,
               std::function<void(Result<MutationAnswer>)> done) override;

  void stop();

  [[nodiscard]] MutatorStats stats() const;

 private:
  class Work;
  std::shared_ptr<Work> work_;
};

}  // namespace viewgate::ledger
