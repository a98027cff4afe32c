// Numbers: no gaps, visible in their own order, in the order in which transactions committed; and snapshots that are exactly the
// state at a number, while writers of every isolation level go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "ledger/sql_log.hpp"
#include "support/eventually.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::array<const char*, 3> levels = {"read committed", "repeatable read", "serializable"};
const std::vector<std::string> spaces = {"a", "b", "c"};

/// Random transactions on a few hot rows of t: updates, moves between spaces, deletions and insertions, savepoints, rollbacks,
/// until told to stop. What PostgreSQL refuses (serialization, deadlock) is rolled back and goes on.
class Writer {
 public:
  Writer(const SqlLedger& ledger, unsigned seed)
      : session_(ledger.connect()), random_(seed), thread_([this](const std::stop_token& stop) { run(stop); }) {}
  void stop() { thread_.request_stop(); }
  [[nodiscard]] int committed() const { return committed_; }

 private:
  unsigned draw(unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random_); }
  std::string statement() {
    const std::string id = std::to_string(draw(6));
    switch (draw(8)) {
      case 0:
        return "delete from t where id = " + id;
      case 1:
        return "insert into t values (" + id + ", '" + spaces[draw(3)] +
               "', '0') on conflict (id) do update set v = t.v || 'i'";
      case 2:
        return "update t set space = '" + spaces[draw(3)] + "' where id = " + id;
      case 3:
        return "update t set v = left(v || 'm', 8) where id in (" + id + ", " + std::to_string(draw(6)) + ")";
      case 4:
        return "savepoint s; update t set v = 'lost' where id = " + id + "; rollback to s";
      default:
        return "update t set v = left('" + std::to_string(draw(1000)) + "' || v, 8) where id = " + id;
    }
  }
  void run(const std::stop_token& stop) {
    session_.run("set deadlock_timeout = '5ms'");
    while (!stop.stop_requested()) {
      try {
        session_.run(std::string("begin isolation level ") + levels[draw(3)]);
        for (unsigned n = draw(3) + 1; n > 0; --n) session_.run(statement());
        session_.run(draw(10) == 0 ? "rollback" : "commit");
        ++committed_;
      } catch (const PgError& error) {
        // 40001 serialization failure, 40P01 deadlock, 23505 a key that another transaction has just inserted.
        if (error.sqlstate != "40001" && error.sqlstate != "40P01" && error.sqlstate != "23505") throw;
        session_.run("rollback");
      }
    }
  }
  PgSession session_;
  std::mt19937 random_;
  std::atomic<int> committed_ = 0;
  std::jthread thread_;
};

class Numbering : public ::testing::Test {
 protected:
  Numbering() { ledger_.make_table(); }
  std::vector<std::unique_ptr<Writer>> writers(unsigned count) {
    std::vector<std::unique_ptr<Writer>> out;
    for (unsigned i = 0; i < count; ++i) out.push_back(std::make_unique<Writer>(ledger_, 1000 + i));
    return out;
  }
  SqlLedger ledger_;
};

TEST_F(Numbering, case_01_the_number_is_given_after_commit_so_that_a_late_commit_is_never_skipped) {
  PgSession a = ledger_.connect();
  PgSession b = ledger_.connect();
  a.run("begin; insert into t values (1, 'a', 'A')");  // draws the earlier counter
  b.run("begin; insert into t values (2, 'a', 'B'); commit");
  EXPECT_EQ(ledger_.told("a"), "c[2]");
  EXPECT_EQ(ledger_.head("a"), 1);
  a.run("commit");
  EXPECT_EQ(ledger_.told("a"), "c[2] | c[1]");
  EXPECT_EQ(ledger_.told("a", 1), "c[1]") << "a reader that had advanced to 1 gets 2";
}

