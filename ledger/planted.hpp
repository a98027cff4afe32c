// Switches that plant a known bug, so that tests can show that they would notice it. In a build without
// VIEWGATE_PLANTED_BUGS (every release) there is nothing to switch.
#pragma once

#include <cstdlib>
#include <string_view>

namespace viewgate::ledger {

/// Whether VIEWGATE_PLANT names this bug. Known here: skip_lock (a snapshot without the space's lock).
inline bool is_planted([[maybe_unused]] std::string_view bug) {
#ifdef VIEWGATE_PLANTED_BUGS
  static const char* const planted = std::getenv("VIEWGATE_PLANT");
  return planted && bug == planted;
#else
  return false;
#endif
}

}  // namespace viewgate::ledger
