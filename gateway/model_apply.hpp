// Putting a model in force: checks it against the database, captures the tables that it names with their space columns,
// and switches; all nodes follow at once. A table is captured before the model that needs it is in force, never after.
#pragma once

#include <string>
#include <vector>

#include "gateway/command_database.hpp"
#include "gateway/config.hpp"
#include "projection/model.hpp"

namespace viewgate::gateway {

struct AppliedModel {
  std::int64_t version = 0;           ///< 0: only checked
  std::vector<std::string> captured;  ///< tables whose capture was made, or found as the model wants it
  std::string warnings;               ///< a line each
  std::size_t views = 0;
  projection::ModelPtr model;
  std::string report;  ///< what each view shows and needs, and who is admitted
  ledger::DeclaredGroups conflict_groups;
};

/// `file` names the text in problems. Throws Stop: model (a line for each problem), not_capturable, database errors.
[[nodiscard]] AppliedModel apply_model(CommandDatabase& database, const std::string& text, const std::string& file);

/// The same without any change. A model that names no table of the database needs none.
[[nodiscard]] AppliedModel check_model(const Config& config, const std::string& text, const std::string& file);

}  // namespace viewgate::gateway
