// The two halves of a transaction that writes mutations, as statements, and what their results say.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "ledger/mutation_plan.hpp"
#include "ledger/pg/connection.hpp"

namespace viewgate::ledger {

/// How long is waited for other locks than that of a single space, which has the connection's time.
struct LockTimes {
  std::chrono::milliseconds shared_max{};  ///< where there are several spaces, for each lock
  std::chrono::milliseconds record_max{};  ///< for each record
};

/// begin, and viewgate.open_mutations, or open_mutation for one request of one mutation.
[[nodiscard]] std::vector<pg::Statement> opening_of(const MutationBatch& batch, const MutationBounds& bounds,
                                                    LockTimes times);

/// What their rows say.
[[nodiscard]] MutationState state_of(const pg::Rows& rows, const MutationBatch& batch);

/// viewgate.write_mutations (write_mutation) where there is anything to write, and commit.
[[nodiscard]] std::vector<pg::Statement> closing_of(const MutationBatch& batch, const MutationPlan& plan);

struct MutationLookup {
  std::string space;
  std::string client;
  std::string principal;
  std::int64_t number = 0;
};

/// The receipt of a request that was processed.
pg::Task<MutationAnswer> look_up(pg::Connection& connection, const MutationLookup& lookup,
                                 std::chrono::milliseconds time_max);

}  // namespace viewgate::ledger
