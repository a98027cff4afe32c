// The part of ExpressionBuilder that chooses types, as PostgreSQL's parse_coerce and parse_oper do for the types known
// here: a value without a type takes that of what it meets; numbers widen; nothing else casts by itself.
#include <algorithm>
#include <utility>

#include "projection/expression_builder.hpp"
#include "projection/text_functions.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;

std::string reference(const Expression& expression) {
  return (expression.kind == Kind::parameter ? "params." : "claims.") + expression.name;
}

/// Whether PostgreSQL has the explicit cast, and a record's text holds what it needs.
bool can_cast(Type from, Type to) {
  if (from == to || (is_number(from) && is_number(to)) || (is_moment(from) && is_moment(to))) return true;
  if (from == Type::bpchar) return to == Type::text;
  if (from == Type::text) return true;
  if (to == Type::text) return !is_float(from);
  if (from == Type::jsonb) return is_number(to) || to == Type::boolean;
  return (from == Type::boolean && to == Type::int4) || (from == Type::int4 && to == Type::boolean);
}

std::string no_cast(const FullType& from, const FullType& to) {
  std::string out = "there is no cast from " + spelt(from) + " to " + spelt(to);
  if (is_float(from.type) && to.type == Type::text)
    out += ", since a record's text does not tell -0 from 0; cast to numeric first";
  if (from.type == Type::bpchar) out += "; cast to text first";
  return out;
}

std::string invalid_input(const FullType& type, const Value& value, Fault fault) {
  std::string out = fault == Fault::out_of_range ? "the value is out of range for type " : "invalid input for type ";
  out += spelt(type);
  if (const auto* text = std::get_if<std::string>(&value)) out += ": '" + text_left(*text, 60) + "'";
  if (is_moment(type.type)) out += "; written as '2024-01-31 12:00:00+00', '2024-01-31', 'infinity' or '-infinity'";
  if (type.labels) {
    out += "; its labels are ";
    for (std::size_t i = 0; i < type.labels->labels.size(); ++i)
      out += (i == 0 ? "'" : ", '") + type.labels->labels[i] + "'";
  }
  return out;
}

bool same_enum(const FullType& a, const FullType& b) {
  return a.labels && b.labels && a.labels->name == b.labels->name;
}

/// Whether values of the two types meet in one; `common` becomes that type.
bool meet(FullType& common, const FullType& other, bool compared) {
  if (common.array != other.array) return false;
  if (is_number(common.type) && is_number(other.type)) {
    const bool floats = is_float(common.type) || is_float(other.type);
    // Operators between float4 and anything else are float8's; CASE and lists take the later type.
    common.type = compared && floats && common.type != other.type ? Type::float8 : std::max(common.type, other.type);
    return true;
  }
  if (is_moment(common.type) && is_moment(other.type)) {
    common.type = std::max(common.type, other.type);
    return true;
  }
  return common.type == other.type && (common.type != Type::enumeration || same_enum(common, other));
}

}  // namespace

/// A condition where one is needed.
ExpressionBuilder::Result ExpressionBuilder::boolean(Result operand, std::string_view of) {
  if (!operand) return operand;
  if (operand->type == Type::unknown && !operand->array) return take_type(std::move(*operand), Type::boolean);
  if (operand->type != Type::boolean || operand->array) {
    return problem(place_of(*operand), std::string(of) + " must be boolean, not " + spelt(operand->full_type()));
  }
  return operand;
}

/// Gives a value without a type one: a literal is read, a parameter or claim is declared.
ExpressionBuilder::Result ExpressionBuilder::take_type(Expression expression, const FullType& target) {
  const std::size_t place = place_of(expression);
  if (expression.kind == Kind::list) {
    if (!target.array) return problem(place, "array[…] where a " + spelt(target) + " is needed");
    for (Expression& element : expression.children) {
      Result typed = convert(std::move(element), FullType(target.type, false, target.labels));
      if (!typed) return typed;
      element = std::move(*typed);
    }
  } else if (is_literal(expression)) {
    if (const auto* text = std::get_if<std::string>(&expression.value)) {
      if (target.array) return problem(place, "an array in quotes is not supported; write array['…', '…']");
      Value value = parse_text(target, *text);
      if (const auto* fault = std::get_if<Fault>(&value)) {
        return problem(place, invalid_input(target, expression.value, *fault));
      }
      expression.value = std::move(value);
    }
  } else if (expression.kind == Kind::parameter && !use_parameter(expression.name, target, place)) {
    return std::nullopt;
  }
  expression.set_type(target);
  return expression;
}

