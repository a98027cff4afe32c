// What a captured write tells: every kind of statement, under every isolation level, in the application's own transaction.
// Each test writes, numbers, and compares the fold of the log with the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "ledger/sql_log.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using CapturedWrite = LedgerUnderIsolation;

INSTANTIATE_TEST_SUITE_P(Isolation, CapturedWrite,
                         ::testing::Values("read committed", "repeatable read", "serializable"), CapturedWrite::name);

TEST_P(CapturedWrite, rows_that_come_change_and_go_are_told) {
  write("insert into t values (1, 'a', 'x')");
  write("update t set v = 'y' where id = 1");
  write("delete from t where id = 1");
  EXPECT_EQ(ledger_.told("a"), "c[1] | u[1] | d[1]");
}

TEST_P(CapturedWrite, one_statement_over_many_rows_and_spaces_is_one_commit_per_space) {
  write("insert into t select g, case g % 2 when 0 then 'a' else 'b' end, 'x' from generate_series(1, 6) g");
  write("update t set v = 'y'");
  write("delete from t");
  EXPECT_EQ(ledger_.told("a"), "c[2] c[4] c[6] | u[2] u[4] u[6] | d[2] d[4] d[6]");
  EXPECT_EQ(ledger_.head("b"), 3);
}

TEST_P(CapturedWrite, a_transaction_of_many_statements_is_one_commit) {
  write("begin; insert into t values (1, 'a', 'x'); update t set v = 'y'; insert into t values (2, 'a', 'z'); commit");
  EXPECT_EQ(ledger_.told("a"), "c[1] u[1] c[2]");
}

TEST_P(CapturedWrite, what_a_savepoint_takes_back_is_not_told) {
  write(
      "begin; insert into t values (1, 'a', 'x'); savepoint s; update t set v = 'lost'; insert into t values (2, 'b', "
      "'lost');"
      "rollback to s; update t set v = 'kept'; savepoint s2; insert into t values (3, 'a', 'kept'); release s2; "
      "commit");
  EXPECT_EQ(ledger_.told("a"), "c[1] u[1] c[3]");
  EXPECT_EQ(ledger_.head("b"), 0);
}

TEST_P(CapturedWrite, the_first_change_of_a_space_may_be_rolled_back) {
  write(
      "begin; savepoint s; insert into t values (1, 'a', 'lost'); rollback to s; insert into t values (2, 'a', 'x'); "
      "commit");
  EXPECT_EQ(ledger_.told("a"), "c[2]");
}

TEST_P(CapturedWrite, case_07_a_rollback_consumes_nothing) {
  write("insert into t values (1, 'a', 'x')");
  write("begin; insert into t values (2, 'a', 'lost'); rollback");
  write("insert into t values (3, 'a', 'x')");
  EXPECT_EQ(ledger_.told("a"), "c[1] | c[3]");
}

TEST_P(CapturedWrite, a_key_update_is_a_deletion_and_a_creation) {
  write("insert into t values (1, 'a', 'x')");
  write("update t set id = 2");
  EXPECT_EQ(ledger_.told("a", 1), "d[1] c[2]");
}

TEST_P(CapturedWrite, keys_that_shift_in_one_statement_are_told_by_key) {
  // Later keys are stored first, so that each new key is free when its row gets it.
  write("insert into t values (3, 'a', 'three'), (2, 'a', 'two'), (1, 'a', 'one')");
  write("update t set id = id + 1");
  EXPECT_THAT(ledger_.told("a", 1), ::testing::AllOf(::testing::HasSubstr("u[2]"), ::testing::HasSubstr("u[3]"),
                                                     ::testing::HasSubstr("d[1]"), ::testing::HasSubstr("c[4]")));
}

TEST_P(CapturedWrite, keys_that_swap_are_told) {
  write("insert into t values (1, 'a', 'one'), (2, 'a', 'two')");
  write(
      "begin; update t set id = -1 where id = 1; update t set id = 1 where id = 2; update t set id = 2 where id = -1; "
      "commit");
}

TEST_P(CapturedWrite, a_row_that_moves_to_another_space_leaves_one_and_enters_the_other) {
  write("insert into t values (1, 'a', 'x'), (2, 'a', 'x')");
  write("update t set space = 'b' where id = 1");
  write("update t set space = case id when 1 then 'c' else 'b' end");
  EXPECT_EQ(ledger_.told("a", 1), "m[1] | m[2]");
  EXPECT_THAT(ledger_.told("b"), ::testing::AnyOf("c[1] | m[1] c[2]", "c[1] | c[2] m[1]"));
  EXPECT_EQ(ledger_.told("c"), "c[1]");
}

