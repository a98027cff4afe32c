// The recent commits of one space, so that a reader that is a little behind needs no database. Bounded in bytes; whole
// commits leave from the old end. Owned by the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "ledger/commit.hpp"

namespace viewgate::gateway {

class RecentCommits {
 public:
  explicit RecentCommits(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Empty; everything above `begin` will be appended.
  void restart(ledger::Position begin);

  /// Parts in order. A commit that alone is larger than the bound is not kept, and nothing before it.
  void append(const ledger::CommitPartPtr& part);

  enum class Cover : std::uint8_t {
    yes,
    no,       ///< older than what is kept, or newer than the last whole commit
    diverged  ///< the sequence is kept, with another stamp
  };
  [[nodiscard]] Cover covers(ledger::Position after) const;

  /// The whole commits above `after` (which is covered), until `bytes_max` of their text is reached, at least one where
  /// there is one. `through`: the last of them, or `after`.
  struct Stretch {
    std::vector<ledger::CommitPartPtr> parts;
    ledger::Position through;
  };
  [[nodiscard]] Stretch stretch(ledger::Position after, std::size_t bytes_max) const;

  /// Drops the oldest commit; false: there is none.
  bool drop_oldest();

  /// Drops the commits up to `through`.
  void forget(ledger::Sequence through);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Commit {
    ledger::Position position;
    std::size_t bytes = 0;
    std::vector<ledger::CommitPartPtr> parts;
  };

  const std::size_t bytes_max_;
  ledger::Position begin_;      // everything above it is in commits_
  std::deque<Commit> commits_;  // whole ones, contiguous
  Commit open_;                 // parts of the commit that is not complete
  bool open_too_large_ = false;
  std::size_t bytes_ = 0;
};

}  // namespace viewgate::gateway
