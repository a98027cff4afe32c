// Bugs planted on purpose, each with the promise that must notice it: a suite that stays green with one of them states
// nothing. Some are switches in the program (ledger/planted.hpp), some are edits of the ledger's SQL in one test's database.
#pragma once

#include <string>
#include <vector>

#include "support/pg_session.hpp"

namespace viewgate::testing {

/// In the definition of a function or view of the schema viewgate, all of `from` become `to`.
struct SqlEdit {
  const char* object;
  const char* from;
  const char* to;
};

struct Plant {
  const char* name;
  const char* promise;  ///< the one that must break
  std::vector<SqlEdit> edits = {};
  const char* error = nullptr;  ///< where the promise breaks by an error: what that says; any other is no proof
};

[[nodiscard]] std::vector<Plant> plants();
/// Throws where the SQL has no such text any more.
void edit(PgSession& session, const SqlEdit& change);

/// Plants a bug of the program's own for as long as it lives.
class PlantedBug {
 public:
  explicit PlantedBug(const char* name);
  ~PlantedBug();
  PlantedBug(const PlantedBug&) = delete;
  PlantedBug& operator=(const PlantedBug&) = delete;
};

}  // namespace viewgate::testing
