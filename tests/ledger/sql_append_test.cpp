// Managed records by append, the shape of what is read, pruning, the bell, and the model row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "ledger/sql_log.hpp"
#include "support/eventually.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Append : public ::testing::Test {
 protected:
  std::string append(const std::string& changes, const std::string& space = "a") {
    return ledger_.session().value("select viewgate.append($1, $2::jsonb)", {space, changes});
  }
  std::string refusal(const std::string& changes) {
    try {
      append(changes);
    } catch (const PgError& error) {
      EXPECT_EQ(error.sqlstate, "VG002") << error.what();
      return error.what();
    }
    return "not refused";
  }
  SqlLedger ledger_;
};

TEST_F(Append, puts_updates_and_deletes_are_told_with_before_and_after) {
  EXPECT_EQ(
      append(
          R"([{"collection": "i", "key": [1], "put": {"id": 1, "n": 1.10}}, {"collection": "i", "key": ["x"], "put": {}}])"),
      "2");
  EXPECT_EQ(append(R"([{"collection": "i", "key": [1], "update": {"n": 9007199254740993, "m": null}}])"), "1");
  EXPECT_EQ(
      append(R"([{"collection": "i", "key": [1], "delete": true}, {"collection": "i", "key": [2], "delete": true}])"),
      "1");
  EXPECT_EQ(ledger_.told("a"), R"(c["x"] c[1] | u[1] | d[1])");
  const auto log = ledger_.log("a");
  EXPECT_EQ(log[1].after, R"({"n": 1.10, "id": 1})");
  EXPECT_EQ(log[2].after, R"({"m": null, "n": 9007199254740993, "id": 1})");
  Records state;
  fold(log, state);
  EXPECT_EQ(state, (Records{{{"i", R"(["x"])"}, "{}"}}));
}

TEST_F(Append, what_changes_nothing_is_no_change_and_no_commit) {
  append(R"([{"collection": "i", "key": [1], "put": {"n": 1}}])");
  EXPECT_EQ(
      append(R"([{"collection": "i", "key": [1], "put": {"n": 1}}, {"collection": "i", "key": [1], "update": {}}])"),
      "0");
  EXPECT_EQ(append("[]"), "0");
  EXPECT_EQ(append(R"([{"collection": "i", "key": [1], "put": {"n": 1.0}}])"), "1") << "1 and 1.0 are different texts";
  ledger_.number_all();
  EXPECT_EQ(ledger_.head("a"), 2);
}

TEST_F(Append, is_part_of_the_callers_transaction_and_of_its_commit) {
  ledger_.make_table();
  ledger_.session().run(
      "begin; insert into t values (1, 'a', 'x'); select viewgate.append('a', '[{\"collection\": \"i\", \"key\": [1], "
      "\"put\": {}}]');"
      "savepoint s; select viewgate.append('a', '[{\"collection\": \"i\", \"key\": [2], \"put\": {}}]'); rollback to "
      "s; commit");
  EXPECT_EQ(ledger_.told("a"), "c[1] c[1]");
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.records"), "1");
}

