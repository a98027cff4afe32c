// The log's words when housekeeping fails: the last failure, at most once a minute, however many there are. The metric
// viewgate_housekeeping_failures_total has all of them.
//
// On the engine's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "ledger/housekeeping_failures.hpp"

namespace viewgate::gateway {

class HousekeepingLog {
 public:
  void watch(const ledger::HousekeepingFailures& failures, std::chrono::steady_clock::time_point now);

 private:
  std::uint64_t told_ = 0;
  std::optional<std::chrono::steady_clock::time_point> told_at_;
};

}  // namespace viewgate::gateway
