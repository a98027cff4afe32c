// A wall clock that a test sets, for one program under test: the real clock plus a step.
#pragma once

#include <chrono>
#include <fstream>
#include <string>

#include "support/gateway_process.hpp"

namespace viewgate::testing {

class SteppedClock {
 public:
  SteppedClock() { step(std::chrono::seconds(0)); }
  ~SteppedClock();
  SteppedClock(const SteppedClock&) = delete;
  SteppedClock& operator=(const SteppedClock&) = delete;

  /// The program that is started with these options lives by this clock.
  void rule(GatewayOptions& options) const;
  /// From now on the clock differs by so much from the real one.
  void step(std::chrono::seconds from_real);

 private:
  const std::string file_ = temporary_path("clock");
};

}  // namespace viewgate::testing
