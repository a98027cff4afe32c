#include "ledger/migrate.hpp"

#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <utility>

namespace viewgate::ledger {

namespace {

using Rows = std::unique_ptr<PGresult, decltype(&PQclear)>;
using Steps = std::span<const Migration>;

constexpr std::string_view insufficient_privilege = "42501";

std::string one_line(const char* text) {
  std::string line = text == nullptr ? "" : text;
  while (!line.empty() && line.back() == '\n') line.pop_back();
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  return line;
}

Error error_of(PGconn* connection, const PGresult* result, const std::string& doing) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const errc code = PQstatus(connection) == CONNECTION_BAD ? errc::unavailable : errc::rejected;
  return Error{code, state == nullptr ? "" : state, doing + ": " + one_line(PQerrorMessage(connection))};
}

Result<Rows> query(PGconn* connection, const std::string& sql, const std::string& doing) {
  Rows rows(PQexec(connection, sql.c_str()), PQclear);
  const auto status = PQresultStatus(rows.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return error_of(connection, rows.get(), doing);
  return rows;
}

/// Notices ("schema exists, skipping") are no news here.
void ignore_notice(void*, const PGresult*) {}

std::string quoted(PGconn* connection, std::string_view text) {
  std::unique_ptr<char, decltype(&PQfreemem)> copy(PQescapeLiteral(connection, text.data(), text.size()), PQfreemem);
  return copy == nullptr ? "''" : copy.get();
}

std::string hash_of(PGconn* connection, std::string_view text) {
  return "pg_catalog.md5(" + quoted(connection, text) + ")";
}

/// The versions that the database has, compared with those of `steps`.
Result<int> compare(PGconn* connection, Steps steps) {
  const std::string doing = "reading viewgate.schema_version";
  auto exists = query(connection, "select pg_catalog.to_regclass('viewgate.schema_version') is not null", doing);
  if (!exists) return exists.error();
  if (PQgetvalue(exists->get(), 0, 0)[0] != 't') return 0;
  auto rows = query(connection, "select version, hash from viewgate.schema_version order by version", doing);
  if (!rows) return rows.error();
  int found = 0;
  for (int i = 0; i < PQntuples(rows->get()); ++i) {
    found = std::atoi(PQgetvalue(rows->get(), i, 0));
    if (found > steps.back().version) {
      return Error{errc::wrong_schema_version, "",
                   "the schema viewgate has version " + std::to_string(found) +
                       ", and this program knows versions up to " + std::to_string(steps.back().version) +
                       ": run the newer program"};
    }
    for (const Migration& migration : steps) {
      if (migration.version != found) continue;
      auto hash = query(connection, "select " + hash_of(connection, migration.sql), doing);
      if (!hash) return hash.error();
      if (std::string_view(PQgetvalue(hash->get(), 0, 0)) == PQgetvalue(rows->get(), i, 1)) continue;
      return Error{errc::wrong_schema_version, "",
                   "version " + std::to_string(found) + " of the schema viewgate is not this program's " +
                       std::string(migration.name) +
                       ": it was made by another build; run that one, or drop schema viewgate cascade"};
    }
  }
  return found;
}

Result<void> apply(PGconn* connection, const Migration& migration) {
  const std::string doing = "migration " + std::string(migration.name);
  auto applied = query(connection, std::string(migration.sql), doing);
  if (!applied) return applied.error();
  auto noted = query(connection,
                     "insert into viewgate.schema_version (version, hash) values (" +
                         std::to_string(migration.version) + ", " + hash_of(connection, migration.sql) + ")",
                     doing);
  if (!noted) return noted.error();
  return {};
}

/// A node's role is no owner: what it may not do is somebody else's to do before it starts.
Error not_ours(PGconn* connection, int found, int wanted, const std::string& refusal) {
  const std::string has = found == 0 ? "there is no schema viewgate in this database"
                                     : "the schema viewgate has version " + std::to_string(found) +
                                           ", and this program's is " + std::to_string(wanted);
  return Error{errc::wrong_schema_version, std::string(insufficient_privilege),
               has + "; " + PQuser(connection) +
                   " may not change that: run `viewgate migrate` as the schema's owner (" + refusal + ")"};
}

Result<void> apply_missing(PGconn* connection, Steps steps) {
  auto found = compare(connection, steps);
  if (!found) return found.error();
  for (const Migration& migration : steps) {
    if (migration.version <= *found) continue;
    auto applied = apply(connection, migration);
    if (applied) continue;
    if (applied.error().sqlstate != insufficient_privilege) return applied;
    return not_ours(connection, *found, steps.back().version, applied.error().detail);
  }
  return {};
}

using ConnectionPtr = std::unique_ptr<PGconn, decltype(&PQfinish)>;

Result<ConnectionPtr> connect(const std::string& conninfo) {
  ConnectionPtr connection(PQconnectdb(conninfo.c_str()), PQfinish);
  if (PQstatus(connection.get()) == CONNECTION_OK) return connection;
  return Error{errc::unavailable, "", "connecting for migrations: " + one_line(PQerrorMessage(connection.get()))};
}

// Any number that nobody else is likely to lock: the bytes of "viewgate".
constexpr const char* migration_lock = "8532188541131617381";

}  // namespace

int schema_version() { return migrations().back().version; }

Result<int> schema_version_of(pg_conn* connection) { return compare(connection, migrations()); }

Result<void> migrate(pg_conn* connection) { return migrate(connection, migrations()); }

Result<void> migrate(pg_conn* connection, std::span<const Migration> steps) {
  const auto previous = PQsetNoticeReceiver(connection, ignore_notice, nullptr);
  // Read committed whatever the role's default is: what is read after the wait for the lock must be what its last
  // holder did. And names mean PostgreSQL's own types and operators, whatever else the role finds first.
  auto begun = query(connection,
                     "begin isolation level read committed read write; set local statement_timeout = 0; "
                     "set local lock_timeout = 0; set local idle_in_transaction_session_timeout = 0; set local "
                     "search_path = pg_catalog; set local synchronous_commit = on; "
                     "set local client_min_messages = warning; set local check_function_bodies = on; "
                     "set local standard_conforming_strings = on; set local client_encoding = 'UTF8'; "
                     "select pg_catalog.pg_advisory_xact_lock(" +
                         std::string(migration_lock) + ")",
                     "waiting for other nodes' migrations");
  Result<void> result;
  if (begun) {
    result = apply_missing(connection, steps);
  } else {
    result = begun.error();
  }
  auto ended = query(connection, result ? "commit" : "rollback", "ending the migration");
  if (result && !ended) result = ended.error();
  PQsetNoticeReceiver(connection, previous, nullptr);
  return result;
}

Result<void> migrate(const std::string& conninfo) {
  const auto connection = connect(conninfo);
  if (!connection) return connection.error();
  return migrate(connection->get());
}

Result<int> schema_version_of(const std::string& conninfo) {
  const auto connection = connect(conninfo);
  if (!connection) return connection.error();
  return schema_version_of(connection->get());
}

}  // namespace viewgate::ledger
