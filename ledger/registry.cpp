#include "ledger/registry.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>

#include "ledger/pg/pool.hpp"
#include "ledger/settled.hpp"
#include "ledger/spawn.hpp"

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;

constexpr const char* kModel = "select version, text, hash from viewgate.model";

constexpr const char* kCaptures =
    "select k.collection, n.nspname, c.relname, k.capture, k.space_column, case when k.state = 'ok' then '' else "
    "coalesce(k.reason, 'unknown') end from viewgate.captures k join pg_class c on c.oid = k.relation "
    "join pg_namespace n on n.oid = c.relnamespace order by k.collection";

constexpr const char* kKeys = "select id, encode(secret, 'hex') from viewgate.keys order by id";

constexpr const char* kFirstKey =
    "insert into viewgate.keys (id, secret) select 1, decode($1, 'hex') where not exists (select from viewgate.keys) "
    "on conflict do nothing";

// One row per column; a table that does not exist gives none.
constexpr const char* kColumns =
    "with named as materialized (select w.place, c.oid from unnest($1::text[], $2::text[]) with ordinality "
    "w(schema, name, place) join pg_namespace n on n.nspname = w.schema "
    "join pg_class c on c.relnamespace = n.oid and c.relname = w.name), "
    "marked as materialized (select w.place, w.oid, m.name, m.mark from named w "
    "cross join lateral viewgate.column_marks(w.oid) m) "
    "select w.place, a.attname, case when t.typnamespace = 'pg_catalog'::regnamespace then t.typname::text "
    "else format_type(a.atttypid, null) end, coalesce(l.collisdeterministic, true), "
    "coalesce((select k.nth from pg_constraint p cross join unnest(p.conkey) with ordinality k(attnum, nth) "
    "where p.conrelid = w.oid and p.contype = 'p' and k.attnum = a.attnum), 0), "
    "coalesce((select string_agg(encode(convert_to(e.enumlabel, 'UTF8'), 'hex'), ',' order by e.enumsortorder) "
    "from pg_enum e where e.enumtypid in (t.oid, t.typelem)), ''), a.attnotnull, w.mark "
    "from marked w join pg_attribute a on a.attrelid = w.oid and a.attname = w.name "
    "join pg_type t on t.oid = a.atttypid left join pg_collation l on l.oid = a.attcollation "
    "order by w.place, a.attnum";

// Tables are named by people, who leave out `public`; our sessions' search_path does not have it.
// A name with a schema is looked for there alone; PostgreSQL would take a third part for another database's.
constexpr const char* kResolve = R"(
select case length(regexp_replace(regexp_replace($1, '"[^"]*"', '', 'g'), '[^.]', '', 'g'))  -- the dots outside of quotes
       when 0 then coalesce(to_regclass($1), to_regclass('public.' || $1))
       when 1 then to_regclass($1) end::oid)";

constexpr const char* kApplyModel = "select viewgate.apply_model($1, $2, $3)";

std::string random_hex() {
  std::array<unsigned char, 32> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw Failure(Error{errc::rejected, "", "this machine gives no random bytes for a cursor key"});
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string bytes_of_hex(std::string_view hex) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out += static_cast<char>(value(hex[i]) * 16 + value(hex[i + 1]));
  }
  return out;
}

/// From hexadecimal, since a label may hold any character, the comma too.
std::vector<std::string> labels_of(std::string_view joined) {
  std::vector<std::string> out;
  while (!joined.empty()) {
    const std::size_t comma = std::min(joined.find(','), joined.size());
    out.push_back(bytes_of_hex(joined.substr(0, comma)));
    joined.remove_prefix(std::min(comma + 1, joined.size()));
  }
  return out;
}

std::optional<ModelInForce> model_of(const pg::Rows& rows) {
  if (rows.empty()) return std::nullopt;
  return ModelInForce{rows[0].integer(0), rows[0].string(1), rows[0].string(2)};
}

