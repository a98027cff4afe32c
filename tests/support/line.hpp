// The whole line for a test: a PostgreSQL of its own, a captured table, a model, and the built gateway before them.
//
// One per test program (`shared`), so that a program's tests cost one start; each test works in a space of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/gateway_process.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"
#include "support/ws_client.hpp"

namespace viewgate::testing {

/// public.items and the views over it; what a caller needs is the claim role=reader.
extern const char* const items_table;
extern const char* const items_model;

/// Deadlines at about a twentieth of their defaults, and every bootstrap read anew. `honest`: what a client has for its part of the
/// talk; more of it where many come at once, so that none is let go because this machine is slow.
std::vector<std::string> quick_deadlines(std::chrono::milliseconds honest = std::chrono::milliseconds(500));

/// The test program's shared cluster with fsync on: without it the gateway does not start.
PostgresCluster& durable_cluster();

struct LineOptions {
  std::string tables = items_table;
  std::string model = items_model;
  std::vector<std::string> flags = quick_deadlines();
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< of the gateway
};

class Line {
 public:
  /// A database of its own in this cluster, which must outlive the line; the program itself puts the ledger there.
  explicit Line(PostgresCluster& cluster, LineOptions options = {});
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  /// In the durable cluster.
  static Line& shared();

  PostgresCluster& cluster() { return *cluster_; }
  const std::string& database() const { return database_; }
  PgSession& session() { return session_; }
  /// Each call is one transaction.
  void sql(const std::string& text) { session_.run(text); }
  std::string value(const std::string& text, const std::vector<PgValue>& parameters = {}) {
    return session_.value(text, parameters);
  }
  /// Committed changes are numbered by the gateway in a moment: waits until none of the space waits. Returns its head.
  std::int64_t settled_head(const std::string& space);
  /// After a restart of PostgreSQL.
  void reconnect() { session_ = PgSession(database_); }

  /// An honest client of a gateway before this database: connects, opens a view, sees a write of this moment arrive, and leaves.
  /// Each of these is expected; returns the time from the commit to its arrival. `token`: where the gateway takes no reader's.
  std::chrono::milliseconds serve_a_good_client(std::uint16_t port, const std::string& token = "");

  GatewayProcess& gateway() { return *gateway_; }
  std::uint16_t port() const { return gateway_->port(); }
  /// A reader's token, made by `viewgate token` once per subject.
  const std::string& reader(const std::string& subject = "alice");
  std::string new_space() { return "space-" + std::to_string(++spaces_); }
  /// What a second gateway before the same database needs. Its good client is this line's, which then outlives the gateway.
  GatewayOptions gateway_options();

 private:
  PostgresCluster* cluster_;
  LineOptions options_;
  std::string database_;
  PgSession session_;
  std::map<std::string, std::string> tokens_;
  int spaces_ = 0;
  std::unique_ptr<GatewayProcess> gateway_;  // looked at when it goes, so it goes first
};

/// Writes a file, runs `viewgate model apply` on it, and returns how that ended.
Finished apply_model(const std::string& text, const std::string& database);

}  // namespace viewgate::testing
