// Runs a scenario against a gateway and judges it: the report holds the figures, and whether what readers hold is what
// SQL says.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <string>

#include "loadtest/run_report.hpp"
#include "loadtest/scenario.hpp"
#include "loadtest/writer.hpp"

namespace viewgate::loadtest {

struct RunOptions {
  Reach reach;
  pid_t server = 0;  ///< the gateway's process; 0: no figures of it
  std::function<void(const std::string&)> progress;
};

/// The client's thread may be busy for this share of the time; above it the figures would be its own.
inline constexpr double client_busy_max = 0.9;

/// Throws std::runtime_error where the scenario cannot be run here (tables, gateway, PostgreSQL). `stop` ends it early.
RunReport run_scenario(const Scenario& scenario, const RunOptions& options, const std::atomic<bool>& stop);

}  // namespace viewgate::loadtest
