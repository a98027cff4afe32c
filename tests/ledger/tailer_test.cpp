// The tailer against a real PostgreSQL: every commit once and in order, whatever the writers do. Where a test is about a
// wake-up, the pace of looks is so slow that only the wake-up can explain the arrival.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "ledger/tail_fixture.hpp"
#include "support/eventually.hpp"

namespace viewgate::testing {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using ledger::Wakeups;

/// After the first few looks, only something that rings makes it look.
TailerOptions drowsy() {
  TailerOptions out = quick();
  out.times.idle_interval = 5ms;
  out.times.resting_interval = 10min;
  out.times.resting_after = 200ms;
  out.times.canary_interval = 10min;
  return out;
}

TEST_F(TailerTest, case_01_every_commit_comes_once_and_in_order_under_concurrent_writers) {
  session_.run(kCreateItems);
  start();
  for (const char* space : {"s0", "s1", "s2"}) watch(space);
  Writers writers(conninfo_, 4, 11);
  ASSERT_TRUE(loop_.until([&] { return writers.committed() > 600; }, 60s));
  writers.stop();
  expect_caught_up({"s0", "s1", "s2"});
  EXPECT_EQ(sink_.degraded, 0);
}

TEST_F(TailerTest, case_03_a_transaction_that_stays_open_elsewhere_delays_nobody) {
  start();
  watch("s1");
  PgSession idle(conninfo_);
  idle.run("create table unrelated (n int)");
  idle.run("begin isolation level repeatable read; insert into unrelated values (1)");
  for (int i = 1; i <= 5; ++i) {
    session_.run(append("s1", i));
    EXPECT_TRUE(reaches("s1", i));
  }
  idle.run("rollback");
}

TEST_F(TailerTest, case_07_a_rolled_back_commit_leaves_no_hole) {
  start();
  watch("s1");
  session_.run(append("s1", 1));
  session_.run("begin; " + append("s1", 2) + "; rollback");
  session_.run(append("s1", 3));
  EXPECT_TRUE(reaches("s1", 2));
  expect_caught_up({"s1"});
}

TEST_F(TailerTest, a_space_that_does_not_exist_is_watched_from_zero_and_live_at_its_first_commit) {
  start();
  watch("nowhere yet");
  EXPECT_EQ(sink_.head("nowhere yet"), 0);
  session_.run(append("nowhere yet", 1));
  EXPECT_TRUE(reaches("nowhere yet", 1));
  expect_caught_up({"nowhere yet"});
}

TEST_F(TailerTest, long_and_odd_names_of_spaces_are_spaces_like_others) {
  const std::string longest(3000, 'x');
  start();
  for (const std::string& space : {longest, std::string("#1"), std::string("it's \"here\", {so}\\")}) {
    watch(space);
    session_.query("select viewgate.append($1, '[{\"collection\": \"c\", \"key\": [1], \"put\": {}}]')", {space});
    EXPECT_TRUE(reaches(space, 1));
    expect_exact(space);
  }
}

TEST_F(TailerTest, watching_starts_after_the_head_and_unwatching_ends_it) {
  session_.run(append("s1", 1));
  session_.run(append("s1", 2));
  number_all(session_);
  start();
  watch("s1");
  EXPECT_EQ(sink_.head("s1"), 2);
  session_.run(append("s1", 3));
  EXPECT_TRUE(reaches("s1", 3));
  EXPECT_EQ(sink_.spaces["s1"].commits.size(), 1U);

  tailer_->unwatch("s1");
  watch("s2");
  session_.run(append("s1", 4));
  session_.run(append("s2", 1));
  EXPECT_TRUE(reaches("s2", 1));
  EXPECT_EQ(sink_.head("s1"), 3);

  tailer_->watch("s1");
  EXPECT_TRUE(loop_.until([&] { return sink_.spaces["s1"].watched == 2; }));
  EXPECT_EQ(sink_.head("s1"), 4);
}

TEST_F(TailerTest, watch_and_unwatch_are_allowed_inside_callbacks) {
  start();
  sink_.when_watched = [&](const std::string& space) {
    if (space == "s1") tailer_->watch("s2");
  };
  sink_.when_part = [&](const ledger::CommitPart& part) {
    if (part.space == "s1") tailer_->unwatch("s1");
  };
  watch("s1");
  ASSERT_TRUE(loop_.until([&] { return sink_.spaces.contains("s2"); }));
  for (int i = 1; i <= 3; ++i) session_.run(append("s1", i));
  session_.run(append("s2", 1));
  EXPECT_TRUE(reaches("s2", 1));
  EXPECT_EQ(sink_.spaces["s1"].commits.size(), 1U);
}

TEST_F(TailerTest, stop_inside_a_callback_is_the_last_callback) {
  start();
  watch("s1");
  sink_.when_part = [&](const ledger::CommitPart&) { tailer_->stop(); };
  for (int i = 1; i <= 3; ++i) session_.run(append("s1", i));
  number_all(session_);
  ASSERT_TRUE(loop_.until([&] { return sink_.parts == 1; }));
  loop_.spin(50ms);
  EXPECT_EQ(sink_.parts, 1);
}

TEST_F(TailerTest, a_lone_commit_after_quiet_arrives_by_the_bell) {
  start(drowsy());
  watch("s1");
  for (int i = 1; i <= 3; ++i) {
    // Armed, seen by everyone, and the pace of looks is minutes: the bell is all that is left.
    ASSERT_TRUE(loop_.until([&] { return tailer_->stats().wakeups == Wakeups::listen; }));
    ASSERT_TRUE(loop_.until([&] { return session_.value("select last_value from viewgate.bell") == "2"; }));
    loop_.spin(400ms);
    const auto before = tailer_->stats();
    session_.run(append("s1", i));
    EXPECT_TRUE(reaches("s1", i));
    EXPECT_GT(tailer_->stats().notified, before.notified);
  }
}

TEST_F(TailerTest, a_turn_is_bounded_by_all_that_is_carried_also_receipts) {
  TailerOptions options = quick();
  options.turn_bytes_max = 10'000;
  start(options);
  watch("s1");
  const int turns = sink_.turns;
  session_.run(
      "begin; select viewgate.lock_space('s1'); select viewgate.append_commit((select "
      "array_agg(row(pg_current_xact_id(), "
      "'s1', 's1', nextval('viewgate.change_counter'), 0, 0, 1, 'mutation', current_user, now(), null, null, 'ann', "
      "'c1', "
      "i, repeat('r', 5000), repeat('b', 5000))::viewgate.waiting) from generate_series(1, 40) i)); commit");
  EXPECT_TRUE(reaches("s1", 40));
  EXPECT_GE(sink_.turns - turns, 15);
}

/// One commit of 8,000 changes, some two megabytes: more than is read along with others.
class TailerLarge : public TailerTest {
 protected:
  void SetUp() override {
    TailerTest::SetUp();
    session_.run(
        "create table big (id int, space text, pad text, primary key (id, space)); "
        "select viewgate.capture('big', 'space')");
    TailerOptions options = quick();
    options.part_bytes_max = 100'000;
    start(options);
    watch("large");
    watch("small");
  }
  void insert_many(int first) {
    session_.run("insert into big select i, 'large', repeat('x', 200) from generate_series(" + std::to_string(first) +
                 ", " + std::to_string(first + 7999) + ") i");
  }
};

TEST_F(TailerLarge, other_spaces_do_not_wait_for_it) {
  pid_t server = 0;
  sink_.when_part = [&](const ledger::CommitPart& part) {
    if (part.space != "large" || server != 0) return;
    // Nobody reads while this lasts, so it comes to wait in the middle of the commit; there it is held.
    const std::string waiting =
        "select coalesce(max(pid)::text, '') from pg_stat_activity where application_name = 'viewgate large' and "
        "wait_event = "
        "'ClientWrite' "
        "and datname = current_database()";
    std::string seen;
    // Twice in a row: once may be for a moment only.
    ASSERT_TRUE(eventually([&] {
      const std::string before = std::exchange(seen, session_.value(waiting));
      return !before.empty() && before == seen;
    }));
    server = std::stoi(seen);
    ::kill(server, SIGSTOP);
  };
  insert_many(1);
  ASSERT_TRUE(loop_.until([&] { return server != 0; }));
  session_.run(append("small", 1));
  EXPECT_TRUE(reaches("small", 1));
  EXPECT_EQ(sink_.head("large"), 0);
  ::kill(server, SIGCONT);
  session_.run(append("large", 1));
  expect_caught_up({"large", "small"});
}

TEST_F(TailerLarge, it_goes_on_where_it_was_whichever_connection_breaks) {
  int first = 1;
  for (const char* connection : {"viewgate large", "viewgate tail"}) {
    int parts = 0;
    sink_.when_part = [&](const ledger::CommitPart& part) {
      if (part.space == "large" && ++parts == 2) terminate(connection);
    };
    insert_many(std::exchange(first, first + 8000));
    session_.run(append("small", 1));
    expect_caught_up({"large", "small"});
    EXPECT_GT(parts, 3);
  }
}

TEST_F(TailerLarge, a_commit_of_few_changes_is_large_too_where_they_have_much_text_and_the_order_stays) {
  std::string read_apart;
  sink_.when_part = [&](const ledger::CommitPart& part) {
    if (part.space != "large" || part.position.sequence.value != 2 || !part.first) return;
    read_apart = session_.value(
        "select count(*) from pg_stat_activity where application_name = 'viewgate large' and datname = "
        "current_database()");
  };
  // One transaction for each, all told by one look: what follows the large one in the same answer waits for it.
  PgSession space(conninfo_);
  space.run("begin; select viewgate.lock_space('large')");
  session_.run(append("large", 1));
  session_.run("insert into big select i, 'large', repeat(md5(i::text), 1000) from generate_series(1001, 1100) i");
  for (int i = 2; i <= 5; ++i) session_.run(append("large", i));
  session_.run(append("small", 1));
  space.run("rollback");
  expect_caught_up({"large", "small"});
  EXPECT_EQ(sink_.head("large"), 6);
  EXPECT_EQ(read_apart, "1");
}

TEST_F(TailerLarge, it_is_read_also_where_the_connection_that_told_of_it_breaks_before_it_has_told_all) {
  bool is_cut = false;
  sink_.when_part = [&](const ledger::CommitPart& part) {
    if (part.space == "small" && !std::exchange(is_cut, true)) terminate("viewgate tail");
  };
  // Told by one look and read at once: the large commit, which is put aside, then megabytes of another space, which are more
  // than can have come when the first of them breaks the connection.
  PgSession space(conninfo_);
  space.run("begin; select viewgate.lock_space('large'), viewgate.lock_space('small')");
  insert_many(1);
  for (int i = 1; i <= 300; ++i) {
    session_.run("insert into big values (" + std::to_string(i) + ", 'small', repeat('x', 8000))");
  }
  space.run("rollback");
  expect_caught_up({"large", "small"});
  EXPECT_TRUE(is_cut);
  EXPECT_EQ(sink_.degraded, 1);
}

TEST_F(TailerTest, a_commit_of_many_changes_comes_in_bounded_parts_ordered_by_key) {
  session_.run("create table big (id int primary key, space text, pad text); select viewgate.capture('big', 'space')");
  TailerOptions options = quick();
  options.part_bytes_max = 50'000;
  start(options);
  watch("s1");
  std::size_t largest = 0;
  bool by_key = true;
  sink_.when_part = [&](const ledger::CommitPart& part) {
    std::size_t bytes = 0;
    for (const ledger::Change& change : part.changes) bytes += change.key.size() + change.after->size();
    largest = std::max(largest, bytes);
    by_key = by_key && part.by_key;
  };
  session_.run("insert into big select i, 's1', repeat('x', 100) from generate_series(1, 6000) i");
  EXPECT_TRUE(reaches("s1", 1));
  EXPECT_GT(sink_.spaces["s1"].parts[0], 10U);
  EXPECT_LT(largest, 50'500U);
  EXPECT_TRUE(by_key);
  sink_.when_part = nullptr;
  session_.run("update big set pad = 'y' where id <= 5000");
  EXPECT_TRUE(reaches("s1", 2));
  EXPECT_GT(sink_.spaces["s1"].parts[1], 5U);
  expect_caught_up({"s1"});
}

TEST_F(TailerTest, two_nodes_both_hand_on_everything) {
  session_.run(kCreateItems);
  start();
  RecordingSink other_sink;
  Tailer other(loop_.io(), conninfo_, quick(), other_sink);
  other.start();
  for (const char* space : {"s0", "s1", "s2"}) {
    other.watch(space);
    watch(space);
    ASSERT_TRUE(loop_.until([&] { return other_sink.spaces.contains(space); }));
  }
  Writers writers(conninfo_, 2, 13);
  ASSERT_TRUE(loop_.until([&] { return writers.committed() > 200; }, 60s));
  writers.stop();
  expect_caught_up({"s0", "s1", "s2"});
  for (const char* space : {"s0", "s1", "s2"}) {
    EXPECT_TRUE(loop_.until([&] { return other_sink.head(space) == sink_.head(space); }));
    EXPECT_EQ(other_sink.spaces[space].commits.size(), sink_.spaces[space].commits.size());
  }
}

TEST_F(TailerTest, case_05_pruning_keeps_the_newest_commits_by_sequence) {
  TailerOptions options = quick();
  session_.run("select viewgate.set_retention(null, 10, null)");
  start(options);
  watch("s1");
  // Begun long before those that follow, committed last: its own clock is no reason to prune it.
  PgSession old(conninfo_);
  old.run("begin; " + append("s1", 0));
  for (int i = 1; i <= 49; ++i) {
    session_.run(append("s1", i));
    ASSERT_TRUE(reaches("s1", i));
  }
  old.run("commit");
  EXPECT_TRUE(reaches("s1", 50));
  EXPECT_TRUE(loop_.until([&] { return session_.value("select min(sequence) = 41 from viewgate.commits") == "t"; }));
  EXPECT_TRUE(loop_.until([&] { return tailer_->stats().pruned >= 40; }));
  EXPECT_EQ(session_.value("select max(sequence) from viewgate.commits"), "50");
  EXPECT_EQ(session_.value("select count(*) from viewgate.commits where sequence < viewgate.retained_from('s1')"), "0");
  EXPECT_EQ(session_.value("select key from viewgate.read_log('{s1}', '{49}', 10)"), "[0]");
  EXPECT_TRUE(sink_.spaces["s1"].broken.empty());
}

TEST_F(TailerTest, what_is_erased_is_told_once_and_after_a_lost_connection_too) {
  start();
  watch("s1");
  const auto erase = [&](int n) {
    session_.run(append("s1", n));
    session_.run("select viewgate.append('s1', '[{\"collection\": \"notes\", \"key\": [" + std::to_string(n) +
                 "], \"delete\": true}]')");
    ASSERT_TRUE(reaches("s1", 2L * n));
    session_.run("select viewgate.erase_record('s1', 'notes', '[" + std::to_string(n) + "]')");
  };
  erase(1);
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].erased.empty(); }));
  erase(2);
  terminate("viewgate tail");
  EXPECT_TRUE(loop_.until([&] { return sink_.spaces["s1"].erased.size() == 2; }));
  EXPECT_EQ(sink_.spaces["s1"].erased, (std::vector<std::int64_t>{2, 4}));
  EXPECT_TRUE(sink_.spaces["s1"].broken.empty()) << "who is past it goes on";
}

