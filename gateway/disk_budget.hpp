// What the ledger may take of the disk, and the log's words when it takes too much of it: before the disk is full, while there is
// still time to do something. The metrics tell the same; not everybody looks at them.
//
// On the engine's thread.
#pragma once

#include <cstdint>
#include <string>

#include "ledger/ledger_size.hpp"

namespace viewgate::gateway {

class DiskBudget {
 public:
  /// `bytes`: as configured; 0: what the ledger takes and what is still free in `directory`, of a private PostgreSQL. Both
  /// empty: there is none.
  DiskBudget(std::uint64_t bytes, std::string directory);

  /// Bytes; 0: unknown.
  [[nodiscard]] std::uint64_t bytes(const ledger::LedgerSize& size) const;

  /// Says so, once, when a size that it has not seen yet crosses four fifths of the budget, and all of it; and that it is below
  /// them again.
  void watch(const ledger::LedgerSize& size);

 private:
  enum class Level : std::uint8_t { fine, high, over };
  static Level level_of(std::uint64_t taken, std::uint64_t budget);

  const std::uint64_t bytes_;
  const std::string directory_;
  std::uint64_t looks_ = 0;
  Level level_ = Level::fine;
};

}  // namespace viewgate::gateway
