// The half of ExpressionBuilder that chooses types, as PostgreSQL's parse_coerce and parse_oper do for the types known
// here: a value without a type takes that of what it meets; integers widen, then become numeric; nothing else casts by
// itself.
#include <algorithm>
#include <utility>

#include "projection/expression_builder.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;

bool is_literal(const Expression& expression) { return expression.kind == Kind::constant; }

std::string spelt(Type type, bool array) { return std::string(name(type)) + (array ? "[]" : ""); }

std::string reference(const Expression& expression) {
  return (expression.kind == Kind::parameter ? "params." : "claims.") + expression.name;
}

/// PostgreSQL's explicit casts among the known types; text goes to and from every type by its text form.
bool can_cast(Type from, Type to) {
  if (from == to || from == Type::text || to == Type::text || (is_number(from) && is_number(to))) return true;
  return (from == Type::boolean && to == Type::int4) || (from == Type::int4 && to == Type::boolean);
}

std::string invalid_input(Type type, const Value& value, Fault fault) {
  std::string out = fault == Fault::out_of_range ? "the value is out of range for type " : "invalid input for type ";
  out += name(type);
  if (const auto* text = std::get_if<std::string>(&value)) out += ": '" + text->substr(0, 60) + "'";
  if (type == Type::timestamptz) out += "; written as '2024-01-31 12:00:00+00', 'infinity' or '-infinity'";
  return out;
}

}  // namespace

/// A condition where one is needed.
ExpressionBuilder::Result ExpressionBuilder::boolean(Result operand, std::string_view of) {
  if (!operand) return operand;
  if (operand->type == Type::unknown && !operand->array) return take_type(std::move(*operand), Type::boolean, false);
  if (operand->type != Type::boolean || operand->array) {
    return problem(place_of(*operand),
                   std::string(of) + " must be boolean, not " + spelt(operand->type, operand->array));
  }
  return operand;
}

/// Gives a value without a type one: a literal is read, a parameter or claim is declared.
ExpressionBuilder::Result ExpressionBuilder::take_type(Expression expression, Type target, bool array) {
  const std::size_t place = place_of(expression);
  if (is_literal(expression)) {
    if (const auto* text = std::get_if<std::string>(&expression.value)) {
      Value value = parse_text(target, *text);
      if (const auto* fault = std::get_if<Fault>(&value)) {
        return problem(place, invalid_input(target, expression.value, *fault));
      }
      expression.value = std::move(value);
    }
    expression.type = target;
    return expression;
  }
  if (expression.kind == Kind::parameter && !use_parameter(expression.name, target, array, place)) return std::nullopt;
  expression.type = target;
  expression.array = array;
  return expression;
}

bool ExpressionBuilder::use_parameter(const std::string& parameter, Type type, bool array, std::size_t place) {
  ParameterUse& use = parameters_[parameter];
  if (use.type == Type::unknown) {
    use = ParameterUse{type, array, place};
    return true;
  }
  if (use.type == type && use.array == array) return true;
  problem(place, "params." + parameter + " is " + spelt(type, array) + " here and " + spelt(use.type, use.array) +
                     " before; cast it to one type in every place, for example params." + parameter +
                     "::" + spelt(use.type, use.array));
  return false;
}

/// All operands of one comparable type, integers of any width counting as one.
bool ExpressionBuilder::unify(std::vector<Expression>& operands, std::string_view of, std::size_t place) {
  Type common = Type::unknown;
  for (const Expression& operand : operands) {
    if (operand.type == Type::unknown) continue;
    if (common == Type::unknown || (is_number(common) && is_number(operand.type))) {
      common = std::max(common, operand.type);
    } else if (common != operand.type) {
      problem(place, std::string(of) + " between " + std::string(name(common)) + " and " +
                         std::string(name(operand.type)) +
                         "; cast one of them, for example ::" + std::string(name(common)));
      return false;
    }
  }
  if (common == Type::unknown) {
    // Two literals, or a literal and a parameter or claim, are texts; without any literal nothing says what is meant.
    if (std::none_of(operands.begin(), operands.end(), is_literal)) {
      problem(place, std::string(of) + " between values without a type (" + reference(operands.front()) +
                         "); cast one, for example " + reference(operands.front()) + "::text");
      return false;
    }
    common = Type::text;
  }
  for (Expression& operand : operands) {
    Result converted = convert(std::move(operand), common);
    if (!converted) return false;
    operand = std::move(*converted);
  }
  return true;
}

/// An implicit cast: a value without a type, or an integer where a numeric is needed.
ExpressionBuilder::Result ExpressionBuilder::convert(Expression expression, Type target) {
  if (expression.type == Type::unknown) {
    const bool array = expression.array;
    return take_type(std::move(expression), target, array);
  }
  if (target == Type::numeric && is_integer(expression.type)) {
    const std::size_t place = place_of(expression);
    return cast(std::move(expression), target, place);
  }
  return expression;
}

ExpressionBuilder::Result ExpressionBuilder::cast(Expression expression, Type target, std::size_t place) {
  if (expression.type == Type::unknown && !expression.array) return take_type(std::move(expression), target, false);
  if (expression.type == target) return expression;
  if (!can_cast(expression.type, target)) {
    return problem(place,
                   "there is no cast from " + std::string(name(expression.type)) + " to " + std::string(name(target)));
  }
  Expression out;
  out.kind = Kind::cast;
  out.type = target;
  out.array = expression.array;  // every element of an array is cast
  out.children.push_back(std::move(expression));
  return folded(std::move(out), place);
}

/// An operation on constants alone is done now, so that one that always fails is refused here and not at run time.
ExpressionBuilder::Result ExpressionBuilder::folded(Expression expression, std::size_t place) {
  expression.location = static_cast<int>(place);
  if (!std::all_of(expression.children.begin(), expression.children.end(), is_literal)) return expression;
  Value value = evaluate(expression, Record{});
  if (const auto* fault = std::get_if<Fault>(&value)) {
    const bool from_text = expression.kind == Kind::cast && *fault == Fault::invalid_text;
    if (from_text) return problem(place, invalid_input(expression.type, expression.children.front().value, *fault));
    return problem(place, *fault == Fault::division_by_zero
                              ? std::string("division by zero")
                              : "the value is out of range for type " + std::string(name(expression.type)));
  }
  Expression out = make_constant(expression.type, std::move(value));
  out.location = expression.location;
  return out;
}

/// `params.x is null` gives x no type: another place must. A claim is there or not, whatever it is.
void ExpressionBuilder::type_null_tested(Expression& expression) {
  if (expression.type == Type::unknown) {
    if (expression.kind == Kind::parameter) {
      const ParameterUse& use = parameters_[expression.name];
      if (use.type == Type::unknown) {
        problem(place_of(expression), "nothing here gives params." + expression.name +
                                          " a type; cast it, for example params." + expression.name + "::int");
      }
      expression.type = use.type;
      expression.array = use.array;
    } else {
      expression.type = Type::text;
    }
  }
  for (Expression& child : expression.children) type_null_tested(child);
}

}  // namespace viewgate::projection