TEST_P(CapturedWrite, a_row_that_moves_and_changes_its_key_is_deleted_and_created) {
  write("insert into t values (1, 'a', 'x')");
  write("update t set space = 'b', id = 2");
  EXPECT_EQ(ledger_.told("a", 1), "d[1]");
  EXPECT_EQ(ledger_.told("b"), "c[2]");
}

TEST_P(CapturedWrite, null_space_is_in_no_space) {
  write("insert into t values (1, null, 'x'), (2, null, 'x')");
  write("update t set v = 'y'");
  write("update t set space = 'a' where id = 1");
  write("update t set space = null where id = 1");
  write("delete from t");
  EXPECT_EQ(ledger_.told("a"), "c[1] | m[1]");
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.spaces"), "1");
}

TEST_P(CapturedWrite, an_update_that_changes_nothing_is_no_change) {
  write("insert into t values (1, 'a', 'x'), (2, 'a', 'x')");
  write("update t set v = v where id = 1");
  write("update t set v = v");
  write("update t set v = 'y' where id = 99");
  write("delete from t where id = 99");
  write("insert into t select * from t where id = 99");
  EXPECT_EQ(ledger_.head("a"), 1);
}

TEST_P(CapturedWrite, insert_on_conflict_tells_both_what_it_inserts_and_what_it_updates) {
  write("insert into t values (1, 'a', 'x')");
  write("insert into t values (1, 'a', 'y'), (2, 'a', 'y') on conflict (id) do update set v = excluded.v");
  write("insert into t values (1, 'a', 'z') on conflict do nothing");
  EXPECT_EQ(ledger_.head("a"), 2);
}

TEST_P(CapturedWrite, merge_tells_all_three) {
  write("insert into t values (1, 'a', 'x'), (2, 'a', 'x')");
  write(
      "merge into t using (values (1, 'd'), (2, 'u'), (3, 'i')) s(id, what) on s.id = t.id "
      "when matched and what = 'd' then delete when matched then update set v = 'y' when not matched then insert "
      "values (s.id, 'a', 'm')");
  EXPECT_EQ(ledger_.head("a"), 2);
}

TEST_P(CapturedWrite, copy_is_told) {
  write("create temporary table from_here as select g as id, 'a' as space, 'x' as v from generate_series(1, 3) g");
  TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
  const std::string file = (directory.path() / "rows").string();
  writer_.run("copy from_here to '" + file + "'");
  write("copy t from '" + file + "'");
  EXPECT_EQ(ledger_.told("a"), "c[1] c[2] c[3]");
}

TEST_P(CapturedWrite, set_constraints_loses_nothing) {
  writer_.run(
      "create table parent (id int primary key); insert into parent values (1);"
      "alter table t add column parent int references parent deferrable initially deferred");
  write(
      "begin; set constraints all immediate; insert into t values (1, 'a', 'x', 1); set constraints all deferred;"
      "insert into t values (2, 'a', 'x', 2); insert into parent values (2); set constraints all immediate; commit");
  EXPECT_EQ(ledger_.told("a"), "c[1] c[2]");
}

TEST_P(CapturedWrite, foreign_key_cascades_are_told) {
  writer_.run(
      "create table parent (id int primary key); insert into parent values (1), (2);"
      "alter table t add column parent int references parent on delete cascade on update cascade");
  write("insert into t values (1, 'a', 'x', 1), (2, 'a', 'x', 1), (3, 'a', 'x', 2)");
  write("delete from parent where id = 1");
  write("update parent set id = 5 where id = 2");
  EXPECT_EQ(ledger_.told("a", 1), "d[1] d[2] | u[3]");
}

TEST_P(CapturedWrite, the_replica_role_hides_nothing) {
  write("set session_replication_role = replica; insert into t values (1, 'a', 'x'); reset all");
  EXPECT_EQ(ledger_.told("a"), "c[1]");
}

