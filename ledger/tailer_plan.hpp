// What the tailer does next: pure decisions from what has happened and the clock, without I/O, so that every
// combination is a line in a table test.
//
// Delivery never depends on a notification: what guarantees it is the *look* (viewgate.look numbers what waits and says
// which heads have moved). The plan only decides when the next look is due: milliseconds after work, less and less
// often the longer it stays quiet, at once when something rings. Two clocks of the database make it quiet safely:
//   - the *bell*: an idle node arms it, and a writer that finds it armed sends a notification. A transaction that wrote
//   before
//     the bell was armed does not ring, so the node looks at its idle pace until all that ran then have ended
//     (`settled`).
//   - the *canary*: the node notifies itself through another connection. Unless it arrives, notifications are not
//   trusted
//     (Wakeups::poll) and the pace never falls below the idle one.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace viewgate::ledger {

using PlanClock = std::chrono::steady_clock;

struct TailerTimes {
  std::chrono::microseconds busy_interval{2000};  ///< between looks while there is work
  std::chrono::milliseconds idle_interval{100};   ///< between looks once it has been quiet for idle_after
  std::chrono::milliseconds idle_after{2000};     ///< the pace falls evenly from busy to idle in this time
  std::chrono::milliseconds resting_interval{
      1000};  ///< between looks once it has been quiet for resting_after, bell armed
  std::chrono::milliseconds resting_after{3600 * 1000};
  std::chrono::milliseconds arm_after{4};        ///< quiet for so long: arm the bell
  std::chrono::milliseconds armed_interval{10};  ///< between looks at least, while a commit would ring
  std::chrono::milliseconds canary_interval{30000};
  std::chrono::milliseconds canary_time_max{5000};  ///< later than this, notifications are held for lost
  std::chrono::milliseconds reconnect_first{50};
  std::chrono::milliseconds reconnect_max{2000};
};

enum class Wakeups { listen, poll };

class TailerPlan {
 public:
  enum class Step {
    connect,  ///< open the look connection
    recover,  ///< after connecting: check the stamp of every position held, then everything is dirty
    learn,    ///< find the heads of newly watched spaces
    look,     ///< number what waits, learn which heads moved
    read,     ///< read and hand on the spaces whose head moved
    arm,      ///< arm the bell
    canary,   ///< notify ourselves
    sleep     ///< until `until`, or until woken
  };
  struct Next {
    Step step = Step::sleep;
    PlanClock::time_point until{};
  };
  struct Look {
    bool moved = false;    ///< numbered something, or heads moved
    bool skipped = false;  ///< something waits in a space that another session holds
    bool bell_armed = false;
    std::uint64_t xmin = 0;  ///< every transaction below has ended
  };

  TailerPlan(TailerTimes times, PlanClock::time_point now);

  [[nodiscard]] Next next(PlanClock::time_point now) const;

  void on_connected();
  void on_recovered(PlanClock::time_point now);
  /// The look connection broke or could not be had; jitter in 0..1.
  void on_lost(PlanClock::time_point now, double jitter);
  /// A step ended in a conflict that the next try will not meet (errc::retry).
  void on_conflict(PlanClock::time_point now);
  void on_look(PlanClock::time_point now, const Look& look);
  /// `rings`: writers can ring; where transactions may be prepared they only disarm the bell, and it is not armed again.
  void on_armed(std::uint64_t xmax, bool rings);
  void on_notified(PlanClock::time_point now);
  void on_listening(PlanClock::time_point now);
  void on_deaf();
  void on_canary_sent(PlanClock::time_point now);
  void on_canary_heard();
  void set_has_newly_watched(bool value) { has_newly_watched_ = value; }
  void set_has_dirty(bool value) { has_dirty_ = value; }

  [[nodiscard]] Wakeups wakeups(PlanClock::time_point now) const;
  [[nodiscard]] bool is_connected() const { return state_ == State::following; }

 private:
  enum class State { disconnected, connected, following };

  [[nodiscard]] bool may_rest(PlanClock::time_point now) const;
  [[nodiscard]] PlanClock::duration pace(PlanClock::time_point now) const;

  const TailerTimes times_;

  State state_ = State::disconnected;
  PlanClock::time_point connect_at_;
  int failures_ = 0;

  bool has_newly_watched_ = false;
  bool has_dirty_ = false;

  PlanClock::time_point quiet_since_;
  PlanClock::time_point looked_at_;
  bool look_now_ = true;
  bool skipped_ = false;

  bool armed_ = false;
  bool settled_ = false;
  bool never_rings_ = false;  ///< as far as is known of this connection's server
  std::uint64_t armed_xmax_ = 0;

  bool listening_ = false;
  bool proven_ = false;
  std::optional<PlanClock::time_point> canary_sent_at_;  ///< in flight
  PlanClock::time_point canary_at_;                      ///< when the next one is due
};

}  // namespace viewgate::ledger
