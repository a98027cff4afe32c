// Whether the process has nearly all of the memory that it may have. Newcomers then wait, and those who are inside go on: a process
// that takes what it is refused ends, and they all with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace viewgate::gateway {

/// In bytes, as the kernel counts them.
struct MemoryUse {
  std::uint64_t resident = 0;
  std::uint64_t address_space = 0;
};

struct MemoryBounds {
  std::uint64_t resident = 0;       ///< 0: none
  std::uint64_t address_space = 0;  ///< 0: none

  /// Above nine tenths of either.
  [[nodiscard]] bool nearly_reached_by(const MemoryUse& use) const;
};

/// What the process may have: `configured` (0: what its control group may have, where that is bounded), and RLIMIT_AS.
[[nodiscard]] MemoryBounds memory_bounds(std::uint64_t configured);

/// The bound of a control group (cgroup v2): `membership` is the text of /proc/self/cgroup, `root` where the tree is. 0: none.
[[nodiscard]] std::uint64_t group_memory_max(const std::string& membership, const std::string& root);

/// proc(5); zeros where it cannot be read.
[[nodiscard]] MemoryUse read_memory_use();

class MemoryWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `on_short`: called on whichever thread asks, at most once a second while it is so; to give back what is only kept.
  MemoryWatch(MemoryBounds bounds, std::function<MemoryUse()> read, std::function<void()> on_short)
      : bounds_(bounds), read_(std::move(read)), on_short_(std::move(on_short)) {}

  /// Thread-safe; looked at a few times a second, however often it is asked.
  [[nodiscard]] bool is_short(Time now);

 private:
  const MemoryBounds bounds_;
  const std::function<MemoryUse()> read_;
  const std::function<void()> on_short_;
  std::mutex mutex_;
  Time looked_at_{};
  Time told_at_{};
  bool is_short_ = false;
};

}  // namespace viewgate::gateway
