// From the database's registry to what is in force: the model's text compiled against the tables that it names, their
// captures and the cursor keys. Whatever is wrong with them makes views refuse; it never ends the process.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "gateway/active_model.hpp"
#include "ledger/registry.hpp"
#include "projection/catalog.hpp"
#include "projection/model_parser.hpp"

namespace viewgate::gateway {

using TableNames = std::vector<std::pair<std::string, std::string>>;

/// Schema and name of the tables that a model names, each once.
[[nodiscard]] TableNames named_tables(std::string_view model_text);

/// What parse_model needs to know. Tables that do not exist are left out: parse_model says so with the place.
[[nodiscard]] projection::Catalog catalog_of(const std::vector<ledger::TableShape>& tables,
                                             const std::vector<ledger::Capture>& captures);

[[nodiscard]] ActiveModelPtr compile_model(const ledger::RegistryState& state,
                                           const std::vector<ledger::TableShape>& tables,
                                           std::chrono::milliseconds retry_after);

/// What is in force, and what is wrong with it: once, when it comes in force.
void log_model(const ActiveModel& active);

/// "file:line:column: message" for each problem, a line each.
[[nodiscard]] std::string problems_text(const std::vector<projection::Problem>& problems, std::string_view file);

/// Reads and compiles, on the engine's thread. `registry` outlives it and every load.
class ModelLoader {
 public:
  ModelLoader(ledger::Registry& registry, std::chrono::milliseconds retry_after)
      : registry_(registry), retry_after_(retry_after) {}

  void load(std::function<void(ledger::Result<ActiveModelPtr>)> done);

 private:
  ledger::Registry& registry_;
  const std::chrono::milliseconds retry_after_;
};

}  // namespace viewgate::gateway
