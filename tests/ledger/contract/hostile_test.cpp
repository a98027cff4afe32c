// Every promise again, in databases that carry settings which change durability, isolation, name lookup, time limits, plans,
// or how values are read and printed. Goal: whatever an operator has set for a role or a database, the promises hold, or what
// cannot be done is refused by name. Method: the setting stands before the ledger is made, for the database or for the role in
// it; the ledger's sessions and those of the back-end both start with it.
#include "ledger/contract/postgres_adapter.hpp"
#include "ledger/contract/promises.hpp"
#include "ledger/contract/steps.hpp"
#include "ledger/migrate.hpp"
#include "ledger/sql_log.hpp"

namespace viewgate::testing {
namespace {

/// What a role may find before PostgreSQL's own: types of other meaning, and functions and operators that say that they were
/// called.
constexpr const char* kTraps = R"(
  create schema trap;
  create domain trap.text as int4; create domain trap.bigint as bool; create domain trap.jsonb as bool;
  create domain trap.int4 as bool; create domain trap.name as bool; create domain trap.timestamptz as bool;
  create view trap.pg_class as select 1 as one; create view trap.pg_attribute as select 1 as one;
  create view trap.pg_trigger as select 1 as one; create view trap.pg_namespace as select 1 as one;
  create table trap.commits (one int); create table trap.waiting (one int);
  do $do$
  declare
    each text;
  begin
    foreach each in array array['text, text', 'int8, int8', 'int8, int4', 'xid8, xid8', 'jsonb, text'] loop
      each := 'pg_catalog.' || replace(each, ', ', ', pg_catalog.');
      execute format('create function trap.trapped(%s) returns boolean language plpgsql as $f$ begin raise exception ''trapped''; end $f$', each);
      execute format('create operator trap.= (leftarg = %s, rightarg = %s, function = trap.trapped)',
                     split_part(each, ', ', 1), split_part(each, ', ', 2));
      execute format('create operator trap.< (leftarg = %s, rightarg = %s, function = trap.trapped)',
                     split_part(each, ', ', 1), split_part(each, ', ', 2));
      execute format('create operator trap.->> (leftarg = %s, rightarg = %s, function = trap.trapped)',
                     split_part(each, ', ', 1), split_part(each, ', ', 2));
    end loop;
    foreach each in array array['now()', 'pg_current_xact_id()', 'nextval(regclass)', 'clock_timestamp()', 'sha256(bytea)',
                                'set_config(pg_catalog.text, pg_catalog.text, boolean)', 'current_setting(pg_catalog.text)',
                                'current_setting(pg_catalog.text, boolean)', 'octet_length(pg_catalog.text)',
                                'gen_random_uuid()', 'to_jsonb(anyelement)', 'pg_current_snapshot()',
                                'jsonb_typeof(pg_catalog.jsonb)', 'pg_sequence_last_value(regclass)'] loop
      execute format('create function trap.%s returns boolean language plpgsql as $f$ begin raise exception ''trapped''; end $f$', each);
    end loop;
  end $do$)";

struct Hostile {
  const char* name;
  std::vector<const char*> settings;
  const char* back_end =
      "";  ///< settings that the back-end takes back, for what would only keep it from writing at all
};

const std::vector<Hostile>& hostile() {
  static const std::vector<Hostile> all{
      {"serializable",
       {"default_transaction_isolation = serializable", "default_transaction_deferrable = on"},
       "-c default_transaction_isolation=repeatable\\\\ read"},  // or it would be told to try again, as any such transaction
      {"repeatable_read", {"default_transaction_isolation = 'repeatable read'"}},
      {"read_only", {"default_transaction_read_only = on"}, "-c default_transaction_read_only=off"},
      {"without_durability", {"synchronous_commit = off"}},
      {"names", {"search_path = trap, pg_catalog, public"}},
      {"time_limits",
       {"statement_timeout = 100", "lock_timeout = 50", "idle_in_transaction_session_timeout = 100",
        "idle_session_timeout = 2000"},
       "-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0"},
      {"printing",
       {"datestyle = 'German'", "intervalstyle = 'iso_8601'", "timezone = 'Asia/Kathmandu'", "extra_float_digits = -15",
        "bytea_output = 'escape'", "lc_monetary = 'C.UTF-8'", "lc_numeric = 'C.UTF-8'", "lc_time = 'C.UTF-8'",
        "client_encoding = 'LATIN1'", "xmlbinary = 'hex'", "xmloption = 'document'"}},
      {"parsing",
       {"standard_conforming_strings = off", "escape_string_warning = on", "backslash_quote = off", "array_nulls = off",
        "transform_null_equals = on", "quote_all_identifiers = on"}},
      {"replica", {"session_replication_role = replica"}},
      {"errors",
       {"exit_on_error = on", "plpgsql.extra_errors = 'all'", "plpgsql.variable_conflict = 'use_variable'",
        "client_min_messages = 'error'"},
       "-c exit_on_error=off"},
      {"objects",
       {"check_function_bodies = off", "default_table_access_method = 'heap'", "default_tablespace = 'pg_default'",
        "row_security = off", "default_toast_compression = 'pglz'"}},
      {"plans",
       {"enable_indexscan = off", "enable_indexonlyscan = off", "enable_bitmapscan = off", "enable_nestloop = off",
        "enable_hashjoin = off", "enable_sort = off", "enable_material = off", "enable_hashagg = off",
        "plan_cache_mode = force_custom_plan", "force_parallel_mode = on", "parallel_setup_cost = 0",
        "from_collapse_limit = 1", "join_collapse_limit = 1", "work_mem = '64kB'"}},
      {"ours", {"viewgate.rewriting = 'prune'", "viewgate.pruning_through = '9'", "viewgate.fields = 'no object'"}},
      {"ours_of_erasing", {"viewgate.rewriting = 'erase'"}},
  };
  return all;
}

class HostileDatabase : public ::testing::TestWithParam<Hostile> {
 protected:
  /// Every second one carries its settings for the role.
  HostileDatabase() : conninfo_(PostgresCluster::shared().create_empty_database()) {
    PgSession admin(conninfo_);
    if (std::string_view(GetParam().name) == "names") admin.run(kTraps);
    static int databases = 0;
    const std::string name = admin.value("select current_database()");
    const std::string whose = ++databases % 2 == 0 ? "role postgres in database " + name : "database " + name;
    for (const char* setting : GetParam().settings) admin.run("alter " + whose + " set " + setting);
  }

