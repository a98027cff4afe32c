#include "loadtest/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace viewgate::loadtest {

namespace {

// Each power of two is cut into so many classes; below that, a class holds one nanosecond.
constexpr unsigned cut_bits = 6;
constexpr std::uint64_t cuts = 1U << cut_bits;
constexpr std::size_t classes_count = (64 - cut_bits + 1) * cuts;

std::size_t class_of(std::uint64_t value) {
  if (value < cuts) return value;
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - cut_bits;
  return (shift + 1) * cuts + ((value >> shift) - cuts);
}

/// The middle of a class.
std::uint64_t value_of(std::size_t index) {
  if (index < cuts) return index;
  const std::size_t shift = index / cuts - 1;
  return ((index % cuts + cuts) << shift) + ((std::uint64_t{1} << shift) >> 1);
}

double milliseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

}  // namespace

Histogram::Histogram() : classes_(classes_count) {}

void Histogram::add(std::chrono::nanoseconds value) {
  const auto one = static_cast<std::uint64_t>(std::max<std::int64_t>(0, value.count()));
  ++classes_[class_of(one)];
  ++count_;
  max_ = std::max(max_, one);
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < classes_.size(); ++i) classes_[i] += other.classes_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

double Histogram::percentile(double share) const {
  if (count_ == 0) return 0;
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_))));
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    passed += classes_[i];
    if (passed >= wanted) return milliseconds(std::min(value_of(i), max_));
  }
  return max();
}

double Histogram::max() const { return milliseconds(max_); }

}  // namespace viewgate::loadtest
