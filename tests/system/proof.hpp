// The proof: writers at full speed, many subscribers that are cut at random, a gateway that is killed and restarted, a PostgreSQL
// that is restarted, a consumer that is killed at random; and in the end every fold equals SQL.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "support/pgbench_line.hpp"

namespace viewgate::testing {

struct ProofOptions {
  std::chrono::seconds duration{60};
  std::uint64_t seed = 1;
  std::string planted_bug;  ///< as ledger/planted.hpp knows it; empty = none
  bool restarts = true;     ///< of gateway and PostgreSQL
};

struct ProofResult {
  std::vector<std::string> wrong;  ///< broken promises and unequal records; empty = proven
  std::string story;               ///< what happened, for a reader
  std::uint64_t commits = 0;       ///< of all spaces
  std::uint64_t resumptions = 0;
  std::uint64_t bootstraps = 0;
  std::uint64_t consumer_deaths = 0;
  std::uint64_t ring_misses = 0;  ///< of the slow reader, since the last restart of the gateway
};

ProofResult run_proof(PgbenchLine& line, const ProofOptions& options);

}  // namespace viewgate::testing