TEST_F(Numbering, case_01_with_many_writers_every_reader_sees_every_commit_once_and_in_one_order) {
  constexpr int writers_count = 6;
  constexpr int commits_each = 40;
  std::atomic<int> writing = writers_count;
  std::vector<std::vector<std::string>> seen(3);
  {
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers_count; ++w) {
      threads.emplace_back([this, w, &writing] {
        PgSession session = ledger_.connect();
        for (int i = 0; i < commits_each; ++i) {
          const std::string id = std::to_string(w * 1000 + i);
          session.run("begin; insert into t values (" + id + ", 'a', 'x')");
          if (i % 4 == w % 4) std::this_thread::sleep_for(3ms);  // the others commit in between
          session.run("commit");
        }
        --writing;
      });
    }
    for (auto& keys : seen) {
      threads.emplace_back([this, &keys, &writing] {
        SqlLedger reader(ledger_.conninfo());
        std::int64_t cursor = 0;
        for (bool last = false;; last = writing == 0) {
          reader.number_all();
          for (const LoggedChange& change : reader.log("a", cursor)) {
            ASSERT_EQ(change.sequence, cursor + 1);
            cursor = change.sequence;
            keys.push_back(change.key);
          }
          if (last && cursor == writers_count * commits_each) return;
        }
      });
    }
  }
  EXPECT_EQ(std::set<std::string>(seen[0].begin(), seen[0].end()).size(), std::size_t(writers_count * commits_each));
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST_F(Numbering, the_order_of_numbers_is_the_order_of_commits) {
  // fold() demands that each `before` is what the preceding change of the record left: any other order shows.
  auto running = writers(8);
  std::atomic<bool> stop = false;
  std::vector<std::jthread> numberers;
  numberers.emplace_back([this, &stop] {
    PgSession session = ledger_.connect();
    PgValue previous;
    while (!stop) {
      const PgRows rows =
          session.query("select snapshot::text, skipped from viewgate.look($1::pg_snapshot)", {previous});
      if (rows.back()[1] == "f") previous = rows.back()[0];
    }
  });
  numberers.emplace_back([this, &stop] {
    PgSession session = ledger_.connect();
    for (std::size_t i = 0; !stop; ++i) session.query("select head from viewgate.number($1)", {spaces[i % 3]});
  });
  int committed = 0;
  EXPECT_TRUE(eventually(
      [&] {
        committed = 0;
        for (const auto& writer : running) committed += writer->committed();
        return committed >= 3000;
      },
      60s));
  running.clear();
  stop = true;
  numberers.clear();
  for (const std::string& space : spaces) expect_fold_is_table(ledger_, "public.t", space);
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.waiting"), "0");
  EXPECT_EQ(ledger_.session().value(
                "select count(*) from (select space, sequence, row_number() over (partition by space order by "
                "sequence) as n from viewgate.commits) c where sequence <> n"),
            "0");
}

TEST_F(Numbering, a_snapshot_is_exactly_the_state_at_its_number_while_writers_go_on) {
  auto running = writers(6);
  std::atomic<bool> stop = false;
  std::jthread looker([this, &stop] {
    SqlLedger other(ledger_.conninfo());
    while (!stop) other.number_all();
  });
  PgSession l = ledger_.connect();
  SqlLedger r(ledger_.conninfo());
  std::map<std::string, std::pair<Records, std::int64_t>> folded;
  for (int i = 0; i < 60; ++i) {
    const std::string& space = spaces[static_cast<std::size_t>(i) % 3];
    l.run("begin isolation level read committed");
    l.query("select viewgate.lock_space($1)", {space});
    r.session().run("begin isolation level repeatable read read only; lock table t in access share mode");
    const std::string snapshot = r.session().value("select pg_current_snapshot()");
    const std::int64_t head =
        std::stoll(l.query("select head from viewgate.number($1, $2::pg_snapshot)", {space, snapshot})[0][0].value());
    l.run("commit");
    const Records table = r.table("public.t", space);
    r.session().run("commit");
    auto& [state, position] = folded[space];
    auto log = ledger_.log(space, position);
    std::erase_if(log, [head](const LoggedChange& change) { return change.sequence > head; });
    fold(log, state, position);
    position = head;
    ASSERT_EQ(state, table) << "space " << space << " at " << head;
  }
  for (const auto& [space, at] : folded) EXPECT_GT(at.second, 0) << space;
  stop = true;
}

/// Reads the table wherever settled_head says that nothing waits, while some write and one numbers. How many of so many
/// attempts were told a head, and how many of these saw another state than the log has there.
struct Settled {
  int told = 0;
  int wrong = 0;
};
Settled read_where_nothing_waits(SqlLedger& ledger, int attempts) {
  SqlLedger r(ledger.conninfo());
  Settled out;
  std::map<std::string, std::pair<Records, std::int64_t>> folded;
  for (int i = 0; i < attempts; ++i) {
    const std::string& space = spaces[static_cast<std::size_t>(i) % 3];
    r.session().run("begin isolation level repeatable read read only; lock table t in access share mode");
    const PgRows found = r.session().query("select head from viewgate.settled_head($1)", {space});
    const Records table = r.table("public.t", space);
    r.session().run("commit");
    if (found.empty()) continue;
    ++out.told;
    const std::int64_t head = std::stoll(found[0][0].value());
    auto& [state, position] = folded[space];
    auto log = ledger.log(space, position);
    std::erase_if(log, [head](const LoggedChange& change) { return change.sequence > head; });
    fold(log, state, position);
    position = head;
    if (state != table) ++out.wrong;
  }
  return out;
}

