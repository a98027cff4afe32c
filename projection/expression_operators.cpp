// The part of ExpressionBuilder that knows operators written as such: comparisons, lists, rows, arithmetic.
#include <algorithm>
#include <utility>

#include "projection/expression_builder.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;

std::optional<Op> comparison_operator(std::string_view name) {
  static constexpr std::pair<std::string_view, Op> operators[] = {{"=", Op::eq},  {"<>", Op::ne}, {"<", Op::lt},
                                                                  {"<=", Op::le}, {">", Op::gt},  {">=", Op::ge}};
  for (const auto& [text, op] : operators) {
    if (text == name) return op;
  }
  return std::nullopt;
}

std::optional<Op> arithmetic_operator(std::string_view name) {
  static constexpr std::pair<std::string_view, Op> operators[] = {
      {"+", Op::add}, {"-", Op::subtract}, {"*", Op::multiply}, {"/", Op::divide}, {"%", Op::modulo}};
  for (const auto& [text, op] : operators) {
    if (text == name) return op;
  }
  return std::nullopt;
}

/// What to write instead of an operator that is not there.
std::string nearest(std::string_view name) {
  if (name == "#>" || name == "#>>") return "; write -> and ->> step by step";
  if (name == "<->" || name == "@@") return "; ordering and search are for the client";
  if (name == "^") return "; write the product";
  if (name == "==") return "; write =";
  if (name == "~~~" || name == "!~~~") return "; write LIKE";
  return std::string(allowed_in_expressions);
}

bool has_column(const Expression& expression) {
  return expression.kind == Kind::column ||
         std::any_of(expression.children.begin(), expression.children.end(), has_column);
}

}  // namespace

ExpressionBuilder::Result ExpressionBuilder::operation(const Node& node) {
  const std::string kind = node.text("kind");
  const std::vector<std::string> names = node.strings("name");
  if (names.size() != 1) return problem(node, "an operator with a schema is not supported; write the operator alone");
  const std::string& name = names.front();
  if (kind == "AEXPR_OP") {
    if (!node.node("lexpr")) return unary(node, name);
    if (const auto op = comparison_operator(name)) return comparison(node, *op);
    if (const auto op = arithmetic_operator(name)) return arithmetic(node, *op);
    if (name == "||") return concatenation(node);
    if (name == "->") return json_access(node, Function::json_get);
    if (name == "->>") return json_access(node, Function::json_get_text);
    if (name == "?") return json_keys(node, Function::json_has);
    if (name == "?|") return json_keys(node, Function::json_has_any);
    if (name == "?&") return json_keys(node, Function::json_has_all);
    if (name == "@>" || name == "<@" || name == "&&") return containment(node, name);
    if (name == "~" || name == "~*" || name == "!~" || name == "!~*") return regular_expression(node, name);
    if (name == "^@") return like(node, Function::starts_with);
    return problem(node, "the operator " + name + " is not supported" + nearest(name));
  }
  if (kind == "AEXPR_DISTINCT") return comparison(node, Op::distinct);
  if (kind == "AEXPR_NOT_DISTINCT") return comparison(node, Op::not_distinct);
  if (kind == "AEXPR_IN") return in_list(node);
  if (kind == "AEXPR_BETWEEN" || kind == "AEXPR_NOT_BETWEEN") return between(node, kind == "AEXPR_NOT_BETWEEN");
  if (kind == "AEXPR_OP_ANY" || kind == "AEXPR_OP_ALL") return quantified(node, kind == "AEXPR_OP_ANY");
  if (kind == "AEXPR_LIKE") return like(node, Function::like);
  if (kind == "AEXPR_ILIKE") return like(node, Function::ilike);
  if (kind == "AEXPR_NULLIF") return nullif(node);
  static constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"AEXPR_SIMILAR", "SIMILAR TO is not supported; write ~"},
      {"AEXPR_BETWEEN_SYM", "BETWEEN SYMMETRIC is not supported; write BETWEEN least(…) AND greatest(…)"},
      {"AEXPR_NOT_BETWEEN_SYM", "BETWEEN SYMMETRIC is not supported; write BETWEEN least(…) AND greatest(…)"}};
  for (const auto& [spelt, what] : others) {
    if (spelt == kind) return problem(node, std::string(what));
  }
  return problem(node, "the operator " + name + " is not supported" + std::string(allowed_in_expressions));
}

