#include "ledger/tailer_plan.hpp"

#include <algorithm>

namespace viewgate::ledger {

TailerPlan::TailerPlan(TailerTimes times, PlanClock::time_point now)
    : times_(times), connect_at_(now), quiet_since_(now), looked_at_(now), canary_at_(now) {}

TailerPlan::Next TailerPlan::next(PlanClock::time_point now) const {
  if (state_ == State::disconnected) {
    if (now >= connect_at_) return {Step::connect, now};
    return {Step::sleep, connect_at_};
  }
  if (state_ == State::connected) return {Step::recover, now};
  if (has_newly_watched_) return {Step::learn, now};

  const PlanClock::time_point look_at = look_now_ ? now : looked_at_ + pace(now);
  if (now >= look_at) return {Step::look, now};
  if (has_dirty_) return {Step::read, now};

  const PlanClock::time_point arm_at = quiet_since_ + times_.arm_after;
  const bool arms = !armed_ && !never_rings_;
  if (arms && now >= arm_at) return {Step::arm, now};
  if (listening_ && now >= canary_at_) return {Step::canary, now};

  PlanClock::time_point until = look_at;
  if (arms) until = std::min(until, arm_at);
  if (listening_) until = std::min(until, canary_at_);
  return {Step::sleep, until};
}

/// Whether a commit would ring: then, and only then, the pace may fall below the one that the quiet gives. Who rings does so at its
/// COMMIT, and others who commit before it do not ring any more: they are found by the next look.
bool TailerPlan::may_rest(PlanClock::time_point now) const {
  return armed_ && settled_ && wakeups(now) == Wakeups::listen;
}

/// The time between looks grows with the time that it has been quiet, so a burst's end costs a few looks and an idle
/// hour almost none, while what arrives unheard is late by at most a twentieth (idle_interval / idle_after) of the pause
/// before it, or by armed_interval.
PlanClock::duration TailerPlan::pace(PlanClock::time_point now) const {
  using std::chrono::duration;
  const PlanClock::duration busy = times_.busy_interval;
  if (skipped_) return busy;  // whoever holds the space is about to number it
  const PlanClock::duration quiet = now - quiet_since_;
  const PlanClock::duration idle = times_.idle_interval;
  const auto share = [quiet](PlanClock::duration interval, PlanClock::duration after) {
    const double part = duration<double>(quiet) / duration<double>(after);
    return std::chrono::duration_cast<PlanClock::duration>(duration<double>(interval) * std::min(part, 1.0));
  };
  const PlanClock::duration slowing = std::clamp(share(idle, times_.idle_after), busy, std::max(busy, idle));
  if (!may_rest(now)) return slowing;
  return std::max(
      {slowing, PlanClock::duration(times_.armed_interval), share(times_.resting_interval, times_.resting_after)});
}

void TailerPlan::on_connected() { state_ = State::connected; }

void TailerPlan::on_recovered(PlanClock::time_point now) {
  state_ = State::following;
  failures_ = 0;
  quiet_since_ = now;
  look_now_ = true;
}

void TailerPlan::on_lost(PlanClock::time_point now, double jitter) {
  state_ = State::disconnected;
  const int doublings = std::min(failures_++, 16);
  const PlanClock::duration full =
      std::min<PlanClock::duration>(times_.reconnect_first * (std::int64_t{1} << doublings), times_.reconnect_max);
  connect_at_ = now + full / 2 +
                std::chrono::duration_cast<PlanClock::duration>(std::chrono::duration<double>(full / 2) * jitter);
  // The database may be another one by the time it is reached again: nothing known about it holds.
  armed_ = false;
  never_rings_ = false;
  settled_ = false;
  skipped_ = false;
}

void TailerPlan::on_conflict(PlanClock::time_point now) {
  look_now_ = false;
  looked_at_ = now;
}

void TailerPlan::on_look(PlanClock::time_point now, const Look& look) {
  look_now_ = false;
  looked_at_ = now;
  skipped_ = look.skipped;
  if (look.moved) quiet_since_ = now;
  if (!armed_) return;
  if (look.xmin >= armed_xmax_) settled_ = true;
  if (look.bell_armed) return;
  // Somebody wrote. Its commit, and those of writers that now find the bell disarmed, will not all ring.
  armed_ = false;
  settled_ = false;
  quiet_since_ = now;
}

void TailerPlan::on_armed(std::uint64_t xmax, bool rings) {
  armed_ = rings;
  never_rings_ = !rings;
  settled_ = false;
  armed_xmax_ = xmax;
  look_now_ = true;  // what committed before the bell was armed did not ring
}

void TailerPlan::on_notified(PlanClock::time_point now) {
  look_now_ = true;
  quiet_since_ = now;
}

void TailerPlan::on_listening(PlanClock::time_point now) {
  listening_ = true;
  proven_ = false;
  canary_sent_at_.reset();
  canary_at_ = now;
  look_now_ = true;  // what was notified while nobody listened is lost
}

void TailerPlan::on_deaf() {
  listening_ = false;
  proven_ = false;
  canary_sent_at_.reset();
}

void TailerPlan::on_canary_sent(PlanClock::time_point now) {
  // One that never came keeps its time, so that sending the next does not make the channel look healthy.
  if (!canary_sent_at_) canary_sent_at_ = now;
  canary_at_ = now + times_.canary_interval;
}

void TailerPlan::on_canary_heard() {
  proven_ = true;
  canary_sent_at_.reset();
}

Wakeups TailerPlan::wakeups(PlanClock::time_point now) const {
  const bool overdue = canary_sent_at_ && now > *canary_sent_at_ + times_.canary_time_max;
  return listening_ && proven_ && !overdue ? Wakeups::listen : Wakeups::poll;
}

}  // namespace viewgate::ledger
