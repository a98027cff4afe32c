// From a parse tree to a typed expression: names, types, implicit casts and constants, as PostgreSQL resolves them.
// Whatever is not allowed becomes a problem with its place; both sides of an operator are looked at, so that one run
// names them all. Internal to the layer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "projection/expression.hpp"
#include "projection/model.hpp"
#include "projection/syntax.hpp"

namespace viewgate::projection {

/// For messages: what an expression may hold, and of which types.
inline constexpr std::string_view allowed_in_expressions =
    "; allowed are columns, constants, params.x, claims.x, space.name, comparisons, AND, OR, NOT, IN, BETWEEN, IS "
    "NULL, "
    "IS DISTINCT FROM, IS TRUE, LIKE, ~, = ANY, CASE, + - * / % ||, casts, and the functions and operators of "
    "docs/views.md";
inline constexpr std::string_view types_in_expressions =
    "boolean, smallint, integer, bigint, numeric, real, double precision, text, character, uuid, date, timestamp, "
    "timestamptz, bytea, jsonb, the enums of the table, and arrays of these";

/// What names mean where the expression stands.
struct Scope {
  const Table* table = nullptr;      ///< null: no columns here
  std::string_view without_columns;  ///< why not
  bool parameters = false;           ///< params.x is allowed
  bool caller = true;                ///< claims.x and space.name are allowed
};

/// Parameters met so far, with their types once a context gave one.
struct ParameterUse {
  FullType type = Type::unknown;
  std::size_t place = 0;
};
using ParameterUses = std::map<std::string, ParameterUse, std::less<>>;

class ExpressionBuilder {
 public:
  ExpressionBuilder(std::string_view text, const Statement& statement, Scope scope, Problems& problems)
      : text_(text), statement_(statement), scope_(scope), problems_(problems) {}

  /// A WHERE or USING clause: boolean, every parameter typed. Nothing: problems were reported.
  [[nodiscard]] std::optional<Expression> condition(const Node& node);

  /// An entry of a select list that is more than a column.
  [[nodiscard]] std::optional<Expression> selected(const Node& node);

  [[nodiscard]] const ParameterUses& parameters() const { return parameters_; }

 private:
  using Result = std::optional<Expression>;
  /// Whose rules choose the common type: those of an operator, or those of CASE, COALESCE and lists.
  enum class Rules { comparison, common };

  Result build(const Node& node);
  /// All of them, so that one run names every problem.
  std::optional<std::vector<Expression>> build_all(const std::vector<Node>& nodes);
  Result dispatch(const Node& node);

  // expression_builder.cpp: names, constants, conditions
  Result column_reference(const Node& node);
  Result column(const Node& node, const std::string& name);
  Result constant(const Node& node);
  Result integer_constant(const Node& node);
  Result junction(const Node& node);
  Result null_test(const Node& node);
  Result truth_test(const Node& node);
  Result type_cast(const Node& node);
  Result collation(const Node& node);
  FullType named_type(const Node& type_name) const;

  // expression_operators.cpp
  Result operation(const Node& node);
  Result comparison(const Node& node, Expression::Op op);
  Result arithmetic(const Node& node, Expression::Op op);
  Result date_arithmetic(std::vector<Expression> operands, Expression::Op op, std::size_t place);
  Result unary(const Node& node, const std::string& op);
  Result between(const Node& node, bool negated);
  Result in_list(const Node& node);
  Result listed(Expression left, std::vector<Expression> items, bool negated, std::size_t place);
  Result quantified(const Node& node, bool any);
  Result quantify(Expression left, Expression array, Expression::Op op, bool any, std::size_t place);
  Result row_comparison(const Node& left, const Node& right, Expression::Op op, std::size_t place);
  Result row_in_list(const Node& node, bool negated);

  // expression_calls.cpp
  Result function_call(const Node& node);
  Result call_known(const std::string& name, std::vector<Expression> arguments, std::size_t place);
  Result common_call(const Node& node, Function function);
  Result nullif(const Node& node);
  Result conditional(const Node& node);
  Result array_constructor(const Node& node);
  Result concatenation(const Node& node);
  Result like(const Node& node, Function function);
  Result regular_expression(const Node& node, const std::string& op);
  Result json_access(const Node& node, Function function);
  Result json_keys(const Node& node, Function function);
  Result containment(const Node& node, const std::string& op);

  // expression_types.cpp
  Result compare(Expression left, Expression right, Expression::Op op, std::size_t place);
  Result boolean(Result operand, std::string_view of);
  Result convert(Expression expression, const FullType& target);
  Result as_text(Expression expression, std::string_view of, std::size_t place);
  Result take_type(Expression expression, const FullType& target);
  Result cast(Expression expression, const FullType& target, std::size_t place);
  Result folded(Expression expression, std::size_t place);
  Result call(Function function, const FullType& type, std::vector<Expression> arguments, std::size_t place);
  /// Their common type, after they have been converted to it. Nothing: a problem was reported.
  std::optional<FullType> unify(std::vector<Expression>& operands, Rules rules, std::string_view of, std::size_t place);
  void type_null_tested(Expression& expression);
  bool use_parameter(const std::string& name, const FullType& type, std::size_t place);
  static Expression joined(Expression::Kind kind, std::vector<Expression> children, std::size_t place);
  static Expression negated(Expression expression, std::size_t place);

  std::nullopt_t problem(std::size_t place, std::string message);
  std::nullopt_t problem(const Node& node, std::string message) {
    return problem(statement_.place(node), std::move(message));
  }
  [[nodiscard]] static std::size_t place_of(const Expression& expression) {
    return static_cast<std::size_t>(expression.location);
  }

  [[nodiscard]] static bool is_literal(const Expression& expression) {
    return expression.kind == Expression::Kind::constant;
  }
  /// A parameter or claim whose type nothing has said yet.
  [[nodiscard]] static bool is_open(const Expression& expression) {
    return expression.type == Type::unknown &&
           (expression.kind == Expression::Kind::parameter || expression.kind == Expression::Kind::claim);
  }

  std::string_view text_;
  const Statement& statement_;
  Scope scope_;
  Problems& problems_;
  ParameterUses parameters_;
  int depth_ = 0;
};

}  // namespace viewgate::projection