  [[nodiscard]] std::string back_end() const {
    return std::string_view(GetParam().back_end).empty() ? conninfo_
                                                         : conninfo_ + " options='" + GetParam().back_end + "'";
  }

  const std::string conninfo_;
};

TEST_P(HostileDatabase, keeps_every_promise) {
  const auto migrated = ledger::migrate(conninfo_);
  ASSERT_TRUE(migrated) << migrated.error().detail;
  PostgresAdapter ledger(PostgresCluster::shared(), conninfo_, back_end());
  ledger.declare(suite_groups());
  for (const Promise& promise : promises()) {
    const bool restarts = std::string_view(promise.name) == "what_was_told_survives_a_crash";
    const bool is_about_crashes = std::string_view(GetParam().name) == "without_durability";
    if (restarts && !is_about_crashes) continue;
    SCOPED_TRACE(promise.name);
    promise.keep(ledger);
  }
}

TEST_P(HostileDatabase, captures_every_write_with_the_same_bytes) {
  const auto migrated = ledger::migrate(conninfo_);
  ASSERT_TRUE(migrated) << migrated.error().detail;
  PgSession session(back_end());
  session.run(
      "create table public.t (id pg_catalog.int4 primary key, space pg_catalog.text, at pg_catalog.timestamptz, "
      "took pg_catalog.interval, raw pg_catalog.bytea, much pg_catalog.float8, whose pg_catalog.regclass, v "
      "pg_catalog.text);"
      "select viewgate.capture('public.t', 'space')");
  const std::string id = session.value("select capture from viewgate.captures");
  const std::string values =
      "'2024-01-02T03:04:05Z', '1 day 02:00:00', pg_catalog.decode('dead', 'hex'), 0.1, 'public.t'";
  session.run("insert into public.t values (1, 'a', " + values + ", 'x'), (2, 'a', " + values + ", 'é')");
  session.run("update public.t set v = 'y'");
  session.run("delete from public.t where id operator(pg_catalog.=) 2");
  SqlLedger node(
      conninfo_ +
      " options='-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex "
      "-c extra_float_digits=1 -c search_path=pg_catalog -c client_encoding=UTF8 -c quote_all_identifiers=off "
      "-c default_transaction_isolation=read\\\\ committed -c default_transaction_read_only=off "
      "-c statement_timeout=0 -c idle_session_timeout=0'");
  node.number_all();
  const auto log = node.log("a");
  ASSERT_EQ(log.size(), 5U);
  EXPECT_EQ(log[0].after, R"({"v": "x", "at": "2024-01-02T03:04:05+00:00", "id": 1, "raw": "\\xdead", "much": 0.1, )"
                          R"("took": "1 day 02:00:00", "space": "a", "whose": "public.t"})");
  EXPECT_EQ(log[2].before, log[0].after);
  expect_fold_is_table(node, "public.t", "a");
  EXPECT_EQ(node.session().value("select capture from viewgate.check_captures()"), id)
      << "the same table to sessions with and without the settings";
}

TEST_P(HostileDatabase, tells_nodes_of_a_model_and_refuses_to_rewrite_the_log) {
  const auto migrated = ledger::migrate(conninfo_);
  ASSERT_TRUE(migrated) << migrated.error().detail;
  PgSession session(back_end());
  const std::string mark = session.value("select mark from viewgate.registry");
  session.run("select viewgate.apply_model('model', 'hash')");
  EXPECT_NE(session.value("select mark from viewgate.registry"), mark);
  session.run("select viewgate.append('a', '[{\"collection\": \"c\", \"key\": [1], \"put\": {}}]')");
  session.run("begin isolation level read committed; select viewgate.look(); commit");
  EXPECT_EQ(session.refusal("update viewgate.changes set after = null"), "VG005");
  EXPECT_EQ(session.refusal("delete from viewgate.changes"), "VG005");
  EXPECT_EQ(session.refusal("delete from viewgate.commits"), "VG005");
}

INSTANTIATE_TEST_SUITE_P(Each, HostileDatabase, ::testing::ValuesIn(hostile()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(HostileBackEnd, that_may_only_read_is_refused_by_name_and_writes_nothing) {
  const std::string conninfo = PostgresCluster::shared().create_database();
  PgSession reader(conninfo + " options='-c default_transaction_read_only=on'");
  EXPECT_EQ(reader.refusal("select viewgate.append('a', '[{\"collection\": \"c\", \"key\": [1], \"put\": {}}]')"),
            "25006");
  PgSession session(conninfo);
  EXPECT_EQ(session.value("select numbered from viewgate.look()"), "0");
}

}  // namespace
}  // namespace viewgate::testing
