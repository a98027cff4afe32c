// One connection that writes: each commit through the door that the scenario names.
//
// Lives on one thread. Every tenth commit of a writer in a space takes its records out of the view (a balance of zero,
// or the card deleted), so that whoever folds must also lose them; those carry no mark.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "loadtest/link.hpp"
#include "loadtest/scenario.hpp"
#include "loadtest/token.hpp"

namespace viewgate::loadtest {

/// What the system under test is reached by.
struct Reach {
  Address address;
  std::string database;
  TokenMaker tokens;
};

class Writer {
 public:
  virtual ~Writer() = default;
  /// Returns once it is durable: COMMIT has returned, or the receipt is there. Throws std::runtime_error otherwise.
  virtual void commit(std::size_t space, std::size_t mark) = 0;
};

/// `index`: each writer of a scenario has records of its own, so that none waits for another's. No writer for pgbench.
std::unique_ptr<Writer> make_writer(const Scenario& scenario, const Reach& reach, std::size_t index);

/// Takes what an earlier run wrote out of the views; throws std::runtime_error where the tables are not there.
void reset_records(const Scenario& scenario, const std::string& database);

}  // namespace viewgate::loadtest