ExpressionBuilder::Result ExpressionBuilder::comparison(const Node& node, Op op) {
  const Node left_node = node.node("lexpr");
  const Node right_node = node.node("rexpr");
  if (left_node.type == "RowExpr" && right_node.type == "RowExpr") {
    return row_comparison(left_node, right_node, op, statement_.place(node));
  }
  Result left = build(left_node);
  Result right = build(right_node);
  if (!left || !right) return std::nullopt;
  return compare(std::move(*left), std::move(*right), op, statement_.place(node));
}

/// A comparison of rows is one of their columns: all equal, some different, or the first that differs decides. Written
/// out that is three-valued logic's own answer to NULLs in it, as in PostgreSQL.
ExpressionBuilder::Result ExpressionBuilder::row_comparison(const Node& left, const Node& right, Op op,
                                                            std::size_t place) {
  auto lefts = build_all(left.list("args"));
  auto rights = build_all(right.list("args"));
  if (!lefts || !rights) return std::nullopt;
  if (lefts->size() != rights->size() || lefts->empty()) {
    return problem(place, "rows of " + std::to_string(lefts->size()) + " and " + std::to_string(rights->size()) +
                              " values; rows are compared value by value");
  }
  if (op == Op::distinct || op == Op::not_distinct) {
    return problem(place, "IS DISTINCT FROM between rows is not supported; write it for each column");
  }
  const bool equality = op == Op::eq || op == Op::ne;
  const Op strict = op == Op::le ? Op::lt : op == Op::ge ? Op::gt : op;
  std::vector<Expression> alternatives;
  std::vector<Expression> equal_so_far;
  for (std::size_t i = 0; i < lefts->size(); ++i) {
    const bool last = i + 1 == lefts->size();
    Result each = compare((*lefts)[i], (*rights)[i], equality || last ? op : strict, place);
    if (!each) return each;
    if (equality) {
      alternatives.push_back(std::move(*each));
      continue;
    }
    std::vector<Expression> all = equal_so_far;
    all.push_back(std::move(*each));
    alternatives.push_back(joined(Kind::logical_and, std::move(all), place));
    Result same = compare(std::move((*lefts)[i]), std::move((*rights)[i]), Op::eq, place);
    if (!same) return same;
    equal_so_far.push_back(std::move(*same));
  }
  return joined(op == Op::eq ? Kind::logical_and : Kind::logical_or, std::move(alternatives), place);
}

ExpressionBuilder::Result ExpressionBuilder::arithmetic(const Node& node, Op op) {
  auto operands = build_all({node.node("lexpr"), node.node("rexpr")});
  if (!operands) return std::nullopt;
  const std::size_t place = statement_.place(node);
  if ((*operands)[0].type == Type::unknown && (*operands)[1].type == Type::unknown) {
    return problem(place, "an operator between values without a type; cast one, for example params.x::int");
  }
  if ((*operands)[0].type == Type::date || (*operands)[1].type == Type::date) {
    return date_arithmetic(std::move(*operands), op, place);
  }
  for (const Expression& operand : *operands) {
    if (operand.type == Type::unknown || (is_number(operand.type) && !operand.array)) continue;
    return problem(place, "arithmetic on " + spelt(operand.full_type()) + "; it takes numbers, and days with dates");
  }
  const auto common = unify(*operands, Rules::comparison, "arithmetic", place);
  if (!common) return std::nullopt;
  if (is_float(common->type) && op == Op::modulo) return problem(place, "% on " + spelt(*common) + "; cast to numeric");
  Expression out;
  out.kind = Kind::arithmetic;
  out.op = op;
  out.type = common->type;
  out.children = std::move(*operands);
  return folded(std::move(out), place);
}

