// The seams of the ledger: what the gateway's engine needs of it, as small interfaces without coroutines or sockets, so
// that a simulator can stand in for PostgreSQL in one thread under a seed. Tailer and Reader implement them over libpq.
//
// All calls and callbacks happen on one thread, the engine's; only a LogReader may hand on rows and parts on a thread of its
// own, before it says done on the engine's. No callback runs inside the call that caused it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/commit.hpp"
#include "ledger/error.hpp"
#include "ledger/mutation.hpp"

namespace viewgate::ledger {

/// What the tail of the log tells its owner. Per watched space: on_watched(P) once, then every part of every commit
/// P+1, P+2, … in order and without a gap, until unwatch.
class TailSink {
 public:
  virtual ~TailSink() = default;
  virtual void on_watched(const std::string& space, Position head) = 0;
  virtual void on_part(CommitPartPtr part) = 0;
  /// What was read in one go has been handed on: the moment to flush.
  virtual void on_turn() = 0;
  /// The history that was followed is not the ledger's any more (diverged) or is gone (pruned): nothing of the new line
  /// was handed on. The space is followed from `head` on.
  virtual void on_broken(const std::string& space, errc why, Position head) = 0;
  /// Values of commits up to `through` were erased from the log: what is kept of those commits must not be handed on any
  /// more. The space is followed on from where it is.
  virtual void on_erased(const std::string& space, Sequence through) = 0;
  /// The database cannot be reached (detail for the log), and: it is reached again.
  virtual void on_degraded(const Error& error) = 0;
  virtual void on_restored() = 0;
  /// A capture or the model in force may have changed: read them again.
  virtual void on_registry_moved() = 0;
};

/// Follows the log.
class Tail {
 public:
  virtual ~Tail() = default;
  virtual void watch(std::string space) = 0;
  virtual void unwatch(const std::string& space) = 0;
};

/// What a snapshot reads: one statement with one text column (the record as JSON text), over tables that are locked in
/// ACCESS SHARE mode before the snapshot is taken.
struct SnapshotQuery {
  std::string space;
  std::vector<std::string> tables;  ///< quoted, qualified
  std::string sql;
  // What the statement says, for a reader that is not PostgreSQL: it reads a page.
  std::string after;         ///< rows with a greater key; empty: from the first on
  std::size_t rows_max = 0;  ///< so many, in the order of their keys; 0: all rows, in any order
};

/// The receipts of a client with numbers above `after`, in order: at most `count_max`, and not more than `bytes_max` of text
/// where that is not the first one.
struct ReceiptsQuery {
  std::string space;
  std::string client;
  std::string principal;
  std::int64_t after = 0;
  std::size_t count_max = 1;
  std::size_t bytes_max = std::size_t{256} * 1024;
};
/// Pruned ones are passed over. A client of another principal is answered as one that nobody has used.
struct ReceiptsPage {
  std::vector<Receipt> receipts;
  std::int64_t last = 0;  ///< the client's last processed number; 0: there is none
  [[nodiscard]] bool has_more() const { return !receipts.empty() && receipts.back().number < last; }
};

/// Reads from the log and the tables. Errors: unavailable, timeout, history_unavailable, history_diverged, rejected.
class LogReader {
 public:
  virtual ~LogReader() = default;

  /// Commits after `after`, in parts, until the head or until `bytes_max` of record text has been handed on (then at
  /// the end of a commit). `after`'s stamp must be the ledger's, else history_diverged. done: the position reached.
  virtual void read(std::string space, Position after, std::size_t bytes_max,
                    std::function<void(CommitPartPtr)> on_part, std::function<void(Result<Position>)> done) = 0;

  /// The rows of the query in one snapshot that is exactly the state at the returned position. on_row returns false to
  /// give up (done then has errc::rejected).
  virtual void snapshot(SnapshotQuery query, std::chrono::milliseconds time_max,
                        std::function<bool(std::string_view)> on_row, std::function<void(Result<Position>)> done) = 0;

  virtual void receipts(ReceiptsQuery query, std::function<void(Result<ReceiptsPage>)> done) = 0;
};

/// Writes managed collections. Errors: unavailable (the database, or the queue is full: the same request may be sent
/// again, and if it was processed after all, its receipt is the answer), retry, timeout, invalid_mutation (malformed:
/// the number stays free), rejected.
class Mutations {
 public:
  virtual ~Mutations() = default;

  virtual void mutate(MutationRequest request, WriteRulesPtr rules,
                      std::function<void(Result<MutationAnswer>)> done) = 0;

  /// The receipt of a processed request, as a replay; sequence_gap with the expected number where it was not processed.
  virtual void receipt(std::string space, std::string client, std::string principal, std::int64_t number,
                       std::function<void(Result<MutationAnswer>)> done) = 0;
};

}  // namespace viewgate::ledger
