// Policies: who may open a view, which records of a table are seen at all, and who may write which.
#include <algorithm>
#include <string>
#include <vector>

#include "projection/column_value.hpp"
#include "projection/expression_builder.hpp"
#include "projection/model_builder.hpp"

namespace viewgate::projection {
namespace {

/// Which clauses a command's policy has, as in PostgreSQL.
struct CommandForm {
  std::string_view command;
  bool needs_using;
  bool may_check;
  bool needs_check;
};
constexpr CommandForm command_forms[] = {{"all", true, true, false},
                                         {"select", true, false, false},
                                         {"insert", false, true, true},
                                         {"update", true, true, false},
                                         {"delete", true, false, false}};

const CommandForm* form_of(std::string_view command) {
  for (const CommandForm& form : command_forms) {
    if (form.command == command) return &form;
  }
  return nullptr;
}

std::string told(const std::string& column, std::string_view what, std::string_view type) {
  std::string out = column;
  return out.append(what).append(type);
}

/// A table that mutations write has columns whose text this program makes exactly as PostgreSQL would. A line for each of
/// the others.
std::vector<std::string> unwritable_columns(const Table& table) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < table.layout.size(); ++i) {
    const std::string& name = table.layout.column(i).name;
    const std::string& type = table.type_names[i];
    const bool in_key = std::find(table.primary_key.begin(), table.primary_key.end(), i) != table.primary_key.end();
    if (table.column_rules[i].has_modifier) {
      out.push_back(told(name, " has a type with a modifier; write ", type));
    } else if (!is_writable(table, i)) {
      out.push_back(told(name, " has the type ", type).append("; possible are ").append(writable_types));
    } else if (in_key && !is_key(table, i)) {
      out.push_back(told(name, " is of the primary key, and values of the type ", type)
                        .append(" that are equal may look different"));
    }
  }
  return out;
}

}  // namespace

void ModelBuilder::add_policy(const Statement& statement) {
  const Node create = statement.node();
  const Node range = create.plain("table");
  const std::string target = bare_name(statement, range, "a table or view of the model");
  refuse_others(statement, create, {"policy_name", "table", "cmd_name", "permissive", "roles", "qual", "with_check"},
                "create policy");
  if (!create.flag("permissive"))
    problems_.add(statement.start, "AS RESTRICTIVE is not supported; a policy on the table limits");
  for (const Node& role : create.list("roles")) {
    if (role.text("roletype") != "ROLESPEC_PUBLIC") {
      problems_.add(statement.place(role), "TO a role is not supported; a policy decides by claims");
    }
  }
  if (!has_policy_form(statement, create)) return;
  const auto table = tables_.find(target);
  const auto view = views_.find(target);
  if (table != tables_.end()) {
    if (table->second->layout.size() > 0) table_policy(statement, create, *table->second);
  } else if (view != views_.end()) {
    view_policy(statement, create, view->second.view);
  } else if (!target.empty() && !names_.contains(target)) {
    problems_.add(statement.place(range), "the model has no table or view " + target);
  }
}

bool ModelBuilder::has_policy_form(const Statement& statement, const Node& create) {
  const CommandForm* const form = form_of(create.text("cmd_name"));
  const bool has_using = static_cast<bool>(create.node("qual"));
  const bool has_check = static_cast<bool>(create.node("with_check"));
  if (form == nullptr) {
    problems_.add(statement.start, "FOR " + create.text("cmd_name") + " is not supported");
    return false;
  }
  const std::string name = "a policy for " + std::string(form->command);
  const std::size_t problems_before = problems_.size();
  if (form->needs_using && !has_using) problems_.add(statement.start, name + " needs using (condition)");
  if (!form->needs_using && has_using) {
    problems_.add(statement.start, name + " has no using: there is no record yet; write with check (condition)");
  }
  if (form->needs_check && !has_check) problems_.add(statement.start, name + " needs with check (condition)");
  if (!form->may_check && has_check) problems_.add(statement.start, name + " has no with check: it writes no record");
  return problems_.size() == problems_before;
}

void ModelBuilder::view_policy(const Statement& statement, const Node& create, View& view) {
  const std::string command = create.text("cmd_name");
  if (create.node("with_check") || (command != "all" && command != "select")) {
    problems_.add(statement.start, "a policy on a view admits callers to it; who may write is said on its table");
    return;
  }
  Scope scope;
  scope.without_columns =
      "in a policy on a view, which decides about the caller alone; columns belong into the view's where "
      "or into a policy on its table";
  ExpressionBuilder builder(text_, statement, scope, problems_);
  if (auto predicate = builder.condition(create.node("qual"))) {
    view.policies.push_back({create.text("policy_name"), std::move(*predicate)});
  }
}

void ModelBuilder::table_policy(const Statement& statement, const Node& create, Table& table) {
  const std::string command = create.text("cmd_name");
  const bool is_captured = table.kind == TableKind::captured;
  if (is_captured && (create.node("with_check") || (command != "all" && command != "select"))) {
    problems_.add(statement.start, "the table " + table.name +
                                       " is captured: its application writes it, and a policy on it is for select");
    return;
  }
  Scope scope;
  scope.table = &table;
  ExpressionBuilder builder(text_, statement, scope, problems_);
  const auto condition = [&](const Node& node) { return node ? builder.condition(node) : std::nullopt; };
  const auto sees = condition(create.node("qual"));
  const auto checks = create.node("with_check") ? condition(create.node("with_check")) : sees;
  const bool is_all = command == "all";
  const auto add = [](std::vector<Expression>& to, const std::optional<Expression>& what) {
    if (what) to.push_back(*what);
  };
  if (sees && (is_all || command == "select")) table.policies.push_back({create.text("policy_name"), *sees});
  if (is_captured || command == "select") return;
  // As on a captured table, a policy for all is for select where nothing else is possible.
  const bool must_write = !is_all || create.node("with_check");
  if (must_write && table.writes.empty()) refuse_unwritable_columns(statement, table);
  if (!must_write && !unwritable_columns(table).empty()) return;
  if (is_all || command == "insert") add(table.writes.insert_check, checks);
  if (is_all || command == "update") add(table.writes.update_using, sees);
  if (is_all || command == "update") add(table.writes.update_check, checks);
  if (is_all || command == "delete") add(table.writes.delete_using, sees);
}

void ModelBuilder::refuse_unwritable_columns(const Statement& statement, const Table& table) {
  for (const std::string& each : unwritable_columns(table)) {
    problems_.add(statement.start, "mutations cannot write " + table.name + ": its column " + each);
  }
}

}  // namespace viewgate::projection