TEST_F(Numbering, where_nothing_waits_a_snapshot_is_exactly_the_state_at_the_head_that_it_shows) {
  auto running = writers(2);
  std::atomic<bool> stop = false;
  std::jthread looker([this, &stop] {
    SqlLedger other(ledger_.conninfo());
    while (!stop) other.number_all();
  });
  const Settled told = read_where_nothing_waits(ledger_, 600);
  EXPECT_GT(told.told, 0);
  EXPECT_EQ(told.wrong, 0);
  // The same with what waits overlooked shows that this would be noticed.
  std::string overlooking =
      ledger_.session().value("select pg_get_functiondef('viewgate.settled_head(text)'::regprocedure)");
  const std::string condition = "if exists (";
  ASSERT_NE(overlooking.find(condition), std::string::npos);
  overlooking.replace(overlooking.find(condition), condition.size(), "if false and exists (");
  ledger_.session().run(overlooking);
  EXPECT_GT(read_where_nothing_waits(ledger_, 300).wrong, 0);
  running.clear();
  stop = true;
}

TEST_F(Numbering, a_settled_head_is_told_as_soon_as_what_waits_has_its_number_and_writes_nothing) {
  const std::string settled = "select head, stamp from viewgate.settled_head('a')";
  EXPECT_EQ(ledger_.session().run(settled).at(0), (PgRow{"0", "0"}));
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.horizons"), "0") << "nobody has written into it";
  ledger_.session().run("insert into t values (1, 'a', 'x')");
  EXPECT_TRUE(ledger_.session().run(settled).empty());
  EXPECT_EQ(ledger_.session().value("select head from viewgate.settled_head('b')"), "0") << "that is another space";
  ledger_.number_all();
  EXPECT_EQ(ledger_.session().run(settled).at(0),
            ledger_.session().run("select head, head_stamp from viewgate.spaces where space = 'a'").at(0));
  ledger_.session().run("select viewgate.prune('a', 0)");
  EXPECT_EQ(ledger_.session().run(settled).at(0),
            ledger_.session().run("select head, head_stamp from viewgate.spaces where space = 'a'").at(0));
  PgSession holder = ledger_.connect();
  holder.run("begin; select viewgate.lock_space('a'); insert into t values (2, 'a', 'open')");
  ledger_.session().run("set lock_timeout = '1s'; begin read only");
  EXPECT_EQ(ledger_.session().value("select head from viewgate.settled_head('a')"), "1");
  EXPECT_EQ(ledger_.session().value("select pg_current_xact_id_if_assigned()"), "NULL");
  ledger_.session().run("commit");
}

TEST_F(Numbering, case_02_a_commit_during_the_bootstrap_is_not_in_it_and_comes_first_after_it) {
  for (int i = 1; i <= 5; ++i) ledger_.session().run("insert into t values (" + std::to_string(i) + ", 'a', 'x')");
  PgSession l = ledger_.connect();
  SqlLedger r(ledger_.conninfo());
  l.run("begin; select viewgate.lock_space('a')");
  r.session().run("begin isolation level repeatable read read only; lock table t in access share mode");
  const std::string snapshot = r.session().value("select pg_current_snapshot()");
  ledger_.session().run("update t set v = 'late' where id = 1");  // after the snapshot, before the number
  EXPECT_EQ(l.query("select head from viewgate.number('a', $1::pg_snapshot)", {snapshot})[0][0], "5");
  l.run("commit");
  ledger_.session().run("insert into t values (6, 'a', 'x')");
  ledger_.number_all();
  EXPECT_EQ(r.table("public.t", "a").size(), 5U);
  EXPECT_EQ(r.session().value("select count(*) from t where v = 'late'"), "0");
  EXPECT_EQ(ledger_.told("a", 5), "u[1] | c[6]");
}

TEST_F(Numbering, case_03_an_open_transaction_elsewhere_holds_up_nobody) {
  PgSession idle = ledger_.connect();
  idle.run("create table unrelated (x int); begin; insert into unrelated values (1)");
  PgSession reader = ledger_.connect();
  reader.run("begin isolation level repeatable read; select count(*) from t");
  PgSession writer = ledger_.connect();
  writer.run("begin; insert into t values (8, 'a', 'open')");
  ledger_.session().run("insert into t values (1, 'a', 'x')");
  EXPECT_EQ(ledger_.told("a"), "c[1]");
  writer.run("commit");
  EXPECT_EQ(ledger_.told("a"), "c[1] | c[8]");
}