/// date - date is a number of days; date + days, days + date and date - days are dates.
ExpressionBuilder::Result ExpressionBuilder::date_arithmetic(std::vector<Expression> operands, Op op,
                                                             std::size_t place) {
  const bool subtracts = op == Op::subtract;
  for (Expression& operand : operands) {
    // An unknown one beside a date is taken for a date, as PostgreSQL does in a subtraction.
    if (operand.type == Type::unknown) {
      Result typed = take_type(std::move(operand), subtracts ? Type::date : Type::int4);
      if (!typed) return typed;
      operand = std::move(*typed);
    }
  }
  const auto is_days = [](const Expression& operand) {
    return (operand.type == Type::int2 || operand.type == Type::int4) && !operand.array;
  };
  const bool both = operands[0].type == Type::date && operands[1].type == Type::date;
  const bool shifted = operands[0].type == Type::date && is_days(operands[1]);
  const bool sound = (both && subtracts) || (shifted && (subtracts || op == Op::add)) ||
                     (is_days(operands[0]) && operands[1].type == Type::date && op == Op::add);
  if (!sound) {
    return problem(place, "arithmetic between " + spelt(operands[0].full_type()) + " and " +
                              spelt(operands[1].full_type()) + "; with dates there are date - date and date ± integer");
  }
  Expression out;
  out.kind = Kind::arithmetic;
  out.op = op;
  out.type = both ? Type::int4 : Type::date;
  out.children = std::move(operands);
  return folded(std::move(out), place);
}

ExpressionBuilder::Result ExpressionBuilder::unary(const Node& node, const std::string& op) {
  Result operand = build(node.node("rexpr"));
  if (!operand) return operand;
  if (op != "-" && op != "+")
    return problem(node, "the operator " + op + " is not supported" + std::string(allowed_in_expressions));
  if (operand->array || !is_number(operand->type)) {
    return problem(node,
                   "a sign before " + spelt(operand->full_type()) + "; it takes a number, for example params.x::int");
  }
  if (op == "+") return operand;
  Expression out;
  out.kind = Kind::negation;
  out.type = operand->type;
  out.children.push_back(std::move(*operand));
  return folded(std::move(out), statement_.place(node));
}

ExpressionBuilder::Result ExpressionBuilder::between(const Node& node, bool negated) {
  Result low_left = build(node.node("lexpr"));
  const std::vector<Node> bounds = node.node("rexpr").list("items");
  if (bounds.size() != 2) return problem(node, "BETWEEN needs two bounds");
  auto built = build_all(bounds);
  if (!low_left || !built) return std::nullopt;
  const std::size_t place = statement_.place(node);
  Result first = compare(*low_left, std::move((*built)[0]), negated ? Op::lt : Op::ge, place);
  Result second = compare(std::move(*low_left), std::move((*built)[1]), negated ? Op::gt : Op::le, place);
  if (!first || !second) return std::nullopt;
  std::vector<Expression> both;
  both.push_back(std::move(*first));
  both.push_back(std::move(*second));
  return joined(negated ? Kind::logical_or : Kind::logical_and, std::move(both), place);
}

ExpressionBuilder::Result ExpressionBuilder::in_list(const Node& node) {
  const bool negated = node.strings("name") != std::vector<std::string>{"="};
  if (node.node("lexpr").type == "RowExpr") return row_in_list(node, negated);
  Result left = build(node.node("lexpr"));
  auto items = build_all(node.node("rexpr").list("items"));
  if (!left || !items) return std::nullopt;
  for (const Expression& item : *items) {
    if (item.array) return problem(place_of(item), "an array in a list; write = any(…)");
  }
  return listed(std::move(*left), std::move(*items), negated, statement_.place(node));
}

