// Capturing: what is refused and why, what is noticed later, and what is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <map>
#include <set>

#include "ledger/migrate.hpp"
#include "ledger/sql_log.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class Capture : public ::testing::Test {
 protected:
  PgSession& session() { return ledger_.session(); }
  /// The message that capture(table, 'space') is refused with.
  std::string refusal(const std::string& table, const std::string& space = "space") {
    try {
      session().query("select viewgate.capture($1::regclass, $2)", {table, space});
    } catch (const PgError& error) {
      EXPECT_EQ(error.sqlstate, "VG001") << error.what();
      return error.what();
    }
    return "not refused";
  }
  std::string id() { return session().value("select viewgate.capture('t', 'space')"); }
  /// "id state reason" of the only capture, as a check finds it.
  PgRow check() {
    return session().run("select capture, state, coalesce(reason, '') from viewgate.check_captures()").at(0);
  }
  void expect_new_id(const std::string& old, const std::string& what) {
    const PgRow row = check();
    EXPECT_EQ(row[1], "ok") << what << ": " << *row[2];
    EXPECT_NE(row[0], old) << what;
    EXPECT_NE(row[0], "0") << what;
    EXPECT_EQ(check(), row) << what << ": a second check finds nothing new";
  }
  /// By name, of the table t.
  std::map<std::string, std::string> column_marks() {
    std::map<std::string, std::string> out;
    for (const PgRow& row : session().run("select name, mark from viewgate.column_marks('t'::regclass)"))
      out[*row[0]] = *row[1];
    return out;
  }
  void expect_broken(const std::string& reason) {
    const PgRow row = check();
    EXPECT_EQ(row[0], "0");
    EXPECT_EQ(row[1], "broken");
    EXPECT_THAT(*row[2], HasSubstr(reason));
  }
  SqlLedger ledger_;
};

