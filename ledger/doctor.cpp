#include "ledger/doctor.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <optional>

#include "ledger/grants.hpp"
#include "ledger/migrate.hpp"
#include "ledger/pg/connection.hpp"
#include "ledger/preflight.hpp"

namespace viewgate::ledger {
namespace {

using Level = Finding::Level;

// Each gives rows of (level, text); no row = nothing to say. In the order in which they are told.
struct Check {
  const char* name;
  const char* sql;
};

// A managed database may keep this to itself.
constexpr const char* kCluster = R"(
select 'ok', format('PostgreSQL %s, system %s, timeline %s%s', current_setting('server_version'), s.system_identifier, t.id,
                    case when t.id > 1 then ': it was promoted, or restored to a point in time, before' else '' end)
from pg_control_system() s, (
  -- The one that is written: the control file follows only with the next checkpoint.
  select case when pg_is_in_recovery() then c.timeline_id
              else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int end as id
  from pg_control_checkpoint() c) t)";

constexpr const char* kServer = R"(
select 'warn', format('%s = %s: set it to on', n, current_setting(n))
from unnest('{full_page_writes,autovacuum,track_counts}'::text[]) n where current_setting(n) <> 'on'
union all
select 'warn', format('the default of synchronous_commit is %s: applications may lose their last commits in a crash; what has a number '
                      'is always flushed', s.setting)
from (select coalesce((select split_part(x, '=', 2) from pg_db_role_setting r, unnest(r.setconfig) x
                       where r.setdatabase in (0, (select oid from pg_database where datname = current_database()))
                         and x like 'synchronous_commit=%' limit 1), (select reset_val from pg_settings where name = 'synchronous_commit'))
     ) s(setting) where s.setting in ('off', 'local')
union all
select 'warn', format('prepared transactions are enabled (max_prepared_transactions = %s): captured writers never ring, looks find them',
                      current_setting('max_prepared_transactions')) where current_setting('max_prepared_transactions') <> '0'
union all
select 'warn', format('prepared transaction %L of %s is open since %s: what it wrote has no number until it ends', gid, owner, prepared)
from pg_prepared_xacts where database = current_database() and prepared < now() - interval '10 minutes'
union all
select 'warn', format('a transaction of %s (pid %s, %s) is open for %s: it keeps dead rows alive', coalesce(usename, '?'), pid,
                      coalesce(nullif(application_name, ''), 'unnamed'), now() - xact_start)
from pg_stat_activity where datname = current_database() and xact_start < now() - interval '1 hour')";

// Who takes the write-ahead log; and what of it fills a disk, since somebody who does not come back has asked to keep it.
constexpr const char* kWal = R"(
select 'warn', format('replication slot %L is %s and holds back %s of write-ahead log: drop it if nobody comes back for it', s.slot_name,
                      case when s.active then 'behind' else 'not in use' end, pg_size_pretty(s.held))
from (select slot_name, active, case when pg_is_in_recovery() or restart_lsn is null then 0
                                     else pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) end as held
      from pg_replication_slots) s where s.held > 1024.0 * 1024 * 1024
union all
select 'warn', format('archiving of the write-ahead log fails, last at %s: it stays on the disk until that succeeds', last_failed_time)
from pg_stat_archiver where last_failed_time > coalesce(last_archived_time, '-infinity')
union all
select 'ok', format('standby %s (%s) streams, %s', application_name, coalesce(client_addr::text, 'local'), case when sync_state in ('sync', 'quorum')
                    then 'synchronously: a failover to it loses nothing' else 'asynchronously: a failover to it may lose the last commits' end)
from pg_stat_replication where state = 'streaming')";

constexpr const char* kConnections = R"(
select case when used > 0.8 * most then 'warn' else 'ok' end, format('%s of %s connections in use; a node keeps five and takes up to twenty, thirty with admin.key_file and raw_log.claim', used, most)
from (select count(*) as used, current_setting('max_connections')::int as most from pg_stat_activity where backend_type = 'client backend') c)";

constexpr const char* kCaptures = R"(
select case when k.capture is distinct from 0 and k.state = 'ok' and viewgate.triggers_of(k.relation) is not null then 'ok' else 'fail' end,
       format('%s: %s', k.collection, case when k.state <> 'ok' then k.reason when viewgate.triggers_of(k.relation) is null
              then 'a trigger of it is missing, disabled, or of another database (restored?): viewgate capture, or model apply'
              else 'every write of it is recorded' end)
from viewgate.captures k order by k.collection)";

