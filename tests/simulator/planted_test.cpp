// The simulator is tested by bugs that are planted on purpose: CTest runs this once for each, with VIEWGATE_PLANT naming it,
// and some world among the first hundred must notice.
#include <gtest/gtest.h>

#include <cstdlib>

#include "gateway/log.hpp"
#include "simulator/world.hpp"

namespace viewgate::simulator {
namespace {

TEST(simulator_planted, the_bug_is_found) {
  gateway::log::start(gateway::log::Level::error, gateway::log::Format::text);
  ASSERT_NE(std::getenv("VIEWGATE_PLANT"), nullptr) << "name a planted bug";
  for (unsigned seed = 1; seed <= 100; ++seed) {
    World world(seed);
    world.run_with_faults(3000);
    const bool arrived = world.run_to_head(500'000);
    if (arrived && world.violations().count() == 0) continue;
    std::cout << "found by seed " << seed << ": "
              << (world.violations().count() > 0 ? world.violations().kept().front() : "not at the head") << "\n";
    return;
  }
  FAIL() << "no world noticed";
}

}  // namespace
}  // namespace viewgate::simulator
