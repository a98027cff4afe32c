// What happened to one record of a space, commit by commit, as far as the log reaches: for those who explain. Every value
// of the record comes with it, so it is for operators.
//
// The server finds the record's changes among those of its space; this side holds one commit at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "ledger/commit.hpp"
#include "ledger/pg/connection.hpp"

namespace viewgate::ledger {

struct RecordQuestion {
  std::string space;
  std::string collection;  ///< as Change has it
  std::string key;         ///< as Change has it
  Sequence through;        ///< later commits are not looked at
};

/// The model that the ledger has in force; it keeps no older one.
struct ModelOfLedger {
  std::int64_t version = 0;  ///< counts them; 0: none was ever put in force
  std::string hash;
  std::string since;  ///< by the database's clock: UTC, as Provenance::at
};

/// How far the log of the space reaches back, and what is in force at its end.
struct LogReach {
  bool is_known = false;  ///< the space has had a commit
  Sequence retained_from{1};
  ModelOfLedger model;
};

/// Hands on each commit that changed the record, in order, as one part with one change: what all of its changes amount to
/// (the first one's before; of the last one everything else). `erased`: not told any more. Where on_commit returns false,
/// the rest is left out and the error is `rejected`. Errors else: unavailable, timeout, log_corrupt.
pg::Task<LogReach> read_record_history(pg::Connection& connection, RecordQuestion question,
                                       std::function<bool(CommitPartPtr)> on_commit,
                                       std::chrono::milliseconds time_max);

}  // namespace viewgate::ledger
