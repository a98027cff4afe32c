// Durations counted in classes whose width grows with their value: any number of them in fixed memory, every percentile
// within two per cent of the truth, the largest exactly.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace viewgate::loadtest {

class Histogram {
 public:
  Histogram();

  /// What is below zero counts as zero.
  void add(std::chrono::nanoseconds value);
  void add(const Histogram& other);

  std::uint64_t count() const { return count_; }
  /// Milliseconds; `share` in 0..1. 0 where nothing was counted.
  double percentile(double share) const;
  double max() const;

 private:
  std::vector<std::uint64_t> classes_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;  ///< nanoseconds
};

}  // namespace viewgate::loadtest
