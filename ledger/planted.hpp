// Switches that plant a known bug, so that tests can show that they would notice it. In a build without
// VIEWGATE_PLANTED_BUGS (every release) there is nothing to switch.
#pragma once

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace viewgate::ledger {

#ifdef VIEWGATE_PLANTED_BUGS
/// The bug that is planted in this process: at first what VIEWGATE_PLANT names; a test may plant another.
inline std::atomic<const char*>& planted_bug() {
  static std::atomic<const char*> bug{std::getenv("VIEWGATE_PLANT")};
  return bug;
}
#endif

/// Whether this bug is planted. Those of the snapshot: skip_lock (without the space's lock). Those of reading and writing
/// the log stand with the promises that they break in tests/ledger/contract/plants.cpp.
inline bool is_planted([[maybe_unused]] std::string_view bug) {
#ifdef VIEWGATE_PLANTED_BUGS
  const char* const planted = planted_bug().load(std::memory_order_relaxed);
  return planted && bug == planted;
#else
  return false;
#endif
}

}  // namespace viewgate::ledger
