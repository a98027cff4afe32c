#include "ledger/pg/connection.hpp"

#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <array>
#include <new>

#include "ledger/pg/session_settings.hpp"
#include "ledger/pg/socket.hpp"

namespace viewgate::ledger::pg {
namespace {

namespace asio = boost::asio;

bool has_failed(const PGresult* result) {
  switch (PQresultStatus(result)) {
    case PGRES_EMPTY_QUERY:
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE:
    case PGRES_PIPELINE_SYNC:
      return false;
    default:
      return true;
  }
}

/// libpq reads one piece of a TLS record at a time: what OpenSSL holds already will never make the socket readable.
bool has_buffered_input(PGconn* connection) {
  if (!PQsslInUse(connection)) return false;
  const auto* tls = static_cast<const SSL*>(PQsslStruct(connection, "OpenSSL"));
  return tls && SSL_pending(tls) > 0;
}

/// The parameters' text as the array of pointers that libpq wants.
std::vector<const char*> pointers(const Params& params) {
  std::vector<const char*> out;
  out.reserve(params.size());
  for (const auto& param : params) out.push_back(param ? param->c_str() : nullptr);
  return out;
}

bool send(PGconn* connection, const std::string& sql, const Params& params) {
  const std::vector<const char*> values = pointers(params);
  return PQsendQueryParams(connection, sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                           nullptr, 0) == 1;
}

bool send_prepared(PGconn* connection, const std::string& name, const Params& params) {
  const std::vector<const char*> values = pointers(params);
  return PQsendQueryPrepared(connection, name.c_str(), static_cast<int>(values.size()), values.data(), nullptr, nullptr,
                             0) == 1;
}

}  // namespace

Connection::Connection(const asio::any_io_executor& executor) : socket_(std::make_shared<Socket>(executor)) {}

Connection::~Connection() { close(); }

void Connection::close() {
  socket_->release();
  if (conn_) PQfinish(conn_);
  conn_ = nullptr;
  prepared_.clear();
}

bool Connection::is_open() const { return conn_ && PQstatus(conn_) == CONNECTION_OK; }

bool Connection::is_idle() {
  if (!is_open() || PQtransactionStatus(conn_) != PQTRANS_IDLE) return false;
  if (PQconsumeInput(conn_) == 0 || PQisBusy(conn_)) return false;
  // A session that was ended by the server has said so first: what still makes the socket readable is its end.
  pollfd socket{PQsocket(conn_), POLLIN, 0};
  return ::poll(&socket, 1, 0) == 0;
}

int Connection::server_version() const { return conn_ ? PQserverVersion(conn_) : 0; }

int Connection::backend_pid() const { return conn_ ? PQbackendPID(conn_) : 0; }

Error Connection::give_up(Error error) {
  close();
  return error;
}

/// Why a wait ended without data.
Error Connection::closed_error(const Deadline& deadline) {
  if (!conn_) return Error{errc::unavailable, "", "the connection to PostgreSQL was closed by this process"};
  return give_up(
      Error{errc::timeout, "", "PostgreSQL gave no answer in " + std::to_string(deadline.limit().count()) + " ms"});
}

Task<void> Connection::connect(ConnectOptions options) {
  close();
  auto started = co_await start(options);
  if (!started) co_return started.error();
  PQsetnonblocking(conn_, 1);
  PQsetNoticeProcessor(
      conn_, [](void*, const char*) {}, nullptr);  // notices are for people at a prompt
  std::string settings = session_settings(options, server_version());
  auto pinned = co_await exec_script(std::move(settings), options.connect_time_max);
  if (pinned) co_return pinned;
  Error error = give_up(pinned.error());
  if (error.code == errc::rejected) {
    error.code = errc::unsuitable_database;
    error.detail = "the database does not accept a session setting that viewgate needs: " + error.detail;
  }
  co_return error;
}

Task<void> Connection::start(const ConnectOptions& options) {
  // What stands before dbname is a default that the given string may override; what stands after it is ours.
  const std::array keywords{"keepalives",       "keepalives_idle",           "keepalives_interval",
                            "keepalives_count", "tcp_user_timeout",          "dbname",
                            "client_encoding",  "fallback_application_name", static_cast<const char*>(nullptr)};
  const std::array values{"1",
                          "10",
                          "5",
                          "3",
                          "15000",
                          options.conninfo.c_str(),
                          "UTF8",
                          options.application_name.c_str(),
                          static_cast<const char*>(nullptr)};
  conn_ = PQconnectStartParams(keywords.data(), values.data(), 1);
  if (!conn_) throw std::bad_alloc();
  if (PQstatus(conn_) == CONNECTION_BAD) co_return give_up(error_of(conn_));

  Deadline deadline(*socket_, options.connect_time_max);
  auto next = PGRES_POLLING_WRITING;
  while (next != PGRES_POLLING_OK) {
    if (next == PGRES_POLLING_FAILED) co_return give_up(error_of(conn_));
    socket_->assign(PQsocket(conn_));  // each poll may have opened another one
    if (next == PGRES_POLLING_WRITING) {
      co_await socket_->wait_writable();
    } else {
      co_await socket_->wait_readable();
    }
    if (!conn_ || deadline.expired()) co_return closed_error(deadline);
    socket_->release();
    next = PQconnectPoll(conn_);
  }
  socket_->assign(PQsocket(conn_));
  co_return Result<void>();
}

Task<void> Connection::flush(Deadline& deadline) {
  for (;;) {
    if (!conn_ || deadline.expired()) co_return closed_error(deadline);
    const int state = PQflush(conn_);
    if (state < 0) co_return give_up(error_of(conn_));
    if (state == 0) co_return Result<void>();
    // The server may itself be waiting for us to read before it reads on.
    co_await socket_->wait_either();
    if (conn_ && !deadline.expired() && PQconsumeInput(conn_) == 0) co_return give_up(error_of(conn_));
  }
}

/// The next result, or null after the last one of a statement.
Task<ResultPtr> Connection::next_result(Deadline& deadline) {
  for (;;) {
    if (!conn_ || deadline.expired()) co_return closed_error(deadline);
    if (!PQisBusy(conn_)) co_return ResultPtr(PQgetResult(conn_));
    if (!has_buffered_input(conn_)) co_await socket_->wait_readable();
    if (!conn_ || deadline.expired()) co_return closed_error(deadline);
    if (PQconsumeInput(conn_) == 0) co_return give_up(error_of(conn_));
  }
}

/// All results of what was sent, up to ReadyForQuery: the last one, or the first error.
Task<ResultPtr> Connection::collect(Deadline& deadline) {
  ResultPtr last;
  std::optional<Error> error;
  for (;;) {
    auto next = co_await next_result(deadline);
    if (!next) co_return next.error();
    if (!*next) break;
    const ExecStatusType status = PQresultStatus(next->get());
    if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
      co_return give_up(Error{errc::rejected, "", "COPY is not a statement for this connection"});
    }
    if (has_failed(next->get()) && !error) error = error_of(next->get());
    last = std::move(*next);
  }
  if (error && !is_open()) co_return give_up(std::move(*error));
  if (error) co_return std::move(*error);
  co_return last;
}