TEST_F(TailerTest, one_node_at_a_time_prunes) {
  session_.run("select viewgate.set_retention(null, 3, null)");
  for (int i = 1; i <= 9; ++i) {
    session_.run(append("s1", i));
    number_all(session_);
  }
  PgSession pruner(conninfo_);
  pruner.run("select pg_advisory_lock(viewgate.pruner_lock())");
  start();
  watch("s1");
  // The housekeeper has had its turn when it has seen a hole in a capture, which it looks for in the same round.
  session_.run("create table t (id int primary key, space text); select viewgate.capture('t', 'space')");
  session_.run("alter table t disable trigger viewgate_insert");
  ASSERT_TRUE(loop_.until([&] { return session_.value("select state from viewgate.captures") == "broken"; }));
  EXPECT_EQ(session_.value("select viewgate.retained_from('s1')"), "1") << "another one prunes";
  pruner = PgSession(conninfo_);
  EXPECT_TRUE(loop_.until([&] { return session_.value("select count(*) from viewgate.commits") == "3"; }));
  EXPECT_EQ(session_.value("select viewgate.retained_from('s1')"), "7");
}

TEST_F(TailerTest, the_registry_is_read_again_when_a_capture_or_the_model_changes) {
  session_.run("create table t (id int primary key, space text)");
  start();
  ASSERT_TRUE(loop_.until([&] { return sink_.registry_moved > 0; })) << "once on connecting";
  const auto moves_after = [&](const std::string& sql) {
    const int before = sink_.registry_moved;
    session_.run(sql);
    return loop_.until([&] { return sink_.registry_moved > before; });
  };
  EXPECT_TRUE(moves_after("select viewgate.capture('t', 'space')"));
  EXPECT_TRUE(moves_after("insert into viewgate.model (version, text, hash) values (1, '', '')"));
  // A hole, noticed by the housekeeper; and closed again.
  EXPECT_TRUE(moves_after("alter table t disable trigger viewgate_insert"));
  EXPECT_TRUE(moves_after("alter table t enable always trigger viewgate_insert"));
  EXPECT_TRUE(moves_after("select viewgate.uncapture('t')"));
}

