// What of the work beside the looks could not be done. It is tried again by itself; whoever shows it lets an operator see why a
// ledger grows, or a space stays behind.
#pragma once

#include <cstdint>
#include <string>

#include "ledger/error.hpp"

namespace viewgate::ledger {

struct HousekeepingFailures {
  std::uint64_t count =
      0;              ///< of checks of the captured tables, looks at the sizes, prunings, readings of large commits
  std::string doing;  ///< what failed last
  Error error;        ///< why
};

}  // namespace viewgate::ledger
