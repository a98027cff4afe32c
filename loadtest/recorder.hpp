// What became of the commits of a step: when each was due, when it was durable, when readers had it.
//
// Written by the writers' threads and the swarm's, read by the runner's; one lock, held for some hundred nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "loadtest/histogram.hpp"
#include "loadtest/schedule.hpp"

namespace viewgate::loadtest {

class Recorder {
 public:
  struct Figures {
    Histogram from_due;     ///< due -> in a reader
    Histogram from_commit;  ///< durable -> in a reader; a reader that had it before COMMIT returned took no time
    Histogram lateness;     ///< due -> sent: the writers and PostgreSQL, not the gateway
    std::uint64_t committed = 0;
    std::uint64_t expected = 0;  ///< deliveries that these commits are to cause
  };

  /// A new step; what still arrives of the one before is not counted. `first_mark`: of its first commit.
  void begin(const Schedule& schedule, std::size_t first_mark);
  void sent(std::size_t mark, Clock::time_point when);
  /// `receivers`: subscriptions that get it.
  void committed(std::size_t mark, Clock::time_point when, std::uint64_t receivers);
  void arrived(std::size_t mark, Clock::time_point when);

  Figures figures() const;
  /// Latencies from due since the last call.
  Histogram take_recent();
  std::uint64_t committed() const;
  std::uint64_t expected() const;

 private:
  /// The place of a mark in the step; none where it belongs to another one.
  const Clock::time_point* due(std::size_t mark) const;

  mutable std::mutex mutex_;
  std::size_t first_mark_ = 0;
  std::vector<Clock::time_point> due_, committed_at_;
  Figures figures_;
  Histogram recent_;
};

}  // namespace viewgate::loadtest