TEST_P(CapturedWrite, nested_writes_of_the_applications_triggers_are_told_in_the_order_of_the_record) {
  // The row trigger changes the row again before the outer statement's capture has told the first change.
  writer_.run(
      "create function again() returns trigger language plpgsql as $$ begin "
      "  update t set v = v || '+' where id = new.id and length(v) < 4; "
      "  insert into t values (new.id + 100, 'b', new.v) on conflict (id) do update set v = t.v || '*'; return null; "
      "end $$;"
      "create trigger again after insert or update on t for each row when (new.id < 100) execute function again()");
  write("insert into t values (1, 'a', 'x')");
  write("insert into t values (2, 'a', 'x'), (3, 'a', 'y')");
  write("update t set v = 'z' where id < 100");
  EXPECT_EQ(ledger_.session().value("select string_agg(v, ' ' order by id) from t where id < 100"), "z+++ z+++ z+++");
}

TEST_P(CapturedWrite, a_before_trigger_that_clears_the_way_is_told_in_the_order_of_the_record) {
  writer_.run(
      "create function clear() returns trigger language plpgsql as $$ begin delete from t where id = new.id; return "
      "new; end $$;"
      "create trigger clear before insert on t for each row execute function clear()");
  write("insert into t values (1, 'a', 'x')");
  write("insert into t values (1, 'a', 'y')");
  write("insert into t values (1, 'b', 'y'), (2, 'a', 'y')");
}

TEST_P(CapturedWrite, a_query_that_calls_a_function_that_writes_is_told_in_the_order_of_the_record) {
  writer_.run(
      "create function touch(i int) returns text language plpgsql as $$ begin "
      "  update t set v = v || '!' where id = i - 1; return 'touched'; end $$");
  write("insert into t values (1, 'a', 'x'), (2, 'a', 'x'), (3, 'a', 'x')");
  write("update t set v = touch(id)");
}

TEST_P(CapturedWrite, merge_that_deletes_and_inserts_under_one_key_is_told) {
  write("insert into t values (1, 'a', 'x')");
  writer_.run("create table wanted (id int, v text); insert into wanted values (-1, 'new')");
  write(
      "with gone as (delete from t where id = 1 returning id) select count(*) from gone;"
      "merge into t using wanted s on s.id = t.id when matched then delete when not matched then insert values (1, "
      "'a', s.v)");
}

TEST_P(CapturedWrite, truncate_is_told_row_by_row_or_refused_by_name) {
  write("insert into t values (1, 'a', 'x'), (2, 'b', 'x'), (3, null, 'x')");
  if (std::string(GetParam()) == "read committed") {
    write("begin; update t set v = 'y'; truncate t; insert into t values (9, 'a', 'z'); commit");
    EXPECT_EQ(ledger_.told("a", 1), "u[1] d[1] c[9]");
    EXPECT_EQ(ledger_.told("b", 1), "u[2] d[2]");
    return;
  }
  try {
    writer_.run("truncate t");
    FAIL() << "TRUNCATE under an old snapshot was not refused";
  } catch (const PgError& error) {
    EXPECT_EQ(error.sqlstate, "VG003");
    EXPECT_THAT(error.what(), ::testing::HasSubstr("TRUNCATE of captured table public.t needs READ COMMITTED"));
  }
  check();
}

TEST_P(CapturedWrite, truncate_cascade_is_told_for_every_table) {
  if (std::string(GetParam()) != "read committed") return;
  writer_.run(
      "create table child (id int primary key, space text, t int references t); select viewgate.capture('child', "
      "'space')");
  writer_.run("insert into t values (1, 'a', 'x'); insert into child values (7, 'a', 1)");
  writer_.run("truncate t cascade");
  EXPECT_EQ(ledger_.told("a", 1), "d[1] d[7]");
}

TEST_P(CapturedWrite, odd_settings_of_the_role_change_no_byte) {
  writer_.run(
      "alter table t add column at timestamptz, add column during tstzrange, add column took interval, add column raw "
      "bytea,"
      " add column much double precision, add column cost money, add column day date, add column whose regclass,"
      " add column kind regtype");
  const std::string values =
      "'2024-01-02 03:04:05.6+00', '[2024-01-02 00:00+00,)', '1 day 02:03:04', '\\xdead', 0.1, '12.34', '0044-03-15 "
      "BC', 't', 'timestamptz'";
  writer_.run("insert into t values (1, 'a', 'x', " + values + ")");
  writer_.run(
      "set timezone = 'Asia/Kolkata'; set datestyle = 'German'; set intervalstyle = 'iso_8601'; set bytea_output = "
      "'escape';"
      "set extra_float_digits = -10; set search_path = ''; set synchronous_commit = off; set row_security = off;"
      "set statement_timeout = '20s'; set enable_indexscan = off; set lc_monetary = 'C.UTF-8'; set "
      "standard_conforming_strings = off; set quote_all_identifiers = on; set xmlbinary = 'hex'; set xmloption = "
      "'document';"
      "update public.t set v = 'y'; update public.t set v = 'x'; reset all");
  ledger_.number_all();
  const auto log = ledger_.log("a");
  ASSERT_EQ(log.size(), 3U);
  EXPECT_EQ(log[2].after, log[0].after);
  EXPECT_EQ(log[1].before, log[0].after);
  EXPECT_THAT(log[0].after, ::testing::HasSubstr("2024-01-02T03:04:05.6+00:00"));
}

