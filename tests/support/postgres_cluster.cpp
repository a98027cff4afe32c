#include "support/postgres_cluster.hpp"

#include <stdlib.h>
#include <sys/stat.h>

#include <stdexcept>

#include "ledger/migrate.hpp"
#include "support/pg_session.hpp"

namespace viewgate::testing {

namespace {

std::string name_in(const std::string& conninfo) {
  const auto at = conninfo.find("dbname='") + 8;
  return conninfo.substr(at, conninfo.find('\'', at) - at);
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  const char* base = getenv("TMPDIR");
  std::string pattern = std::string(base == nullptr ? "/tmp" : base) + "/viewgate-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error(pattern + " cannot be made");
  chmod(pattern.c_str(), 0755);
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

PostgresCluster::PostgresCluster(ClusterOptions options) {
  ledger::EmbeddedOptions embedded;
  embedded.directory = directory_.path() / "cluster";
  embedded.durability = options.durability;
  embedded.settings = {"shared_buffers=64MB", "max_connections=120"};
  embedded.settings.insert(embedded.settings.end(), options.settings.begin(), options.settings.end());
  auto started = ledger::Embedded::start(std::move(embedded));
  if (!started) throw std::runtime_error(started.error().detail);
  server_ = std::move(*started);
  PgSession(server_->conninfo("postgres")).run("create database ledger_template");
  auto migrated = ledger::migrate(server_->conninfo("ledger_template"));
  if (!migrated) throw std::runtime_error(migrated.error().detail);
}

PostgresCluster::~PostgresCluster() = default;

PostgresCluster& PostgresCluster::shared() {
  static PostgresCluster cluster;
  return cluster;
}

std::string PostgresCluster::create(const std::string& name_of_template) {
  const std::string name = "test_" + std::to_string(++databases_);
  PgSession(server_->conninfo("postgres")).run("create database " + name + " template " + name_of_template);
  return server_->conninfo(name);
}

std::string PostgresCluster::create_database() { return create("ledger_template"); }
std::string PostgresCluster::create_empty_database() { return create("template0"); }

void PostgresCluster::drop_database(const std::string& conninfo) {
  PgSession(server_->conninfo("postgres")).run("drop database " + name_in(conninfo) + " with (force)");
}

void PostgresCluster::restart(ledger::Shutdown how) {
  auto restarted = server_->restart(how);
  if (!restarted) throw std::runtime_error(restarted.error().detail);
}

}  // namespace viewgate::testing