TEST_F(Capture, what_cannot_be_captured_is_refused_by_name_and_reason) {
  session().run(
      "create table no_key (id int, space text); create unlogged table volatile (id int primary key, space text);"
      "create temporary table passing (id int primary key, space text);"
      "create table parted (id int primary key, space text) partition by hash (id);"
      "create table part partition of parted for values with (modulus 1, remainder 0);"
      "create table parent (id int primary key, space text); create table child (primary key (id)) inherits (parent);"
      "create table late (id int primary key deferrable, space text);"
      "create table plain (id int primary key, room text); create view seen as select 1 as id, 'a' as space;"
      "create materialized view stored as select 1 as id, 'a' as space; create sequence counter;"
      "create foreign data wrapper nothing; create server nowhere foreign data wrapper nothing;"
      "create foreign table far (id int, space text) server nowhere");
  const std::vector<std::array<std::string, 2>> refused = {
      {"no_key", "it has no primary key"},
      {"volatile", "it is unlogged"},
      {"passing", "it is temporary"},
      {"parted", "it is partitioned"},
      {"part", "it is a partition"},
      {"parent", "it takes part in inheritance"},
      {"child", "it takes part in inheritance"},
      {"late", "its primary key is deferrable"},
      {"plain", "its space column space does not exist"},
      {"seen", "it is a view"},
      {"stored", "it is a materialized view"},
      {"counter", "it is not a table"},
      {"far", "it is a foreign table"},
      {"pg_catalog.pg_class", "it belongs to the schema pg_catalog"},
      {"viewgate.commits", "it belongs to the schema viewgate"}};
  for (const auto& [table, reason] : refused) {
    const std::string message = refusal(table);
    EXPECT_THAT(message, HasSubstr("cannot be captured: " + reason));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  EXPECT_THAT(refusal("plain", "Room"), HasSubstr("its space column \"Room\" does not exist"));
  EXPECT_THAT(refusal("plain", "ctid"), HasSubstr("does not exist"));
  EXPECT_EQ(session().value("select count(*) from viewgate.captures"), "0");
  EXPECT_EQ(session().value("select count(*) from pg_trigger where tgname like 'viewgate%'"), "0");
}

TEST_F(Capture, a_table_that_logical_replication_feeds_is_refused_and_noticed_when_that_begins_later) {
  session().run("create table t (id int primary key, space text)");
  const std::string first = id();
  const std::string fed =
      "set allow_system_table_mods = on; insert into pg_subscription_rel (srsubid, srrelid, srsubstate) values (1, "
      "'t'::regclass, 'r')";
  session().run(fed);
  expect_broken("it is fed by logical replication");
  EXPECT_THAT(refusal("t"), HasSubstr("it is fed by logical replication"));
  session().run("delete from pg_subscription_rel");
  expect_new_id(first, "replication has ended");
}

TEST_F(Capture, a_column_that_was_rewritten_without_a_trigger_has_another_mark) {
  session().run("create table t (id int primary key, space text, o int, n int); insert into t values (1, 'a', 1, 1)");
  const std::string first = id();
  const auto before = column_marks();
  session().run("alter table t alter column n type int using n * 2");
  const auto rewritten = column_marks();
  EXPECT_NE(rewritten.at("n"), before.at("n")) << "to the same type";
  EXPECT_EQ(rewritten.at("o"), before.at("o"));
  EXPECT_EQ(check()[0], first);
  session().run("vacuum full t");
  EXPECT_EQ(column_marks(), rewritten);
  EXPECT_EQ(id(), first);
}

TEST_F(Capture, two_tables_of_one_name_in_the_log_are_refused) {
  session().run(
      R"(create schema "a.b"; create schema a; create table "a.b".c (id int primary key, space text);
         create table a."b.c" (id int primary key, space text); select viewgate.capture('"a.b".c', 'space'))");
  EXPECT_THAT(refusal("a.\"b.c\""), HasSubstr("another captured table is called a.b.c, too"));
}

TEST_F(Capture, capturing_again_changes_nothing_unless_something_has_changed) {
  session().run("create table t (id int primary key, space text, room text)");
  const std::string first = id();
  const std::string mark = session().value("select mark from viewgate.registry");
  EXPECT_EQ(id(), first);
  EXPECT_EQ(session().value("select mark from viewgate.registry"), mark);
  EXPECT_NE(session().value("select viewgate.capture('t', 'room')"), first);
  EXPECT_NE(session().value("select mark from viewgate.registry"), mark);
}

TEST_F(Capture, uncapturing_leaves_no_trace_but_the_log) {
  session().run("create table t (id int primary key, space text)");
  const char* traces =
      "select (select count(*) from pg_trigger where tgrelid = 't'::regclass) || ' ' || (select count(*) from pg_proc) "
      "|| ' ' ||"
      " (select count(*) from viewgate.captures)";
  const std::string before = session().value(traces);
  id();
  session().run("insert into t values (1, 'a')");
  session().run("select viewgate.uncapture('t')");
  EXPECT_EQ(session().value(traces), before);
  session().run("insert into t values (2, 'a')");
  EXPECT_EQ(ledger_.told("a"), "c[1]");
  session().run("select viewgate.uncapture('t')");
}

TEST_F(Capture, a_hole_that_is_closed_again_is_a_new_id) {
  session().run("create table t (id int primary key, space text)");
  std::string known = id();
  EXPECT_EQ(check()[0], known);
  session().run(
      "alter table t disable trigger user; insert into t values (1, 'a'); alter table t enable always trigger "
      "viewgate_insert;"
      "alter table t enable always trigger viewgate_update; alter table t enable always trigger viewgate_delete;"
      "alter table t enable always trigger viewgate_truncate");
  expect_new_id(known, "disabled and enabled");
  known = id();
  session().run("select viewgate.uncapture('t'); insert into t values (2, 'a'); select viewgate.capture('t', 'space')");
  EXPECT_NE(id(), known);
}

TEST_F(Capture, another_name_or_key_is_a_new_id) {
  session().run("create table t (id int primary key, space text); create schema viewgate_elsewhere");
  id();
  for (const char* change :
       {"alter table t rename to u", "alter table u rename to t", "alter table t set schema viewgate_elsewhere",
        "alter table viewgate_elsewhere.t set schema public",
        "alter table t drop constraint t_pkey, add primary key (id, space)",
        "alter table t rename column id to number"}) {
    const std::string known = session().value("select capture from viewgate.captures");
    session().run(change);
    expect_new_id(known, change);
  }
  // The repaired capture knows the new key's columns and the new name.
  session().run("insert into t (number, space) values (5, 'a')");
  EXPECT_EQ(ledger_.told("a"), "c[5, \"a\"]");
  EXPECT_EQ(ledger_.log("a")[0].collection, "public.t");
}

TEST_F(Capture, what_changes_the_text_of_a_column_s_values_is_another_mark_of_that_column_alone) {
  session().run(
      "create type mood as enum ('low', 'high'); create type pair as (x int, y int); create domain small as int;"
      "create table t (id int primary key, space text, m mood, p pair[], s small, gone int)");
  const std::string known = id();
  auto before = column_marks();
  struct Change {
    const char* sql;
    std::set<std::string> columns;  ///< that come, go, or read differently
  };
  for (const auto& [sql, columns] : std::vector<Change>{{"alter table t add column more int default 7", {"more"}},
                                                        {"alter table t drop column gone", {"gone"}},
                                                        {"alter table t rename column more to most", {"more", "most"}},
                                                        {"alter table t alter column most type bigint", {"most"}},
                                                        {"alter type mood rename value 'low' to 'down'", {"m"}},
                                                        {"alter type mood add value 'higher'", {"m"}},
                                                        {"alter type pair add attribute z int", {"p"}},
                                                        {"create index on t (m)", {}},
                                                        {"alter table t add check (id > 0)", {}}}) {
    session().run(sql);
    const auto after = column_marks();
    std::set<std::string> others;
    for (const auto& [name, mark] : before) {
      if (!after.contains(name) || after.at(name) != mark) others.insert(name);
    }
    for (const auto& [name, mark] : after) {
      if (!before.contains(name)) others.insert(name);
    }
    EXPECT_EQ(others, columns) << sql;
    before = after;
    // Whoever asks first, a node or an administrator.
    EXPECT_EQ(columns.contains("m") ? id() : *check()[0], known) << sql;
  }
  session().run("insert into t (id, space, m) values (5, 'a', 'down')");
  EXPECT_EQ(ledger_.told("a"), "c[5]");
}

TEST_F(Capture, an_open_hole_is_broken_with_its_reason_and_capturing_again_mends_it) {
  session().run("create table t (id int primary key, space text)");
  id();
  for (const auto& [damage, reason, repair] : std::vector<std::array<const char*, 3>>{
           {"alter table t disable trigger viewgate_update",
            "a trigger of it is missing, disabled or does not always fire", ""},
           {"alter table t enable trigger viewgate_update", "does not always fire", ""},
           {"drop trigger viewgate_delete on t", "a trigger of it is missing", ""},
           {"alter table t set unlogged", "it is unlogged", "alter table t set logged"},
           {"create table heir () inherits (t)", "it takes part in inheritance", "drop table heir"},
           {"alter table t rename column space to room", "its space column space does not exist",
            "alter table t rename column room to space"},
           {"alter table t drop constraint t_pkey", "it has no primary key", "alter table t add primary key (id)"}}) {
    session().run(damage);
    expect_broken(reason);
    expect_broken(reason);
    if (*repair != '\0') session().run(repair);
    EXPECT_NE(id(), "0");
    EXPECT_EQ(check()[1], "ok") << damage;
  }
}

TEST_F(Capture, a_dropped_table_is_told_once_and_forgotten) {
  session().run("create table t (id int primary key, space text)");
  id();
  const std::string mark = session().value("select mark from viewgate.registry");
  session().run("drop table t");
  expect_broken("it was dropped");
  EXPECT_TRUE(session().run("select * from viewgate.check_captures()").empty());
  EXPECT_EQ(session().value(
                "select count(*) from pg_proc where proname like 'capture\\_%' and prorettype = 'trigger'::regtype"),
            "0");
  EXPECT_NE(session().value("select mark from viewgate.registry"), mark);
}

TEST_F(Capture, a_table_that_was_dropped_and_made_again_is_captured_before_any_check) {
  session().run("create table t (id int primary key, space text)");
  const std::string first = id();
  session().run("drop table t; create table t (id int primary key, space text)");
  EXPECT_NE(id(), first);
  EXPECT_EQ(check()[1], "ok");
  EXPECT_EQ(session().value("select count(*) from pg_proc where proname ~ '^capture_[0-9]+$'"), "1")
      << "the function of the one that is gone went with it";
  session().run("insert into t values (1, 'a')");
  EXPECT_EQ(session().value("select count(*) from viewgate.changes"), "1");
}

TEST_F(Capture, of_several_nodes_that_notice_a_hole_one_gives_the_new_id) {
  session().run("create table t (id int primary key, space text)");
  id();
  session().run("alter table t rename to u");
  std::vector<PgSession> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(ledger_.connect());
  for (PgSession& node : nodes) node.start("select capture from viewgate.check_captures()");
  std::set<std::string> ids;
  for (PgSession& node : nodes) ids.insert(node.finish().at(0).at(0).value());
  EXPECT_EQ(ids.size(), 1U);
}

TEST_F(Capture, waits_for_running_writers_so_that_no_write_is_untold) {
  session().run("create table t (id int primary key, space text)");
  PgSession writer = ledger_.connect();
  writer.run("begin; insert into t values (1, 'a')");
  PgSession capturer = ledger_.connect();
  capturer.start("select viewgate.capture('t', 'space')");
  writer.run("insert into t values (2, 'a')");
  EXPECT_TRUE(capturer.is_busy());
  writer.run("commit");
  capturer.finish();
  writer.run("insert into t values (3, 'a')");
  EXPECT_EQ(ledger_.told("a"), "c[3]");
}

TEST_F(Capture, a_role_that_owns_the_schema_but_is_no_superuser_can_do_all_of_it) {
  const std::string role = "keeper_" + std::to_string(::getpid());
  session().run("create role " + role + " login; grant create on database " +
                session().value("select quote_ident(current_database())") + " to " + role +
                "; grant create on schema public to " + role);
  SqlLedger bare(PostgresCluster::shared().create_empty_database());
  bare.session().run("grant create on database " + bare.session().value("select quote_ident(current_database())") +
                     " to " + role + "; grant create on schema public to " + role + "; set role " + role);
  for (const ledger::Migration& migration : ledger::migrations()) bare.session().run(std::string(migration.sql));
  bare.make_table();
  bare.session().run("insert into t values (1, 'a', 'x'); truncate t");
  EXPECT_EQ(bare.told("a"), "c[1] d[1]");
  EXPECT_EQ(bare.session().value("select state from viewgate.check_captures()"), "ok");
  bare.session().run(
      "reset role; create table foreign_t (id int primary key, space text); grant trigger on foreign_t to " + role);
  bare.session().run("set role " + role);
  EXPECT_EQ(bare.session().refusal("select viewgate.capture('foreign_t', 'space')"), "VG001");
  bare.session().run("select viewgate.uncapture('t'); reset role");
}

}  // namespace
}  // namespace viewgate::testing
