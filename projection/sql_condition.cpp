#include "projection/sql_condition.hpp"

#include <algorithm>
#include <optional>

#include "projection/pushdown.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;
using Sql = std::optional<std::string>;  ///< nothing: it may raise, or means something else in SQL

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

bool is_equality(Op op) { return op == Op::eq || op == Op::ne || op == Op::distinct || op == Op::not_distinct; }

/// Ranges of text are those of the C collation here. Equality is the same under every deterministic collation, but
/// PostgreSQL refuses to compare columns of two collations unless one is named; beside constants the column's own keeps
/// its index usable.
bool needs_collation(const Expression& left, Op op, const Expression& right) {
  if (!is_text(left.type)) return false;
  return !is_equality(op) || left.kind != Kind::column || right.kind != Kind::constant;
}

/// A value as SQL that cannot raise. Infinite numerics are not input of PostgreSQL 13, and a text cannot hold a zero
/// byte. A label is sent as text: the enum may have lost it since the catalog was read.
Sql value_sql(Type type, const Value& value) {
  if (is_fault(value)) return std::nullopt;
  const Type sent = type == Type::enumeration ? Type::text : type;
  if (is_null(value)) return "null::" + std::string(short_name(sent));
  if (const auto* numeric = std::get_if<Numeric>(&value)) {
    if (!numeric->finite() && numeric->kind() != Numeric::Kind::nan) return std::nullopt;
    return typed_literal(numeric->canonical(), "numeric");
  }
  const std::string text = print_text(type, value);
  if (text.find('\0') != std::string::npos) return std::nullopt;
  return typed_literal(text, short_name(sent));
}

