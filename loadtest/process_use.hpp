// What a process uses, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace viewgate::loadtest {

struct ProcessUse {
  double cpu_seconds = 0;  ///< user and system
  std::uint64_t rss_bytes = 0;
  std::uint64_t descriptors = 0;
};

/// From /proc; throws std::runtime_error where there is no such process.
ProcessUse process_use(pid_t pid);

}  // namespace viewgate::loadtest
