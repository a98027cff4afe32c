#include "loadtest/recorder.hpp"

#include <algorithm>
#include <utility>

namespace viewgate::loadtest {

void Recorder::begin(const Schedule& schedule, std::size_t first_mark) {
  const std::lock_guard lock(mutex_);
  first_mark_ = first_mark;
  due_.clear();
  for (std::size_t i = 0; i < schedule.count(); ++i) due_.push_back(schedule.due(i));
  committed_at_.assign(schedule.count(), {});
  figures_ = {};
  recent_ = {};
}

const Clock::time_point* Recorder::due(std::size_t mark) const {
  return mark < first_mark_ || mark - first_mark_ >= due_.size() ? nullptr : &due_[mark - first_mark_];
}

void Recorder::sent(std::size_t mark, Clock::time_point when) {
  const std::lock_guard lock(mutex_);
  if (const Clock::time_point* when_due = due(mark)) figures_.lateness.add(when - *when_due);
}

void Recorder::committed(std::size_t mark, Clock::time_point when, std::uint64_t receivers) {
  const std::lock_guard lock(mutex_);
  if (due(mark) == nullptr) return;
  committed_at_[mark - first_mark_] = when;
  ++figures_.committed;
  figures_.expected += receivers;
}

void Recorder::arrived(std::size_t mark, Clock::time_point when) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point* when_due = due(mark);
  if (when_due == nullptr) return;
  figures_.from_due.add(when - *when_due);
  recent_.add(when - *when_due);
  const Clock::time_point committed_at = committed_at_[mark - first_mark_];
  figures_.from_commit.add(committed_at == Clock::time_point() ? std::chrono::nanoseconds(0) : when - committed_at);
}

Recorder::Figures Recorder::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

Histogram Recorder::take_recent() {
  const std::lock_guard lock(mutex_);
  return std::exchange(recent_, {});
}

std::uint64_t Recorder::committed() const {
  const std::lock_guard lock(mutex_);
  return figures_.committed;
}

std::uint64_t Recorder::expected() const {
  const std::lock_guard lock(mutex_);
  return figures_.expected;
}

}  // namespace viewgate::loadtest