TEST_F(Numbering, a_writer_never_waits_for_the_lock_of_a_space) {
  PgSession holder = ledger_.connect();
  holder.run("begin; select viewgate.lock_space('a')");
  PgSession writer = ledger_.connect();
  writer.run("set statement_timeout = '5s'; insert into t values (1, 'a', 'x'); update t set v = 'y'");
  const PgRows rows = ledger_.session().run("select numbered, skipped from viewgate.look()");
  EXPECT_EQ(rows.at(0), (PgRow{"0", "t"})) << "a look passes a locked space by, and says so";
  holder.run("commit");
  EXPECT_EQ(ledger_.session().run("select numbered, skipped from viewgate.look()").at(0), (PgRow{"1", "f"}));
}

TEST_F(Numbering, a_look_tells_each_move_once_and_what_it_skipped_the_next_time) {
  PgSession looker = ledger_.connect();
  const auto look = [&looker](const PgValue& previous) {
    return looker.query("select name, head, snapshot::text, numbered, skipped from viewgate.look($1::pg_snapshot)",
                        {previous});
  };
  PgValue previous = look({})[0][2];
  ledger_.session().run("insert into t values (1, 'a', 'x'), (2, 'b', 'x')");
  PgRows rows = look(previous);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2][3], "2");
  std::set<PgValue> names = {rows[0][0], rows[1][0]};
  EXPECT_EQ(names, (std::set<PgValue>{"a", "b"}));
  previous = rows[2][2];
  EXPECT_EQ(look(previous).size(), 1U) << "its own moves are not told again";

  SqlLedger(ledger_.conninfo()).session().run("insert into t values (3, 'c', 'x'); select viewgate.number('c')");
  rows = look(previous);
  ASSERT_EQ(rows.size(), 2U) << "what others numbered is told";
  EXPECT_EQ(rows[0][0], "c");
  EXPECT_EQ(rows[1][3], "0");
  previous = rows[1][2];

  PgSession holder = ledger_.connect();
  holder.run("begin; select viewgate.lock_space('a')");
  ledger_.session().run("update t set v = 'y' where space <> 'c'");
  rows = look(previous);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][0], "b");
  EXPECT_EQ(rows[1][4], "t");
  holder.run("commit");
  rows = look(previous);
  EXPECT_EQ(rows.back()[3], "1");
  EXPECT_EQ(rows.back()[4], "f");
  EXPECT_EQ(ledger_.head("a"), 2);
}

TEST_F(Numbering, a_look_finds_what_ran_during_the_last_one_however_late_it_commits) {
  PgSession slow = ledger_.connect();
  slow.run("begin; insert into t values (1, 'a', 'x')");
  PgValue previous = ledger_.session().run("select snapshot::text from viewgate.look()")[0][0];
  for (int i = 0; i < 5; ++i) {
    ledger_.session().run("insert into t values (" + std::to_string(10 + i) + ", 'b', 'x')");
    previous =
        ledger_.session().query("select snapshot::text from viewgate.look($1::pg_snapshot)", {previous}).back()[0];
  }
  slow.run("commit");
  const PgRows rows = ledger_.session().query("select name, numbered from viewgate.look($1::pg_snapshot)", {previous});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][0], "a");
  EXPECT_EQ(rows[1][1], "1");
}

/// As long as the writer runs, what others deleted after it began stays in the index: dead, and read by whoever comes past it.
TEST_F(Numbering, what_was_numbered_since_a_long_writer_began_costs_whoever_asks_for_one_space_nothing) {
  PgSession slow = ledger_.connect();
  slow.run("begin; insert into t values (1, 'b', 'x')");
  constexpr int commits = 50;
  for (int i = 0; i < commits; ++i) {
    ledger_.session().run("insert into t values (" + std::to_string(10 + i) + ", 'a', 'x')");
    ledger_.number_all();
  }
  for (const char* asked :
       {"select viewgate.number('a')", "select viewgate.settled_head('a')",
        "select viewgate.open_mutation('a', 'c', 1, '{}', 'managed', '1', '{}', 1000, '1s')",
        "select viewgate.open_mutations('{a}', '{1}', '{c}', '{1}', '{\"{}\"}', '{1}', '{managed}', "
        "'{1}', '{}', 1000, '1s')"}) {
    PgSession asks = ledger_.connect();
    asks.run(std::string("begin; ") + asked);
    EXPECT_LE(std::stoi(asks.value("select pg_stat_get_xact_tuples_returned('viewgate.waiting_pkey'::regclass)")), 10)
        << asked;
  }
  slow.run("commit");
  EXPECT_EQ(ledger_.session().value("select head from viewgate.number('b')"), "1") << "and the writer is found";
}