std::vector<TableShape> shapes_of(const pg::Rows& rows,
                                  const std::vector<std::pair<std::string, std::string>>& tables) {
  std::vector<TableShape> out;
  out.reserve(tables.size());
  for (const auto& [schema, table] : tables) out.push_back(TableShape{schema, table, {}, {}});
  for (int i = 0; i < rows.size(); ++i) {
    const pg::Row row = rows[i];
    TableShape& shape = out[static_cast<std::size_t>(row.integer(0) - 1)];
    shape.columns.push_back(TableColumn{row.string(1), row.string(2), row.boolean(3), labels_of(row.string(5)),
                                        row.boolean(6), row.string(7)});
    const auto place = static_cast<std::size_t>(row.integer(4));
    if (place == 0) continue;
    if (shape.primary_key.size() < place) shape.primary_key.resize(place);
    shape.primary_key[place - 1] = row.string(1);
  }
  return out;
}

}  // namespace

class Registry::Work : public std::enable_shared_from_this<Work> {
 public:
  Work(asio::io_context& io, std::string conninfo, std::chrono::milliseconds time_max)
      : executor_(io.get_executor()),
        time_max_(time_max),
        pool_(executor_, pg::connect_options(std::move(conninfo), "viewgate registry", time_max), 1) {}

  void stop() {
    stopped_ = true;
    pool_.close();
  }

  /// Runs the question on the connection and tells its answer, unless stopped meanwhile.
  template <class T>
  void start(std::function<pg::Task<T>(Work&, pg::Connection&)> question, Done<T> done) {
    spawn(executor_, run<T>(shared_from_this(), std::move(question), std::move(done)));
  }

  pg::Task<RegistryState> read(pg::Connection& connection);
  pg::Task<std::vector<TableShape>> describe(pg::Connection& connection,
                                             std::vector<std::pair<std::string, std::string>> tables);
  pg::Task<ModelInForce> apply_model(pg::Connection& connection, pg::Params params);
  pg::Task<std::int64_t> capture(pg::Connection& connection, std::string table, std::string space_column);
  pg::Task<void> uncapture(pg::Connection& connection, std::string table);

 private:
  template <class T>
  static asio::awaitable<void> run(std::shared_ptr<Work> self,
                                   std::function<pg::Task<T>(Work&, pg::Connection&)> question, Done<T> done) {
    Result<T> outcome = co_await settled(self->ask_leased<T>(question));
    if (!self->stopped_) done(std::move(outcome));
  }

  template <class T>
  pg::Task<T> ask_leased(const std::function<pg::Task<T>(Work&, pg::Connection&)>& question) {
    // Several may wait for the one connection: each of the others may take its time.
    auto lease = co_await pool_.acquire(10 * time_max_);
    if (!lease) co_return lease.error();
    co_return co_await question(*this, **lease);
  }

  pg::Task<std::string> resolve(pg::Connection& connection, std::string table);
  pg::Task<pg::Rows> ask(pg::Connection& connection, const char* sql, pg::Params params = {}) {
    return connection.exec(sql, std::move(params), time_max_);
  }

  asio::any_io_executor executor_;
  const std::chrono::milliseconds time_max_;
  pg::Pool pool_;
  bool stopped_ = false;
};

pg::Task<RegistryState> Registry::Work::read(pg::Connection& connection) {
  auto checked = co_await ask(connection, "select count(*) from viewgate.check_captures()");
  if (!checked) co_return checked.error();
  pg::Params fresh;
  fresh.emplace_back(random_hex());
  auto made = co_await ask(connection, kFirstKey, std::move(fresh));
  if (!made) co_return made.error();

  std::vector<pg::Statement> statements(5);
  statements[0].sql = "begin isolation level repeatable read read only";
  statements[1].sql = kModel;
  statements[2].sql = kCaptures;
  statements[3].sql = kKeys;
  statements[4].sql = "commit";
  auto rows = co_await connection.exec_all(std::move(statements), time_max_);
  if (!rows) co_return rows.error();
  RegistryState out;
  out.model = model_of((*rows)[1]);
  const pg::Rows& captures = (*rows)[2];
  for (int i = 0; i < captures.size(); ++i) {
    const pg::Row row = captures[i];
    out.captures.push_back(
        Capture{row.string(0), row.string(1), row.string(2), row.integer(3), row.string(4), row.string(5)});
  }
  const pg::Rows& keys = (*rows)[3];
  for (int i = 0; i < keys.size(); ++i) {
    out.keys.push_back(CursorKey{static_cast<int>(keys[i].integer(0)), bytes_of_hex(keys[i].text(1))});
  }
  co_return out;
}

