// Whether a database may carry a ledger, asked once at start: better one clear line now than a lost commit later.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "ledger/error.hpp"

namespace viewgate::ledger {

/// What the server says about itself.
struct ServerFacts {
  int version = 0;  ///< 150004 = 15.4
  bool is_standby = false;
  bool has_fsync = true;
  std::string encoding = "UTF8";  ///< of the database
};

/// unsuitable_database, naming what would be right; nothing where the server is fine.
[[nodiscard]] std::optional<Error> obstacle(const ServerFacts& facts);

/// What fsync = off means: a crash may lose commits that were shown. `accept` is for throw-away databases of tests.
enum class FsyncOff { refuse, accept };

struct PreflightOptions {
  FsyncOff fsync_off = FsyncOff::refuse;
  std::chrono::milliseconds time_max{10000};
};

/// Blocking, on connections of its own. Errors: unavailable, timeout, unsuitable_database (standby, fsync off, older
/// than 13, a transaction-mode pooler). The schema's version is migrate's and schema_version_of's affair.
[[nodiscard]] Result<void> preflight(const std::string& conninfo, PreflightOptions options);

}  // namespace viewgate::ledger