TEST_F(Numbering, more_than_one_look_can_take_is_taken_by_the_next) {
  ledger_.session().run(
      "insert into viewgate.waiting (txid, space, name, part, changes, last, source, role, at) "
      "select ('1' || lpad(g::text, 6, '0'))::xid8, 'a', 'a', g, 0, g, 'append', 'postgres', now() from "
      "generate_series(1, 50010) g");
  EXPECT_EQ(ledger_.session().run("select numbered, skipped from viewgate.look()").at(0), (PgRow{"50000", "t"}));
  EXPECT_EQ(ledger_.session().run("select numbered, skipped from viewgate.look()").at(0), (PgRow{"10", "f"}));
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.commits where sequence <> part"), "0");
  const auto log = ledger_.log("a", 50000);
  ASSERT_EQ(log.size(), 10U);
  EXPECT_EQ(log[0].ordinal, -1) << "a commit without changes is a row of its own";
}

TEST_F(Numbering, needs_read_committed_and_says_so) {
  for (const char* level : {"repeatable read", "serializable"}) {
    for (const char* call :
         {"select viewgate.look()", "select viewgate.number('a')", "select viewgate.lock_space('a')",
          "select viewgate.arm_bell()", "select viewgate.prune('a', 1)", "select viewgate.prune_batch('a', 1)"}) {
      EXPECT_EQ(ledger_.session().refusal(std::string("begin isolation level ") + level + "; " + call), "VG004")
          << call;
      ledger_.session().run("rollback");
    }
  }
}

TEST_F(Numbering, stamps_mark_every_position_that_is_known) {
  for (int i = 1; i <= 3; ++i) ledger_.session().run("insert into t values (" + std::to_string(i) + ", 'a', 'x')");
  ledger_.number_all();
  std::set<std::string> stamps;
  for (int sequence = 1; sequence <= 3; ++sequence) {
    stamps.insert(ledger_.session().value("select viewgate.position_stamp('a', $1)", {std::to_string(sequence)}));
  }
  EXPECT_EQ(stamps.size(), 3U);
  EXPECT_FALSE(stamps.contains("0"));
  EXPECT_EQ(ledger_.session().value("select viewgate.position_stamp('a', 3) = head_stamp from viewgate.spaces"), "t");
  EXPECT_EQ(ledger_.session().value("select viewgate.position_stamp('a', 0)"), "0");
  EXPECT_EQ(ledger_.session().value("select viewgate.position_stamp('a', 4)"), "NULL");
  EXPECT_EQ(ledger_.session().value("select viewgate.position_stamp('none', 0)"), "0");
  EXPECT_EQ(ledger_.session().value("select viewgate.watermark('none')"), "0");
  EXPECT_EQ(ledger_.session().value("select viewgate.retained_from('none')"), "1");
}

TEST_F(Numbering, the_number_of_a_commit_is_durable_even_where_nobody_asked_for_it) {
  PostgresCluster cluster({ledger::Durability::volatile_, {"wal_writer_delay=3s"}});
  SqlLedger ledger(cluster.create_database());
  ledger.make_table();
  std::string stamp;
  {
    PgSession careless = ledger.connect();
    careless.run("set synchronous_commit = off");
    careless.run("insert into t values (1, 'a', 'x')");
    careless.run("select viewgate.number('a')");
    stamp = careless.value("select viewgate.position_stamp('a', 1)");
    careless.run("insert into t values (2, 'a', 'x')");
  }
  cluster.restart(ledger::Shutdown::kill);
  SqlLedger after(ledger.conninfo());
  EXPECT_EQ(after.session().value("select viewgate.position_stamp('a', 1)"), stamp);
  expect_fold_is_table(after, "public.t", "a");
}

TEST_F(Numbering, a_transaction_into_thousands_of_spaces_is_numbered_some_at_a_time) {
  ledger_.session().run("insert into t select i, 'space-' || i, 'x' from generate_series(1, 2500) i");
  for (const char* numbered : {"1000", "1000", "500"}) {
    EXPECT_EQ(ledger_.session().value("select numbered from viewgate.look() where space is null"), numbered);
  }
  EXPECT_EQ(ledger_.session().value("select skipped from viewgate.look() where space is null"), "f");
  EXPECT_EQ(ledger_.session().value("select count(*) from viewgate.spaces where head = 1"), "2500");
}

}  // namespace
}  // namespace viewgate::testing
