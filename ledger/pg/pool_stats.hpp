// How busy a pool of connections is.
#pragma once

#include <cstddef>

namespace viewgate::ledger::pg {

struct PoolStats {
  std::size_t connections_max = 0;
  std::size_t used = 0;
  std::size_t idle = 0;
  std::size_t waiting = 0;  ///< for one that comes back
};

}  // namespace viewgate::ledger::pg