TEST_F(Append, bad_input_is_refused_by_name_and_writes_nothing) {
  const std::string good = R"({"collection": "i", "key": [1], "put": {}})";
  const std::vector<std::array<std::string, 2>> refused = {
      {R"({})", "changes is not a JSON array"},
      {"[1]", "change 1: it is not an object"},
      {"[" + good + R"(, {"collection": "i", "key": [1], "puts": {}}])", "change 2: unknown member \"puts\""},
      {R"([{"key": [1], "put": {}}])", "collection is not a string"},
      {R"([{"collection": "", "key": [1], "put": {}}])", "collection has no name"},
      {R"([{"collection": "public.t", "key": [1], "put": {}}])", "collection has a dot"},
      {R"([{"collection": "i", "key": 1, "put": {}}])", "key is not an array"},
      {R"([{"collection": "i", "key": [], "put": {}}])", "key is empty"},
      {R"([{"collection": "i", "key": [null], "put": {}}])", "key holds something"},
      {R"([{"collection": "i", "key": [")" + std::string(1000, 'k') + R"("], "put": {}}])", "key is over 1000 bytes"},
      {R"([{"collection": "i", "key": [1]}])", "exactly one of put, update and delete"},
      {R"([{"collection": "i", "key": [1], "put": {}, "delete": true}])", "exactly one of put, update and delete"},
      {R"([{"collection": "i", "key": [1], "put": [1]}])", "put is not an object"},
      {R"([{"collection": "i", "key": [1], "update": 1}])", "update is not an object"},
      {R"([{"collection": "i", "key": [1], "delete": 1}])", "delete is not true"},
      {"[" + good + R"(, {"collection": "i", "key": [7], "update": {"n": 1}}])",
       "change 2: there is no record [7] in i to update"}};
  for (const auto& [changes, reason] : refused) EXPECT_THAT(refusal(changes), HasSubstr(reason)) << changes;
  EXPECT_EQ(ledger_.session().refusal("select viewgate.append(null, '[]')"), "VG002");
  EXPECT_EQ(ledger_.session().refusal("select viewgate.append('a', null)"), "VG002");
  EXPECT_EQ(ledger_.session().value(
                "select (select count(*) from viewgate.changes) + (select count(*) from viewgate.records)"),
            "0");
}

TEST_F(Append, a_delete_that_waited_for_a_record_that_was_made_anew_deletes_that_one) {
  append(R"([{"collection": "i", "key": [1], "put": {"n": 1}}])");
  PgSession maker = ledger_.connect();
  maker.run(R"(begin; select viewgate.append('a', '[{"collection": "i", "key": [1], "delete": true}]');
               select viewgate.append('a', '[{"collection": "i", "key": [1], "put": {"n": 2}}]'))");
  std::string written;
  std::jthread deleter([this, &written] {
    PgSession session = ledger_.connect();
    written = session.value(R"(select viewgate.append('a', '[{"collection": "i", "key": [1], "delete": true}]'))");
  });
  EXPECT_TRUE(
      eventually([this] { return ledger_.session().value("select count(*) from pg_locks where not granted") != "0"; }));
  maker.run("commit");
  deleter.join();
  EXPECT_EQ(written, "1");
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.records"), "0");
}

TEST_F(Append, to_one_record_from_many_back_ends_is_told_in_the_order_of_the_record) {
  append(R"([{"collection": "i", "key": [1], "put": {"n": 0}}])");
  {
    std::vector<std::jthread> back_ends;
    for (int b = 0; b < 6; ++b) {
      back_ends.emplace_back([this, b] {
        PgSession session = ledger_.connect();
        for (int i = 0; i < 40; ++i) {
          const std::string n = std::to_string(b * 1000 + i);
          session.query("select viewgate.append('a', $1::jsonb)",
                        {R"([{"collection": "i", "key": [1], "update": {"n": )" + n +
                         R"(}}, {"collection": "i", "key": [2], "put": {"n": )" + n + "}}]"});
          if (i % 8 == 7)
            session.run(R"(select viewgate.append('a', '[{"collection": "i", "key": [2], "delete": true}]'))");
        }
      });
    }
  }
  ledger_.number_all();
  Records state;
  fold(ledger_.log("a"), state);
  Records stored;
  for (const PgRow& row : ledger_.session().run("select collection, key, value::text from viewgate.records")) {
    stored[{*row[0], *row[1]}] = *row[2];
  }
  EXPECT_EQ(state, stored);
}

TEST_F(Append, a_role_that_was_granted_it_can_append_and_nothing_else) {
  const std::string role = "author_" + std::to_string(::getpid());
  ledger_.session().run("create role " + role + "; grant usage on schema viewgate to " + role +
                        "; grant execute on function viewgate.append to " + role);
  ledger_.session().run("set role " + role +
                        R"(; select viewgate.append('a', '[{"collection": "i", "key": [1], "put": {}}]'); reset role)");
  EXPECT_EQ(ledger_.session().refusal("set role " + role + "; select viewgate.look()"), "42501");
  EXPECT_EQ(
      ledger_.session().refusal("set role " + role + "; insert into viewgate.records values ('a', 'i', '[1]', '{}')"),
      "42501");
  EXPECT_EQ(ledger_.told("a"), "c[1]");
  EXPECT_EQ(ledger_.session().value("select role || ' ' || source from viewgate.read_log('{a}', '{0}', 10)"),
            role + " append");
  ledger_.session().run("drop owned by " + role + "; drop role " + role);
}

