// The tailer against a real PostgreSQL: every commit once and in order, whatever the writers do and whatever breaks. Times
// are a twentieth of the defaults or less, so that idle and resting are reached; where a test is about a wake-up, the pace of
// looks is so slow that only the wake-up can explain the arrival.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/loop.hpp"
#include "ledger/recording_sink.hpp"
#include "ledger/tailer.hpp"
#include "ledger/writers.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using namespace std::chrono_literals;
using ledger::errc;
using ledger::Tailer;
using ledger::TailerOptions;
using ledger::Wakeups;
using ::testing::ElementsAre;

TailerOptions quick() {
  TailerOptions out;
  out.times.busy_interval = 1ms;
  out.times.idle_interval = 5ms;
  out.times.idle_after = 100ms;
  out.times.resting_interval = 50ms;
  out.times.resting_after = 3min;
  out.times.arm_after = 25ms;
  out.times.canary_interval = 1500ms;
  out.times.canary_time_max = 250ms;
  out.times.reconnect_first = 3ms;
  out.times.reconnect_max = 100ms;
  out.captures_interval = 100ms;
  out.prune_interval = 100ms;
  return out;
}

/// After the first few looks, only something that rings makes it look.
TailerOptions drowsy() {
  TailerOptions out = quick();
  out.times.idle_interval = 5ms;
  out.times.resting_interval = 10min;
  out.times.resting_after = 200ms;
  out.times.canary_interval = 10min;
  return out;
}

std::string append(const std::string& space, int n) {
  return "select viewgate.append('" + space + R"(', '[{"collection": "notes", "key": [)" + std::to_string(n) +
         R"(], "put": {"n": )" + std::to_string(n) + "}}]')";
}

class TailerTest : public ::testing::Test {
 protected:
  TailerTest() : conninfo_(PostgresCluster::shared().create_database()), session_(conninfo_) {}

  void start(TailerOptions options = quick()) {
    tailer_ = std::make_unique<Tailer>(loop_.io(), conninfo_, options, sink_);
    tailer_->start();
  }

  void watch(const std::string& space) {
    tailer_->watch(space);
    ASSERT_TRUE(loop_.until([&] { return sink_.spaces.contains(space); }));
  }

  bool reaches(const std::string& space, std::int64_t sequence) {
    return loop_.until([&] { return sink_.head(space) >= sequence; });
  }

  std::int64_t watermark(const std::string& space) {
    return std::stoll(session_.value("select viewgate.watermark($1)", {space}));
  }

  /// Ends the sessions whose application_name matches.
  void terminate(const std::string& name) {
    session_.query(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = $1 and datname = "
        "current_database()",
        {name});
  }

  /// What was handed on of a space is, change by change, what the log says.
  void expect_exact(const std::string& space) {
    std::string told;
    for (const ledger::Commit& commit : sink_.spaces[space].commits) {
      for (const ledger::Change& change : commit.changes) {
        static constexpr const char* kinds = "cudm";
        told += (told.empty() ? "" : "\n") + std::to_string(commit.position.sequence.value) + "|" +
                std::to_string(change.ordinal) + "|" + kinds[static_cast<int>(change.kind)] + "|" + change.collection +
                "|" + change.key + "|" + change.before.value_or("-") + "|" + change.after.value_or("-");
      }
    }
    EXPECT_EQ(told, raw_log(session_, space)) << space;
  }

  /// All that was written has arrived in these spaces, each commit once.
  void expect_caught_up(const std::vector<std::string>& spaces) {
    number_all(session_);
    for (const std::string& space : spaces) {
      const std::int64_t head = watermark(space);
      EXPECT_TRUE(reaches(space, head)) << space << " at " << sink_.head(space) << " of " << head;
      EXPECT_EQ(sink_.spaces[space].commits.size(), static_cast<std::size_t>(head));
      EXPECT_TRUE(sink_.spaces[space].broken.empty());
      expect_exact(space);
    }
    EXPECT_FALSE(sink_.is_in_turn);
  }

  const std::string conninfo_;
  PgSession session_;
  Loop loop_;
  RecordingSink sink_;
  std::unique_ptr<Tailer> tailer_;
};

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

TEST_F(TailerTest, row_57_without_notifications_everything_arrives_by_looking) {
  TailerOptions options = quick();
  options.ignore_notifications = true;
  start(options);
  watch("s1");
  for (int i = 1; i <= 5; ++i) {
    loop_.spin(150ms);
    session_.run(append("s1", i));
    EXPECT_TRUE(reaches("s1", i));
  }
  EXPECT_EQ(tailer_->stats().wakeups, Wakeups::poll);
  EXPECT_EQ(tailer_->stats().notified, 0U);
  expect_caught_up({"s1"});
}

