// The tailer when things break: sessions that end, a server that restarts, notifications that never come, a history that is
// not the one it followed. Each ends with: and it goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "ledger/tail_fixture.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using ledger::errc;
using ledger::Wakeups;
using ::testing::ElementsAre;

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

TEST_F(TailerTest, commits_of_any_size_come_whole_and_once_whatever_breaks_when) {
  const unsigned seed = seed_from_environment(1);
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  session_.run(
      "create table big (id serial, space text, primary key (space, id)); select viewgate.capture('big', 'space'); "
      "alter sequence big_id_seq restart 100000");  // so that the order of keys is that of numbers
  TailerOptions options = quick();
  options.changes_per_read = 20;  // what is larger is read apart
  options.spaces_per_read = 3;
  options.part_bytes_max = 2000;
  start(options);
  const std::vector<std::string> spaces{"s0", "s1", "s2", "s3", "s4"};
  for (const std::string& each : spaces) watch(each);
  const std::vector<std::string> connections{"viewgate tail", "viewgate tail", "viewgate large", "viewgate listen"};
  unsigned parts_until_break = 5;
  int breaks = 0;
  sink_.when_part = [&](const ledger::CommitPart&) {
    if (--parts_until_break > 0) return;
    parts_until_break = 1 + below(25);
    ++breaks;
    terminate(connections[below(4)]);
  };
  for (int round = 0; round < 200; ++round) {
    // One transaction in one to three spaces, of few changes or of many.
    const unsigned count = below(4) == 0 ? 1 + below(90) : 1 + below(5);
    const unsigned first = below(5);
    session_.run("insert into big (space) select 's' || (" + std::to_string(first) + " + i % " +
                 std::to_string(1 + below(3)) + ") % 5 from generate_series(1, " + std::to_string(count) + ") i");
    if (below(3) == 0) loop_.spin(std::chrono::milliseconds(below(10)));
  }
  EXPECT_TRUE(loop_.until([&] { return breaks > 0; }));
  sink_.when_part = nullptr;
  expect_caught_up(spaces);
}

TEST_F(TailerTest, a_connection_that_breaks_inside_a_commit_goes_on_where_it_was) {
  session_.run("create table big (id int primary key, space text, pad text); select viewgate.capture('big', 'space')");
  TailerOptions options = quick();
  options.part_bytes_max = 100'000;
  start(options);
  watch("s1");
  std::map<std::int64_t, int> parts;
  sink_.when_part = [&](const ledger::CommitPart& part) {
    const std::int64_t sequence = part.position.sequence.value;
    if (part.last || ++parts[sequence] % 3 != 0 || parts[sequence] > 28) return;
    // The first commit is so large that it is read apart.
    terminate(sequence == 1 ? "viewgate large" : "viewgate tail");
  };
  session_.run("insert into big select i, 's1', repeat('x', 400) from generate_series(1, 12000) i");
  session_.run("update big set pad = pad || 'y' where id <= 1800");
  number_all(session_);
  EXPECT_TRUE(reaches("s1", 2));
  EXPECT_GT(sink_.degraded, 1);
  expect_caught_up({"s1"});
}

TEST_F(TailerTest, a_read_that_a_lock_on_the_log_refuses_is_made_when_it_is_free) {
  start();
  watch("s1");
  PgSession space(conninfo_);
  space.run("begin; select viewgate.lock_space('s1')");
  session_.run(append("s1", 1));
  PgSession table(conninfo_);
  table.run("begin; lock table viewgate.changes in access exclusive mode");  // as VACUUM FULL does
  space.run("rollback");
  ASSERT_TRUE(loop_.until([&] { return tailer_->stats().conflicts > 0; }, patient(60s))) << "looks go on, reads do not";
  EXPECT_EQ(sink_.head("s1"), 0);
  table.run("rollback");
  EXPECT_TRUE(reaches("s1", 1)) << "though nothing is written there any more";
  EXPECT_EQ(sink_.degraded, 0);
}

TEST_F(TailerTest, another_history_is_told_and_followed_from_its_head) {
  start();
  watch("s1");
  for (int i = 1; i <= 3; ++i) session_.run(append("s1", i));
  EXPECT_TRUE(reaches("s1", 3));
  // As after a restore that lost commit 3, and another commit that took its number.
  session_.run(
      "begin; alter table viewgate.commits disable trigger user;"
      "update viewgate.commits set stamp = 77 where space = 's1' and sequence = 3;"
      "alter table viewgate.commits enable always trigger append_only; alter table viewgate.commits enable always "
      "trigger only_pruned; commit");
  terminate("viewgate tail");
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].broken.empty(); }));
  EXPECT_THAT(sink_.spaces["s1"].broken, ElementsAre(errc::history_diverged));
  EXPECT_EQ(sink_.spaces["s1"].position, (ledger::Position{ledger::Sequence{3}, ledger::Stamp{77}}));
  session_.run(append("s1", 4));
  EXPECT_TRUE(reaches("s1", 4));
  EXPECT_EQ(sink_.spaces["s1"].broken.size(), 1U);
}

void keep_copies(PgSession& session) {
  session.run(
      "create table old_commits as table viewgate.commits; create table old_changes as table viewgate.changes;"
      "create table old_horizons as table viewgate.horizons; create table old_records as table viewgate.records");
}

