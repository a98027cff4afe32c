// How a connection is to be made, and what every session of ours starts with.
#pragma once

#include <chrono>
#include <string>

namespace viewgate::ledger::pg {

struct ConnectOptions {
  std::string conninfo;  ///< URL or keyword=value list, as psql takes it
  std::string application_name = "viewgate";
  std::chrono::milliseconds connect_time_max{5000};
  std::chrono::milliseconds lock_timeout{5000};
  std::chrono::milliseconds statement_timeout{0};  ///< by the server; 0 = none
  /// How long a transaction of ours may be idle, and so hold a space's lock, if this process is stopped.
  std::chrono::milliseconds idle_in_transaction_timeout{5000};
  std::string planner_settings;  ///< further SET commands, each ended by a semicolon
};

/// With the usual limits. `application_name` is what PostgreSQL's lists of sessions call it.
[[nodiscard]] ConnectOptions connect_options(std::string conninfo, std::string application_name,
                                             std::chrono::milliseconds connect_time_max);

/// What every session of ours starts with. Text settings match those that the ledger's functions pin, so that a record
/// has the same bytes in a snapshot and in the log. row_security = off turns a table that would hide rows from us into
/// an error.
[[nodiscard]] std::string session_settings(const ConnectOptions& options, int server_version);

}  // namespace viewgate::ledger::pg
