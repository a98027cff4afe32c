// The recent commits of one space, so that a reader that is a little behind needs no database. Bounded in bytes; whole
// commits leave from the old end. A space without any holds no memory: most spaces are quiet. Owned by the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
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

  /// What a read of the ledger gave: the parts of the commits above `after`, in order. Those that lead up to what is kept
  /// are put before it, the newest first, as far as there is room; where they lead past it without touching, or end before
  /// it, nothing is.
  void prepend(ledger::Position after, const std::vector<ledger::CommitPartPtr>& parts);

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
  using Commits = std::vector<Commit>;

  [[nodiscard]] Commits::const_iterator first() const { return commits_.begin() + dropped_; }
  [[nodiscard]] std::size_t size() const { return commits_.size() - static_cast<std::size_t>(dropped_); }

  const std::size_t bytes_max_;
  ledger::Position begin_;      // everything above it is kept
  Commits commits_;             // whole ones, contiguous, after those already dropped
  std::ptrdiff_t dropped_ = 0;  // of commits_, from the front
  Commit open_;                 // parts of the commit that is not complete
  bool open_too_large_ = false;
  std::size_t bytes_ = 0;
};

}  // namespace viewgate::gateway