TEST_F(TailerTest, a_space_whose_lock_is_held_is_followed_once_it_is_free) {
  start();
  watch("s1");
  watch("s2");
  session_.run(append("s1", 1));
  EXPECT_TRUE(reaches("s1", 1));
  PgSession holder(conninfo_);
  holder.run("begin; select viewgate.lock_space('s1')");
  session_.run(append("s1", 2));
  session_.run(append("s2", 1));
  EXPECT_TRUE(reaches("s2", 1)) << "the others go on";
  EXPECT_EQ(sink_.head("s1"), 1);
  holder.run("rollback");
  EXPECT_TRUE(reaches("s1", 2));
}

TEST_F(TailerTest, what_waits_for_its_number_behind_a_lock_is_behind_though_no_head_says_so) {
  start();
  watch("s1");
  watch("s2");
  session_.run(append("s1", 1));
  EXPECT_TRUE(reaches("s1", 1));
  PgSession holder(conninfo_);
  holder.run("begin; select viewgate.lock_space('s1')");
  session_.run(append("s1", 2));
  const auto behind = [&](std::chrono::milliseconds at_least) { return tailer_->lag("s1").time >= at_least; };
  EXPECT_TRUE(loop_.until([&] { return behind(300ms); }));
  session_.run(append("s1", 3));
  session_.run(append("s2", 1));
  EXPECT_TRUE(reaches("s2", 1));
  EXPECT_TRUE(behind(300ms)) << "the first one still waits";
  EXPECT_TRUE(loop_.until([&] { return behind(1000ms); }));
  const std::vector<ledger::SpaceLag> lags = tailer_->lags();
  ASSERT_EQ(lags.size(), 1U);
  EXPECT_EQ(lags.front().space, "s1");
  EXPECT_EQ(lags.front().commits, 0) << "that have a number";
  holder.run("rollback");
  EXPECT_TRUE(reaches("s1", 3));
  EXPECT_TRUE(loop_.until([&] { return tailer_->lags().empty(); }));
}

TEST_F(TailerTest, a_lock_held_while_connecting_hides_nothing_for_good) {
  session_.run(append("s1", 1));
  number_all(session_);
  session_.run(append("s1", 2));
  PgSession holder(conninfo_);
  holder.run("begin; select viewgate.lock_space('s1')");
  start();
  watch("s1");
  EXPECT_EQ(sink_.head("s1"), 1);
  EXPECT_TRUE(loop_.until([&] { return tailer_->lag("s1").time > 0ms; })) << "and is seen to wait";
  holder.run("rollback");
  EXPECT_TRUE(reaches("s1", 2));
}

}  // namespace
}  // namespace viewgate::testing
