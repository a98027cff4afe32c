// Where positions stand against the ledger: still part of its history, or not any more. Asked on every resume, by the
// tailer after every reconnect, and whenever a read finds something else than the next sequence.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ledger/commit.hpp"
#include "ledger/error.hpp"
#include "ledger/pg/connection.hpp"

namespace viewgate::ledger {

struct Standing {
  Position head;
  Sequence erased_through;  ///< the last commit of which values were erased
  /// history_unavailable: commits after the position were pruned. history_diverged: the position is beyond the head, or
  /// its commit is another one. history_erased: values of commits after it are gone.
  std::optional<errc> broken;
};

/// One per position, in order. Position 0 with stamp 0 is the start of every history, also of a space that does not
/// exist.
pg::Task<std::vector<Standing>> standings(pg::Connection& connection, std::vector<std::string> spaces,
                                          std::vector<Position> positions, std::chrono::milliseconds time_max);

/// What a broken standing is called in a log.
[[nodiscard]] Error broken_error(errc why, const std::string& space, Position position, Position head);

}  // namespace viewgate::ledger
