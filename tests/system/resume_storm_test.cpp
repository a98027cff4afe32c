// A node is killed, commits go on, and all of its clients come at once to another one that knows nothing of their spaces: PostgreSQL
// is asked about each space a few times and not once for every client, and everybody has every commit. PostgreSQL does the counting
// (pg_stat_statements).
#include <gmock/gmock.h>

#include <cstdlib>
#include <iostream>

#include "system/item_crowd.hpp"

namespace viewgate::testing {
namespace {

constexpr std::chrono::seconds long_time{120};

PostgresCluster& counting_cluster() {
  static PostgresCluster cluster(
      {.durability = ledger::Durability::durable, .settings = {"shared_preload_libraries=pg_stat_statements"}});
  return cluster;
}

/// VIEWGATE_STORM_CLIENTS: thousands where there is time.
std::size_t client_count() {
  const char* text = std::getenv("VIEWGATE_STORM_CLIENTS");
  return text == nullptr ? 300 : std::strtoul(text, nullptr, 10);
}

/// How often the log was read, or a position held against it.
std::int64_t questions(Line& line) {
  return std::stoll(
      line.value("select coalesce(sum(calls), 0) from pg_stat_statements s join pg_database d on d.oid = s.dbid "
                 "where d.datname = current_database() and (query like '%viewgate.read_log(%' or "
                 "query like '%viewgate.position_stamp(%') and query not like '%pg_stat_statements%'"));
}

void commit(Line& line, const std::string& space, int id) {
  line.session().query("insert into items (space, id, status, n) values ($1, $2, 'open', $3)",
                       {space, std::to_string(id), std::to_string(id % 400)});
}

TEST(ResumeStorm, clients_of_a_killed_node_cost_the_database_a_few_questions_for_each_space) {
  const std::size_t clients = client_count();
  constexpr int missed = 100;
  constexpr std::int64_t questions_per_space_max = 6;
  Line line(counting_cluster(), {.flags = quick_deadlines(std::chrono::seconds(60))});
  line.sql("create extension pg_stat_statements");
  const ItemCrowd crowd(clients, {line.new_space(), line.new_space(), line.new_space()});
  loadtest::SwarmOptions options;
  options.address = {"127.0.0.1", line.port()};
  options.members = crowd.members;
  options.calm = true;
  loadtest::Swarm swarm(options);
  int id = 0;
  for (const auto& space : crowd.spaces) commit(line, space, ++id);
  swarm.start();
  ASSERT_TRUE(swarm.wait_until_at(heads_of(crowd, line.database()), long_time));

  line.gateway().process().kill();
  for (int i = 0; i < missed; ++i) {
    for (const auto& space : crowd.spaces) commit(line, space, ++id);
  }
  // Numbered before anybody comes, so that nothing is read but for those who return.
  line.sql("select viewgate.look(null)");
  line.sql("select pg_stat_statements_reset()");
  line.gateway().start_again();  // another node behind the same address: it has nothing of what the first one had
  ASSERT_TRUE(swarm.wait_until_at(heads_of(crowd, line.database()), long_time)) << swarm.summary();
  swarm.stop();
  const std::int64_t asked = questions(line);
  EXPECT_GT(asked, 0);
  EXPECT_LE(asked, questions_per_space_max * static_cast<std::int64_t>(crowd.spaces.size()));
  EXPECT_EQ(judge(swarm, crowd, line.database()), "") << swarm.summary();
  EXPECT_EQ(swarm.totals().bootstraps, crowd.subscriptions()) << "everybody resumed: " << swarm.summary();
  EXPECT_GE(swarm.totals().resumptions, crowd.subscriptions());
  std::cout << clients << " clients, " << crowd.subscriptions() << " subscriptions, " << asked << " questions\n";
}

}  // namespace
}  // namespace viewgate::testing
