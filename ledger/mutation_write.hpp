// The two halves of a transaction that writes mutations, as statements, and what their results say.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "ledger/mutation_plan.hpp"
#include "ledger/pg/connection.hpp"

namespace viewgate::ledger {

/// begin, and viewgate.open_mutations, or open_mutation for one request of one mutation. Where there are several spaces, a lock is waited for only so long.
[[nodiscard]] std::vector<pg::Statement> opening_of(const MutationBatch& batch, const MutationBounds& bounds,
                                                    std::chrono::milliseconds shared_lock_time_max);

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