TEST_P(CapturedWrite, renamed_dropped_and_added_columns_do_not_break_the_applications_writes) {
  write("insert into t values (1, 'a', 'x'), (2, 'a', 'x')");
  writer_.run("alter table t add column w int default 5");
  writer_.run("update t set v = 'y'");
  writer_.run("alter table t drop column v");
  writer_.run("update t set w = 6");
  writer_.run("alter table t rename column space to room");
  writer_.run("update t set w = 7; update t set w = 8 where id = 1; insert into t values (3, 'a', 1)");
  writer_.run("alter table t rename column id to number");
  writer_.run(
      "update t set w = 9; update t set w = 10 where number = 1; insert into t values (4, 'a', 1); delete from t where "
      "number = 4");
  writer_.run("alter table t rename to moved_away");
  writer_.run("insert into moved_away values (5, 'a', 1); update moved_away set w = 11");
  if (std::string(GetParam()) == "read committed") writer_.run("truncate moved_away");
}

TEST_P(CapturedWrite, a_space_name_of_any_length_and_content_works) {
  std::string emoji;
  for (int i = 0; i < 2000; ++i) emoji += "😀";
  for (const std::string& name :
       {emoji, std::string("#hash"), std::string(""), std::string("o'clock, \"quoted\" %s \\ \n"), emoji + "2"}) {
    writer_.query("insert into t values ((select count(*) from t), $1, 'x')", {name});
    writer_.query("update t set v = 'y' where space = $1", {name});
    ledger_.number_all();
    EXPECT_EQ(ledger_.head(name), 2) << name.substr(0, 20);
    EXPECT_EQ(ledger_.log(name).size(), 2U);
    expect_fold_is_table(ledger_, "public.t", name);
  }
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.spaces where name = $1", {emoji}), "1");
}

