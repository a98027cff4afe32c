// The raw log of a space for trusted code: whole commits by sequence, unfiltered. It is no client's view cursor, and it
// is not reachable over the network: what it returns is bound by no policy.
//
// Coroutines on the pool's thread; the pool outlives them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ledger/commit.hpp"
#include "ledger/pg/pool.hpp"

namespace viewgate::ledger {

struct StoreOptions {
  std::size_t page_bytes_max = std::size_t{64} * 1024 * 1024;  ///< of record text and keys in one page
  std::chrono::milliseconds time_max{10000};
};

class Store {
 public:
  Store(pg::Pool& pool, StoreOptions options) : pool_(pool), options_(options) {}

  /// Complete commits after `after`. `limit` is a soft budget in changes, not commits: the next commit comes whole,
  /// however large; once the page has one, adding another must fit. A commit without changes counts as one. The cursor
  /// of the page is its last commit's sequence, or the given one where the page is empty.
  ///
  /// A page also ends before a commit that would exceed page_bytes_max; where that is its first one: commit_too_large.
  /// Errors by name: invalid_cursor (negative, or beyond the head), invalid_limit (below one), history_unavailable
  /// (below the horizon), commit_too_large, log_corrupt.
  pg::Task<PullPage> pull(std::string space, Sequence after, std::int64_t limit);

  /// The space's last sequence; 0 for one without commits, or that does not exist. Consumes nothing.
  pg::Task<Sequence> watermark(std::string space);
  /// The first sequence that is still readable; 1 where nothing was pruned.
  pg::Task<Sequence> retained_from(std::string space);

 private:
  struct Window {
    Sequence watermark;
    Sequence retained_from;
  };

  pg::Task<Sequence> ask(std::string sql, std::string space);
  pg::Task<Window> begin(pg::Connection& connection, std::string space);
  pg::Task<PullPage> read(pg::Connection& connection, std::string space, Sequence after, std::int64_t limit);

  pg::Pool& pool_;
  const StoreOptions options_;
};

}  // namespace viewgate::ledger
