#include "ledger/preflight.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "ledger/pg/connection.hpp"

namespace viewgate::ledger {
namespace {

constexpr int kVersionMin = 130000;

Error unsuitable(std::string detail) { return Error{errc::unsuitable_database, "", std::move(detail)}; }

Error pooler_error(std::string_view mode) {
  return unsuitable("the connection goes through a pooler in " + std::string(mode) +
                    " mode: LISTEN and session settings do not hold there; give the address of PostgreSQL itself, or a "
                    "session-mode pool");
}

pg::Task<ServerFacts> ask_facts(pg::Connection& connection, std::chrono::milliseconds time_max) {
  std::string sql =
      "select current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('fsync')::bool, "
      "pg_encoding_to_char(encoding) from pg_database where datname = current_database()";
  auto rows = co_await connection.exec(std::move(sql), pg::Params(), time_max);
  if (!rows) co_return rows.error();
  const pg::Row row = (*rows)[0];
  ServerFacts facts;
  facts.version = static_cast<int>(row.integer(0));
  facts.is_standby = row.boolean(1);
  facts.has_fsync = row.boolean(2);
  facts.encoding = row.string(3);
  co_return facts;
}

/// Two sessions through the same address. In transaction mode a pooler hands the server connection that the first one
/// has just used to the second one's transaction, so the first finds itself on another one (or waits until the time is
/// up).
pg::Task<void> probe_pooler(pg::Connection& first, pg::Connection& second, std::chrono::milliseconds time_max) {
  auto marked = co_await first.exec("select set_config('viewgate.probe', 'here', false), pg_backend_pid()",
                                    pg::Params(), time_max);
  if (!marked) co_return marked.error();
  auto busy = co_await second.exec_script("begin; select 1", time_max);
  // pgbouncer's words. PostgreSQL itself refuses nobody a transaction.
  if (!busy && busy.error().detail.find("statement pooling") != std::string::npos) co_return pooler_error("statement");
  if (!busy) co_return busy.error();
  auto again =
      co_await first.exec("select current_setting('viewgate.probe', true), pg_backend_pid()", pg::Params(), time_max);
  if (!again && again.error().code == errc::timeout) co_return pooler_error("transaction");
  if (!again) co_return again.error();
  const bool same = (*again)[0].text(0) == "here" && (*again)[0].text(1) == (*marked)[0].text(1);
  if (!same) co_return pooler_error("transaction");
  co_return Result<void>();
}

pg::Task<void> check(boost::asio::any_io_executor executor, std::string conninfo, PreflightOptions options) {
  pg::Connection first(executor);
  pg::Connection second(executor);
  const pg::ConnectOptions connect = pg::connect_options(std::move(conninfo), "viewgate preflight", options.time_max);
  auto connected = co_await first.connect(connect);
  if (!connected) co_return connected.error();
  auto facts = co_await ask_facts(first, options.time_max);
  if (!facts) co_return facts.error();
  if (options.fsync_off == FsyncOff::accept) facts->has_fsync = true;
  if (auto found = obstacle(*facts)) co_return std::move(*found);
  auto also = co_await second.connect(connect);
  if (!also) co_return also.error();
  co_return co_await probe_pooler(first, second, options.time_max);
}

}  // namespace

std::optional<Error> obstacle(const ServerFacts& facts) {
  if (facts.version < kVersionMin) {
    return unsuitable("the server is PostgreSQL " + std::to_string(facts.version / 10000) + ": 13 or newer is needed");
  }
  if (facts.is_standby)
    return unsuitable("the server is a standby and cannot number commits: give the primary's address");
  if (!facts.has_fsync) {
    return unsuitable("the server runs with fsync = off and may lose commits that clients have seen: set fsync = on");
  }
  if (facts.encoding != "UTF8") {
    return unsuitable("the database's encoding is " + facts.encoding + ": one in UTF8 is needed");
  }
  return std::nullopt;
}

Result<void> preflight(const std::string& conninfo, PreflightOptions options) {
  boost::asio::io_context io;
  Result<void> outcome = Error{};
  const auto take = [&outcome](const std::exception_ptr& problem, Result<void> checked) {
    if (problem) std::rethrow_exception(problem);
    outcome = std::move(checked);
  };
  boost::asio::co_spawn(io, check(io.get_executor(), conninfo, options), take);
  try {
    io.run();
  } catch (const Failure& failure) {
    return failure.error();
  }
  return outcome;
}

}  // namespace viewgate::ledger
