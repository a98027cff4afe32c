// Retention under writers at full speed: what is kept on disk reaches a plateau, far below what was written, whoever writes how fast.
#include <gmock/gmock.h>

#include <iostream>
#include <random>

#include "ledger/tail_fixture.hpp"

namespace viewgate::testing {
namespace {

constexpr int writers = 3;
constexpr int kept = 500;

/// Of about 2 kB that do not compress, a transaction each, as fast as PostgreSQL takes them.
void write_until(const std::atomic<bool>& stopped, const std::string& conninfo, unsigned seed) {
  PgSession session(conninfo);
  session.run("set synchronous_commit = off");
  std::minstd_rand random(seed);
  std::string text(2000, ' ');
  while (!stopped) {
    for (char& c : text) c = static_cast<char>('a' + random() % 26);
    session.query("insert into t (space, x) values ('busy', $1)", {text});
  }
}

TEST(RetentionPace, the_ledger_reaches_a_plateau_under_writers_at_full_speed) {
  PostgresCluster cluster({.settings = {"autovacuum_naptime=1s"}});
  const std::string conninfo = cluster.create_database();
  PgSession session(conninfo);
  session.run(
      "create table t (id bigint generated always as identity primary key, space text, x text);"
      "select viewgate.capture('public.t', 'space')");
  session.query("select viewgate.set_retention(null, $1, null)", {std::to_string(kept)});
  Loop loop;
  RecordingSink sink;
  TailerOptions options = quick();
  options.prune_interval = std::chrono::seconds(3);
  options.size_interval = std::chrono::milliseconds(200);
  Tailer tailer(loop.io(), conninfo, options, sink);
  std::atomic<bool> stopped = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < writers; ++i)
    threads.emplace_back([&, i] { write_until(stopped, conninfo, static_cast<unsigned>(i) + 1); });
  const auto number = [&](const std::string& sql) { return std::stoll(session.value(sql)); };
  const std::string head = "select viewgate.watermark('busy')";
  tailer.start();
  // So long that vacuum has come round several times.
  const auto rounds = [&] {
    return number("select autovacuum_count from pg_stat_user_tables where relid = 'viewgate.changes'::regclass");
  };
  EXPECT_TRUE(loop.until([&] { return rounds() >= 12 && number(head) >= 100'000; }, std::chrono::minutes(6)));
  const auto commits = number(head);
  const auto size = tailer.stats().size;
  const auto rows = number("select count(*) from viewgate.commits");
  const auto written = number("select sum(length(x)) from t");
  stopped = true;
  threads.clear();
  std::cout << commits << " commits, " << written << " bytes written; on disk " << size.total() << " bytes, " << rows
            << " commits\n";
  EXPECT_LT(size.changes + size.commits, static_cast<std::uint64_t>(written) / 2);
  EXPECT_LT(rows, commits / 2);
  // In the end exactly what the rule says.
  EXPECT_TRUE(loop.until(
      [&] {
        return number("select count(*) from viewgate.waiting") == 0 &&
               number("select count(*) from viewgate.commits") == kept;
      },
      std::chrono::minutes(2)));
  EXPECT_EQ(session.value("select viewgate.retained_from('busy') = viewgate.watermark('busy') - $1 + 1",
                          {std::to_string(kept)}),
            "t");
  tailer.stop();
}

}  // namespace
}  // namespace viewgate::testing
