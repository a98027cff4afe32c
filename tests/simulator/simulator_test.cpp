// Some hundred worlds, each from one seed. A failure prints the seed; VIEWGATE_SEED runs that one alone, VIEWGATE_SEEDS so many.
#include <gtest/gtest.h>

#include <cstdlib>

#include "gateway/log.hpp"
#include "simulator/world.hpp"

namespace viewgate::simulator {
namespace {

constexpr unsigned seeds = 400;
constexpr int faulty_steps = 3000;
constexpr int quiet_steps = 500'000;  // a full ring through the narrowest pipe takes most of them

std::vector<unsigned> seeds_to_run() {
  if (const char* one = std::getenv("VIEWGATE_SEED")) return {static_cast<unsigned>(std::strtoul(one, nullptr, 10))};
  const char* count = std::getenv("VIEWGATE_SEEDS");
  const unsigned last = count != nullptr ? static_cast<unsigned>(std::strtoul(count, nullptr, 10)) : seeds;
  std::vector<unsigned> out;
  for (unsigned seed = 1; seed <= last; ++seed) out.push_back(seed);
  return out;
}

std::string text_of(const loadtest::Violations& violations) {
  std::string out;
  for (const auto& each : violations.kept()) out += each + "\n";
  return out;
}

/// The engine warns of each fault that it meets; here they are the point.
const bool quiet = [] {
  gateway::log::start(gateway::log::Level::error, gateway::log::Format::text);
  return true;
}();

TEST(simulator, no_promise_is_broken_under_any_fault_and_everybody_comes_to_the_head_when_they_stop) {
  for (const unsigned seed : seeds_to_run()) {
    SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
    World world(seed);
    world.run_with_faults(faulty_steps);
    ASSERT_EQ(world.violations().count(), 0U) << text_of(world.violations()) << world.describe();
    const bool arrived = world.run_to_head(quiet_steps);
    ASSERT_EQ(world.violations().count(), 0U) << text_of(world.violations()) << world.describe();
    ASSERT_TRUE(arrived) << world.describe();
  }
}

TEST(simulator, clients_do_follow_commits) {
  std::uint64_t commits = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    World world(seed);
    world.run_with_faults(faulty_steps);
    commits += world.commits_folded();
  }
  EXPECT_GT(commits, 500U) << "else the worlds say little";
}

TEST(simulator, a_world_is_the_same_each_time) {
  std::string first;
  for (int i = 0; i < 2; ++i) {
    World world(42);
    world.run_with_faults(faulty_steps);
    if (i == 0) first = world.describe();
    EXPECT_EQ(world.describe(), first);
  }
}

}  // namespace
}  // namespace viewgate::simulator
