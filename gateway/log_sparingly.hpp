// Events that a client, or a database that is away, can cause as often as it likes: of each at most so many lines a second, so that
// none of them fills a disk or hides the others. `lines_left_out`, before an event's next line, says how many of its were not
// written. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "gateway/log.hpp"

namespace viewgate::gateway::log {

inline constexpr int sparing_lines_per_second = 20;

/// What each event may still have of a second.
class Pace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Absent: no line now. Else how many were left out since the event's last one.
  [[nodiscard]] std::optional<std::uint64_t> next(std::string_view event, Time now);

 private:
  struct OfEvent {
    std::optional<Time> second;
    int lines = 0;
    std::uint64_t left_out = 0;
  };

  std::mutex mutex_;
  std::map<std::string, OfEvent, std::less<>> events_;
};

void write_sparingly(Level level, std::string_view event, std::initializer_list<Field> fields);

}  // namespace viewgate::gateway::log