/// The log as it was when it was copied, and then this many commits of another line: all in one transaction, and nobody's
/// connection breaks.
void restore_in_place(PgSession& session, int commits) {
  std::string sql =
      "begin; alter table viewgate.commits disable trigger user; alter table viewgate.changes disable trigger user;"
      "delete from viewgate.commits; insert into viewgate.commits table old_commits;"
      "delete from viewgate.changes; insert into viewgate.changes table old_changes;"
      "delete from viewgate.horizons; insert into viewgate.horizons table old_horizons;"
      "delete from viewgate.records; insert into viewgate.records table old_records;"
      "alter table viewgate.commits enable always trigger append_only;"
      "alter table viewgate.commits enable always trigger only_pruned;"
      "alter table viewgate.commits enable always trigger only_erased;"
      "alter table viewgate.changes enable always trigger append_only;"
      "alter table viewgate.changes enable always trigger only_erased;";
  for (int i = 0; i < commits; ++i) sql += append("s1", 100 + i) + "; select viewgate.number('s1');";
  session.run(sql + "commit");
}

TEST_F(TailerTest, a_head_that_goes_back_while_all_connections_last_is_another_history) {
  start();
  watch("s1");
  for (int i = 1; i <= 3; ++i) session_.run(append("s1", i));
  EXPECT_TRUE(reaches("s1", 3));
  keep_copies(session_);
  for (int i = 4; i <= 9; ++i) session_.run(append("s1", i));
  EXPECT_TRUE(reaches("s1", 9));
  restore_in_place(session_, 1);
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].broken.empty(); }));
  EXPECT_EQ(sink_.head("s1"), 4);
  session_.run(append("s1", 10));
  EXPECT_TRUE(reaches("s1", 5));
  EXPECT_THAT(sink_.spaces["s1"].broken, ElementsAre(errc::history_diverged));
  EXPECT_EQ(sink_.degraded, 0) << "nothing else gave it away";
}

TEST_F(TailerTest, a_restored_log_that_has_grown_past_its_reader_is_not_handed_on) {
  start();
  watch("s1");
  for (int i = 1; i <= 2; ++i) session_.run(append("s1", i));
  EXPECT_TRUE(reaches("s1", 2));
  keep_copies(session_);
  session_.run(append("s1", 3));
  EXPECT_TRUE(reaches("s1", 3));
  restore_in_place(session_, 3);
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].broken.empty(); }));
  EXPECT_THAT(sink_.spaces["s1"].broken, ElementsAre(errc::history_diverged));
  EXPECT_EQ(sink_.head("s1"), 5);
  EXPECT_EQ(sink_.spaces["s1"].commits.size(), 3U) << "those before it";
  EXPECT_EQ(sink_.degraded, 0);
}

TEST_F(TailerTest, a_ledger_that_is_behind_its_reader_has_another_history) {
  start();
  watch("s1");
  for (int i = 1; i <= 3; ++i) session_.run(append("s1", i));
  EXPECT_TRUE(reaches("s1", 3));
  session_.run(
      "begin; alter table viewgate.commits disable trigger user;"
      "delete from viewgate.commits where space = 's1' and sequence > 1;"
      "alter table viewgate.commits enable always trigger append_only; alter table viewgate.commits enable always "
      "trigger only_pruned; commit");
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

TEST_F(TailerTest, values_that_were_erased_before_they_were_read_are_told) {
  start();
  watch("s1");
  session_.run(append("s1", 1));
  EXPECT_TRUE(reaches("s1", 1));
  // Nothing runs in the loop while this happens: the tailer is behind.
  for (int i = 2; i <= 4; ++i) session_.run(append("s1", i));
  number_all(session_);
  session_.run("delete from viewgate.records where key = '[3]'; select viewgate.erase_record('s1', 'notes', '[3]')");
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].broken.empty(); }));
  EXPECT_THAT(sink_.spaces["s1"].broken, ElementsAre(errc::history_erased));
  EXPECT_EQ(sink_.head("s1"), 4);
  session_.run(append("s1", 5));
  EXPECT_TRUE(reaches("s1", 5));
  EXPECT_EQ(sink_.spaces["s1"].broken.size(), 1U);
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
      "begin; alter table viewgate.commits disable trigger user;"
      "delete from viewgate.commits where space = 's1' and sequence = 3;"
      "alter table viewgate.commits enable always trigger append_only; alter table viewgate.commits enable always "
      "trigger only_pruned; commit");
  session_.run(append("s2", 1));
  EXPECT_TRUE(loop_.until([&] { return !sink_.spaces["s1"].broken.empty(); }));
  EXPECT_THAT(sink_.spaces["s1"].broken, ElementsAre(errc::log_corrupt));
  EXPECT_EQ(sink_.spaces["s1"].commits.size(), 2U);
  EXPECT_TRUE(reaches("s2", 1)) << "other spaces go on";
}

TEST_F(TailerTest, row_55_nothing_is_lost_when_postgresql_restarts) {
  session_.run(kCreateItems);
  start();
  for (const char* space : {"s0", "s1", "s2"}) watch(space);
  Writers writers(conninfo_, 3, 14);
  for (const ledger::Shutdown how : {ledger::Shutdown::fast, ledger::Shutdown::kill}) {
    const int parts = sink_.parts;
    const int degraded = sink_.degraded;
    ASSERT_TRUE(loop_.until([&] { return sink_.parts > parts + 30; }));
    std::thread restart([how] { PostgresCluster::shared().restart(how); });
    const bool was_told = loop_.until([&] { return sink_.degraded > degraded; });
    const bool was_restored = loop_.until([&] { return sink_.restored > degraded; }, 60s);
    restart.join();
    ASSERT_TRUE(was_told && was_restored);
  }
  const int parts = sink_.parts;
  ASSERT_TRUE(loop_.until([&] { return sink_.parts > parts + 30; }));
  writers.stop();
  EXPECT_EQ(sink_.degraded, sink_.restored);
  session_ = PgSession(conninfo_);
  expect_caught_up({"s0", "s1", "s2"});
}

}  // namespace
}  // namespace viewgate::testing
