// When those may come again for whom there was no room: one after the other at the pace at which room is made, not all of them each
// second. Returns then cost what is served, however many wait outside.
#pragma once

#include <algorithm>
#include <chrono>

#include "gateway/engine_options.hpp"

namespace viewgate::gateway {

class Appointments {
 public:
  using Duration = TimePoint::duration;

  /// Nobody is sent away for longer than so many times the least: the pace may have been mistaken, or others may not return.
  static constexpr int longest = 30;

  /// One more was served; the pace is measured while others wait.
  void served(TimePoint now, bool others_wait) {
    if (last_ != TimePoint()) pace_ = pace_ == Duration() ? now - last_ : pace_ + (now - last_ - pace_) / smoothing;
    last_ = others_wait ? now : TimePoint();
  }

  /// From now until the next appointment: `least` or more, and at most that behind the one before. Where the book is full it goes
  /// on with its second half, so that not all the rest come at its end.
  [[nodiscard]] Duration next(TimePoint now, Duration least) {
    booked_ = std::max(booked_, now + least) + std::min(pace_, least);
    if (booked_ > now + longest * least) booked_ = now + longest / 2 * least;
    return booked_ - now;
  }

 private:
  static constexpr int smoothing = 16;

  Duration pace_{};  ///< between two that are served
  TimePoint last_{};
  TimePoint booked_{};
};

}  // namespace viewgate::gateway
