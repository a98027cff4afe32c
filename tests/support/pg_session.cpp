#include "support/pg_session.hpp"

#include <libpq-fe.h>
#include <poll.h>

namespace viewgate::testing {

namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

PgRows rows_of(PGconn* connection, const PGresult* result) {
  const auto status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY) return {};
  if (status != PGRES_TUPLES_OK) {
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    throw PgError(state == nullptr ? "" : state, text == nullptr ? PQerrorMessage(connection) : text);
  }
  PgRows rows;
  for (int i = 0; i < PQntuples(result); ++i) {
    PgRow& row = rows.emplace_back();
    for (int j = 0; j < PQnfields(result); ++j) {
      if (PQgetisnull(result, i, j) != 0) {
        row.emplace_back();
      } else {
        row.emplace_back(PQgetvalue(result, i, j));
      }
    }
  }
  return rows;
}

void ignore_notice(void*, const PGresult*) {}

}  // namespace

void PgSession::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

PgSession::PgSession(const std::string& conninfo) : connection_(PQconnectdb(conninfo.c_str())) {
  if (PQstatus(raw()) != CONNECTION_OK) throw PgError("08006", PQerrorMessage(raw()));
  PQsetNoticeReceiver(raw(), ignore_notice, nullptr);
}
PgSession::~PgSession() = default;
PgSession::PgSession(PgSession&&) noexcept = default;
PgSession& PgSession::operator=(PgSession&&) noexcept = default;

PgRows PgSession::run(const std::string& sql) {
  const Result result(PQexec(raw(), sql.c_str()), PQclear);
  return rows_of(raw(), result.get());
}

PgRows PgSession::query(const std::string& sql, const std::vector<PgValue>& parameters) {
  std::vector<const char*> values;
  for (const PgValue& parameter : parameters) values.push_back(parameter ? parameter->c_str() : nullptr);
  const Result result(
      PQexecParams(raw(), sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(), nullptr, nullptr, 0),
      PQclear);
  return rows_of(raw(), result.get());
}

std::string PgSession::value(const std::string& sql, const std::vector<PgValue>& parameters) {
  const PgRows rows = query(sql, parameters);
  if (rows.size() != 1 || rows[0].size() != 1) throw PgError("21000", "not one value: " + sql);
  return rows[0][0].value_or("NULL");
}

void PgSession::start(const std::string& sql) {
  if (PQsendQuery(raw(), sql.c_str()) == 0) throw PgError("08006", PQerrorMessage(raw()));
}

PgRows PgSession::finish() {
  Result last(nullptr, PQclear);
  for (;;) {
    Result next(PQgetResult(raw()), PQclear);
    if (next == nullptr) break;
    last = std::move(next);
  }
  return rows_of(raw(), last.get());
}

bool PgSession::is_busy() {
  if (PQconsumeInput(raw()) == 0) throw PgError("08006", PQerrorMessage(raw()));
  return PQisBusy(raw()) != 0;
}

std::optional<std::string> PgSession::notification(std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  for (;;) {
    const std::unique_ptr<PGnotify, decltype(&PQfreemem)> notify(PQnotifies(raw()), PQfreemem);
    if (notify != nullptr) return notify->extra;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd socket{PQsocket(raw()), POLLIN, 0};
    poll(&socket, 1, static_cast<int>(left.count()));
    if (PQconsumeInput(raw()) == 0) throw PgError("08006", PQerrorMessage(raw()));
  }
}

std::string PgSession::refusal(const std::string& sql) {
  try {
    run(sql);
  } catch (const PgError& error) {
    return error.sqlstate;
  }
  return "";
}

int PgSession::backend_pid() const { return PQbackendPID(raw()); }

}  // namespace viewgate::testing