class Log : public ::testing::Test {
 protected:
  Log() { ledger_.make_table(); }
  void commits(int count) {
    for (int i = 0; i < count; ++i) {
      ledger_.session().run("insert into t values (" + std::to_string(++id_) + ", 'a', 'x')");
    }
    ledger_.number_all();
  }
  int id_ = 0;
  SqlLedger ledger_;
};

TEST_F(Log, is_read_in_whole_commits_within_a_soft_budget_of_changes) {
  ledger_.session().run("insert into t select g, 'a', 'x' from generate_series(1, 5) g");
  ledger_.session().run("insert into t values (6, 'a', 'x'), (7, 'a', 'x')");
  ledger_.session().run("insert into t values (8, 'a', 'x')");
  ledger_.session().run("insert into t values (9, 'b', 'x')");
  ledger_.number_all();
  const auto sequences = [this](const std::string& after, const std::string& budget) {
    return ledger_.session().value(
        "select string_agg(space || sequence || '.' || ordinal, ' ') from viewgate.read_log('{a,none,b}', array[" +
        after + "::bigint, 0, 0], " + budget + ")");
  };
  EXPECT_EQ(sequences("0", "3"), "a1.0 a1.1 a1.2 a1.3 a1.4 b1.0") << "an oversized commit comes whole and alone";
  EXPECT_EQ(sequences("0", "7"), "a1.0 a1.1 a1.2 a1.3 a1.4 a2.0 a2.1 b1.0");
  EXPECT_EQ(sequences("1", "2"), "a2.0 a2.1 b1.0");
  EXPECT_EQ(sequences("1", "3"), "a2.0 a2.1 a3.0 b1.0");
  EXPECT_EQ(sequences("3", "100"), "b1.0");
}

