// Is everyone caught up? The answer of GET /v1/inspect/overview, from what the engine and each reactor told.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/inspect_rows.hpp"
#include "gateway/metrics.hpp"

namespace viewgate::gateway {

/// What one reactor has.
struct ReactorSum {
  std::size_t index = 0;
  std::size_t connections = 0;
  std::size_t sessions = 0;
  std::size_t groups = 0;
  std::size_t ring_bytes = 0;
  std::size_t blocked = 0;  ///< sessions of which the socket takes nothing of what there is for it
  std::size_t queue_bytes = 0;
  StreamsSight streams;
};

struct Overview {
  std::chrono::seconds uptime{};
  EngineReading engine;
  std::vector<ReactorSum> reactors;  ///< in any order
};

/// A space whose commits have waited for less is not called late: under load, a few always are on their way.
inline constexpr std::chrono::milliseconds late_after{1000};

/// `caught_up`: the database is there, no space is late, and no subscription is behind.
[[nodiscard]] std::string overview_json(std::string_view node, std::string_view version, Overview all);

}  // namespace viewgate::gateway
