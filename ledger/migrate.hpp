// Brings a database's schema `viewgate` to the version of this program. Safe to run from several starting nodes at
// once.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ledger/error.hpp"

struct pg_conn;

namespace viewgate::ledger {

/// One file of ledger/sql. What is applied is recorded with the text's hash, so that two programs whose files differ
/// under one number do not take each other's schema for their own.
struct Migration {
  int version;
  std::string_view name;
  std::string_view sql;
};

/// In order; the last one's version is the schema's version that this program works with.
[[nodiscard]] std::span<const Migration> migrations();
[[nodiscard]] int schema_version();

/// What the database has: 0 = no schema yet. wrong_schema_version where it is newer, or another program's.
[[nodiscard]] Result<int> schema_version_of(pg_conn* connection);

/// The same over a connection of its own. unavailable where there is none.
[[nodiscard]] Result<int> schema_version_of(const std::string& conninfo);

/// Applies what is missing, in one transaction under an advisory lock. Blocking; the connection must be idle.
/// wrong_schema_version also where something is missing and the role may not make it.
[[nodiscard]] Result<void> migrate(pg_conn* connection);

/// The same with other steps than this program's, for tests of what a later version adds.
[[nodiscard]] Result<void> migrate(pg_conn* connection, std::span<const Migration> steps);

/// The same over a connection of its own. unavailable where there is none.
[[nodiscard]] Result<void> migrate(const std::string& conninfo);

}  // namespace viewgate::ledger
