// Whose turn it is: principals that wait for bootstraps wait for themselves and for one of each other's, and of each only so
// many wait.
#include <gmock/gmock.h>

#include "gateway/bootstrap_world.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FairQueue, each_owner_has_one_before_any_has_a_second) {
  FairQueue<int> queue;
  EXPECT_EQ(queue.pop(), std::nullopt);
  for (const int each : {1, 2, 3}) queue.push("greedy", each);
  queue.push("modest", 10);
  queue.push("third", 20);
  EXPECT_EQ(queue.size(), 5U);
  EXPECT_EQ(queue.size_of("greedy"), 3U);
  std::vector<int> order;
  while (const auto next = queue.pop()) {
    order.push_back(*next);
    if (*next == 10) queue.push("modest", 11);
  }
  EXPECT_THAT(order, ElementsAre(1, 10, 20, 2, 11, 3));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(FairQueue, what_is_taken_out_leaves_no_turn_behind) {
  FairQueue<int> queue;
  queue.push("a", 1);
  queue.push("b", 2);
  queue.push("b", 1);
  queue.erase("a", 1);
  queue.erase("nobody", 1);
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
  queue.push("a", 3);
  queue.clear();
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

class EngineTurns : public EngineBootstrap {
 protected:
  void begin(std::size_t share) {
    EngineLimits limits;
    limits.snapshot_concurrent = 1;
    limits.principal_bootstraps = share;
    start(limits);
  }
  std::shared_ptr<BootstrapReply> ask(const std::string& owner, const std::string& principal) {
    const auto spec = spec_of(model, subscribe_to("owned", R"({"owner":")" + owner + "\"}"));
    world->engine.join(0, spec);
    return world->ask_bootstrap(spec, 0, principal);
  }
  /// The read that is under way ends; which group it was of is found by who is answered.
  void read_one() {
    ASSERT_LT(read, world->reader.snapshots.size());
    world->reader.snapshots[read++].done(at(5));
    world->run();
  }
  static bool has_come(const BootstrapReply& reply) {
    return std::holds_alternative<std::shared_ptr<const SnapshotChunks>>(reply);
  }

  std::size_t read = 0;
};

TEST_F(EngineTurns, case_18_a_principal_that_asks_for_much_keeps_no_other_waiting) {
  begin(0);
  std::vector<std::shared_ptr<BootstrapReply>> greedy;
  for (int i = 0; i < 100; ++i) greedy.push_back(ask("g" + std::to_string(i), "greedy"));
  const auto modest = ask("m", "modest");
  read_one();  // the one that was begun
  read_one();
  EXPECT_FALSE(has_come(*modest)) << "one of the other's was before it";
  read_one();
  EXPECT_TRUE(has_come(*modest));
  EXPECT_EQ(std::ranges::count_if(greedy, [](const auto& each) { return has_come(*each); }), 2);
  for (int i = 0; i < 98; ++i) read_one();
  for (const auto& each : greedy) EXPECT_TRUE(has_come(*each));
}

TEST_F(EngineTurns, who_wants_what_another_waits_for_brings_it_with_its_own_turn) {
  begin(0);
  for (int i = 0; i < 50; ++i) static_cast<void>(ask("g" + std::to_string(i), "greedy"));
  const auto shared = ask("g49", "modest");
  read_one();
  read_one();
  read_one();
  EXPECT_TRUE(has_come(*shared));
  for (int i = 0; i < 47; ++i) read_one();
  EXPECT_THAT(world->reader.snapshots, SizeIs(50)) << "and it was read once";
}

TEST_F(EngineTurns, of_one_principal_so_many_wait_and_the_surplus_is_told_and_counted) {
  begin(2);
  const auto reading = ask("a", "greedy"), first = ask("b", "greedy"), second = ask("c", "greedy");
  const auto third = ask("d", "greedy");
  EXPECT_EQ(error_of(*third), ErrorCode::unavailable);
  EXPECT_EQ(std::get<Refusal>(*third).retry_after, EngineLimits{}.retry_after);
  EXPECT_EQ(world->engine.bootstraps_over_share(), 1U);
  const auto other = ask("e", "modest"), same = ask("b", "greedy");
  for (int i = 0; i < 4; ++i) read_one();
  for (const auto& each : {reading, first, second, other, same}) EXPECT_TRUE(has_come(*each));
  EXPECT_EQ(world->engine.bootstraps_over_share(), 1U) << "to want what one waits for is nothing more";
  // Those who are nobody in particular are many.
  for (int i = 0; i < 20; ++i) static_cast<void>(ask("n" + std::to_string(i), ""));
  EXPECT_EQ(world->engine.bootstraps_over_share(), 1U);
}