TEST_F(TailerTest, a_lost_listener_is_replaced_and_nothing_is_missed) {
  start();
  watch("s1");
  ASSERT_TRUE(loop_.until([&] { return tailer_->stats().wakeups == Wakeups::listen; }));
  for (int i = 1; i <= 5; ++i) {
    const auto listens = tailer_->stats().listens;
    terminate("viewgate listen");
    session_.run(append("s1", i));
    EXPECT_TRUE(reaches("s1", i));
    EXPECT_TRUE(loop_.until([&] { return tailer_->stats().listens > listens; }));
    EXPECT_TRUE(loop_.until([&] { return tailer_->stats().wakeups == Wakeups::listen; }));
  }
  EXPECT_EQ(sink_.degraded, 0) << "the database could be reached all the time";
  expect_caught_up({"s1"});
}

TEST_F(TailerTest, sessions_that_are_terminated_again_and_again_lose_and_repeat_nothing) {
  session_.run(kCreateItems);
  start();
  for (const char* space : {"s0", "s1", "s2"}) watch(space);
  Writers writers(conninfo_, 3, 12);
  for (int round = 1; round <= 25; ++round) {
    const int parts = sink_.parts;
    ASSERT_TRUE(loop_.until([&] { return sink_.parts > parts + 5; }));
    terminate(round % 3 == 0 ? "viewgate listen" : "viewgate tail");
    ASSERT_TRUE(loop_.until([&] { return round % 3 == 0 || sink_.is_degraded || sink_.degraded > sink_.restored; }));
    ASSERT_TRUE(loop_.until([&] { return !sink_.is_degraded; }));
  }
  writers.stop();
  EXPECT_EQ(sink_.degraded, sink_.restored);
  expect_caught_up({"s0", "s1", "s2"});
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

TEST_F(TailerTest, a_connection_that_breaks_inside_a_commit_goes_on_where_it_was) {
  session_.run("create table big (id int primary key, space text, pad text); select viewgate.capture('big', 'space')");
  TailerOptions options = quick();
  options.part_bytes_max = 100'000;
  start(options);
  watch("s1");
  int cuts = 0;
  sink_.when_part = [&](const ledger::CommitPart& part) {
    if (part.last || ++cuts % 7 != 0 || cuts > 70) return;
    terminate("viewgate tail");
  };
  session_.run("insert into big select i, 's1', repeat('x', 400) from generate_series(1, 12000) i");
  session_.run("update big set pad = pad || 'y' where id <= 5000");
  number_all(session_);
  EXPECT_TRUE(reaches("s1", 2));
  EXPECT_GT(sink_.degraded, 1);
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

TEST_F(TailerTest, another_history_is_told_and_followed_from_its_head) {
  start();
  watch("s1");
  for (int i = 1; i <= 3; ++i) session_.run(append("s1", i));
  EXPECT_TRUE(reaches("s1", 3));
  // As after a restore that lost commit 3, and another commit that took its number.
  session_.run(
      "begin; alter table viewgate.commits disable trigger append_only;"
      "update viewgate.commits set stamp = 77 where space = 's1' and sequence = 3;"
      "update viewgate.spaces set head_stamp = 77 where space = 's1';"
      "alter table viewgate.commits enable always trigger append_only; commit");
  terminate("viewgate tail");
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].broken.empty(); }));
  EXPECT_THAT(sink_.spaces["s1"].broken, ElementsAre(errc::history_diverged));
  EXPECT_EQ(sink_.spaces["s1"].position, (ledger::Position{ledger::Sequence{3}, ledger::Stamp{77}}));
  session_.run(append("s1", 4));
  EXPECT_TRUE(reaches("s1", 4));
  EXPECT_EQ(sink_.spaces["s1"].broken.size(), 1U);
}

TEST_F(TailerTest, a_ledger_that_is_behind_its_reader_has_another_history) {
  start();
  watch("s1");
  for (int i = 1; i <= 3; ++i) session_.run(append("s1", i));
  EXPECT_TRUE(reaches("s1", 3));
  session_.run(
      "begin; alter table viewgate.commits disable trigger append_only;"
      "delete from viewgate.commits where space = 's1' and sequence > 1;"
      "update viewgate.spaces set head = 1, head_stamp = (select stamp from viewgate.commits where space = 's1') "
      "where space = 's1'; alter table viewgate.commits enable always trigger append_only; commit");
  terminate("viewgate tail");
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].broken.empty(); }));
  EXPECT_THAT(sink_.spaces["s1"].broken, ElementsAre(errc::history_diverged));
  EXPECT_EQ(sink_.head("s1"), 1);
  session_.run(append("s1", 4));
  EXPECT_TRUE(reaches("s1", 2));
}

