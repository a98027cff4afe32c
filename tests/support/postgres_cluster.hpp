// A PostgreSQL of the test program's own: made in a temporary directory, gone with it, and each test has a fresh
// database.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ledger/embedded.hpp"

namespace viewgate::testing {

/// A directory that the unprivileged user of a cluster may reach; removed with what is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct ClusterOptions {
  ledger::Durability durability = ledger::Durability::volatile_;
  std::vector<std::string> settings;  ///< "name=value"
};

class PostgresCluster {
 public:
  /// Starts it (about a second) or throws std::runtime_error.
  explicit PostgresCluster(ClusterOptions options = {});
  /// Stops it and removes its directory.
  ~PostgresCluster();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  /// The one of this test program with default options, started on first use.
  static PostgresCluster& shared();

  /// A database with the ledger in it, as the migrations make it; its conninfo. Cheap: a copy of a template.
  [[nodiscard]] std::string create_database();
  [[nodiscard]] std::string create_empty_database();
  /// Ends its sessions and drops it.
  void drop_database(const std::string& conninfo);

  void restart(ledger::Shutdown how);
  [[nodiscard]] ledger::Embedded& server() { return *server_; }

 private:
  std::string create(const std::string& name_of_template);
  TemporaryDirectory directory_;
  std::unique_ptr<ledger::Embedded> server_;
  std::atomic<int> databases_ = 0;
};

}  // namespace viewgate::testing
