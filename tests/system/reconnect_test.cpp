// A crowd that has lost everything and comes back at once: bootstraps are read by and by, whoever finds no room is told when to ask
// again and keeps its socket, and everybody is at the head within the minute.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "system/item_crowd.hpp"

namespace viewgate::testing {
namespace {

/// VIEWGATE_CROWD_CLIENTS: 5000 where there is time.
std::size_t client_count() {
  const char* text = std::getenv("VIEWGATE_CROWD_CLIENTS");
  return text == nullptr ? 300 : std::strtoul(text, nullptr, 10);
}

/// Both ends of each socket are descriptors: ours, and the gateway's, which inherits the limit.
void allow_descriptors(rlim_t wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::clamp(wanted, limit.rlim_cur, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(Reconnect, row_52_a_crowd_that_comes_back_with_nothing_is_at_the_head_within_a_minute) {
  const std::size_t count = client_count();
  constexpr std::size_t space_count = 60;  // with five views each: far more bootstraps than may wait
  const std::chrono::milliseconds minute = patient(std::chrono::minutes(1));
  allow_descriptors(static_cast<rlim_t>(count) + 1000);
  LineOptions options;
  for (const std::string each : {"--snapshot-concurrent", "1", "--snapshot-queue", "8"}) options.flags.push_back(each);
  // A crowd on two cores is not to be judged by a twentieth of the usual deadlines.
  for (auto flag = options.flags.begin(); flag != options.flags.end(); ++flag) {
    if (*flag == "--time-hello" || *flag == "--time-handshake" || *flag == "--time-message") *std::next(flag) = "1m";
  }
  Line line(durable_cluster(), options);
  std::vector<std::string> spaces;
  for (std::size_t i = 0; i < space_count; ++i) spaces.push_back(line.new_space());
  const ItemCrowd crowd(count, spaces);
  loadtest::SwarmOptions swarm_options;
  swarm_options.address = {"127.0.0.1", line.port()};
  swarm_options.members = crowd.members;
  swarm_options.calm = true;
  loadtest::Swarm swarm(swarm_options);
  swarm.start();
  ASSERT_TRUE(swarm.wait_until_live(minute)) << swarm.summary();
  ItemWriters writers(line.database(), crowd.spaces);
  ASSERT_TRUE(eventually([&] { return writers.written() >= 200; }));

  swarm.send_away(loadtest::Swarm::Away::with_nothing);
  loadtest::Totals before;
  swarm.between_turns([&] { before = swarm.totals(); });
  const auto begun = std::chrono::steady_clock::now();
  swarm.let_return();
  ASSERT_TRUE(swarm.wait_until_live(minute)) << swarm.summary();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  writers.stop();
  ASSERT_TRUE(swarm.wait_until_at(heads_of(crowd, line.database()), minute)) << swarm.summary();
  swarm.stop();

  const auto& after = swarm.totals();
  EXPECT_EQ(after.connections - before.connections, count) << "who is told to ask again keeps its socket";
  const auto refused = after.refusals - before.refusals;
  EXPECT_GT(refused, 0U) << "else there was room for all, and the row says nothing";
  EXPECT_EQ(after.bootstraps - before.bootstraps - refused, crowd.subscriptions()) << swarm.summary();
  EXPECT_EQ(judge(swarm, crowd, line.database()), "") << swarm.summary();
  std::cout << count << " clients were back in " << took.count() << " s, " << refused << " were told to ask again\n";
}

}  // namespace
}  // namespace viewgate::testing