/// As transformAExprIn does it: items without columns, if there are several, become one array of one common type, which
/// the left side counts for; the others are compared one by one.
ExpressionBuilder::Result ExpressionBuilder::listed(Expression left, std::vector<Expression> items, bool negated,
                                                    std::size_t place) {
  const auto middle =
      std::stable_partition(items.begin(), items.end(), [](const Expression& item) { return !has_column(item); });
  std::vector<Expression> alone(std::make_move_iterator(middle), std::make_move_iterator(items.end()));
  items.erase(middle, items.end());
  if (items.size() == 1) {
    alone.insert(alone.begin(), std::move(items.front()));
    items.clear();
  }
  std::vector<Expression> tests;
  if (!items.empty()) {
    std::vector<Expression> operands;
    operands.push_back(left);
    for (Expression& item : items) operands.push_back(std::move(item));
    const auto common = unify(operands, Rules::common, "IN", place);
    if (!common) return std::nullopt;
    Expression list;
    list.kind = Kind::list;
    list.set_type({common->type, true, common->labels});
    list.location = static_cast<int>(place);
    list.children.assign(std::make_move_iterator(operands.begin() + 1), std::make_move_iterator(operands.end()));
    if (left.type == Type::unknown) left = std::move(operands.front());
    Result test = quantify(left, std::move(list), negated ? Op::ne : Op::eq, !negated, place);
    if (!test) return test;
    tests.push_back(std::move(*test));
  }
  for (Expression& item : alone) {
    Result test = compare(left, std::move(item), negated ? Op::ne : Op::eq, place);
    if (!test) return test;
    tests.push_back(std::move(*test));
  }
  return joined(negated ? Kind::logical_and : Kind::logical_or, std::move(tests), place);
}

ExpressionBuilder::Result ExpressionBuilder::row_in_list(const Node& node, bool negated) {
  std::vector<Expression> tests;
  const std::size_t place = statement_.place(node);
  for (const Node& item : node.node("rexpr").list("items")) {
    if (item.type != "RowExpr")
      return problem(item, "a row is looked for among rows, as in (a, b) in ((1, 2), (3, 4))");
    Result test = row_comparison(node.node("lexpr"), item, negated ? Op::ne : Op::eq, place);
    if (!test) return test;
    tests.push_back(std::move(*test));
  }
  return joined(negated ? Kind::logical_and : Kind::logical_or, std::move(tests), place);
}

ExpressionBuilder::Result ExpressionBuilder::quantified(const Node& node, bool any) {
  const std::string name = node.strings("name").front();
  const auto op = comparison_operator(name);
  if (!op)
    return problem(node, "the operator " + name + " is not supported with ANY or ALL; write it out with OR or AND");
  auto operands = build_all({node.node("lexpr"), node.node("rexpr")});
  if (!operands) return std::nullopt;
  Expression& left = (*operands)[0];
  Expression& right = (*operands)[1];
  const std::size_t place = statement_.place(node);
  if (left.array) return problem(place, "an array on the left of ANY or ALL");
  if (is_open(right)) right.array = true;
  if (!right.array) {
    return problem(node.node("rexpr"),
                   "ANY and ALL take an array: a column, claims.x, params.x (with or without a cast such as ::text[]) "
                   "or array[…]");
  }
  return quantify(std::move(left), std::move(right), *op, any, place);
}

/// Both sides get the types of the comparison; an array is cast whole.
ExpressionBuilder::Result ExpressionBuilder::quantify(Expression left, Expression array, Op op, bool any,
                                                      std::size_t place) {
  Expression element;  // stands for the array while its element's type is chosen
  element.kind = Kind::column;
  element.set_type({array.type, false, array.labels});
  element.location = array.location;
  if (left.type == Type::unknown && array.type == Type::unknown && !is_literal(left) && array.kind != Kind::list) {
    return problem(place, "ANY or ALL between values without a type; cast one, for example claims.x::text[]");
  }
  if (array.type == Type::unknown)
    element.set_type(left.type == Type::unknown ? FullType(Type::text) : left.full_type());
  std::vector<Expression> sides;
  sides.push_back(std::move(left));
  sides.push_back(std::move(element));
  if (!unify(sides, Rules::comparison, "ANY or ALL", place)) return std::nullopt;
  const bool orders = op != Op::eq && op != Op::ne;
  if (orders && sides[0].type == Type::jsonb)
    return problem(place, "jsonb has no order here; compare a part of it, for example (doc ->> 'n')::int");
  Result converted = convert(std::move(array), FullType(sides[1].type, true, sides[1].labels));
  if (!converted) return converted;
  Expression out;
  out.kind = Kind::quantified;
  out.op = op;
  out.any = any;
  out.location = static_cast<int>(place);
  out.children.push_back(std::move(sides[0]));
  out.children.push_back(std::move(*converted));
  return out;
}

}  // namespace viewgate::projection
