// The tailer's decisions by table: what has happened, and what is then due when.
#include <gtest/gtest.h>

#include "ledger/tailer_plan.hpp"

namespace viewgate::ledger {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using Step = TailerPlan::Step;
using Time = PlanClock::time_point;

const Time kStart = Time() + 1000h;

TailerTimes times() {
  TailerTimes out;
  out.busy_interval = 2ms;
  out.idle_interval = 100ms;
  out.idle_after = 2s;
  out.resting_interval = 1s;
  out.resting_after = 1h;
  out.arm_after = 500ms;
  out.armed_interval = 10ms;
  out.canary_interval = 30s;
  out.canary_time_max = 5s;
  out.reconnect_first = 50ms;
  out.reconnect_max = 2s;
  return out;
}

/// Connected and recovered at kStart, nothing has happened yet.
TailerPlan following() {
  TailerPlan plan(times(), kStart);
  plan.on_connected();
  plan.on_recovered(kStart);
  return plan;
}

/// The same, after a first look that found nothing.
TailerPlan idle() {
  TailerPlan plan = following();
  plan.on_look(kStart, {});
  return plan;
}

TailerPlan armed(std::uint64_t xmax) {
  TailerPlan plan = idle();
  plan.on_armed(xmax, true);
  return plan;
}

TailerPlan::Look looked(bool moved, bool bell_armed, std::uint64_t xmin) {
  TailerPlan::Look look;
  look.moved = moved;
  look.bell_armed = bell_armed;
  look.xmin = xmin;
  return look;
}

/// When the next look is due, counted from `now`.
PlanClock::duration until_look(TailerPlan plan, Time now) {
  for (Time at = now; at < now + 2h; at += 500us) {
    if (plan.next(at).step == Step::look) return at - now;
  }
  return 2h;
}

TEST(TailerPlan, steps_by_state) {
  struct Line {
    const char* name;
    TailerPlan plan;
    PlanClock::duration at;
    Step step;
  };
  TailerPlan fresh(times(), kStart);
  TailerPlan connected = fresh;
  connected.on_connected();
  TailerPlan lost = following();
  lost.on_lost(kStart, 0);
  TailerPlan newly = idle();
  newly.set_has_newly_watched(true);
  TailerPlan dirty = idle();
  dirty.set_has_dirty(true);
  TailerPlan notified = idle();
  notified.on_notified(kStart + 1ms);
  TailerPlan listening = idle();
  listening.on_listening(kStart);
  listening.on_look(kStart, {});
  TailerPlan recovering_with_work = connected;
  recovering_with_work.set_has_dirty(true);
  recovering_with_work.set_has_newly_watched(true);
  TailerPlan conflicted = following();
  conflicted.on_conflict(kStart);

  const Line lines[] = {
      {"nothing yet", fresh, 0s, Step::connect},
      {"connected", connected, 0s, Step::recover},
      {"connected, with work", recovering_with_work, 0s, Step::recover},
      {"recovered", following(), 0s, Step::look},
      {"looked", idle(), 1ms, Step::sleep},
      {"looked, a busy interval ago", idle(), 2ms, Step::look},
      {"newly watched", newly, 1ms, Step::learn},
      {"dirty, the look not due", dirty, 1ms, Step::read},
      {"dirty, the look due: numbering never starves", dirty, 2ms, Step::look},
      {"notified", notified, 1ms, Step::look},
      {"listening: the canary first", listening, 1ms, Step::canary},
      {"lost", lost, 0s, Step::sleep},
      {"lost, half the first pause ago", lost, 25ms, Step::connect},
      {"a conflict is tried again at the pace of looks", conflicted, 1ms, Step::sleep},
      {"and not given up", conflicted, 2ms, Step::look},
  };
  for (const Line& line : lines) {
    EXPECT_EQ(line.plan.next(kStart + line.at).step, line.step) << line.name;
  }
}

TEST(TailerPlan, the_pace_falls_with_the_quiet) {
  struct Line {
    PlanClock::duration quiet;
    PlanClock::duration pace;
  };
  for (const Line line : {Line{0s, 2ms}, Line{20ms, 2ms}, Line{1s, 50ms}, Line{2s, 100ms}, Line{10min, 100ms}}) {
    TailerPlan plan = following();
    plan.on_look(kStart + line.quiet, {});
    // Found at the first moment at which the time since the look has reached the pace of that moment.
    const auto due = until_look(plan, kStart + line.quiet);
    EXPECT_GE(due, line.pace) << line.quiet.count();
    EXPECT_LE(due, line.pace + line.pace / 10 + 1ms) << line.quiet.count();
  }
}

TEST(TailerPlan, work_makes_it_quick_again) {
  TailerPlan plan = idle();
  plan.on_look(kStart + 10min, looked(true, false, 0));
  EXPECT_LE(until_look(plan, kStart + 10min), 3ms);
}

TEST(TailerPlan, a_space_that_was_skipped_is_looked_at_again_soon) {
  TailerPlan plan = idle();
  TailerPlan::Look look;
  look.skipped = true;
  plan.on_look(kStart + 10min, look);
  EXPECT_LE(until_look(plan, kStart + 10min), 3ms);
}

TEST(TailerPlan, the_bell_is_armed_only_when_quiet) {
  const TailerPlan plan = idle();
  EXPECT_NE(plan.next(kStart + 499ms).step, Step::arm);
  TailerPlan later = plan;
  later.on_look(kStart + 500ms, {});
  EXPECT_EQ(later.next(kStart + 500ms).step, Step::arm);
  TailerPlan busy = plan;
  busy.on_look(kStart + 499ms, looked(true, false, 0));
  EXPECT_NE(busy.next(kStart + 500ms).step, Step::arm);
}

TEST(TailerPlan, after_arming_it_looks_once_more) { EXPECT_EQ(armed(100).next(kStart + 600ms).step, Step::look); }

TEST(TailerPlan, it_rests_only_with_an_armed_bell_that_everyone_has_seen_and_a_proven_channel) {
  const Time hour = kStart + 1h;
  struct Line {
    const char* name;
    bool arms, settles, listens, hears, rings;
    PlanClock::duration pace;
  };
  const Line lines[] = {
      {"all", true, true, true, true, true, 1s},
      {"older transactions still run", true, false, true, true, true, 100ms},
      {"not armed", false, true, true, true, true, 100ms},
      {"the canary was never heard", true, true, true, false, true, 100ms},
      {"not listening", true, true, false, false, true, 100ms},
      {"writers cannot ring", true, true, true, true, false, 100ms},
  };
  for (const Line& line : lines) {
    TailerPlan plan = idle();
    if (line.listens) plan.on_listening(kStart);
    if (line.listens) plan.on_canary_sent(hour);
    if (line.hears) plan.on_canary_heard();
    if (line.arms) plan.on_armed(100, line.rings);
    plan.on_look(hour, looked(false, true, line.settles ? 100 : 99));
    // Arming is what the unarmed plan wants next; the pace is what is asked here.
    EXPECT_EQ(plan.next(hour + line.pace - 2ms).step == Step::look, false) << line.name;
    EXPECT_EQ(plan.next(hour + line.pace + 2ms).step, Step::look) << line.name;
  }
}

TEST(TailerPlan, while_a_commit_would_ring_it_looks_less_often_from_the_beginning) {
  TailerPlan plan = armed(100);
  plan.on_listening(kStart);
  plan.on_canary_sent(kStart);
  plan.on_canary_heard();
  TailerPlan unsettled = plan;
  plan.on_look(kStart, looked(false, true, 100));
  unsettled.on_look(kStart, looked(false, true, 99));
  EXPECT_EQ(until_look(plan, kStart), 10ms);
  EXPECT_EQ(until_look(unsettled, kStart), 2ms);
}

TEST(TailerPlan, a_disarmed_bell_means_somebody_writes) {
  TailerPlan plan = armed(100);
  plan.on_look(kStart + 1h, looked(false, true, 100));
  EXPECT_NE(plan.next(kStart + 1h + 1ms).step, Step::look);
  plan.on_look(kStart + 1h + 1s, looked(false, false, 200));
  EXPECT_LE(until_look(plan, kStart + 1h + 1s), 3ms);
  plan.on_look(kStart + 1h + 2s, looked(false, false, 200));
  EXPECT_EQ(plan.next(kStart + 1h + 2s).step, Step::arm) << "quiet again: armed again";
}

TEST(TailerPlan, a_canary_that_does_not_come_back_ends_the_trust) {
  TailerPlan plan = idle();
  EXPECT_EQ(plan.wakeups(kStart), Wakeups::poll);
  plan.on_listening(kStart);
  EXPECT_EQ(plan.wakeups(kStart), Wakeups::poll) << "listening is no proof";
  plan.on_canary_sent(kStart);
  plan.on_canary_heard();
  EXPECT_EQ(plan.wakeups(kStart + 1s), Wakeups::listen);
  plan.on_canary_sent(kStart + 30s);
  EXPECT_EQ(plan.wakeups(kStart + 35s), Wakeups::listen);
  EXPECT_EQ(plan.wakeups(kStart + 36s), Wakeups::poll);
  plan.on_canary_sent(kStart + 60s);
  EXPECT_EQ(plan.wakeups(kStart + 60s), Wakeups::poll) << "sending another one heals nothing";
  plan.on_canary_heard();
  EXPECT_EQ(plan.wakeups(kStart + 60s), Wakeups::listen);
  plan.on_deaf();
  EXPECT_EQ(plan.wakeups(kStart + 60s), Wakeups::poll);
}

TEST(TailerPlan, listening_again_looks_at_once) {
  TailerPlan plan = idle();
  plan.on_look(kStart + 1h, {});
  plan.on_listening(kStart + 1h);
  EXPECT_EQ(plan.next(kStart + 1h).step, Step::look);
}

TEST(TailerPlan, reconnects_back_off_and_start_anew_after_a_recovery) {
  TailerPlan plan(times(), kStart);
  const auto pause_after = [&plan](double jitter) {
    plan.on_lost(kStart, jitter);
    return plan.next(kStart).until - kStart;
  };
  EXPECT_EQ(pause_after(0), 25ms);
  EXPECT_EQ(pause_after(1), 100ms);
  EXPECT_EQ(pause_after(0.5), 150ms);
  for (int i = 0; i < 40; ++i) pause_after(1);
  EXPECT_EQ(pause_after(1), 2s);
  plan.on_connected();
  EXPECT_EQ(pause_after(1), 2s) << "a connection that recovers nothing is none";
  plan.on_connected();
  plan.on_recovered(kStart);
  EXPECT_EQ(pause_after(1), 50ms);
}

TEST(TailerPlan, a_lost_connection_forgets_the_bell) {
  TailerPlan plan = armed(100);
  plan.on_listening(kStart);
  plan.on_canary_sent(kStart + 1h);
  plan.on_canary_heard();
  plan.on_look(kStart + 1h, looked(false, true, 100));
  plan.on_lost(kStart + 1h, 0);
  plan.on_connected();
  plan.on_recovered(kStart + 1h);
  plan.on_look(kStart + 1h, looked(false, true, 100));
  plan.on_look(kStart + 1h + 500ms, looked(false, true, 100));
  EXPECT_EQ(plan.next(kStart + 1h + 500ms).step, Step::arm);
}

}  // namespace
}  // namespace viewgate::ledger
