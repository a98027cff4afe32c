// What the gateway costs and how long a commit takes to reach its readers. Each measurement prints its figures and one
// line of JSON. The writers change pgbench_accounts to values outside what pgbench uses, in a range that only these
// readers watch.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "loadtest/link.hpp"
#include "loadtest/token.hpp"

namespace viewgate::loadtest {

struct MeasureOptions {
  Address address;
  std::string database;
  TokenMaker tokens;
  pid_t server = 0;  ///< 0: no figures of the server's process
  std::size_t clients = 0;
  std::size_t rate = 0;  ///< commits per second
  std::chrono::seconds duration{10};
  std::size_t lone_commits = 5;  ///< latency: each after ten quiet seconds
};

/// COMMIT returned -> the event is in the client, at `rate`; then for lone commits.
int measure_latency(const MeasureOptions& options);
/// Deliveries per second and CPU per million with `clients` in one group.
int measure_fanout(const MeasureOptions& options);
/// Memory of `clients` idle subscribed connections.
int measure_idle(const MeasureOptions& options);

}  // namespace viewgate::loadtest
