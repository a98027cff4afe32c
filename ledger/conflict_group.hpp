// Conflict groups: the parts of a managed record that may be changed side by side. A group's version is the sequence of
// the last commit that changed one of its columns; two writers conflict only where both change one group.
//
// What no declared group holds forms one more group, called `record`: where nothing is declared, it is the whole record.
// The same rule stands in SQL (viewgate.changed_groups), for appends that no gateway sees.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::ledger {

struct ConflictGroup {
  std::string name;
  std::vector<std::string> columns;
};
using ConflictGroups = std::vector<ConflictGroup>;  ///< declared for one collection, in the order of the model

/// By collection.
using DeclaredGroups = std::map<std::string, ConflictGroups>;

constexpr std::string_view kRecordGroup = "record";

/// The groups that a change of a record moved, in the order of their declaration, `record` last. Records are jsonb text;
/// none: there is no such record, and then every group moves.
[[nodiscard]] std::vector<std::string> changed_groups(const ConflictGroups& groups,
                                                      std::optional<std::string_view> before,
                                                      std::optional<std::string_view> after);

/// As viewgate.declare_conflict_groups takes them: a JSON array.
[[nodiscard]] std::string declaration_of(const DeclaredGroups& groups);

}  // namespace viewgate::ledger