TEST_F(Log, a_large_commit_comes_by_key_and_its_ordinals_tell_what_came_first) {
  ledger_.session().run(
      "begin; insert into t select g, 'a', 'x' from generate_series(6000, 1, -1) g; update t set v = 'y' where id <= "
      "3; commit");
  ledger_.session().run("update t set v = 'z'");
  ledger_.number_all();
  const PgRows rows = ledger_.session().run(
      "select n, count(*), min(o), max(o), count(distinct o), bool_and(k) from (select sequence as n, ordinal as o, "
      "coalesce((key collate \"C\", ordinal) >= "
      "lag((key collate \"C\", ordinal)) over (partition by sequence order by r), true) as k from (select *, "
      "row_number() over () as r from "
      "viewgate.read_log('{a}', '{0}', 1000000)) l) x group by n order by n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], (PgRow{"1", "6003", "0", "6002", "6003", "t"}));
  EXPECT_EQ(rows[1], (PgRow{"2", "6000", "0", "5999", "6000", "t"}));
  expect_fold_is_table(ledger_, "public.t", "a");
}

TEST_F(Log, rows_stream_in_one_plan_without_a_function_that_would_hold_them) {
  std::string plan;
  for (const PgRow& row : ledger_.session().run("explain select * from viewgate.read_log('{a}', '{0}', 100)"))
    plan += *row[0] + "\n";
  EXPECT_THAT(plan, HasSubstr("changes_pkey"));
  EXPECT_EQ(plan.find("Function Scan on read_log"), std::string::npos) << plan;
}

TEST_F(Log, is_append_only) {
  commits(2);
  for (const char* attempt :
       {"update viewgate.commits set stamp = 1", "delete from viewgate.commits", "truncate viewgate.commits",
        "update viewgate.changes set after = null", "delete from viewgate.changes", "truncate viewgate.changes",
        "set session_replication_role = replica; delete from viewgate.commits"}) {
    EXPECT_EQ(ledger_.session().refusal(attempt), "VG005") << attempt;
    ledger_.session().run("reset session_replication_role");
  }
  EXPECT_EQ(ledger_.told("a"), "c[1] | c[2]");
}

TEST_F(Log, pruning_raises_the_horizon_first_and_keeps_the_stamp_before_it) {
  commits(10);
  const std::string stamp = ledger_.session().value("select viewgate.position_stamp('a', 6)");
  EXPECT_EQ(ledger_.session().value("select viewgate.prune('a', 4)"), "7");
  EXPECT_EQ(ledger_.session().value("select viewgate.retained_from('a')"), "7");
  EXPECT_EQ(ledger_.session().value("select viewgate.position_stamp('a', 6)"), stamp);
  EXPECT_EQ(ledger_.session().value("select viewgate.position_stamp('a', 5)"), "NULL")
      << "not even before it is deleted";
  EXPECT_EQ(ledger_.session().value("select viewgate.prune_batch('a', 4)"), "4");
  EXPECT_EQ(ledger_.session().value("select min(sequence) from viewgate.commits"), "5") << "oldest first";
  EXPECT_EQ(ledger_.session().value("select viewgate.prune_batch('a', 4)"), "2");
  EXPECT_EQ(ledger_.session().value("select viewgate.prune_batch('a', 4)"), "0");
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.changes"), "4");
  EXPECT_EQ(ledger_.session().value("select viewgate.position_stamp('a', 6)"), stamp);
  EXPECT_EQ(ledger_.told("a", 6), "c[7] | c[8] | c[9] | c[10]");
  EXPECT_EQ(ledger_.session().value("select viewgate.prune('a', 8)"), "7") << "the horizon never goes back";
}

TEST_F(Log, numbering_goes_on_when_everything_is_pruned) {
  commits(3);
  const std::string stamp = ledger_.session().value("select viewgate.position_stamp('a', 3)");
  EXPECT_EQ(ledger_.session().value("select viewgate.prune('a', 0)"), "4");
  EXPECT_EQ(ledger_.session().value("select viewgate.prune_batch('a', 100)"), "3");
  EXPECT_EQ(ledger_.session().value(
                "select (select count(*) from viewgate.commits) + (select count(*) from viewgate.changes)"),
            "0");
  EXPECT_EQ(ledger_.head("a"), 3);
  EXPECT_EQ(ledger_.session().value("select viewgate.position_stamp('a', 3)"), stamp);
  commits(1);
  EXPECT_EQ(ledger_.told("a", 3), "c[4]");
}

TEST_F(Log, numbering_goes_on_where_two_who_prune_everything_overtake_each_other) {
  for (int i = 1; i <= 6; ++i) ledger_.session().run("insert into t values (" + std::to_string(i) + ", 'a', 'x')");
  ledger_.number_all();
  ledger_.session().run("select viewgate.prune('a', 0)");
  PgSession other(ledger_.conninfo());
  other.run("begin; select viewgate.prune_batch('a', 3)");
  ledger_.session().run("select viewgate.prune_batch('a', 3)");  // the newest three: the others are locked
  EXPECT_EQ(ledger_.session().value("select viewgate.watermark('a')"), "6");
  ledger_.session().run("insert into t values (7, 'a', 'x')");
  ledger_.number_all();
  EXPECT_EQ(ledger_.session().value("select max(sequence) from viewgate.commits where space = 'a'"), "7");
  other.run("commit");
}

TEST_F(Log, the_horizon_and_the_deletion_do_not_share_a_transaction) {
  commits(3);
  EXPECT_EQ(ledger_.session().refusal("begin; select viewgate.prune('a', 1); select viewgate.prune_batch('a', 10)"),
            "P0001");
  ledger_.session().run("rollback");
  EXPECT_EQ(ledger_.session().refusal("select viewgate.prune('a', -1)"), "P0001");
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.commits"), "3");
}

TEST_F(Log, case_05_a_transaction_that_began_long_ago_is_not_pruned_for_its_age) {
  PgSession old = ledger_.connect();
  old.run("begin; insert into t values (100, 'a', 'x')");
  commits(5);
  old.run("commit");
  ledger_.number_all();
  ledger_.session().run("select viewgate.prune('a', 1)");
  while (ledger_.session().value("select viewgate.prune_batch('a', 100)") != "0") {
  }
  EXPECT_EQ(ledger_.told("a", 5), "c[100]");
}

TEST_F(Log, pruning_a_space_is_told_by_the_next_look) {
  commits(3);
  const std::string previous = ledger_.session().value("select snapshot::text from viewgate.look()");
  ledger_.session().run("select viewgate.prune('a', 1)");
  const PgRows rows =
      ledger_.session().query("select name, retained_from from viewgate.look($1::pg_snapshot)", {previous});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], (PgRow{"a", "3"}));
}

