// What of the housekeeping could not be done. It is tried again by itself; whoever shows it lets an operator see why a ledger grows.
#pragma once

#include <cstdint>
#include <string>

#include "ledger/error.hpp"

namespace viewgate::ledger {

struct HousekeepingFailures {
  std::uint64_t count = 0;  ///< of checks of the captured tables, looks at the sizes, and prunings of a space
  std::string doing;        ///< what failed last
  Error error;              ///< why
};

}  // namespace viewgate::ledger