bool ExpressionBuilder::use_parameter(const std::string& parameter, const FullType& type, std::size_t place) {
  ParameterUse& use = parameters_[parameter];
  if (use.type.type == Type::unknown) {
    use = ParameterUse{type, place};
    return true;
  }
  if (use.type.type == type.type && use.type.array == type.array && (!type.labels || same_enum(use.type, type))) {
    return true;
  }
  problem(place, "params." + parameter + " is " + spelt(type) + " here and " + spelt(use.type) +
                     " before; cast it to one type in every place, for example params." + parameter +
                     "::" + spelt(use.type));
  return false;
}

std::optional<FullType> ExpressionBuilder::unify(std::vector<Expression>& operands, Rules rules, std::string_view of,
                                                 std::size_t place) {
  const bool compared = rules == Rules::comparison;
  std::optional<FullType> common;
  for (const Expression& operand : operands) {
    if (operand.type == Type::unknown) continue;
    if (!common) {
      common = operand.full_type();
    } else if (!meet(*common, operand.full_type(), compared)) {
      const bool blanks = is_text(common->type) && is_text(operand.type);
      return problem(place, std::string(of) + " between " + spelt(*common) + " and " + spelt(operand.full_type()) +
                                "; cast one of them, for example ::" + (blanks ? "text" : spelt(*common)));
    }
  }
  if (!common) {
    // Two literals, or a literal and a parameter or claim, are texts; without any literal nothing says what is meant.
    const auto open = std::find_if(operands.begin(), operands.end(), is_open);
    const bool any_literal = std::any_of(operands.begin(), operands.end(), [](const Expression& operand) {
      return is_literal(operand) || operand.kind == Kind::list;
    });
    if (!any_literal && open != operands.end()) {
      return problem(place, std::string(of) + " between values without a type (" + reference(*open) +
                                "); cast one, for example " + reference(*open) + "::text");
    }
    common = FullType(Type::text, operands.front().array);
  }
  // Integers of any width, and dates beside times, compare as they are.
  const bool as_they_are = compared && !common->array && (is_integer(common->type) || is_moment(common->type));
  for (Expression& operand : operands) {
    if (as_they_are && operand.type != Type::unknown) continue;
    Result converted = convert(std::move(operand), *common);
    if (!converted) return std::nullopt;
    operand = std::move(*converted);
  }
  return common;
}

ExpressionBuilder::Result ExpressionBuilder::compare(Expression left, Expression right, Expression::Op op,
                                                     std::size_t place) {
  std::vector<Expression> operands;
  operands.push_back(std::move(left));
  operands.push_back(std::move(right));
  if (std::any_of(operands.begin(), operands.end(), [](const Expression& operand) { return operand.array; })) {
    return problem(place, "an array in a comparison, for whose bounds a record has no place; write = any(…), @> or &&");
  }
  const auto common = unify(operands, Rules::comparison, "a comparison", place);
  if (!common) return std::nullopt;
  const bool orders =
      op == Expression::Op::lt || op == Expression::Op::le || op == Expression::Op::gt || op == Expression::Op::ge;
  if (orders && common->type == Type::jsonb)
    return problem(place, "jsonb has no order here; compare a part of it, for example (doc ->> 'n')::int");
  Expression out;
  out.kind = Kind::comparison;
  out.op = op;
  out.location = static_cast<int>(place);
  out.children = std::move(operands);
  return out;
}

/// An implicit cast: a value without a type, a narrower number, an earlier kind of time, a char(n) as text.
ExpressionBuilder::Result ExpressionBuilder::convert(Expression expression, const FullType& target) {
  if (expression.type == Type::unknown) {
    if (expression.array && !target.array)
      return problem(place_of(expression), "an array where a " + spelt(target) + " is needed");
    return take_type(std::move(expression), target);
  }
  // The widths of integers bound what an expression computes, not how a value is kept.
  if (expression.type == target.type || (is_integer(target.type) && is_integer(expression.type))) return expression;
  const std::size_t place = place_of(expression);
  return cast(std::move(expression), target, place);
}

