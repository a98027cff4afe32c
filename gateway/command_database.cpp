#include "gateway/command_database.hpp"

#include <boost/asio/co_spawn.hpp>
#include <exception>

#include "ledger/migrate.hpp"
#include "ledger/preflight.hpp"

namespace viewgate::gateway {
namespace {

namespace pg = ledger::pg;

/// Asked before anything else, so that no Registry is made for a database that cannot be used.
std::string suitable(const std::string& conninfo) {
  if (conninfo.empty()) {
    throw Stop(ExitStatus::config, "--database must say which PostgreSQL, for example postgresql://user@host/name");
  }
  ledger::PreflightOptions options;
  options.fsync_off = ledger::FsyncOff::accept;
  if (const auto checked = ledger::preflight(conninfo, options); !checked) stop_for(checked.error());
  if (const auto migrated = ledger::migrate(conninfo); !migrated) stop_for(migrated.error());
  return conninfo;
}

std::string no_space(const std::string& space) {
  return "the ledger has no space " + space +
         ": nothing was committed there since its tables were captured, or its name is another";
}

}  // namespace

void stop_for(const ledger::Error& error) { throw Stop(exit_status_of(error.code), error.detail); }

void stop_start_for(const ledger::Error& error) {
  constexpr std::string_view insufficient_privilege = "42501";
  if (error.code != ledger::errc::rejected || error.sqlstate != insufficient_privilege) stop_for(error);
  throw Stop(ExitStatus::config, error.detail +
                                     "; let the schema's owner run what `viewgate grants --role` prints for "
                                     "the role of this database");
}

CommandDatabase::CommandDatabase(const std::string& conninfo) : registry_(io_, suitable(conninfo), time_max) {
  options_.conninfo = conninfo;
}

pg::Rows CommandDatabase::exec(std::string sql, pg::Params params) {
  std::optional<ledger::Result<pg::Rows>> out;
  std::exception_ptr thrown;
  const auto ask = [](std::optional<pg::Connection>& connection, pg::ConnectOptions options, std::string statement,
                      pg::Params values) -> pg::Task<pg::Rows> {
    if (!connection->is_open()) {
      auto connected = co_await connection->connect(std::move(options));
      if (!connected) co_return connected.error();
    }
    co_return co_await connection->exec(std::move(statement), std::move(values), time_max);
  };
  if (!connection_) connection_.emplace(io_.get_executor());
  boost::asio::co_spawn(io_, ask(connection_, options_, std::move(sql), std::move(params)),
                        [&](const std::exception_ptr& problem, ledger::Result<pg::Rows> rows) {
                          thrown = problem;
                          out.emplace(std::move(rows));
                        });
  run_until([&] { return out.has_value(); });
  if (thrown) std::rethrow_exception(thrown);
  if (!*out) stop_for(out->error());
  return std::move(**out);
}

bool CommandDatabase::has_commits(const std::string& space) {
  // What waits for its number is there, too, also where no node runs.
  const auto found = exec(
      "select exists (select from viewgate.horizons h where h.space = viewgate.space_key($1)) "
      "or exists (select from viewgate.waiting w where w.space = viewgate.space_key($1))",
      pg::Params(1, space));
  return found[0].boolean(0);
}

bool CommandDatabase::has_rows(const std::string& space) {
  try {
    // A space column without an index is read row by row: not for longer than somebody waits at a terminal.
    exec("set statement_timeout = '5s'", pg::Params());
    const auto tables = exec(
        "select coalesce(string_agg(format(case when a.atttypid = 'text'::regtype then "
        "'exists (select from only %s r where r.%I = wanted.name)' else "
        "'exists (select from only %s r where to_jsonb(r.%I) #>> ''{}'' = wanted.name)' end, c.relation, "
        "c.space_column), ' or ' order by a.atttypid <> 'text'::regtype), 'false') from viewgate.captures c "
        "join pg_attribute a on a.attrelid = c.relation and a.attname = c.space_column and not a.attisdropped "
        "join pg_class k on k.oid = c.relation "
        "where has_table_privilege(c.relation, 'select') and has_schema_privilege(k.relnamespace, 'usage')",
        pg::Params());
    const auto found =
        exec("select " + tables[0].string(0) + " from (select $1::text as name) wanted", pg::Params(1, space));
    return found[0].boolean(0);
  } catch (const Stop&) {  // Too large to be searched, or not for this role to read.
    return false;
  }
}

void CommandDatabase::need_commits(const std::string& space) {
  if (!has_commits(space)) throw Stop(ExitStatus::failed, no_space(space));
}

void CommandDatabase::need_space(const std::string& space) {
  if (!has_commits(space) && !has_rows(space)) throw Stop(ExitStatus::failed, no_space(space));
}

void CommandDatabase::run_until(const std::function<bool()>& done) {
  io_.restart();
  while (!done() && io_.run_one() > 0) {
  }
  if (!done()) throw Stop(ExitStatus::failed, "the database did not answer");
}

}  // namespace viewgate::gateway