constexpr const char* kRetention = R"(
select 'warn', 'no rule: every space keeps all its commits; viewgate retention set' where not exists (select from viewgate.retention)
union all
select case when sum(n) > 10000 then 'warn' else 'ok' end, format('%s commits below the horizon are still to be deleted', sum(n))
from (select (select count(*) from (select from viewgate.commits c where c.space = h.space and c.sequence < h.retained_from limit 20000) x)
      from viewgate.horizons h where h.retained_from > 1) u(n) having sum(n) > 0)";

// Whoever keeps a row of the spaces locked keeps numbers from that space, whatever the nodes do; they themselves do so for milliseconds.
constexpr const char* kWaiting = R"(
with waiting as (
  select count(*) as n, min(w.at) as oldest, left((array_agg(w.name order by w.at))[1], 200) as name,
         min(w.at) < now() - interval '1 minute' as late
  from viewgate.waiting w having count(*) > 0
), holders as (
  select string_agg(case when l.pid is null then 'a prepared transaction' else format('process %s (%s)', l.pid,
           concat_ws(', ', nullif(a.application_name, ''), a.usename, a.state, 'since ' || a.xact_start)) end, '; ')
           filter (where l.pid is null or a.xact_start < now() - interval '1 second') as text,
         bool_or(l.pid is not null and a.xact_start is null) as hidden
  from (select distinct l.pid from pg_locks l
        where l.relation = 'viewgate.horizons'::regclass and l.mode in ('RowShareLock', 'RowExclusiveLock') and l.granted
          and l.database = (select d.oid from pg_database d where d.datname = current_database())) l
  left join pg_stat_activity a on a.pid = l.pid
)
select case when w.late then 'warn' else 'ok' end,
       concat(format('%s transactions wait for their numbers, the oldest, of space %L, began at %s', w.n, w.name, w.oldest),
              case when w.late then coalesce(': rows of spaces are locked by ' || h.text, concat(': does a node run?', case when h.hidden
                then ' Sessions that lock rows of spaces are shown to members of pg_read_all_stats' end)) end)
from waiting w cross join holders h)";

// The newest commits of the spaces that have most: none missing, none without a stamp, as many changes as they say.
constexpr const char* kLog = R"(
with spaces as materialized (select s.* from viewgate.spaces s where s.head >= s.retained_from order by s.head desc limit 500),
newest as materialized (
  select c.* from spaces s cross join lateral (
    select k.* from viewgate.commits k where k.space = s.space and k.sequence >= s.retained_from order by k.sequence desc limit 2000) c
), wrong as (
  select format('space %L: of commits %s to %s %s are missing', s.name, min(n.sequence), s.head, s.head - min(n.sequence) + 1 - count(*)) as text
  from spaces s join newest n on n.space = s.space group by s.space, s.name, s.head
  having s.head - min(n.sequence) + 1 <> count(*)
  union all
  select format('space %L: commit %s has no stamp', n.space, n.sequence) from newest n where n.stamp = 0
  union all
  select format('space %L: its horizon is %s, and the stamp before it is not kept', h.name, h.retained_from)
  from viewgate.horizons h where h.retained_from > 1 and coalesce(h.base_stamp, 0) = 0
  union all
  select format('space %L: commit %s has %s changes and says %s', n.space, n.sequence, d.found, n.changes)
  from (select * from newest n where n.changes <= 500 order by n.sequence desc limit 5000) n
  cross join lateral (select count(*) as found from viewgate.changes h where h.space = n.space and h.part = n.part) d
  where d.found <> n.changes
)
select 'fail', w.text from (select * from wrong limit 10) w
union all
select 'ok', format('%s spaces, %s commits looked at: numbers without gaps, stamps and changes are there',
                    (select count(*) from spaces), (select count(*) from newest)) where not exists (select from wrong))";

