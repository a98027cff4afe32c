// What the ledger takes of the database's disk, with its indexes. The write-ahead log, the application's own tables and what else
// lies on that disk are not the ledger's and not in it.
#pragma once

#include <cstdint>

namespace viewgate::ledger {

/// Bytes, but for dead_rows: deleted ones whose place no vacuum has taken back yet (by PostgreSQL's own estimate).
struct LedgerSize {
  std::uint64_t looks = 0;  ///< how often it was looked so far; 0: nothing is known
  std::uint64_t changes = 0;
  std::uint64_t commits = 0;
  std::uint64_t records = 0;
  std::uint64_t others = 0;
  std::uint64_t dead_rows = 0;
  [[nodiscard]] std::uint64_t total() const { return changes + commits + records + others; }
};

}  // namespace viewgate::ledger
