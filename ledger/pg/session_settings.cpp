#include "ledger/pg/session_settings.hpp"

#include "ledger/planted.hpp"

namespace viewgate::ledger::pg {

ConnectOptions connect_options(std::string conninfo, std::string application_name,
                               std::chrono::milliseconds connect_time_max) {
  ConnectOptions out;
  out.conninfo = std::move(conninfo);
  out.application_name = std::move(application_name);
  out.connect_time_max = connect_time_max;
  return out;
}

std::string session_settings(const ConnectOptions& options, int server_version) {
  const auto milliseconds = [](std::chrono::milliseconds value) { return std::to_string(value.count()); };
  // Time limits first: a role's own would count until ours does.
  std::string sql = "set statement_timeout = " + milliseconds(options.statement_timeout);
  sql += "; set lock_timeout = " + milliseconds(options.lock_timeout);
  sql += "; set idle_in_transaction_session_timeout = " + milliseconds(options.idle_in_transaction_timeout);
  if (server_version >= 140000) sql += "; set idle_session_timeout = 0";
  if (server_version >= 170000) sql += "; set transaction_timeout = 0";
  sql +=
      "; set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set extra_float_digits = 1; "
      "set bytea_output = 'hex'; set lc_monetary = 'C'; set xmlbinary = 'base64'; set search_path = pg_catalog; "
      "set synchronous_commit = on; set default_transaction_isolation = 'read committed'; "
      "set default_transaction_read_only = off; set default_transaction_deferrable = off; set row_security = off; "
      "set standard_conforming_strings = on; set array_nulls = on; set transform_null_equals = off; "
      "set quote_all_identifiers = off; set exit_on_error = off; set jit = off; set client_min_messages = warning";
  if (is_planted("async_commit")) sql += "; set synchronous_commit = off";
  return sql + "; " + options.planner_settings;
}

}  // namespace viewgate::ledger::pg
