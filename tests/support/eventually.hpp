// Waiting for something to become true, with a bound: the only way in which tests wait.
#pragma once

#include <chrono>
#include <thread>

#include "support/patience.hpp"

namespace viewgate::testing {

/// Looks until `condition` holds; false after `time_max`.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds time_max = patience) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace viewgate::testing