// Each change begins where the one before it in its record's history has ended, but for what explains that it does not:
//   * the table was captured (anew) after the writer of the one began and before the other was numbered: the rows went with a table
//     that was dropped, or were written while nobody looked. A break at that very step is not found.
//   * a change of the table's definition: columns that there are no more, and columns whose catalog rows, or the labels or
//     attributes of whose types, were written since the one was (they are new, or their type or name is). Not by a transaction that
//     had its identifier before and altered later. In a log of another cluster that cannot be told: there a column may have come.
constexpr const char* kHistory = R"(
with recursive spaces as (
  select s.name, greatest(s.head - 500, s.retained_from - 1) as after from viewgate.spaces s
  where s.head >= s.retained_from order by s.head desc limit 100
), told as (
  select l.space, l.sequence, l.collection, l.key, l.kind, l.before, lag(l.after) over w as state, lag(l.kind) over w as kind_before,
         lag(l.sequence) over w as sequence_before
  from viewgate.read_log((select array_agg(name) from spaces), (select array_agg(after) from spaces), 5000) l
  where l.ordinal >= 0 window w as (partition by l.space, l.collection, l.key order by l.sequence, l.ordinal)
), torn as materialized (
  select t.* from told t
  where t.kind_before is not null and t.kind_before <> 'e' and t.kind <> 'e' and t.before is distinct from t.state
), judged as materialized (
  select t.*, k.relation, coalesce(c.at < k.captured_at and l.numbered_at >= k.captured_at, false) as is_anew,
         case when age(c.numbered::xid) < 0 then age(c.numbered::xid) else greatest(age(c.numbered::xid), age(h.xmin)) end as since
  from torn t
  join viewgate.commits c on c.space = viewgate.space_key(t.space) and c.sequence = t.sequence_before
  join viewgate.commits l on l.space = c.space and l.sequence = t.sequence
  left join viewgate.captures k on k.collection = t.collection
  left join lateral (select x.xmin from viewgate.changes x where x.space = c.space and x.part = c.part order by x.counter limit 1) h on true
), used(attrelid, attnum, type) as (
  select a.attrelid, a.attnum, a.atttypid from pg_attribute a
  where a.attrelid in (select j.relation from judged j) and a.attnum > 0 and not a.attisdropped
  union
  select u.attrelid, u.attnum, x.type from used u join pg_type t on t.oid = u.type cross join lateral (
    select t.typelem union all select t.typbasetype union all select a.atttypid from pg_attribute a where a.attrelid = t.typrelid
    union all select r.rngsubtype from pg_range r where r.rngtypid = t.oid) x(type)
  where t.typnamespace <> 'pg_catalog'::regnamespace
), wrong as (
  select j.* from judged j where not j.is_anew and (j.before is null or j.state is null or j.relation is null or exists (
    select from jsonb_each(j.state::jsonb) s(name, value) full join jsonb_each(j.before::jsonb) b(name, value) using (name)
    join pg_attribute a on a.attrelid = j.relation and a.attname = name and not a.attisdropped
    join pg_attribute made on made.attrelid = j.relation and made.attnum = -1  -- of a system column: written when the table was made
    where s.value::text is distinct from b.value::text
      and (age(a.xmin) > j.since or age(a.xmin) = j.since and a.xmin = made.xmin)
      and not (j.since < 0 and (s.value is null or b.value is null))
      and not exists (
        select from used u join pg_type t on t.oid = u.type
        left join pg_enum e on e.enumtypid = t.oid and strpos(b.value::text, to_json(e.enumlabel::text)::text) > 0
        left join pg_attribute p on p.attrelid = t.typrelid and p.attnum > 0
        where u.attrelid = a.attrelid and u.attnum = a.attnum and t.typnamespace <> 'pg_catalog'::regnamespace
          and (age(e.xmin) < j.since or age(e.xmin) = j.since and e.xmin <> t.xmin or age(p.xmin) < j.since))))
), explained as (
  select (select count(*) from judged j where not j.is_anew) - (select count(*) from wrong) as altered,
         (select count(*) from judged j where j.is_anew) as anew)
select 'fail', format('space %L, commit %s: the change of %s %s does not begin where the one before it ended', w.space, w.sequence, w.collection, w.key)
from (select * from wrong limit 10) w
union all
select 'ok', concat(format('%s changes looked at: each begins where the one before it ended', (select count(*) from told)),
                    case when e.altered > 0 then format(', %s of them but for columns that came, went or got another type in between', e.altered) end,
                    case when e.anew > 0 then format(', and %s follow one from before their table was captured anew', e.anew) end)
from explained e where not exists (select from wrong))";

constexpr const char* kClock = R"(
select 'warn', format('space %L has commits that were numbered in the future (%s): the clock was set back; they are kept for longer', h.name, c.numbered_at)
from viewgate.horizons h cross join lateral (
  select k.numbered_at from viewgate.commits k where k.space = h.space order by k.sequence desc limit 1) c
where c.numbered_at > clock_timestamp() + interval '1 minute' limit 5)";

// What identifiers of transactions tell: those of another cluster came with a dump.
constexpr const char* kOrigin = R"(
select 'warn', 'the log was made in another cluster (restored from a dump): clients whose cursors it does not know start anew '
               '(history_diverged), captured tables must be captured again'
where exists (select from viewgate.commits c where c.numbered > pg_snapshot_xmax(pg_current_snapshot())))";