TEST_F(EngineTurns, those_for_whom_there_is_no_room_are_told_to_come_one_after_the_other_at_the_pace_of_the_reads) {
  EngineLimits limits;
  limits.snapshot_concurrent = 1;
  limits.snapshot_queue = 20;
  start(limits);
  for (int i = 0; i < 21; ++i) static_cast<void>(ask("q" + std::to_string(i), "p" + std::to_string(i)));
  const auto told = [&](int i) { return std::get<Refusal>(*ask("r" + std::to_string(i), "x")).retry_after; };
  EXPECT_EQ(told(0), limits.retry_after) << "nothing is known yet of the pace";
  const auto pace = std::chrono::milliseconds(100);
  for (int i = 0; i < 10; ++i) {
    read_one();
    world->now += pace;
  }
  for (int i = 0; i < 10; ++i) static_cast<void>(ask("more" + std::to_string(i), "p" + std::to_string(i)));
  std::vector<std::chrono::milliseconds> times;
  for (int i = 1; i <= 1'000; ++i) times.push_back(told(i));
  for (std::size_t i = 1; i < 100; ++i) EXPECT_EQ(times[i] - times[i - 1], pace);
  const auto [soonest, latest] = std::ranges::minmax(times);
  EXPECT_EQ(soonest, limits.retry_after + pace);
  EXPECT_LE(latest, Appointments::longest * limits.retry_after);
  // No second has more of them than others, but for what cannot be told within the longest wait.
  std::map<std::int64_t, int> by_second;
  for (const auto each : times) ++by_second[each / std::chrono::seconds(1)];
  for (const auto& [second, count] : by_second) EXPECT_LE(count, 75) << "second " << second;
}

TEST_F(EngineTurns, who_asks_once_for_a_space_that_is_not_followed_in_time_is_told_to_come_back) {
  EngineLimits limits;
  limits.join_time = std::chrono::seconds(10);
  world = std::make_unique<World>(limits);
  auto told = std::make_shared<std::vector<BootstrapReply>>();
  world->engine.bootstrap_once(overdrawn, "ann", [told](BootstrapReply reply) { told->push_back(reply); });
  world->now += std::chrono::seconds(9);
  world->engine.tick();
  EXPECT_THAT(*told, IsEmpty());
  world->now += std::chrono::seconds(2);
  world->engine.tick();
  ASSERT_THAT(*told, SizeIs(1));
  EXPECT_EQ(error_of(told->front()), ErrorCode::unavailable);
  world->engine.on_watched("s", at(5));
  world->run();
  EXPECT_THAT(*told, SizeIs(1)) << "once";
  EXPECT_THAT(world->reader.snapshots, IsEmpty());
}

TEST_F(EngineTurns, another_time_to_join_counts_for_who_waits_already) {
  EngineLimits limits;
  limits.join_time = std::chrono::seconds(10);
  world = std::make_unique<World>(limits);
  auto told = std::make_shared<std::vector<BootstrapReply>>();
  world->engine.bootstrap_once(overdrawn, "ann", [told](BootstrapReply reply) { told->push_back(reply); });
  world->now += std::chrono::seconds(9);
  world->engine.tick();
  EXPECT_THAT(*told, IsEmpty());
  world->engine.set_join_time(std::chrono::seconds(8));
  world->now += std::chrono::milliseconds(600);  // it does not look at every tick
  world->engine.tick();
  ASSERT_THAT(*told, SizeIs(1));
  EXPECT_EQ(error_of(told->front()), ErrorCode::unavailable);
}

}  // namespace
}  // namespace viewgate::gateway::testing
