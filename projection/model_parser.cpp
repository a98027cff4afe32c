#include "projection/model_parser.hpp"

#include <algorithm>

#include "projection/model_builder.hpp"
#include "projection/syntax.hpp"

namespace viewgate::projection {

const CatalogTable* Catalog::find(std::string_view schema, std::string_view name) const {
  for (const CatalogTable& table : tables) {
    if (table.schema == schema && table.name == name) return &table;
  }
  return nullptr;
}

std::optional<std::size_t> Table::find_column(std::string_view column) const {
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout.column(i).name == column) return i;
  }
  return std::nullopt;
}

std::string_view Table::group_of(std::size_t column) const {
  const std::string& wanted = layout.column(column).name;
  for (const ledger::ConflictGroup& group : conflict_groups) {
    if (std::find(group.columns.begin(), group.columns.end(), wanted) != group.columns.end()) return group.name;
  }
  return ledger::kRecordGroup;
}

ViewPtr Model::view(std::string_view name) const {
  const auto found = views.find(name);
  return found == views.end() ? nullptr : found->second;
}

std::string Problem::text(std::string_view file) const {
  return std::string(file) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

ParsedModel parse_model(std::string_view text, const Catalog& catalog) {
  Problems problems(text);
  ModelBuilder builder(text, catalog, problems);
  const std::vector<Statement> statements = parse_statements(text, problems);
  const auto each = [&](std::string_view type, auto&& add) {
    for (const Statement& statement : statements) {
      if (statement.node().type == type) add(statement);
    }
  };
  each("CreateStmt", [&](const Statement& statement) { builder.add_table(statement); });
  each("ViewStmt", [&](const Statement& statement) { builder.add_view(statement); });
  each("CreatePolicyStmt", [&](const Statement& statement) { builder.add_policy(statement); });
  for (const Statement& statement : statements) {
    const std::string_view type = statement.node().type;
    if (type == "CreateStmt" || type == "ViewStmt" || type == "CreatePolicyStmt") continue;
    problems.add(statement.start, "a statement that is not part of a model (" + std::string(type) +
                                      "); allowed are create table, create view and create policy");
  }
  ParsedModel out;
  if (problems.empty()) {
    out.model = builder.finish(out.warnings);
  } else {
    out.problems = problems.take();
  }
  return out;
}

std::vector<TableName> referenced_tables(std::string_view text) {
  Problems ignored(text);
  std::vector<TableName> out;
  for (const Statement& statement : parse_statements(text, ignored)) {
    const Node create = statement.node();
    if (create.type != "CreateStmt") continue;
    const Node like = like_clause(create);
    if (!like) continue;
    const Node relation = like.plain("relation");
    const Problem place = ignored.make(statement.place(relation), {});
    TableName name{relation.text("schemaname"), relation.text("relname"), {}, place.line, place.column};
    for (const Node& option : create.list("options")) {
      if (option.text("defname") == "space") name.space_column = option.node("arg").text("sval");
    }
    out.push_back(std::move(name));
  }
  return out;
}

}  // namespace viewgate::projection
