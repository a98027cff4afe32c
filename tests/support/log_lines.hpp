// When a line of the gateway's log was written, by its own clock: for promises about time that the tests' own pace must not blur.
#pragma once

#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace viewgate::testing {

/// Of the first line that has this text. Absent: there is none (yet).
inline std::optional<std::chrono::system_clock::time_point> time_of_line(const std::string& log,
                                                                         std::string_view text) {
  const std::size_t at = log.find(text);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t line_end = log.rfind('\n', at);
  const std::string line = log.substr(line_end == std::string::npos ? 0 : line_end + 1);
  std::tm day{};
  int milliseconds = 0;
  // 2026-01-02T03:04:05.678Z
  if (std::sscanf(line.c_str(), "%d-%d-%dT%d:%d:%d.%dZ", &day.tm_year, &day.tm_mon, &day.tm_mday, &day.tm_hour,
                  &day.tm_min, &day.tm_sec, &milliseconds) != 7) {
    return std::nullopt;
  }
  day.tm_year -= 1900;
  day.tm_mon -= 1;
  return std::chrono::system_clock::from_time_t(::timegm(&day)) + std::chrono::milliseconds(milliseconds);
}

}  // namespace viewgate::testing