// $1: what the ledger may take, in bytes; 0: nobody has said. Of the spaces only those that keep most: the pace of a million quiet
// ones is nobody's trouble.
constexpr const char* kDisk = R"(
with size as (
  select sum(pg_total_relation_size(relid)) as bytes, sum(n_live_tup) as live, sum(n_dead_tup) as dead,
         sum(pg_total_relation_size(relid)) filter (where relname in ('commits', 'changes'))
           / greatest(1, max(n_live_tup + n_dead_tup) filter (where relname = 'commits')) as per_commit
  from pg_stat_user_tables where schemaname = 'viewgate'
), kept as materialized (
  select s.space, s.name, s.head - s.retained_from + 1 as commits from viewgate.spaces s
  where s.head >= s.retained_from order by s.head - s.retained_from desc limit 20
), pace as materialized (
  select k.name, k.commits, d.commits as of_day from kept k cross join lateral (
    select count(*) filter (where n.numbered_at > now() - interval '1 day') as commits
    from (select c.numbered_at from viewgate.commits c where c.space = k.space order by c.sequence desc limit 100000) n) d
), day as (select coalesce(sum(p.of_day), 0) as commits from pace p)
select case when $1::numeric > 0 and s.bytes >= $1::numeric then 'fail'
            when $1::numeric > 0 and s.bytes >= 0.8 * $1::numeric or s.dead > 1000000 and s.dead > s.live then 'warn' else 'ok' end,
       concat(format('the ledger takes %s', pg_size_pretty(s.bytes)),
              case when $1::numeric > 0 then format(' of the %s that it may', pg_size_pretty($1::numeric)) end,
              format('; %s live rows, %s dead', s.live, s.dead),
              case when d.commits > 0 then format('; about %s a day from %s commits', pg_size_pretty(d.commits * s.per_commit), d.commits) end,
              case when d.commits > 0 and $1::numeric > s.bytes and s.per_commit > 0 then
                format(': what is left is for %s days if nothing is pruned', round(($1::numeric - s.bytes) / (d.commits * s.per_commit), 1)) end,
              case when $1::numeric = 0 then '; nobody has said how much it may take (ledger.disk_bytes)' end)
from size s, day d
union all
select 'ok', format('space %L keeps %s commits, about %s, and had %s in the last day', p.name, p.commits,
                    pg_size_pretty(p.commits * s.per_commit), p.of_day)
from (select * from pace p where p.commits >= 1000 order by p.commits desc limit 3) p, size s)";

constexpr Check kLedgerChecks[] = {{"captures", kCaptures},  {"log", kLog},         {"history", kHistory},
                                   {"origin", kOrigin},      {"waiting", kWaiting}, {"clock", kClock},
                                   {"retention", kRetention}};

class Doctor {
 public:
  Doctor(const boost::asio::any_io_executor& executor, std::string conninfo, ExamineOptions options)
      : connection_(executor), other_(executor), conninfo_(std::move(conninfo)), options_(options) {}

  pg::Task<void> run() {
    auto connected = co_await connect(connection_);
    if (!connected) co_return connected.error();
    auto clock = co_await compare_clocks();
    if (!clock) co_return clock.error();
    co_await ask("cluster", kCluster, Level::warn);
    co_await ask("server", kServer);
    co_await ask("connections", kConnections);
    co_await ask("wal", kWal, Level::warn);
    auto wakeups = co_await try_wakeups();
    if (!wakeups) co_return wakeups.error();
    std::string there = "select to_regclass('viewgate.schema_version') is not null";
    auto rows = co_await connection_.exec(std::move(there), pg::Params(), options_.time_max);
    if (!rows) co_return rows.error();
    has_ledger_ = (*rows)[0].boolean(0);
    co_return Result<void>();
  }

  pg::Task<void> examine_ledger() {
    const std::string roles = examine_roles_sql();
    co_await ask("roles", roles.c_str());
    for (const Check& check : kLedgerChecks) co_await ask(check.name, check.sql);
    pg::Params budget;
    budget.emplace_back(std::to_string(options_.disk_bytes));
    co_await ask("disk", kDisk, Level::fail, std::move(budget));
    co_return Result<void>();
  }

  [[nodiscard]] bool has_ledger() const { return has_ledger_; }
  void tell(Level level, std::string check, std::string text) {
    findings_.push_back(Finding{level, std::move(check), std::move(text)});
  }
  [[nodiscard]] std::vector<Finding>& findings() { return findings_; }

 private:
  pg::Task<void> connect(pg::Connection& connection) {
    return connection.connect(pg::connect_options(conninfo_, "viewgate doctor", options_.time_max));
  }

