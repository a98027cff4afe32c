#include "projection/pushdown.hpp"

#include <algorithm>
#include <optional>

#include "projection/json_text.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;
using Sql = std::optional<std::string>;  ///< nothing: it may raise, or means something else in SQL

std::string_view cast_name(Type type) {
  switch (type) {
    case Type::boolean:
      return "boolean";
    case Type::int2:
      return "int2";
    case Type::int4:
      return "int4";
    case Type::int8:
      return "int8";
    case Type::numeric:
      return "numeric";
    case Type::uuid:
      return "uuid";
    case Type::timestamptz:
      return "timestamptz";
    default:
      return "text";
  }
}

std::string typed_literal(std::string_view text, std::string_view type) {
  return quote_literal(text) + "::" + std::string(type);
}

std::string_view operator_text(Op op) {
  switch (op) {
    case Op::eq:
      return " = ";
    case Op::ne:
      return " <> ";
    case Op::lt:
      return " < ";
    case Op::le:
      return " <= ";
    case Op::gt:
      return " > ";
    case Op::ge:
      return " >= ";
    case Op::distinct:
      return " is distinct from ";
    case Op::not_distinct:
      return " is not distinct from ";
    default:
      return " % ";
  }
}

/// Ranges of text are those of the C collation here. Equality is the same under every deterministic collation, but PostgreSQL
/// refuses to compare columns of two collations unless one is named; beside constants the column's own keeps its index usable.
bool needs_collation(const Expression& expression) {
  if (expression.children[0].type != Type::text) return false;
  const Op op = expression.op;
  if (op == Op::lt || op == Op::le || op == Op::gt || op == Op::ge) return true;
  return std::any_of(expression.children.begin() + 1, expression.children.end(),
                     [](const Expression& child) { return child.kind != Kind::constant; });
}

/// Infinite numerics are not input of PostgreSQL 13, and a text cannot hold a zero byte.
Sql constant_sql(const Expression& expression) {
  if (is_fault(expression.value)) return std::nullopt;
  if (is_null(expression.value)) return "null::" + std::string(cast_name(expression.type));
  if (const auto* numeric = std::get_if<Numeric>(&expression.value)) {
    if (!numeric->finite() && numeric->kind() != Numeric::Kind::nan) return std::nullopt;
    return typed_literal(numeric->canonical(), "numeric");
  }
  const std::string text = print_text(expression.value);
  if (text.find('\0') != std::string::npos) return std::nullopt;
  return typed_literal(text, cast_name(expression.type));
}

/// Builds SQL that is exactly the expression and cannot raise, or nothing.
class Exact {
 public:
  explicit Exact(const Table& table) : table_(table) {}

  [[nodiscard]] Sql value(const Expression& expression) const {
    switch (expression.kind) {
      case Kind::constant:
        return constant_sql(expression);
      case Kind::column:
        return column(static_cast<std::size_t>(expression.index));
      case Kind::cast:
        return cast(expression);
      case Kind::arithmetic:
        return remainder(expression);
      default:
        return expression.type == Type::boolean ? truth(expression) : std::nullopt;
    }
  }

  [[nodiscard]] Sql truth(const Expression& expression) const {
    switch (expression.kind) {
      case Kind::logical_and:
        return junction(expression, " and ");
      case Kind::logical_or:
        return junction(expression, " or ");
      case Kind::logical_not:
        return wrapped("(not ", truth(expression.children[0]), ")");
      case Kind::comparison:
        return comparison(expression);
      case Kind::quantified:
        return quantified(expression);
      case Kind::null_test:
        return wrapped("(", value(expression.children[0]), expression.negated ? " is not null)" : " is null)");
      case Kind::truth_test:
        return truth_test(expression);
      case Kind::constant:
      case Kind::column:
        return value(expression);
      case Kind::cast:
        return cast(expression);
      default:
        return std::nullopt;
    }
  }

  [[nodiscard]] std::string column(std::size_t index) const {
    return "t." + quote_identifier(table_.layout.column(index).name);
  }

 private:
  static Sql wrapped(std::string_view before, Sql inner, std::string_view after) {
    if (!inner) return inner;
    return std::string(before) + *inner + std::string(after);
  }

  [[nodiscard]] Sql junction(const Expression& expression, std::string_view joint) const {
    std::string out;
    for (const Expression& child : expression.children) {
      const Sql sql = truth(child);
      if (!sql) return std::nullopt;
      out += (out.empty() ? "(" : std::string(joint)) + *sql;
    }
    return out + ")";
  }

  [[nodiscard]] Sql comparison(const Expression& expression) const {
    const Sql left = value(expression.children[0]);
    const Sql right = value(expression.children[1]);
    if (!left || !right) return std::nullopt;
    return "(" + *left + (needs_collation(expression) ? " collate \"C\"" : "") +
           std::string(operator_text(expression.op)) + *right + ")";
  }

