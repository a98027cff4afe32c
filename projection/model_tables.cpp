#include <algorithm>
#include <set>

#include "projection/model_builder.hpp"

namespace viewgate::projection {
namespace {

constexpr std::string_view table_forms =
    "create table name (column type …, primary key (…)), or create table name (like schema.table) with (space = "
    "'column')";

constexpr std::string_view conflict_group_prefix = "conflict_group_";

/// "starts, ends" as names.
std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    out.emplace_back(part);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

std::string type_name(const Node& type) {
  const std::vector<std::string> names = type.strings("names");
  std::string out;
  for (std::size_t i = names.size() > 1 && names.front() == "pg_catalog" ? 1 : 0; i < names.size(); ++i) {
    out += (out.empty() ? "" : ".") + names[i];
  }
  if (type.find("arrayBounds") != nullptr) out += "[]";
  return out;
}

/// Columns of one enum share it.
FullType type_of(const CatalogColumn& column, const std::vector<RecordLayout::Column>& before) {
  if (!column.deterministic_collation) return {};
  if (column.labels.empty()) return type_from_name(column.type);
  const bool array = column.type.ends_with("[]");
  const std::string name = array ? column.type.substr(0, column.type.size() - 2) : column.type;
  for (const RecordLayout::Column& other : before) {
    if (other.type.labels && other.type.labels->name == name) return {Type::enumeration, array, other.type.labels};
  }
  return {Type::enumeration, array, std::make_shared<const EnumType>(EnumType{name, column.labels})};
}

}  // namespace

Node like_clause(const Node& create) {
  for (const Node& element : create.list("tableElts")) {
    if (element.type == "TableLikeClause") return element;
  }
  return {};
}

void ModelBuilder::add_table(const Statement& statement) {
  const Node create = statement.node();
  const std::string name = bare_name(statement, create.plain("relation"), "a table of the model");
  refuse_others(statement, create, {"relation", "tableElts", "options", "oncommit"}, "create table");
  if (name.empty() || !claim_name(statement.place(create.plain("relation")), name)) return;
  auto table = std::make_shared<Table>();
  table->name = name;
  if (const Node like = like_clause(create)) {
    captured_table(statement, create, like, *table);
  } else {
    managed_table(statement, create, *table);
  }
  tables_[name] = std::move(table);
}

void ModelBuilder::captured_table(const Statement& statement, const Node& create, const Node& like, Table& table) {
  const Node relation = like.plain("relation");
  const std::size_t place = statement.place(relation);
  table.kind = TableKind::captured;
  table.schema = relation.text("schemaname");
  table.relation = relation.text("relname");
  table.collection = table.schema + "." + table.relation;
  if (create.list("tableElts").size() != 1)
    problems_.add(place, "(like …) stands alone: the table's columns are its own");
  refuse_others(statement, like, {"relation"}, "like");
  std::string space;
  for (const Node& option : create.list("options")) {
    if (option.text("defname") == "space" && option.node("arg").type == "String") {
      space = option.node("arg").text("sval");
    } else {
      problems_.add(statement.place(option),
                    "the option " + option.text("defname") + " of a captured table; allowed is space = 'column'");
    }
  }
  if (table.schema.empty()) {
    problems_.add(place, "like " + table.relation + "; name the schema too, for example public." + table.relation);
    return;
  }
  const CatalogTable* found = catalog_.find(table.schema, table.relation);
  if (found == nullptr) {
    problems_.add(place, "the database has no table " + table.collection);
    return;
  }
  std::vector<RecordLayout::Column> columns;
  for (const CatalogColumn& column : found->columns) {
    columns.push_back({column.name, type_of(column, columns)});
    table.column_rules.push_back({column.not_null, false});
    table.marks.push_back(column.mark);
    table.type_names.push_back(column.deterministic_collation ? column.type
                                                              : column.type + " (nondeterministic collation)");
  }
  table.layout = RecordLayout(std::move(columns));
  table.capture = found->capture;
  set_primary_key(place, found->primary_key, table);
  table.space_column = table.find_column(space);
  if (space.empty()) {
    problems_.add(place, "with (space = 'column') is missing; it names the column of " + table.collection +
                             " that says which space a row belongs to");
  } else if (!table.space_column) {
    problems_.add(place, table.collection + " has no column " + space + ", which the option space names");
  } else if (!found->space_column.empty() && found->space_column != space) {
    problems_.add(place, table.collection + " is captured with the space " + found->space_column + ", not " + space);
  }
}

void ModelBuilder::managed_table(const Statement& statement, const Node& create, Table& table) {
  table.collection = table.name;
  std::vector<RecordLayout::Column> columns;
  std::vector<std::string> key;
  for (const Node& element : create.list("tableElts")) {
    if (element.type == "ColumnDef") {
      managed_column(statement, element, table, columns, key);
    } else if (element.type == "Constraint" && element.text("contype") == "CONSTR_PRIMARY") {
      if (!key.empty()) problems_.add(statement.place(element), "a second primary key of " + table.name);
      key = element.strings("keys");
    } else {
      problems_.add(statement.place(element), "not supported in create table; allowed are " + std::string(table_forms));
    }
  }
  table.layout = RecordLayout(std::move(columns));
  set_primary_key(statement.place(create.plain("relation")), key, table);
  for (const Node& option : create.list("options")) conflict_group(statement, option, table);
}

void ModelBuilder::managed_column(const Statement& statement, const Node& column, Table& table,
                                  std::vector<RecordLayout::Column>& columns, std::vector<std::string>& key) {
  const std::string name = column.text("colname");
  const Node type = column.plain("typeName");
  refuse_others(statement, column, {"colname", "typeName", "is_local", "constraints", "location"}, "a column");
  for (const RecordLayout::Column& other : columns) {
    if (other.name == name)
      problems_.add(statement.place(column), "the column " + name + " stands twice in " + table.name);
  }
  bool not_null = false;
  for (const Node& constraint : column.list("constraints")) {
    const std::string kind = constraint.text("contype");
    not_null = not_null || kind == "CONSTR_NOTNULL";
    if (kind == "CONSTR_PRIMARY") {
      if (!key.empty()) problems_.add(statement.place(constraint), "a second primary key of " + table.name);
      key = {name};
    } else if (kind != "CONSTR_NOTNULL" && kind != "CONSTR_NULL") {
      problems_.add(statement.place(constraint),
                    "a constraint that is not supported; allowed on a column are primary key and not null");
    }
  }
  table.column_rules.push_back({not_null, type.find("typmods") != nullptr});
  table.type_names.push_back(type_name(type));
  columns.push_back({name, type_from_name(table.type_names.back())});
}

void ModelBuilder::conflict_group(const Statement& statement, const Node& option, Table& table) {
  const std::string name = option.text("defname");
  if (!name.starts_with(conflict_group_prefix) || name.size() == conflict_group_prefix.size() ||
      option.node("arg").type != "String") {
    problems_.add(statement.place(option),
                  "the option " + name + "; allowed is conflict_group_… = 'column, column'" +
                      (name == "space" ? ", since records of a managed collection belong to the "
                                         "space that they are written to"
                                       : ""));
    return;
  }
  const std::size_t place = statement.place(option);
  ledger::ConflictGroup group{name.substr(conflict_group_prefix.size()), split_names(option.node("arg").text("sval"))};
  if (group.name == ledger::kRecordGroup) {
    problems_.add(place, "the name " + name + "; the group record holds the columns that no other group names");
  }
  for (const ledger::ConflictGroup& other : table.conflict_groups) {
    if (other.name == group.name) problems_.add(place, name + " stands twice");
  }
  const auto unknown = [&](const std::string& column) {
    return table.name + " has no column '" + column + "', which " + name + " names";
  };
  std::set<std::string_view> seen;
  for (const std::string& column : group.columns) {
    const auto index = table.find_column(column);
    if (!index) {
      problems_.add(place, unknown(column));
    } else if (!seen.insert(column).second || table.group_of(*index) != ledger::kRecordGroup) {
      problems_.add(place, "the column " + column + " is in two conflict groups, or twice in one");
    } else if (std::find(table.primary_key.begin(), table.primary_key.end(), *index) != table.primary_key.end()) {
      problems_.add(place, "the column " + column + " is of the primary key, which never changes; no group names it");
    }
  }
  table.conflict_groups.push_back(std::move(group));
}

void ModelBuilder::set_primary_key(std::size_t place, const std::vector<std::string>& names, Table& table) {
  if (names.empty()) {
    problems_.add(place, (table.kind == TableKind::captured ? table.collection : table.name) +
                             " has no primary key; a record needs one to be told from others");
  }
  for (const std::string& name : names) {
    const auto column = table.find_column(name);
    if (column) {
      table.primary_key.push_back(*column);
      table.column_rules[*column].not_null = true;
    } else {
      problems_.add(place, table.name + " has no column " + name + ", which its primary key names");
    }
  }
}

}  // namespace viewgate::projection