pg::Task<std::vector<TableShape>> Registry::Work::describe(pg::Connection& connection,
                                                           std::vector<std::pair<std::string, std::string>> tables) {
  std::vector<std::string> schemas;
  std::vector<std::string> names;
  for (const auto& [schema, table] : tables) {
    schemas.push_back(schema);
    names.push_back(table);
  }
  pg::Params params;
  params.emplace_back(pg::array_text(schemas));
  params.emplace_back(pg::array_text(names));
  auto rows = co_await ask(connection, kColumns, std::move(params));
  if (!rows) co_return rows.error();
  co_return shapes_of(*rows, tables);
}

pg::Task<ModelInForce> Registry::Work::apply_model(pg::Connection& connection, pg::Params params) {
  auto applied = co_await ask(connection, kApplyModel, std::move(params));
  if (!applied) co_return applied.error();
  auto rows = co_await ask(connection, kModel);
  if (!rows) co_return rows.error();
  auto model = model_of(*rows);
  if (!model) co_return Error{errc::rejected, "", "the model that was just applied is gone: somebody deleted it"};
  co_return std::move(*model);
}

pg::Task<std::string> Registry::Work::resolve(pg::Connection& connection, std::string table) {
  pg::Params params;
  params.emplace_back(table);
  auto rows = co_await ask(connection, kResolve, std::move(params));
  if (!rows) co_return rows.error();
  if ((*rows)[0].is_null(0))
    co_return Error{errc::not_capturable, "", "there is no table " + table + " in the database"};
  co_return (*rows)[0].string(0);
}

pg::Task<std::int64_t> Registry::Work::capture(pg::Connection& connection, std::string table,
                                               std::string space_column) {
  auto relation = co_await resolve(connection, std::move(table));
  if (!relation) co_return relation.error();
  pg::Params params;
  params.emplace_back(std::move(*relation));
  params.emplace_back(std::move(space_column));
  auto rows = co_await ask(connection, "select viewgate.capture($1::oid::regclass, $2)", std::move(params));
  if (!rows) co_return rows.error();
  co_return (*rows)[0].integer(0);
}

pg::Task<void> Registry::Work::uncapture(pg::Connection& connection, std::string table) {
  auto relation = co_await resolve(connection, std::move(table));
  if (!relation) co_return relation.error();
  pg::Params params;
  params.emplace_back(std::move(*relation));
  auto rows = co_await ask(connection, "select viewgate.uncapture($1::oid::regclass)", std::move(params));
  if (!rows) co_return rows.error();
  co_return Result<void>();
}

Registry::Registry(asio::io_context& io, std::string conninfo, std::chrono::milliseconds time_max)
    : work_(std::make_shared<Work>(io, std::move(conninfo), time_max)) {}

Registry::~Registry() { stop(); }

void Registry::stop() { work_->stop(); }

void Registry::read(Done<RegistryState> done) {
  work_->start<RegistryState>([](Work& work, pg::Connection& connection) { return work.read(connection); },
                              std::move(done));
}

void Registry::describe(std::vector<std::pair<std::string, std::string>> tables, Done<std::vector<TableShape>> done) {
  work_->start<std::vector<TableShape>>(
      [tables = std::move(tables)](Work& work, pg::Connection& connection) {
        return work.describe(connection, tables);
      },
      std::move(done));
}

void Registry::apply_model(std::string text, std::string hash, const DeclaredGroups& groups, Done<ModelInForce> done) {
  pg::Params params;
  params.emplace_back(std::move(text));
  params.emplace_back(std::move(hash));
  params.emplace_back(declaration_of(groups));
  work_->start<ModelInForce>(
      [params = std::move(params)](Work& work, pg::Connection& connection) {
        return work.apply_model(connection, params);
      },
      std::move(done));
}

void Registry::capture(std::string table, std::string space_column, Done<std::int64_t> done) {
  work_->start<std::int64_t>(
      [table = std::move(table), space_column = std::move(space_column)](Work& work, pg::Connection& connection) {
        return work.capture(connection, table, space_column);
      },
      std::move(done));
}

void Registry::uncapture(std::string table, Done<void> done) {
  work_->start<void>(
      [table = std::move(table)](Work& work, pg::Connection& connection) { return work.uncapture(connection, table); },
      std::move(done));
}

}  // namespace viewgate::ledger
