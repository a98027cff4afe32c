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

/// What names mean where the expression stands.
struct Scope {
  const Table* table = nullptr;      ///< null: no columns here
  std::string_view without_columns;  ///< why not
  bool parameters = false;           ///< params.x is allowed
};

/// Parameters met so far, with their types once a context gave one.
struct ParameterUse {
  Type type = Type::unknown;
  bool array = false;
  std::size_t place = 0;
};
using ParameterUses = std::map<std::string, ParameterUse, std::less<>>;

class ExpressionBuilder {
 public:
  ExpressionBuilder(std::string_view text, const Statement& statement, Scope scope, Problems& problems)
      : text_(text), statement_(statement), scope_(scope), problems_(problems) {}

  /// A WHERE or USING clause: boolean, every parameter typed. Nothing: problems were reported.
  [[nodiscard]] std::optional<Expression> condition(const Node& node);

  [[nodiscard]] const ParameterUses& parameters() const { return parameters_; }

 private:
  using Result = std::optional<Expression>;

  Result build(const Node& node);
  Result dispatch(const Node& node);
  Result column_reference(const Node& node);
  Result column(const Node& node, const std::string& name);
  Result constant(const Node& node);
  Result integer_constant(const Node& node);
  Result operation(const Node& node);
  Result comparison(const Node& node, Expression::Op op);
  Result arithmetic(const Node& node, Expression::Op op);
  Result unary(const Node& node, const std::string& op);
  Result between(const Node& node, bool negated);
  Result in_list(const Node& node);
  Result quantified(const Node& node, bool any);
  Result junction(const Node& node);
  Result null_test(const Node& node);
  Result truth_test(const Node& node);
  Result type_cast(const Node& node);

  Result compare(Expression left, Expression right, Expression::Op op, std::size_t place);
  Result boolean(Result operand, std::string_view of);
  Result convert(Expression expression, Type target);
  Result take_type(Expression expression, Type target, bool array);
  Result cast(Expression expression, Type target, std::size_t place);
  Result folded(Expression expression, std::size_t place);
  bool unify(std::vector<Expression>& operands, std::string_view of, std::size_t place);
  void type_null_tested(Expression& expression);
  bool use_parameter(const std::string& name, Type type, bool array, std::size_t place);

  std::nullopt_t problem(std::size_t place, std::string message);
  std::nullopt_t problem(const Node& node, std::string message) {
    return problem(statement_.place(node), std::move(message));
  }
  [[nodiscard]] static std::size_t place_of(const Expression& expression) {
    return static_cast<std::size_t>(expression.location);
  }

  std::string_view text_;
  const Statement& statement_;
  Scope scope_;
  Problems& problems_;
  ParameterUses parameters_;
  int depth_ = 0;
};

}  // namespace viewgate::projection