Sql constant_sql(const Expression& expression) {
  const auto* array = std::get_if<ArrayPtr>(&expression.value);
  if (array == nullptr) {
    if (!expression.array) return value_sql(expression.type, expression.value);
    if (!is_null(expression.value)) return std::nullopt;
  }
  const std::string type(short_name(expression.type == Type::enumeration ? Type::text : expression.type));
  if (array == nullptr) return "null::" + type + "[]";
  std::string elements;
  for (const Value& element : (*array)->elements) {
    const Sql sql = value_sql(expression.type, element);
    if (!sql) return std::nullopt;
    elements += (elements.empty() ? "" : ", ") + *sql;
  }
  return "array[" + elements + "]::" + type + "[]";
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
      case Kind::call:
        return call(expression);
      case Kind::conditional:
        return conditional(expression);
      default:
        return expression.type == Type::boolean && !expression.array ? truth(expression) : std::nullopt;
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
        return compared(expression.children[0], expression.op, expression.children[1]);
      case Kind::quantified:
        return quantified(expression);
      case Kind::null_test:
        return wrapped("(", value(expression.children[0]), expression.negated ? " is not null)" : " is null)");
      case Kind::truth_test:
        return truth_test(expression);
      case Kind::constant:
      case Kind::column:
      case Kind::cast:
      case Kind::call:
      case Kind::conditional:
        return value(expression);
      default:
        return std::nullopt;
    }
  }

 private:
  static Sql wrapped(std::string_view before, Sql inner, std::string_view after) {
    if (!inner) return inner;
    return std::string(before) + *inner + std::string(after);
  }

  /// As the evaluator sees it: a jsonb null is no value, and labels are compared as texts.
  [[nodiscard]] std::string column(std::size_t index) const {
    const FullType& type = table_.layout.column(index).type;
    std::string plain = column_sql(table_, index);
    if (type.type == Type::jsonb) return "nullif(" + plain + ", 'null'::jsonb)";
    if (type.type == Type::enumeration) return plain + (type.array ? "::text[]" : "::text");
    return plain;
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

  [[nodiscard]] Sql compared(const Expression& left, Op op, const Expression& right) const {
    const Sql first = value(left);
    const Sql second = value(right);
    // Labels order by their places, which their texts do not know.
    if (!first || !second || (left.type == Type::enumeration && !is_equality(op))) return std::nullopt;
    return "(" + *first + (needs_collation(left, op, right) ? " collate \"C\"" : "") + std::string(operator_text(op)) +
           *second + ")";
  }

  [[nodiscard]] Sql quantified(const Expression& expression) const {
    const Expression& left = expression.children[0];
    std::string out;
    for (std::size_t i = 1; i < expression.children.size(); ++i) {
      const Expression& right = expression.children[i];
      Sql each = right.array ? any_or_all(expression, left, right) : compared(left, expression.op, right);
      if (!each) return std::nullopt;
      out += (i == 1 ? "" : expression.any ? " or " : " and ") + *each;
    }
    return expression.children.size() == 2 ? out : "(" + out + ")";
  }

  [[nodiscard]] Sql any_or_all(const Expression& expression, const Expression& left, const Expression& array) const {
    const Sql first = value(left);
    const Sql second = value(array);
    const Op op = expression.op;
    if (!first || !second || (left.type == Type::enumeration && !is_equality(op))) return std::nullopt;
    return "(" + *first + (needs_collation(left, op, array) ? " collate \"C\"" : "") + std::string(operator_text(op)) +
           (expression.any ? "any" : "all") + "(" + *second + "))";
  }

  [[nodiscard]] Sql truth_test(const Expression& expression) const {
    const char* what = expression.truth == Truth::yes ? "true)" : expression.truth == Truth::no ? "false)" : "unknown)";
    return wrapped("(", truth(expression.children[0]), std::string(expression.negated ? " is not " : " is ") + what);
  }

  /// Widening casts, and casts to text of what prints the same under every setting.
  [[nodiscard]] Sql cast(const Expression& expression) const {
    const Expression& from = expression.children[0];
    if (expression.array) return std::nullopt;
    if (from.type == Type::enumeration) return expression.type == Type::text ? value(from) : std::nullopt;
    const bool widens = is_number(from.type) && is_number(expression.type) && from.type < expression.type &&
                        (!is_float(expression.type) || from.type != Type::numeric);
    const bool prints = expression.type == Type::text &&
                        (is_integer(from.type) || from.type == Type::boolean || from.type == Type::uuid ||
                         from.type == Type::bpchar || (from.type == Type::numeric && from.kind == Kind::column));
    const bool flag = (from.type == Type::boolean && expression.type == Type::int4) ||
                      (from.type == Type::int4 && expression.type == Type::boolean);
    if (!widens && !prints && !flag) return std::nullopt;
    return wrapped("(", value(from), ")::" + std::string(short_name(expression.type)));
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

  /// Those that no argument can make raise.
  [[nodiscard]] Sql call(const Expression& expression) const {
    switch (expression.function) {
      case Function::lower:
      case Function::upper:
        return wrapped(std::string(name(expression.function)) + "(", value(expression.children[0]), " collate \"C\")");
      case Function::length:
      case Function::cardinality:
        return wrapped(std::string(name(expression.function)) + "(", value(expression.children[0]), ")");
      case Function::coalesce:
        return listed("coalesce(", expression);
      case Function::starts_with:
        return between("starts_with(", expression, " collate \"C\", ", ")");
      case Function::like:
      case Function::ilike:
        return like(expression);
      case Function::array_contains:
        return arrays(expression, " @> ");
      case Function::array_overlaps:
        return arrays(expression, " && ");
      case Function::json_contains:
        return between("(", expression, " @> ", ")");
      case Function::json_get:
        return between("(", expression, " -> ", ")");
      case Function::json_get_text:
        return between("(", expression, " ->> ", ")");
      case Function::json_has:
        return between("(", expression, " ? ", ")");
      case Function::json_has_any:
        return between("(", expression, " ?| ", ")");
      case Function::json_has_all:
        return between("(", expression, " ?& ", ")");
      default:
        return std::nullopt;
    }
  }

  [[nodiscard]] Sql listed(std::string out, const Expression& expression) const {
    const std::size_t start = out.size();
    for (const Expression& child : expression.children) {
      const Sql sql = value(child);
      if (!sql) return std::nullopt;
      out += (out.size() == start ? "" : ", ") + *sql;
    }
    return out + ")";
  }

  [[nodiscard]] Sql between(std::string_view open, const Expression& expression, std::string_view op,
                            std::string_view close) const {
    const Sql left = value(expression.children[0]);
    const Sql right = value(expression.children[1]);
    if (!left || !right) return std::nullopt;
    return std::string(open) + *left + std::string(op) + *right + std::string(close);
  }

  /// Two columns of texts may have two collations, which PostgreSQL does not compare.
  [[nodiscard]] Sql arrays(const Expression& expression, std::string_view op) const {
    const bool texts = is_text(expression.children[0].type) && expression.children[0].kind != Kind::constant &&
                       expression.children[1].kind != Kind::constant;
    return texts ? std::nullopt : between("(", expression, op, ")");
  }

  /// A pattern that ends inside an escape raises, and a text that came from elsewhere may be one.
  [[nodiscard]] Sql like(const Expression& expression) const {
    const Expression& pattern = expression.children[1];
    const auto* text = std::get_if<std::string>(&pattern.value);
    const Sql left = value(expression.children[0]);
    if (pattern.kind != Kind::constant || text == nullptr || !left) return std::nullopt;
    if (is_fault(evaluate(like_of(*text), Record{}))) return std::nullopt;
    const Sql right = constant_sql(pattern);
    if (!right) return std::nullopt;
    const bool ignores_case = expression.function == Function::ilike;
    const bool plain = !ignores_case && expression.children[0].kind == Kind::column;
    return "(" + *left + (plain ? "" : " collate \"C\"") + (ignores_case ? " ilike " : " like ") + *right + ")";
  }

  /// A text that the pattern matches to its end, so that a broken end shows: the pattern's own characters.
  static Expression like_of(const std::string& pattern) {
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
      if (pattern[i] != '%') text += pattern[i];
    }
    Expression out;
    out.kind = Kind::call;
    out.function = Function::like;
    out.children = {make_constant(Type::text, text), make_constant(Type::text, pattern)};
    return out;
  }

  [[nodiscard]] Sql conditional(const Expression& expression) const {
    std::string out = "(case";
    for (std::size_t i = 0; i + 1 < expression.children.size(); i += 2) {
      const Sql condition = truth(expression.children[i]);
      const Sql result = value(expression.children[i + 1]);
      if (!condition || !result) return std::nullopt;
      out += " when " + *condition + " then " + *result;
    }
    return wrapped(out + " else ", value(expression.children.back()), " end)");
  }

  const Table& table_;
};

