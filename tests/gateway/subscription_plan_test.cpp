// The whole table, state by event: what is not listed here changes nothing.
#include "gateway/subscription_plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace viewgate::gateway {
namespace {

TEST(subscription_plan, every_stage_and_event_has_the_written_outcome) {
  using S = Stage;
  using E = Event;
  using A = Action;
  const std::map<std::pair<S, E>, Move> table{
      {{S::joining, E::joined}, {S::bootstrapping, A::ask_bootstrap}},
      {{S::joining, E::refused}, {S::ended, A::tell_error}},
      {{S::returning, E::joined}, {S::confirming, A::ask_history}},
      {{S::returning, E::cursor_known}, {S::following, A::tell_resumed}},
      {{S::returning, E::refused}, {S::ended, A::tell_error}},
      {{S::bootstrapping, E::snapshot_arrived}, {S::snapshot, A::none}},
      {{S::bootstrapping, E::lost}, {S::ended, A::tell_error}},
      {{S::bootstrapping, E::refused}, {S::ended, A::tell_error}},
      {{S::snapshot, E::snapshot_written}, {S::following, A::tell_ready}},
      {{S::confirming, E::history_arrived}, {S::history, A::tell_resumed}},
      {{S::confirming, E::lost}, {S::bootstrapping, A::start_over}},
      {{S::confirming, E::refused}, {S::ended, A::tell_error}},
      {{S::catching_up, E::history_arrived}, {S::history, A::none}},
      {{S::catching_up, E::lost}, {S::bootstrapping, A::start_over}},
      {{S::catching_up, E::refused}, {S::ended, A::tell_error}},
      {{S::history, E::history_written}, {S::following, A::none}},
      {{S::following, E::fell_off}, {S::catching_up, A::ask_history}},
  };
  for (std::size_t s = 0; s < stage_count; ++s) {
    for (std::size_t e = 0; e < event_count; ++e) {
      const auto stage = static_cast<Stage>(s);
      const auto event = static_cast<Event>(e);
      const auto listed = table.find({stage, event});
      Move expected = listed != table.end() ? listed->second : Move{stage, Action::none};
      if (event == Event::left) expected = {Stage::ended, Action::none};
      EXPECT_EQ(next_move(stage, event), expected) << name(stage) << " event " << e;
    }
  }
}

TEST(subscription_plan, every_stage_can_be_reached_and_left) {
  for (std::size_t s = 0; s < stage_count; ++s) {
    const auto stage = static_cast<Stage>(s);
    EXPECT_FALSE(name(stage).empty());
    bool reached = stage == Stage::joining || stage == Stage::returning;
    for (std::size_t from = 0; from < stage_count; ++from) {
      for (std::size_t e = 0; e < event_count; ++e) {
        const auto before = static_cast<Stage>(from);
        reached = reached || (before != stage && next_move(before, static_cast<Event>(e)).stage == stage);
      }
    }
    EXPECT_TRUE(reached) << name(stage);
  }
}

}  // namespace
}  // namespace viewgate::gateway