  /// A check that fails to be asked is a finding itself.
  boost::asio::awaitable<void> ask(const char* name, const char* sql, Level refused = Level::fail,
                                   pg::Params params = {}) {
    std::string text = sql;
    auto rows = co_await connection_.exec(std::move(text), std::move(params), options_.time_max);
    if (!rows) {
      tell(refused, name, "it could not be looked at: " + rows.error().detail);
      co_return;
    }
    for (int i = 0; i < rows->size(); ++i) {
      const auto row = (*rows)[i];
      const Level level = row.text(0) == "ok" ? Level::ok : row.text(0) == "warn" ? Level::warn : Level::fail;
      tell(level, name, row.string(1));
    }
  }

  pg::Task<void> compare_clocks() {
    std::string sql = "select extract(epoch from clock_timestamp())::float8";
    auto rows = co_await connection_.exec(std::move(sql), pg::Params(), options_.time_max);
    if (!rows) co_return rows.error();
    const double there = std::strtod((*rows)[0].string(0).c_str(), nullptr);
    const double here = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const double seconds = there - here;
    const bool differs = seconds > 2 || seconds < -2;
    tell(differs ? Level::warn : Level::ok, "clock",
         differs ? "the database's clock is " + std::to_string(seconds) +
                       " s ahead of this machine's: expiry of tokens goes by ours"
                 : "the database's clock is this machine's, within 2 s");
    co_return Result<void>();
  }

  /// As a node hears it: LISTEN on one connection, NOTIFY on another.
  pg::Task<void> try_wakeups() {
    auto connected = co_await connect(other_);
    if (!connected) co_return connected.error();
    auto listens = co_await connection_.exec_script("listen viewgate_doctor", options_.time_max);
    if (!listens) co_return listens.error();
    std::string notify = "select pg_notify('viewgate_doctor', 'heard')";
    auto sent = co_await other_.exec(std::move(notify), pg::Params(), options_.time_max);
    if (!sent) co_return sent.error();
    auto heard = co_await connection_.wait_notification(
        std::min<std::chrono::milliseconds>(options_.time_max, std::chrono::seconds(5)));
    if (!heard) co_return heard.error();
    tell(*heard ? Level::ok : Level::warn, "wake-ups",
         *heard ? "a notification arrives"
                : "a notification does not arrive: commits are found by looks alone, up to a second later when idle");
    other_.close();
    co_return Result<void>();
  }

  pg::Connection connection_;
  pg::Connection other_;
  const std::string conninfo_;
  const ExamineOptions options_;
  std::vector<Finding> findings_;
  bool has_ledger_ = false;
};

Result<void> wait(boost::asio::io_context& io, pg::Task<void> task) {
  Result<void> outcome = Error{};
  boost::asio::co_spawn(io, std::move(task), [&outcome](const std::exception_ptr& problem, Result<void> done) {
    if (problem) std::rethrow_exception(problem);
    outcome = std::move(done);
  });
  io.restart();
  try {
    io.run();
  } catch (const Failure& failure) {
    return failure.error();
  }
  return outcome;
}

}  // namespace

Result<std::vector<Finding>> examine(const std::string& conninfo, ExamineOptions options) {
  boost::asio::io_context io(1);
  Doctor doctor(io.get_executor(), conninfo, options);
  PreflightOptions fitness;
  fitness.time_max = options.time_max;
  // Each of its obstacles would keep a node from starting; the rest may still be worth knowing.
  if (const auto fit = preflight(conninfo, fitness); fit) {
    doctor.tell(Level::ok, "preflight", "a node would start: a primary with fsync, UTF8, no transaction pooler");
  } else if (fit.error().code == errc::unsuitable_database) {
    doctor.tell(Level::fail, "preflight", fit.error().detail);
  } else {
    return fit.error();
  }
  if (auto asked = wait(io, doctor.run()); !asked) return asked.error();
  const auto version = schema_version_of(conninfo);
  if (!version) {
    doctor.tell(Level::fail, "schema", version.error().detail);
  } else if (!doctor.has_ledger()) {
    doctor.tell(Level::warn, "schema", "there is no ledger here yet: viewgate migrate, or serve, makes it");
  } else {
    doctor.tell(*version == schema_version() ? Level::ok : Level::fail, "schema",
                "version " + std::to_string(*version) + ", and this program's is " + std::to_string(schema_version()));
    if (auto asked = wait(io, doctor.examine_ledger()); !asked) return asked.error();
  }
  return std::move(doctor.findings());
}

}  // namespace viewgate::ledger
