// The proof of the contract suite: with a bug planted, the promise that it breaks must be red.
#include <gtest/gtest-spi.h>

#include <csignal>
#include <set>
#include <string>
#include <utility>

#include "ledger/contract/plants.hpp"
#include "ledger/contract/postgres_adapter.hpp"
#include "ledger/contract/promises.hpp"
#include "ledger/contract/steps.hpp"

namespace viewgate::testing {
namespace {

/// How often the promise fails in this database. An error with `error` in it is a failure, too; any other is thrown on.
int failures_of(const Promise& promise, LedgerAdapter& ledger, const char* error = nullptr) {
  ::testing::TestPartResultArray results;
  int out = 0;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    try {
      promise.keep(ledger);
    } catch (const std::runtime_error& thrown) {
      if (error == nullptr || std::string_view(thrown.what()).find(error) == std::string_view::npos) throw;
      ++out;
    }
  }
  for (int i = 0; i < results.size(); ++i) out += results.GetTestPartResult(i).failed() ? 1 : 0;
  return out;
}

class Planted : public ::testing::TestWithParam<Plant> {};

TEST_P(Planted, breaks_its_promise) {
  PostgresCluster& cluster = PostgresCluster::shared();
  const std::string conninfo = cluster.create_database();
  PostgresAdapter ledger(cluster, conninfo);
  ledger.declare(suite_groups());
  const Promise& promise = promise_of(GetParam().promise);
  ASSERT_EQ(failures_of(promise, ledger), 0) << "red without the bug, too";
  PgSession session(conninfo);
  for (const SqlEdit& change : GetParam().edits) edit(session, change);
  const PlantedBug bug(GetParam().name);
  EXPECT_GT(failures_of(promise, ledger, GetParam().error), 0);
}

INSTANTIATE_TEST_SUITE_P(Each, Planted, ::testing::ValuesIn(plants()),
                         [](const auto& each) { return std::string(each.param.name); });

constexpr const char* kSurvivesACrash = "what_was_told_survives_a_crash";  ///< needs a server of its own, below

TEST(Plants, every_promise_has_one) {
  std::set<std::string> broken{kSurvivesACrash};
  for (const Plant& plant : plants()) broken.insert(plant.promise);
  for (const Promise& promise : promises()) {
    EXPECT_TRUE(broken.contains(promise.name)) << promise.name << " has no plant that breaks it: add one to plants.cpp";
  }
}

/// One whose log's writer stands still: it is killed first, since who is killed alone would wait for it.
class StoppedAdapter final : public PostgresAdapter {
 public:
  StoppedAdapter(PostgresCluster& cluster, const std::string& conninfo, int log_writer)
      : PostgresAdapter(cluster, conninfo), log_writer_(log_writer) {}
  void crash() override {
    if (log_writer_ > 0) ::kill(std::exchange(log_writer_, 0), SIGKILL);
    PostgresAdapter::crash();
  }

 private:
  int log_writer_;
};

/// A server that writes nothing by itself, so that what nobody flushes is lost when it is killed: its log's writer stands
/// still (what that one has written outlives a process, also where it is not flushed).
class Durability : public ::testing::Test {
 protected:
  Durability() : conninfo_(cluster_.create_database()) {
    PgSession session(conninfo_);
    session.run("alter database " + session.value("select current_database()") + " set synchronous_commit = off");
    log_writer_ = std::stoi(session.value("select pid from pg_stat_activity where backend_type = 'walwriter'"));
    session.run("select pg_sleep(0.5)");  // it has nothing to do then, and holds no lock in its sleep
    ::kill(log_writer_, SIGSTOP);
  }
  ~Durability() override { ::kill(log_writer_, SIGCONT); }  // where the test did not come to the crash

  PostgresCluster cluster_;
  const std::string conninfo_;
  int log_writer_ = 0;
};

TEST_F(Durability, is_not_left_to_the_settings_of_a_database) {
  StoppedAdapter ledger(cluster_, conninfo_, log_writer_);
  promise_of(kSurvivesACrash).keep(ledger);
  // Also where a back-end numbers its own commit.
  PgSession(conninfo_).run("select viewgate.append('a', '[{\"collection\": \"c\", \"key\": [1], \"put\": {}}]')");
  ASSERT_EQ(PgSession(conninfo_).value("select numbered from viewgate.look()"), "1");
  ledger.crash();
  EXPECT_EQ(ledger.watermark("a"), ledger::Sequence{1});
}

TEST_F(Durability, that_is_not_forced_is_missed) {
  PgSession session(conninfo_);
  edit(session, {"is_durable", "('off', 'local', 'remote_write')", "('never')"});
  const PlantedBug bug("async_commit");
  StoppedAdapter ledger(cluster_, conninfo_, log_writer_);
  EXPECT_GT(failures_of(promise_of(kSurvivesACrash), ledger), 0);
}

}  // namespace
}  // namespace viewgate::testing