  [[nodiscard]] Sql quantified(const Expression& expression) const {
    const Sql left = value(expression.children[0]);
    if (!left) return std::nullopt;
    std::string elements;
    Type type = expression.children[0].type;
    for (std::size_t i = 1; i < expression.children.size(); ++i) {
      const Sql element = value(expression.children[i]);
      if (!element) return std::nullopt;
      elements += (i == 1 ? "" : ", ") + *element;
      type = std::max(type, expression.children[i].type);
    }
    return "(" + *left + (needs_collation(expression) ? " collate \"C\"" : "") +
           std::string(operator_text(expression.op)) + (expression.any ? "any" : "all") + "(array[" + elements +
           "]::" + std::string(cast_name(type)) + "[]))";
  }

  [[nodiscard]] Sql truth_test(const Expression& expression) const {
    const char* what = expression.truth == Truth::yes ? "true)" : expression.truth == Truth::no ? "false)" : "unknown)";
    return wrapped("(", truth(expression.children[0]), std::string(expression.negated ? " is not " : " is ") + what);
  }

  /// Widening casts, and casts to text of what prints the same under every setting.
  [[nodiscard]] Sql cast(const Expression& expression) const {
    const Expression& from = expression.children[0];
    const bool widens = is_number(from.type) && is_number(expression.type) && from.type < expression.type;
    const bool prints = expression.type == Type::text &&
                        (is_integer(from.type) || from.type == Type::boolean || from.type == Type::uuid ||
                         (from.type == Type::numeric && from.kind == Kind::column));
    const bool flag = (from.type == Type::boolean && expression.type == Type::int4) ||
                      (from.type == Type::int4 && expression.type == Type::boolean);
    if (!widens && !prints && !flag) return std::nullopt;
    return wrapped("(", value(from), ")::" + std::string(cast_name(expression.type)));
  }

  /// Of all arithmetic only the remainder by a constant other than zero cannot raise.
  [[nodiscard]] Sql remainder(const Expression& expression) const {
    const Expression& divisor = expression.children[1];
    if (expression.op != Op::modulo || divisor.kind != Kind::constant) return std::nullopt;
    const auto* integer = std::get_if<std::int64_t>(&divisor.value);
    const auto* numeric = std::get_if<Numeric>(&divisor.value);
    const bool safe =
        (integer != nullptr && *integer != 0) || (numeric != nullptr && numeric->finite() && !numeric->zero());
    const Sql left = value(expression.children[0]);
    const Sql right = constant_sql(divisor);
    if (!safe || !left || !right) return std::nullopt;
    return "(" + *left + " % " + *right + ")";
  }

  const Table& table_;
};

/// True wherever the expression is true, and perhaps elsewhere: only for places where more rows are harmless.
std::string superset(const Exact& exact, const Expression& expression) {
  if (expression.kind == Kind::logical_and) {
    std::string out;
    for (const Expression& child : expression.children) {
      const std::string sql = superset(exact, child);
      if (sql != "true") out += (out.empty() ? "(" : " and ") + sql;
    }
    return out.empty() ? "true" : out + ")";
  }
  if (expression.kind == Kind::logical_or) {
    std::string out;
    for (const Expression& child : expression.children) {
      const std::string sql = superset(exact, child);
      if (sql == "true") return sql;
      out += (out.empty() ? "(" : " or ") + sql;
    }
    return out + ")";
  }
  if (expression.kind == Kind::constant && is_fault(expression.value)) return "false";
  return exact.truth(expression).value_or("true");
}

/// The rows whose space column prints as the space's name. Where the type is known, by its own equality, for the
/// index's sake.
std::string space_condition(const Exact& exact, const Table& table, const std::string& space) {
  if (space.find('\0') != std::string::npos) return "false";
  const std::size_t index = *table.space_column;
  const Type type = table.layout.column(index).type;
  if (type == Type::text) return "(" + exact.column(index) + " = " + quote_literal(space) + ")";
  if (!is_integer(type) && type != Type::uuid) {
    return "((to_jsonb(" + exact.column(index) + ") #>> '{}') = " + quote_literal(space) + ")";
  }
  const Value value = parse_text(type, space);
  if (is_fault(value) || print_text(value) != space) return "false";
  return "(" + exact.column(index) + " = " + typed_literal(space, cast_name(type)) + ")";
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
  const Exact exact(table);
  ReadPlan plan;
  plan.relation = quote_identifier(table.schema) + "." + quote_identifier(table.relation);
  plan.select = "to_jsonb(t)::text";
  plan.from = plan.relation + " as t";
  plan.where = space_condition(exact, table, group.space());
  if (const std::string sql = superset(exact, group.predicate()); sql != "true") plan.where += " and " + sql;
  bool pageable = true;
  for (const std::size_t column : table.primary_key) {
    plan.order_by += (plan.order_by.empty() ? "" : ", ") + exact.column(column);
    plan.key_columns.push_back(exact.column(column));
    plan.key_types.emplace_back(cast_name(table.layout.column(column).type));
    pageable = pageable && table.layout.column(column).type != Type::carried;
  }
  if (!pageable) plan.key_columns.clear();
  return plan;
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
