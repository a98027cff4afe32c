#include "ledger/error.hpp"

#include <libpq-fe.h>

#include <string_view>

namespace viewgate::ledger {
namespace {

errc code_of(std::string_view sqlstate) {
  if (sqlstate == "VG001") return errc::not_capturable;
  if (sqlstate == "40001" || sqlstate == "40P01" || sqlstate == "55P03") return errc::retry;
  if (sqlstate == "57014") return errc::timeout;  // query_canceled: statement_timeout, or somebody's pg_cancel_backend
  // Connection exceptions, server shutting down or starting, out of connections, disk or memory, and the timeouts by
  // which the server ends a session (25P03): the same statement may succeed on a new connection later.
  const std::string_view kind = sqlstate.substr(0, 2);
  if (kind == "08" || kind == "53" || kind == "58" || sqlstate.starts_with("57P") || sqlstate == "25P03") {
    return errc::unavailable;
  }
  return errc::rejected;
}

/// libpq's messages end in newlines and may hold several; ours are one line.
std::string one_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string out(text);
  for (char& c : out) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return out;
}

}  // namespace

const char* name(errc code) {
  switch (code) {
    case errc::invalid_cursor:
      return "invalid_cursor";
    case errc::invalid_limit:
      return "invalid_limit";
    case errc::history_unavailable:
      return "history_unavailable";
    case errc::history_diverged:
      return "history_diverged";
    case errc::history_erased:
      return "history_erased";
    case errc::commit_too_large:
      return "commit_too_large";
    case errc::log_corrupt:
      return "log_corrupt";
    case errc::unavailable:
      return "unavailable";
    case errc::timeout:
      return "timeout";
    case errc::retry:
      return "retry";
    case errc::not_capturable:
      return "not_capturable";
    case errc::capture_missing:
      return "capture_missing";
    case errc::wrong_schema_version:
      return "wrong_schema_version";
    case errc::unsuitable_database:
      return "unsuitable_database";
    case errc::programs_missing:
      return "programs_missing";
    case errc::invalid_mutation:
      return "invalid_mutation";
    case errc::rejected:
      return "rejected";
  }
  return "rejected";
}

Error error_of(const pg_result* result) {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const char* detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
  Error error;
  // An error without a SQLSTATE was made by libpq itself: the connection is gone.
  error.sqlstate = sqlstate ? sqlstate : "";
  error.code = sqlstate ? code_of(error.sqlstate) : errc::unavailable;
  error.detail = one_line(primary ? primary : PQresultErrorMessage(result));
  if (const char* context = PQresultErrorField(result, PG_DIAG_CONTEXT)) error.context = context;
  if (detail) error.detail += " (" + one_line(detail) + ")";
  return error;
}

Error error_of(const pg_conn* connection) {
  std::string detail = one_line(PQerrorMessage(connection));
  if (detail.empty()) detail = "the connection to PostgreSQL was closed";
  return Error{errc::unavailable, "", std::move(detail)};
}

}  // namespace viewgate::ledger
