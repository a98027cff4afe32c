// The time, handed in by whoever owns the loop: deadlines run on the steady clock, a token's end on the wall clock.
#pragma once

#include <chrono>

namespace viewgate::gateway {

struct Now {
  std::chrono::steady_clock::time_point steady;
  std::chrono::system_clock::time_point wall;

  [[nodiscard]] static Now read() { return {std::chrono::steady_clock::now(), std::chrono::system_clock::now()}; }
};

}  // namespace viewgate::gateway
