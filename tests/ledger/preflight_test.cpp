// What a database must be before anything is built on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ledger/preflight.hpp"
#include "ledger/transaction_pooler.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using ledger::errc;
using ledger::FsyncOff;
using ledger::preflight;
using ledger::PreflightOptions;
using ledger::ServerFacts;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Preflight, obstacles_are_named) {
  ServerFacts fine;
  fine.version = 130000;
  EXPECT_FALSE(ledger::obstacle(fine));
  struct Line {
    ServerFacts facts;
    const char* detail;
  };
  ServerFacts old = fine;
  old.version = 120017;
  ServerFacts standby = fine;
  standby.is_standby = true;
  ServerFacts volatile_server = fine;
  volatile_server.has_fsync = false;
  ServerFacts latin = fine;
  latin.encoding = "LATIN1";
  for (const Line& line : {Line{old, "PostgreSQL 12: 13 or newer"}, Line{standby, "give the primary's address"},
                           Line{volatile_server, "set fsync = on"}, Line{latin, "encoding is LATIN1"}}) {
    const auto found = ledger::obstacle(line.facts);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->code, errc::unsuitable_database);
    EXPECT_THAT(found->detail, HasSubstr(line.detail));
    EXPECT_THAT(found->detail, Not(HasSubstr("\n")));
  }
}

TEST(Preflight, fsync_off_is_refused_unless_it_is_accepted) {
  const std::string conninfo = PostgresCluster::shared().create_database();
  const auto refused = preflight(conninfo, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unsuitable_database);
  EXPECT_THAT(refused.error().detail, HasSubstr("fsync"));
  PreflightOptions accepting;
  accepting.fsync_off = FsyncOff::accept;
  const auto accepted = preflight(conninfo, accepting);
  EXPECT_TRUE(accepted) << accepted.error().detail;
}

TEST(Preflight, a_durable_primary_is_fine_and_a_standby_is_refused) {
  ClusterOptions durable;
  durable.settings = {"fsync=on"};
  PostgresCluster cluster(durable);
  const std::string conninfo = cluster.create_database();
  const auto fine = preflight(conninfo, {});
  EXPECT_TRUE(fine) << fine.error().detail;

  const std::string data = PgSession(conninfo).value("show data_directory");
  std::ofstream(data + "/standby.signal").flush();
  cluster.restart(ledger::Shutdown::fast);
  const auto refused = preflight(conninfo, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unsuitable_database);
  EXPECT_THAT(refused.error().detail, HasSubstr("standby"));
}

TEST(Preflight, row_58_a_pooler_in_transaction_mode_is_refused) {
  PostgresCluster& cluster = PostgresCluster::shared();
  const std::string conninfo = cluster.create_database();
  PreflightOptions options;
  options.fsync_off = FsyncOff::accept;
  ASSERT_TRUE(preflight(conninfo, options));
  TransactionPooler pooler((cluster.server().socket_directory() / ".s.PGSQL.5432").string());
  // The given string's last word counts: through the pooler, to the same database.
  const auto refused = preflight(conninfo + " host=127.0.0.1 port=" + std::to_string(pooler.port()), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unsuitable_database) << refused.error().detail;
  EXPECT_THAT(refused.error().detail, HasSubstr("pooler in transaction mode"));
}

TEST(Preflight, nobody_there_is_unavailable) {
  const auto refused = preflight("host=127.0.0.1 port=1 dbname=x user=x", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unavailable);
}

}  // namespace
}  // namespace viewgate::testing