/// The answer to what was sent, whole.
Task<Rows> Connection::receive(bool was_sent, Deadline& deadline) {
  if (!was_sent) co_return give_up(error_of(conn_));
  auto flushed = co_await flush(deadline);
  if (!flushed) co_return flushed.error();
  auto result = co_await collect(deadline);
  if (!result) co_return result.error();
  co_return Rows(std::move(*result));
}

/// The name under which the session knows the statement.
Task<std::string> Connection::prepare(const std::string& sql, Deadline& deadline) {
  if (!conn_) co_return closed_error(deadline);
  const auto known = prepared_.find(sql);
  if (known != prepared_.end()) co_return known->second;
  std::string name = "s" + std::to_string(prepared_.size());
  const bool was_sent = PQsendPrepare(conn_, name.c_str(), sql.c_str(), 0, nullptr) == 1;
  auto done = co_await receive(was_sent, deadline);
  if (!done) co_return done.error();
  prepared_.emplace(sql, name);
  co_return name;
}

Task<Rows> Connection::exec(std::string sql, Params params, std::chrono::milliseconds time_max) {
  Deadline deadline(*socket_, time_max);
  if (!conn_) co_return closed_error(deadline);
  const bool was_sent = send(conn_, sql, params);
  co_return co_await receive(was_sent, deadline);
}

Task<Rows> Connection::exec_prepared(std::string sql, Params params, std::chrono::milliseconds time_max) {
  Deadline deadline(*socket_, time_max);
  auto name = co_await prepare(sql, deadline);
  if (!name) co_return name.error();
  const bool was_sent = send_prepared(conn_, *name, params);
  co_return co_await receive(was_sent, deadline);
}

Task<void> Connection::exec_script(std::string sql, std::chrono::milliseconds time_max) {
  Deadline deadline(*socket_, time_max);
  if (!conn_) co_return closed_error(deadline);
  if (PQsendQuery(conn_, sql.c_str()) != 1) co_return give_up(error_of(conn_));
  auto flushed = co_await flush(deadline);
  if (!flushed) co_return flushed.error();
  auto result = co_await collect(deadline);
  if (!result) co_return result.error();
  co_return Result<void>();
}

Task<std::vector<Rows>> Connection::exec_all(std::vector<Statement> statements, std::chrono::milliseconds time_max) {
  Deadline deadline(*socket_, time_max);
  if (!conn_) co_return closed_error(deadline);
  bool sent = PQenterPipelineMode(conn_) == 1;
  for (const Statement& statement : statements) sent = sent && send(conn_, statement.sql, statement.params);
  co_return co_await receive_all(sent, statements.size(), deadline);
}

