// Where PostgreSQL's own programs are on this machine.
#pragma once

#include <filesystem>
#include <string>

#include "ledger/error.hpp"

namespace viewgate::ledger {

/// The folder with initdb, postgres and the rest: the newest of /usr/lib/postgresql/*/bin, `pg_config --bindir`, PATH.
/// `wanted` (a folder) comes before all of them, then $VIEWGATE_POSTGRES_BIN; what is named is not searched past.
/// `major` = 0 takes any version. Error: programs_missing, with what to install or set.
[[nodiscard]] Result<std::filesystem::path> find_postgres_programs(const std::string& wanted, int major = 0);

/// 15 for PostgreSQL 15.8; 0 where the folder's `postgres` does not say.
[[nodiscard]] int major_version(const std::filesystem::path& folder);

}  // namespace viewgate::ledger