TEST_P(CapturedWrite, odd_identifiers_and_composite_keys_work) {
  writer_.run(R"(create schema "My.Schema%s";
      create table "My.Schema%s"."Odd ""Table'" ("Key One" numeric, "k'2%L" text, "sp$1ace" bigint, v json,
        primary key ("k'2%L", "Key One"));
      select viewgate.capture('"My.Schema%s"."Odd ""Table''"', 'sp$1ace'))");
  const std::string table = R"("My.Schema%s"."Odd ""Table'")";
  writer_.run("insert into " + table + " values (1.10, 'a', 5, '{\"x\":\n 1}'), (2, 'b', 5, null)");
  writer_.run("update " + table + " set \"Key One\" = 1.1 where \"Key One\" = 1.1");
  writer_.run("update " + table + " set v = '9007199254740993' where \"Key One\" = 2");
  writer_.run("delete from " + table + " where \"Key One\" = 2");
  EXPECT_EQ(ledger_.told("5"), R"(c["a", 1.10] c["b", 2] | d["a", 1.10] c["a", 1.1] | u["b", 2] | d["b", 2])");
  const auto log = ledger_.log("5");
  EXPECT_EQ(log[0].collection, R"(My.Schema%s.Odd "Table')");
  EXPECT_EQ(log[0].after, R"({"v": {"x": 1}, "k'2%L": "a", "Key One": 1.10, "sp$1ace": 5})");
  EXPECT_THAT(log[4].after, ::testing::HasSubstr("9007199254740993"));
  Records state;
  fold(log, state);
  if (std::string(GetParam()) == "read committed") writer_.run("truncate " + table);
}

TEST_P(CapturedWrite, who_may_write_the_table_needs_no_right_on_the_ledger) {
  const std::string role = "clerk_" + std::to_string(::getpid()) + "_" + std::string(1, GetParam()[2]);
  writer_.run("create role " + role + "; grant select, insert, update, delete, truncate on t to " + role);
  write("set role " + role + "; insert into t values (1, 'a', 'x'); update t set v = 'y'; reset role");
  EXPECT_EQ(ledger_.session().value("select string_agg(distinct role, ',') from viewgate.commits"), role);
  EXPECT_EQ(writer_.refusal("set role " + role + "; select * from viewgate.changes"), "42501");
  EXPECT_EQ(writer_.refusal("set role " + role + "; select viewgate.append('a', '[]')"), "42501");
  writer_.run("reset role; drop owned by " + role + "; drop role " + role);
}

TEST_P(CapturedWrite, a_large_unchanged_field_is_in_both_images) {
  writer_.run("alter table t add column big text; insert into t values (1, 'a', 'x', repeat('0123456789', 100000))");
  write("update t set v = 'y'");
  const auto log = ledger_.log("a");
  EXPECT_GT(log[1].after.size(), 1'000'000U);
}

TEST_P(CapturedWrite, a_hundred_thousand_rows_in_one_statement_are_one_commit) {
  if (std::string(GetParam()) != "read committed") return;
  write("insert into t select g, 'a', 'x' from generate_series(1, 100000) g");
  write("update t set v = 'y' where id % 2 = 0");
  EXPECT_EQ(ledger_.head("a"), 2);
}

// SQL takes a bare name for a column before it takes it for a row: the value of a column r would be captured as the record.
TEST_P(CapturedWrite, columns_called_as_our_own_names_are_columns) {
  const std::string forged = R"('{"space":"b","id":77,"r":5}')";
  ledger_.session().run(
      "create table odd (id int primary key, space text, r jsonb, t jsonb, o text, n text, x text, j text, e text, c "
      "text, k text, "
      "m text, w text, h text, key text, doc text, name text, part text, counter text, more text, changes text, kind "
      "text, "
      "before text, after text, old_rows text, new_rows text, events text, \"TG_OP\" text);"
      "select viewgate.capture('public.odd', 'space')");
  const auto check_odd = [&](const std::string& sql) {
    writer_.run(sql);
    for (const char* space : {"a", "b"}) expect_fold_is_table(ledger_, "public.odd", space);
  };
  check_odd("insert into odd (id, space, r, t) values (1, 'a', " + forged + ", " + forged + ")");
  check_odd("update odd set o = 'o', n = 'n'");
  check_odd("insert into odd (id, space, r, key) select g, 'a', " + forged + ", 'k' from generate_series(2, 4) g");
  check_odd("update odd set j = 'j', r = null where id < 4");
  check_odd("update odd set space = 'b' where id = 4");
  EXPECT_EQ(ledger_.told("a"), "c[1] | u[1] | c[2] c[3] c[4] | u[1] u[2] u[3] | m[4]");
  EXPECT_EQ(ledger_.told("b"), "c[4]");
  check_odd("delete from odd where id < 3");
  if (std::string(GetParam()) == "read committed") check_odd("truncate odd");
}

TEST(PreparedTransaction, is_numbered_once_it_is_committed_and_holds_up_nobody) {
  PostgresCluster cluster({ledger::Durability::volatile_, {"max_prepared_transactions=4"}});
  SqlLedger ledger(cluster.create_database());
  ledger.make_table();
  PgSession writer = ledger.connect();
  ledger.session().run("select viewgate.arm_bell()");
  writer.run("begin; insert into t values (1, 'a', 'x'); prepare transaction 'first'");
  EXPECT_EQ(ledger.session().value("select last_value from viewgate.bell"), "1")
      << "the bell shows that somebody wrote";
  writer.run("begin; insert into t values (2, 'a', 'x'); prepare transaction 'second'");
  writer.run("insert into t values (3, 'a', 'x')");
  EXPECT_EQ(ledger.told("a"), "c[3]");
  cluster.restart(ledger::Shutdown::immediate);
  SqlLedger after(ledger.conninfo());
  EXPECT_EQ(after.told("a"), "c[3]");
  after.session().run("commit prepared 'second'");
  EXPECT_EQ(after.told("a"), "c[3] | c[2]");
  after.session().run("rollback prepared 'first'");
  EXPECT_EQ(after.told("a"), "c[3] | c[2]");
  expect_fold_is_table(after, "public.t", "a");
}

}  // namespace
}  // namespace viewgate::testing