class Bell : public Log {
 protected:
  std::string bell() { return ledger_.session().value("select bell from viewgate.look()"); }
};

TEST_F(Bell, only_the_first_writer_after_it_was_armed_rings) {
  PgSession sleeper = ledger_.connect();
  sleeper.run("listen viewgate");
  ledger_.session().run("insert into t values (1, 'a', 'x')");
  EXPECT_EQ(sleeper.notification(50ms), std::nullopt) << "nobody sleeps, nobody rings";
  sleeper.run("select viewgate.arm_bell()");
  EXPECT_EQ(bell(), "2");
  ledger_.session().run("insert into t values (2, 'a', 'x')");
  EXPECT_EQ(sleeper.notification(patient(5s)), "");
  EXPECT_EQ(bell(), "1");
  ledger_.session().run("insert into t values (3, 'a', 'x')");
  EXPECT_EQ(sleeper.notification(50ms), std::nullopt);
  sleeper.run("select viewgate.arm_bell()");
  ledger_.session().run(R"(select viewgate.append('a', '[{"collection": "i", "key": [1], "put": {}}]'))");
  EXPECT_EQ(sleeper.notification(patient(5s)), "");
}

TEST_F(Bell, every_writer_that_may_have_missed_the_arming_ends_before_the_xid_that_arming_returns) {
  PgSession writer = ledger_.connect();
  writer.run("begin; insert into t values (1, 'a', 'x')");  // has seen the bell unarmed
  const std::string armed_at = ledger_.session().value("select viewgate.arm_bell()");
  EXPECT_EQ(ledger_.session().value("select pg_snapshot_xmin(snapshot) < $1::xid8 from viewgate.look()", {armed_at}),
            "t");
  writer.run("commit");
  EXPECT_EQ(bell(), "2") << "it did not ring";
  EXPECT_EQ(ledger_.session().value("select pg_snapshot_xmin(snapshot) >= $1::xid8 from viewgate.look()", {armed_at}),
            "t");
  EXPECT_EQ(ledger_.head("a"), 1) << "and the looks until then found it";
}

TEST_F(Bell, a_writer_that_rolls_back_leaves_it_disarmed_for_the_sleeper_to_see) {
  ledger_.session().run("select viewgate.arm_bell()");
  ledger_.session().run("begin; insert into t values (1, 'a', 'x'); rollback");
  EXPECT_EQ(bell(), "1");
}

TEST(ModelRow, is_one_and_counts_its_versions_and_moves_the_registry) {
  SqlLedger ledger;
  const auto mark = [&ledger] { return std::stoll(ledger.session().value("select mark from viewgate.look()")); };
  const auto first = mark();
  EXPECT_EQ(ledger.session().value("select viewgate.apply_model('create table x', 'h1')"), "1");
  EXPECT_EQ(ledger.session().value("select viewgate.apply_model('create table x', 'h1')"), "1");
  EXPECT_EQ(ledger.session().value("select viewgate.apply_model('create table y', 'h2')"), "2");
  EXPECT_EQ(ledger.session().value("select count(*) || ' ' || min(text) from viewgate.model"), "1 create table y");
  EXPECT_GT(mark(), first);
}

}  // namespace
}  // namespace viewgate::testing