Task<std::vector<Rows>> Connection::exec_all_prepared(std::vector<Statement> statements,
                                                      std::chrono::milliseconds time_max) {
  Deadline deadline(*socket_, time_max);
  std::vector<std::string> names;
  for (const Statement& statement : statements) {
    auto name = co_await prepare(statement.sql, deadline);
    if (!name) co_return name.error();
    names.push_back(std::move(*name));
  }
  if (!conn_) co_return closed_error(deadline);
  bool sent = PQenterPipelineMode(conn_) == 1;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    sent = sent && send_prepared(conn_, names[i], statements[i].params);
  }
  co_return co_await receive_all(sent, statements.size(), deadline);
}

/// The answers to so many statements that were sent in a pipeline.
Task<std::vector<Rows>> Connection::receive_all(bool was_sent, std::size_t count, Deadline& deadline) {
  if (!was_sent || PQpipelineSync(conn_) != 1) co_return give_up(error_of(conn_));
  auto flushed = co_await flush(deadline);
  if (!flushed) co_return flushed.error();

  std::vector<Rows> out;
  std::optional<Error> error;
  for (std::size_t i = 0; i < count; ++i) {
    auto result = co_await collect(deadline);
    if (!result && !is_open()) co_return result.error();
    if (!result && !error) error = result.error();
    if (result) out.emplace_back(std::move(*result));
  }
  auto left = co_await leave_pipeline(deadline);
  if (!left) co_return left.error();
  if (error) co_return std::move(*error);
  co_return out;
}

/// Reads the synchronisation point that ends the pipeline.
Task<void> Connection::leave_pipeline(Deadline& deadline) {
  auto end = co_await next_result(deadline);
  if (!end) co_return end.error();
  const bool synchronised = *end && PQresultStatus(end->get()) == PGRES_PIPELINE_SYNC;
  if (!synchronised || PQexitPipelineMode(conn_) != 1) co_return give_up(error_of(conn_));
  co_return Result<void>();
}

Task<void> Connection::stream(std::string sql, Params params, std::function<bool(const Row&)> on_row,
                              std::chrono::milliseconds silence_max, Pace* pace) {
  Deadline deadline(*socket_, silence_max);
  if (!conn_) co_return closed_error(deadline);
  const bool was_sent = send(conn_, sql, params);
  co_return co_await receive_stream(was_sent, on_row, deadline, pace);
}

Task<void> Connection::stream_prepared(std::string sql, Params params, std::function<bool(const Row&)> on_row,
                                       std::chrono::milliseconds silence_max) {
  Deadline deadline(*socket_, silence_max);
  auto name = co_await prepare(sql, deadline);
  if (!name) co_return name.error();
  const bool was_sent = send_prepared(conn_, *name, params);
  co_return co_await receive_stream(was_sent, on_row, deadline);
}

/// The answer to what was sent, row by row.
Task<void> Connection::receive_stream(bool was_sent, const std::function<bool(const Row&)>& on_row, Deadline& deadline,
                                      Pace* pace) {
  if (!was_sent || PQsetSingleRowMode(conn_) != 1) co_return give_up(error_of(conn_));
  auto flushed = co_await flush(deadline);
  if (!flushed) co_return flushed.error();
  std::optional<Error> error;
  for (;;) {
    auto result = co_await next_result(deadline);
    if (!result) co_return result.error();
    if (!*result) break;
    if (PQresultStatus(result->get()) == PGRES_SINGLE_TUPLE) {
      if (!on_row(Row(result->get(), 0)))
        co_return give_up(Error{errc::rejected, "", "the reader of a result gave up"});
      if (pace && pace->is_full()) co_await pace->wait_for_room();
      deadline.progress();
    } else if (has_failed(result->get()) && !error) {
      error = error_of(result->get());
    }
  }
  if (error && !is_open()) co_return give_up(std::move(*error));
  if (error) co_return std::move(*error);
  co_return Result<void>();
}

Task<std::optional<std::string>> Connection::wait_notification(std::chrono::milliseconds time_max) {
  struct FreeNotify {
    void operator()(PGnotify* notify) const { PQfreemem(notify); }
  };
  Deadline deadline(*socket_, time_max);
  for (;;) {
    if (!conn_) co_return closed_error(deadline);
    if (PQconsumeInput(conn_) == 0) co_return give_up(error_of(conn_));
    const std::unique_ptr<PGnotify, FreeNotify> notify(PQnotifies(conn_));
    if (notify) co_return std::optional<std::string>(notify->extra);
    if (deadline.expired()) co_return std::optional<std::string>();
    if (!has_buffered_input(conn_)) co_await socket_->wait_readable();
  }
}

}  // namespace viewgate::ledger::pg
