// The raw log of a space for trusted code: whole commits by sequence, unfiltered. It is no client's view cursor: what it
// returns is bound by no policy.
//
// Coroutines on the pool's thread; the pool outlives them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "ledger/commit.hpp"
#include "ledger/part_builder.hpp"
#include "ledger/pg/pool.hpp"

namespace viewgate::ledger {

/// What a page read in parts came to.
struct LogPage {
  Sequence next_cursor;  ///< the last commit that was handed on whole
  Sequence watermark;
  Sequence retained_from;
  Stamp stamp;  ///< of next_cursor; 0 where the page is empty
  [[nodiscard]] bool has_more() const { return next_cursor < watermark; }
};

struct StoreOptions {
  std::size_t part_bytes_max = std::size_t{1024} * 1024;       ///< of one part of a stream; see `stream`
  std::size_t page_bytes_max = std::size_t{64} * 1024 * 1024;  ///< of all that one page holds
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

  /// The same page in parts (of part_bytes_max; all changes of one record are in one), never held whole: `on_part` gets
  /// each as it comes and returns false where that is enough. The page then ends with the last whole commit, and the
  /// follower remembers what was handed on of the next one: a later call goes on right behind it, in a transaction of
  /// its own. While `pace` says that its taker is full, nothing is read, and the server waits, holding a snapshot: not for
  /// longer than the taker may. Errors: as pull, but commit_too_large; history_diverged where the begun commit is another
  /// one now.
  pg::Task<LogPage> stream(FollowerPtr follower, std::int64_t limit, std::function<bool(CommitPartPtr)> on_part,
                           pg::Pace* pace = nullptr);

  /// The space's last sequence; 0 for one without commits, or that does not exist. Consumes nothing.
  pg::Task<Sequence> watermark(std::string space);
  /// The first sequence that is still readable; 1 where nothing was pruned.
  pg::Task<Sequence> retained_from(std::string space);

 private:
  pg::Task<Sequence> ask(std::string sql, std::string space);
  pg::Task<LogPage> begin(pg::Connection& connection, std::string space, Sequence after, std::int64_t limit);
  pg::Task<void> end(pg::Connection& connection);
  pg::Task<void> read(pg::Connection& connection, PartBuilder& builder, const FollowerPtr& follower, std::int64_t limit,
                      std::size_t part_bytes, std::function<bool()> goes_on, pg::Pace* pace);

  pg::Pool& pool_;
  const StoreOptions options_;
};

}  // namespace viewgate::ledger
