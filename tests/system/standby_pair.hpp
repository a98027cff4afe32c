// A primary and a standby that streams from it, as an operator would set them up, and what a failover does to them. Each step is
// told on stdout, with the command that an operator would give: `./dev drill` is read by people.
#pragma once

#include <memory>
#include <string>

#include "support/child_process.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {

// Neither flushes to the disk (fsync is off): processes are killed here, and not machines.

/// A line of the drill.
void tell(const std::string& step, const std::string& command = "");

class StandbyPair {
 public:
  /// Makes the primary, with an empty database, and the standby by pg_basebackup.
  StandbyPair();

  PostgresCluster& primary() { return primary_; }
  /// The database on the primary, on the standby, and on whichever of the two takes writes.
  const std::string& primary_database() const { return database_; }
  std::string standby_database() const { return standby_->conninfo(name_); }
  std::string either_database();

  /// From now on a COMMIT returns once the standby has it.
  void be_synchronous();
  /// The standby receives nothing more.
  void cut_off();
  /// SIGKILL to its postmaster; returns when nothing of it is left.
  void kill_primary();
  /// Returns when the standby takes writes.
  void promote();

 private:
  void start_standby();

  PostgresCluster primary_;
  TemporaryDirectory directory_;
  std::string database_;
  std::string name_;
  std::unique_ptr<ledger::Embedded> standby_;
};

}  // namespace viewgate::testing