TEST_F(TailerTest, history_that_was_pruned_before_it_was_read_is_told) {
  start();
  watch("s1");
  session_.run(append("s1", 1));
  EXPECT_TRUE(reaches("s1", 1));
  // Nothing runs in the loop while this happens: the tailer is behind.
  for (int i = 2; i <= 9; ++i) session_.run(append("s1", i));
  number_all(session_);
  session_.run("select viewgate.prune('s1', 3)");
  session_.run("select viewgate.prune_batch('s1', 1000)");
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].broken.empty(); }));
  EXPECT_THAT(sink_.spaces["s1"].broken, ElementsAre(errc::history_unavailable));
  EXPECT_EQ(sink_.head("s1"), 9);
  session_.run(append("s1", 10));
  EXPECT_TRUE(reaches("s1", 10));
}

TEST_F(TailerTest, a_log_with_a_hole_is_never_handed_on) {
  start();
  watch("s1");
  watch("s2");
  session_.run(append("s1", 1));
  EXPECT_TRUE(reaches("s1", 1));
  for (int i = 2; i <= 5; ++i) session_.run(append("s1", i));
  number_all(session_);
  session_.run(
      "begin; alter table viewgate.commits disable trigger append_only;"
      "delete from viewgate.commits where space = 's1' and sequence = 3;"
      "alter table viewgate.commits enable always trigger append_only; commit");
  session_.run(append("s2", 1));
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].broken.empty(); }));
  EXPECT_THAT(sink_.spaces["s1"].broken, ElementsAre(errc::log_corrupt));
  EXPECT_EQ(sink_.spaces["s1"].commits.size(), 2U);
  EXPECT_TRUE(reaches("s2", 1)) << "other spaces go on";
}

TEST_F(TailerTest, pruning_keeps_the_newest_commits) {
  TailerOptions options = quick();
  options.prune_keep = 10;
  start(options);
  watch("s1");
  for (int i = 1; i <= 50; ++i) session_.run(append("s1", i));
  EXPECT_TRUE(reaches("s1", 50));
  EXPECT_TRUE(loop_.until([&] { return session_.value("select viewgate.retained_from('s1')") == "41"; }));
  EXPECT_TRUE(loop_.until([&] { return session_.value("select min(sequence) from viewgate.commits") == "41"; }));
  EXPECT_TRUE(sink_.spaces["s1"].broken.empty());
  EXPECT_TRUE(loop_.until([&] { return tailer_->stats().pruned >= 40; }));
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

TEST_F(TailerTest, a_lock_held_while_connecting_hides_nothing_for_good) {
  session_.run(append("s1", 1));
  number_all(session_);
  session_.run(append("s1", 2));
  PgSession holder(conninfo_);
  holder.run("begin; select viewgate.lock_space('s1')");
  start();
  watch("s1");
  EXPECT_EQ(sink_.head("s1"), 1);
  loop_.spin(30ms);
  holder.run("rollback");
  EXPECT_TRUE(reaches("s1", 2));
}

class TailerRestart : public ::testing::TestWithParam<ledger::Shutdown> {};

TEST_P(TailerRestart, row_55_nothing_is_lost_when_postgresql_restarts) {
  PostgresCluster cluster({ledger::Durability::durable, {}});
  const std::string conninfo = cluster.create_database();
  PgSession(conninfo).run(kCreateItems);
  Loop loop;
  RecordingSink sink;
  Tailer tailer(loop.io(), conninfo, quick(), sink);
  tailer.start();
  for (const char* space : {"s0", "s1", "s2"}) tailer.watch(space);
  Writers writers(conninfo, 3, 14);
  ASSERT_TRUE(loop.until([&] { return sink.parts > 50; }));
  std::thread restart([&] { cluster.restart(GetParam()); });
  const bool was_degraded = loop.until([&] { return sink.degraded == 1; });
  const bool was_restored = loop.until([&] { return sink.restored == 1; }, 60s);
  restart.join();
  ASSERT_TRUE(was_degraded && was_restored);
  const int parts = sink.parts;
  ASSERT_TRUE(loop.until([&] { return sink.parts > parts + 50; }));
  writers.stop();
  PgSession session(conninfo);
  number_all(session);
  for (const char* space : {"s0", "s1", "s2"}) {
    const std::int64_t head = std::stoll(session.value("select viewgate.watermark($1)", {space}));
    EXPECT_TRUE(loop.until([&] { return sink.head(space) == head; }));
    EXPECT_TRUE(sink.spaces[space].broken.empty());
  }
  EXPECT_EQ(sink.degraded, 1);
  EXPECT_EQ(sink.restored, 1);
}

INSTANTIATE_TEST_SUITE_P(How, TailerRestart, ::testing::Values(ledger::Shutdown::fast, ledger::Shutdown::kill),
                         [](const auto& how) { return how.param == ledger::Shutdown::fast ? "fast" : "kill"; });

}  // namespace
}  // namespace viewgate::testing
