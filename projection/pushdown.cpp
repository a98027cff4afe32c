#include "projection/pushdown.hpp"

#include "projection/json_text.hpp"
#include "projection/sql_condition.hpp"

namespace viewgate::projection {
namespace {

/// Whether a key's text can be sent as a literal that the column is compared with.
bool is_pageable(const FullType& type) {
  return !type.array && type.type != Type::carried && type.type != Type::enumeration && type.type != Type::jsonb;
}

/// The rows whose space column prints as the space's name. Where the type is known, by its own equality, for the
/// index's sake.
std::string space_condition(const Table& table, const std::string& space) {
  if (space.find('\0') != std::string::npos) return "false";
  const std::size_t index = *table.space_column;
  const FullType& column = table.layout.column(index).type;
  const Type type = column.array ? Type::carried : column.type;
  if (type == Type::text) return "(" + column_sql(table, index) + " = " + quote_literal(space) + ")";
  if (!is_integer(type) && type != Type::uuid) {
    return "((to_jsonb(" + column_sql(table, index) + ") #>> '{}') = " + quote_literal(space) + ")";
  }
  const Value value = parse_text(type, space);
  if (is_fault(value) || print_text(type, value) != space) return "false";
  return "(" + column_sql(table, index) + " = " + typed_literal(space, short_name(type)) + ")";
}

ReadPlan managed_plan(const Group& group) {
  ReadPlan plan;
  plan.select = "t.value::text";
  plan.from = "viewgate.records as t";
  const bool storable = group.space().find('\0') == std::string::npos;
  plan.where = storable ? "t.space = viewgate.space_key(" + quote_literal(group.space()) +
                              ") and t.collection = " + quote_literal(group.table().collection)
                        : "false";
  plan.order_by = "t.key";
  plan.key_columns = {"t.key"};
  plan.key_types = {"text"};
  return plan;
}

}  // namespace

std::string quote_literal(std::string_view text) {
  std::string out = text.find('\\') == std::string_view::npos ? "'" : " E'";
  for (const char c : text) {
    out += c;
    if (c == '\'' || c == '\\') out += c;
  }
  return out + "'";
}

std::string quote_identifier(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    out += c;
    if (c == '"') out += c;
  }
  return out + "\"";
}

ReadPlan read_plan(const Group& group) {
  const Table& table = group.table();
  if (table.kind == TableKind::managed) return managed_plan(group);
  ReadPlan plan;
  plan.relation = quote_identifier(table.schema) + "." + quote_identifier(table.relation);
  plan.select = "to_jsonb(t.*)::text";
  plan.from = plan.relation + " as t";
  plan.where = space_condition(table, group.space());
  if (const std::string sql = superset_condition(table, group.predicate()); sql != "true") plan.where += " and " + sql;
  bool pageable = true;
  for (const std::size_t column : table.primary_key) {
    plan.order_by += (plan.order_by.empty() ? "" : ", ") + column_sql(table, column);
    plan.key_columns.push_back(column_sql(table, column));
    plan.key_types.emplace_back(short_name(table.layout.column(column).type.type));
    pageable = pageable && is_pageable(table.layout.column(column).type);
  }
  if (!pageable) plan.key_columns.clear();
  return plan;
}

std::string record_query(const Group& group, std::string_view key) {
  const Table& table = group.table();
  if (table.kind == TableKind::managed) {
    const bool storable = key.find('\0') == std::string_view::npos;
    return managed_plan(group).query() + (storable ? " and t.key = " + quote_literal(key) : " and false");
  }
  std::string out = "select to_jsonb(t.*)::text from " + quote_identifier(table.schema) + "." +
                    quote_identifier(table.relation) + " as t where " + space_condition(table, group.space());
  const auto values = parse_json_leniently(key);
  for (std::size_t i = 0; values && i < values->items.size() && i < table.primary_key.size(); ++i) {
    const std::size_t column = table.primary_key[i];
    const Type type = table.layout.column(column).type.type;
    const std::string& text = values->items[i].text;
    // By the type's equality, for the index's sake, where its input cannot raise; else by what it looks like.
    const bool is_sound = is_pageable(table.layout.column(column).type) && !is_fault(parse_text(type, text));
    const std::string sql = column_sql(table, column);
    out += is_sound ? " and " + sql + " = " + typed_literal(text, short_name(type))
                    : " and (to_jsonb(" + sql + ") #>> '{}') = " + quote_literal(text);
  }
  return out;
}

std::string ReadPlan::query() const { return "select " + select + " from " + from + " where " + where; }

std::string ReadPlan::page(std::string_view after, std::size_t rows) const {
  std::string out = query();
  if (!after.empty() && key_types.size() == 1 && key_columns.front() == "t.key") {
    out += " and t.key > " + quote_literal(after);
  } else if (const auto key = parse_json(after); key && key->items.size() == key_columns.size()) {
    std::string columns;
    std::string values;
    for (std::size_t i = 0; i < key_columns.size(); ++i) {
      columns += (i == 0 ? "" : ", ") + key_columns[i];
      values += (i == 0 ? "" : ", ") + typed_literal(key->items[i].text, key_types[i]);
    }
    out += " and (" + columns + ") > (" + values + ")";
  }
  return out + " order by " + order_by + " limit " + std::to_string(rows);
}

}  // namespace viewgate::projection
