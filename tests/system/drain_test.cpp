// A node that is asked to stop sends its clients away spread over a window, so that those who take them over are not run down, and
// all of them resume. What is judged is what each client was told and that it kept to it, not what this machine made of it.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "system/item_crowd.hpp"

namespace viewgate::testing {
namespace {

using loadtest::Clock;

constexpr std::chrono::seconds long_time{120};

/// VIEWGATE_DRAIN_CLIENTS: 1000 where there is time.
std::size_t client_count() {
  const char* text = std::getenv("VIEWGATE_DRAIN_CLIENTS");
  return text == nullptr ? 200 : std::strtoul(text, nullptr, 10);
}

/// What one client was told, and when it was back.
struct Return {
  Clock::time_point told;
  std::optional<std::chrono::milliseconds> after;
  std::optional<Clock::time_point> back;
};

/// How many of these times at most lie in one stretch of this length.
template <class Time, class Length>
std::size_t most_within(std::vector<Time> times, Length length) {
  std::ranges::sort(times);
  std::size_t out = 0;
  for (auto from = times.begin(), to = times.begin(); to != times.end(); ++to) {
    while (*to - *from >= length) ++from;
    out = std::max(out, static_cast<std::size_t>(to - from) + 1);
  }
  return out;
}

TEST(Drain, row_54_case_27_clients_return_spread_over_the_window_and_all_resume) {
  const std::size_t count = client_count();
  const std::chrono::milliseconds window(count * 10);  // a hundred a second
  Line line(durable_cluster(), {.flags = quick_deadlines(std::chrono::seconds(60))});
  GatewayOptions options = line.gateway_options();
  options.set("--time-drain", std::to_string(window.count()) + "ms");
  GatewayProcess leaving(options);
  options.listen = "127.0.0.1:" + std::to_string(free_port());
  const ItemCrowd crowd(count, {line.new_space(), line.new_space()});
  loadtest::SwarmOptions swarm_options;
  swarm_options.address = {"127.0.0.1", leaving.port()};
  swarm_options.others = {loadtest::parse_address(options.listen)};  // where nobody listens yet
  swarm_options.members = crowd.members;
  swarm_options.calm = true;
  std::vector<Return> returns(count);  // written on the swarm's thread
  loadtest::Swarm swarm(swarm_options);
  for (std::size_t i = 0; i < count; ++i) {
    swarm.observe(i, [&each = returns[i]](std::string_view, const std::vector<loadtest::Member>& document) {
      const std::string_view type = loadtest::unquoted(loadtest::member(document, "type"));
      if (type == "drain") {
        each.told = Clock::now();
        each.after.emplace(loadtest::integer(loadtest::member(document, "reconnect_after")).value_or(-1));
      } else if (type == "welcome" && each.after && !each.back) {
        each.back = Clock::now();
      }
    });
  }
  swarm.start();
  ASSERT_TRUE(swarm.wait_until_live(long_time)) << swarm.summary();
  // A commit goes to half of the clients, who are one thread: as many deliveries a second, however many clients there are.
  ItemWriters writers(line.database(), crowd.spaces, std::chrono::milliseconds(count / 4));
  GatewayProcess staying(options);
  leaving.process().signal(SIGTERM);
  EXPECT_EQ(leaving.process().wait(window + std::chrono::seconds(30)), 0) << leaving.log();
  ASSERT_TRUE(swarm.wait_until_live(std::chrono::ceil<std::chrono::seconds>(window) + long_time)) << swarm.summary();
  writers.stop();
  ASSERT_TRUE(swarm.wait_until_at(heads_of(crowd, line.database()), long_time)) << swarm.summary();
  swarm.stop();

  std::vector<std::chrono::milliseconds> told;
  std::vector<Clock::time_point> back;
  for (const Return& each : returns) {
    ASSERT_TRUE(each.after && each.back) << swarm.summary();
    told.push_back(*each.after);
    back.push_back(*each.back);
    EXPECT_GE(*each.back, each.told + *each.after) << "nobody is early";
  }
  EXPECT_LE(most_within(told, std::chrono::seconds(1)), 150U);
  EXPECT_GE(*std::ranges::max_element(told), window * 9 / 10) << "the whole window is used";
  EXPECT_LE(*std::ranges::max_element(told), window);
  EXPECT_EQ(swarm.totals().bootstraps, crowd.subscriptions()) << "everybody resumes: " << swarm.summary();
  EXPECT_EQ(swarm.totals().resets, 0U);
  EXPECT_EQ(judge(swarm, crowd, line.database()), "") << swarm.summary();
  std::cout << count << " clients in " << window.count() << " ms, at most "
            << most_within(back, std::chrono::seconds(1)) << " back in one second\n";
}

}  // namespace
}  // namespace viewgate::testing
