// What a run of a scenario found, and its three forms: text for people at a terminal, JSON for programs, one HTML page that
// needs nothing beside it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace viewgate::loadtest {

using Figures = std::vector<std::pair<std::string, double>>;

/// One look at the run.
struct TimelinePoint {
  double at = 0;  ///< seconds since the first step began
  std::size_t step = 0;
  double commits = 0, deliveries = 0;     ///< per second
  double p50 = 0, p99 = 0, max = 0;       ///< milliseconds from due; 0 = nothing arrived
  double server_cpu = 0, client_cpu = 0;  ///< per cent of a core
  double server_mb = 0;
  double waiting = 0;    ///< committed and not numbered yet
  double under_way = 0;  ///< deliveries that committed changes still owe
};

struct RunReport {
  struct Step {
    std::string name;
    Figures figures;
  };

  std::string name;
  std::string about;
  Figures figures;  ///< of the whole run
  std::vector<Step> steps;
  std::vector<TimelinePoint> points;
  std::vector<std::string> wrong;  ///< broken promises, differences, what did not arrive; empty = right
  std::string refused;             ///< why there are no figures; empty = there are
  std::size_t sets_compared = 0;
  std::size_t records_compared = 0;

  /// 0 right, 1 wrong, 3 no figures since the client was the bottleneck.
  int status() const { return !wrong.empty() ? 1 : refused.empty() ? 0 : 3; }
};

std::string text_of(const RunReport& report);
/// One line.
std::string json_of(const RunReport& report);
std::string html_of(const RunReport& report);

/// Writes report.txt, report.json and report.html; makes the directory. Throws std::runtime_error naming the file.
void write_report(const RunReport& report, const std::string& directory);

}  // namespace viewgate::loadtest
