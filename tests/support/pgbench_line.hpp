// pgbench's tables at scale 10, captured, and pgbench itself, unmodified, writing to them.
#pragma once

#include <memory>
#include <string>

#include "support/child_process.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {

class PgbenchLine {
 public:
  static constexpr int scale = 10;
  static constexpr int writers = 8;

  /// Makes the cluster, durable, and in it a million accounts in ten branches with balances from -5000 to 5000.
  PgbenchLine();
  PgbenchLine(const PgbenchLine&) = delete;
  PgbenchLine& operator=(const PgbenchLine&) = delete;

  /// A copy of the accounts in a database of its own, with demo/model.sql in force. Returns its conninfo.
  std::string create_database();

  /// pgbench at full speed from eight clients until it is stopped (or PostgreSQL is).
  std::unique_ptr<ChildProcess> start_pgbench(const std::string& conninfo, std::uint64_t seed);

  PostgresCluster& cluster() { return cluster_; }

 private:
  std::string pgbench_program() const { return (cluster_.server().programs() / "pgbench").string(); }

  mutable PostgresCluster cluster_{{.durability = ledger::Durability::durable, .settings = {"max_wal_size=4GB"}}};
  std::string template_name_;
  int databases_ = 0;
};

}  // namespace viewgate::testing
