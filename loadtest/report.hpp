// Figures: percentiles of what was measured, what a process uses, and one line of JSON at the end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace viewgate::loadtest {

/// `share` in 0..1; 0 where nothing was measured. Sorts the values.
double percentile(std::vector<double>& values, double share);

struct ProcessUse {
  double cpu_seconds = 0;  ///< user and system
  std::uint64_t rss_bytes = 0;
  std::uint64_t descriptors = 0;
};

/// From /proc; throws std::runtime_error where there is no such process.
ProcessUse process_use(pid_t pid);

/// Figures in the order in which they were added, as text and as one JSON object.
class Report {
 public:
  explicit Report(std::string name) : name_(std::move(name)) {}
  void add(const std::string& figure, double value) { figures_.emplace_back(figure, value); }
  void print() const;

 private:
  std::string name_;
  std::vector<std::pair<std::string, double>> figures_;
};

}  // namespace viewgate::loadtest