/// A conjunct of a jsonb column that an index on the column answers. It holds for no null, so the column may stand as it
/// is.
Sql indexed_containment(const Table& table, const Expression& expression) {
  if (expression.kind != Kind::call || expression.function != Function::json_contains) return std::nullopt;
  const Expression& outer = expression.children[0];
  const Expression& inner = expression.children[1];
  if (outer.kind != Kind::column || inner.kind != Kind::constant || !std::holds_alternative<Jsonb>(inner.value))
    return std::nullopt;
  const Sql sql = constant_sql(inner);
  if (!sql) return std::nullopt;
  return "(" + column_sql(table, static_cast<std::size_t>(outer.index)) + " @> " + *sql + ")";
}

std::string superset(const Table& table, const Expression& expression) {
  if (expression.kind == Kind::logical_and) {
    std::string out;
    for (const Expression& child : expression.children) {
      const std::string sql = superset(table, child);
      if (sql != "true") out += (out.empty() ? "(" : " and ") + sql;
    }
    return out.empty() ? "true" : out + ")";
  }
  if (expression.kind == Kind::logical_or) {
    std::string out;
    for (const Expression& child : expression.children) {
      const std::string sql = superset(table, child);
      if (sql == "true") return "true";
      out += (out.empty() ? "(" : " or ") + sql;
    }
    return out + ")";
  }
  if (expression.kind == Kind::constant && is_fault(expression.value)) return "false";
  if (const Sql sql = indexed_containment(table, expression)) return *sql;
  return Exact(table).truth(expression).value_or("true");
}

}  // namespace

std::string column_sql(const Table& table, std::size_t column) {
  return "t." + quote_identifier(table.layout.column(column).name);
}

std::string typed_literal(std::string_view text, std::string_view type) {
  return quote_literal(text) + "::" + std::string(type);
}

std::string superset_condition(const Table& table, const Expression& predicate) { return superset(table, predicate); }

}  // namespace viewgate::projection
