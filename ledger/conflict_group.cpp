#include "ledger/conflict_group.hpp"

#include <algorithm>
#include <map>

#include "ledger/record_text.hpp"

namespace viewgate::ledger {
namespace {

/// The names of the columns that differ, without quotes.
std::vector<std::string> changed_columns(std::string_view before, std::string_view after) {
  std::map<std::string_view, std::string_view> old_values;
  for (const RecordColumn& column : columns_of(before)) old_values.emplace(column.quoted_name, column.value);
  std::vector<std::string> out;
  for (const RecordColumn& column : columns_of(after)) {
    const auto old_value = old_values.find(column.quoted_name);
    if (old_value == old_values.end() || old_value->second != column.value) out.push_back(unquoted(column.quoted_name));
    if (old_value != old_values.end()) old_values.erase(old_value);
  }
  for (const auto& [name, value] : old_values) out.push_back(unquoted(name));
  return out;
}

bool holds(const ConflictGroup& group, const std::string& column) {
  return std::ranges::find(group.columns, column) != group.columns.end();
}

}  // namespace

std::vector<std::string> changed_groups(const ConflictGroups& groups, std::optional<std::string_view> before,
                                        std::optional<std::string_view> after) {
  std::vector<std::string> out;
  if (!before || !after) {
    for (const ConflictGroup& group : groups) out.push_back(group.name);
    out.emplace_back(kRecordGroup);
    return out;
  }
  const std::vector<std::string> columns = changed_columns(*before, *after);
  for (const ConflictGroup& group : groups) {
    const auto is_held = [&group](const std::string& column) { return holds(group, column); };
    if (std::ranges::any_of(columns, is_held)) out.push_back(group.name);
  }
  const auto is_loose = [&groups](const std::string& column) {
    return std::ranges::none_of(groups, [&column](const ConflictGroup& group) { return holds(group, column); });
  };
  if (std::ranges::any_of(columns, is_loose)) out.emplace_back(kRecordGroup);
  return out;
}

std::string declaration_of(const DeclaredGroups& groups) {
  std::string out = "[";
  for (const auto& [collection, declared] : groups) {
    for (const ConflictGroup& group : declared) {
      if (out.size() > 1) out += ", ";
      out += R"({"collection": )" + quoted(collection) + R"(, "name": )" + quoted(group.name) + R"(, "columns": [)";
      for (const std::string& column : group.columns) {
        if (out.back() != '[') out += ", ";
        out += quoted(column);
      }
      out += "]}";
    }
  }
  return out += ']';
}

}  // namespace viewgate::ledger
