// What a node tells Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats. The names are a promise: alert rules
// and boards are written with them, and a golden file in the tests holds them.
//
// Nothing is gathered before somebody asks: a reading is taken from counters that count anyway.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/admission.hpp"
#include "gateway/reactor.hpp"
#include "ledger/mutator.hpp"
#include "ledger/tailer.hpp"

namespace viewgate::gateway {

/// Of the engine's thread, all at one time.
struct EngineReading {
  bool degraded = false;
  std::size_t groups = 0;
  std::size_t spaces = 0;
  std::size_t recent_bytes = 0;
  std::size_t snapshot_memory_bytes = 0;
  std::size_t snapshot_disk_bytes = 0;
  std::uint64_t commits = 0;
  std::uint64_t frames = 0;
  std::uint64_t backlogs = 0;
  std::uint64_t bootstraps_over_share = 0;
  std::uint64_t bootstrap_queue_full = 0;
  std::uint64_t view_answers_over_limit = 0;
  AdmissionRefusals admission;
  ledger::TailerStats tail;
  std::vector<ledger::SpaceLag> lags;
  ledger::MutatorStats writes;
  std::uint64_t disk_budget_bytes = 0;  ///< 0: unknown
  ledger::pg::PoolStats reads;
  ledger::pg::PoolStats bootstraps;
  std::size_t captures_broken = 0;  ///< of the model in force
  std::size_t keys_missing = 0;     ///< issuers whose keys could not be fetched when it was last tried
  bool tls_is_stale = false;        ///< the files could not be used when they were last read
};

/// Of the process; bytes and seconds.
struct ProcessReading {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t open_descriptors = 0;
  std::uint64_t max_descriptors = 0;
};
/// From /proc/self (proc(5)); what cannot be read is 0.
[[nodiscard]] ProcessReading read_process();

struct NodeReading {
  std::string version;
  EngineReading engine;
  std::vector<ReactorCounters> reactors;
  std::vector<const Tally*> tallies;  ///< one per reactor; summed
  ProcessReading process;
};

/// Of so many spaces, those furthest behind, the lag is told one by one: a label for each of 100,000 would be a burden to everybody.
inline constexpr std::size_t lagging_spaces_max = 20;

[[nodiscard]] std::string metrics_text(const NodeReading& reading);

}  // namespace viewgate::gateway
