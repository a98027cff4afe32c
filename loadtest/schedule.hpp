// When each commit of a step is due: at an even pace from the step's begin, whatever became of those before it.
//
// A latency is counted from this time and not from when the write could be sent. Otherwise a system that stalls would
// delay the very writes that were to show it (coordinated omission).
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>

#include "loadtest/loop.hpp"

namespace viewgate::loadtest {

class Schedule {
 public:
  /// `rate` in commits per second; 0: nothing is due.
  Schedule(Clock::time_point begin, double rate, std::chrono::duration<double> length)
      : begin_(begin), rate_(rate), count_(static_cast<std::size_t>(std::floor(rate * length.count() + 1e-9))) {}

  std::size_t count() const { return count_; }
  /// Half an interval after the begin, then one after the other: all of a step are due within it.
  Clock::time_point due(std::size_t index) const {
    const double seconds = (static_cast<double>(index) + 0.5) / rate_;
    return begin_ + std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }

 private:
  Clock::time_point begin_;
  double rate_;
  std::size_t count_;
};

}  // namespace viewgate::loadtest