ExpressionBuilder::Result ExpressionBuilder::as_text(Expression expression, std::string_view of, std::size_t place) {
  const bool fits = !expression.array && (is_text(expression.type) || expression.type == Type::unknown);
  if (fits) return convert(std::move(expression), Type::text);
  return problem(place, std::string(of) + " on " + spelt(expression.full_type()) + "; it takes texts, for example " +
                            (is_float(expression.type) ? "::numeric::text" : "::text"));
}

ExpressionBuilder::Result ExpressionBuilder::cast(Expression expression, const FullType& target, std::size_t place) {
  if (expression.type == Type::unknown && (target.array || !expression.array)) {
    if (is_literal(expression) && target.array && !is_null(expression.value))
      return problem(place, "a cast of a literal to an array is not supported; write array['…', '…']");
    return take_type(std::move(expression), target);
  }
  const FullType from = expression.full_type();
  if (from.array != target.array || !can_cast(from.type, target.type)) return problem(place, no_cast(from, target));
  if (from.type == target.type) {
    if (from.type == Type::enumeration && !same_enum(from, target)) return problem(place, no_cast(from, target));
    return expression;
  }
  Expression out;
  out.kind = Kind::cast;
  out.set_type(target);
  out.children.push_back(std::move(expression));
  return folded(std::move(out), place);
}

ExpressionBuilder::Result ExpressionBuilder::call(Function function, const FullType& type,
                                                  std::vector<Expression> arguments, std::size_t place) {
  Expression out;
  out.kind = Kind::call;
  out.function = function;
  out.set_type(type);
  out.children = std::move(arguments);
  return folded(std::move(out), place);
}

/// An operation on constants alone is done now, so that one that always fails is refused here and not at run time.
ExpressionBuilder::Result ExpressionBuilder::folded(Expression expression, std::size_t place) {
  expression.location = static_cast<int>(place);
  if (!std::all_of(expression.children.begin(), expression.children.end(), is_literal)) return expression;
  Value value = evaluate(expression, Record{});
  if (const auto* fault = std::get_if<Fault>(&value)) {
    switch (*fault) {
      case Fault::invalid_text:
        return problem(place, invalid_input(expression.full_type(), expression.children.front().value, *fault));
      case Fault::division_by_zero:
        return problem(place, "division by zero");
      case Fault::invalid_argument:
        return problem(place, expression.kind == Kind::call
                                  ? "an argument that " + std::string(name(expression.function)) + " has no result for"
                                  : "a value that cannot be cast to " + spelt(expression.full_type()));
      default:
        return problem(place, "the value is out of range for type " + spelt(expression.full_type()));
    }
  }
  Expression out = make_constant(expression.full_type(), std::move(value));
  out.location = expression.location;
  return out;
}

Expression ExpressionBuilder::joined(Kind kind, std::vector<Expression> children, std::size_t place) {
  if (children.size() == 1) return std::move(children.front());
  Expression out;
  out.kind = kind;
  out.location = static_cast<int>(place);
  out.children = std::move(children);
  return out;
}

Expression ExpressionBuilder::negated(Expression expression, std::size_t place) {
  Expression out;
  out.kind = Kind::logical_not;
  out.location = static_cast<int>(place);
  out.children.push_back(std::move(expression));
  return out;
}

/// `params.x is null` gives x no type: another place must. A claim is there or not, whatever it is.
void ExpressionBuilder::type_null_tested(Expression& expression) {
  if (expression.type == Type::unknown) {
    if (expression.kind == Kind::parameter) {
      const ParameterUse& use = parameters_[expression.name];
      if (use.type.type == Type::unknown) {
        problem(place_of(expression), "nothing here gives params." + expression.name +
                                          " a type; cast it, for example params." + expression.name + "::int");
      }
      expression.set_type(use.type);
    } else {
      expression.type = Type::text;
    }
  }
  for (Expression& child : expression.children) type_null_tested(child);
}

}  // namespace viewgate::projection
