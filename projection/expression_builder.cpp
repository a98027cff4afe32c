#include "projection/expression_builder.hpp"

#include <algorithm>
#include <utility>

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;

constexpr std::string_view allowed =
    "; allowed are columns, constants, params.x, claims.x, space.name, comparisons, AND, OR, NOT, IN, BETWEEN, IS "
    "NULL, "
    "IS DISTINCT FROM, IS TRUE, = ANY, + - * / % and casts";
constexpr std::string_view known_types = "boolean, smallint, integer, bigint, numeric, text, uuid and timestamptz";

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

/// What an expression that is not supported is called in SQL.
std::string describe(const Node& node) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"SubLink", "a subquery"},
      {"CaseExpr", "CASE"},
      {"CoalesceExpr", "COALESCE"},
      {"MinMaxExpr", "GREATEST or LEAST"},
      {"CollateClause", "COLLATE"},
      {"ParamRef", "a numbered parameter"},
      {"A_Indirection", "a subscript"},
      {"RowExpr", "a row"},
      {"A_ArrayExpr", "an array here"},
      {"SQLValueFunction", "a function of the session or the clock"},
      {"GroupingFunc", "GROUPING"},
      {"SetToDefault", "DEFAULT"},
      {"CurrentOfExpr", "WHERE CURRENT OF"}};
  if (node.type == "FuncCall") {
    std::string name;
    for (const std::string& part : node.strings("funcname")) name += (name.empty() ? "" : ".") + part;
    return "the function " + name + "()";
  }
  for (const auto& [type, text] : names) {
    if (type == node.type) return std::string(text);
  }
  return "this expression (" + std::string(node.type) + ")";
}

bool is_literal(const Expression& expression) { return expression.kind == Kind::constant; }
bool is_array(const Expression& expression) { return expression.array; }

}  // namespace

std::nullopt_t ExpressionBuilder::problem(std::size_t place, std::string message) {
  problems_.add(place, std::move(message));
  return std::nullopt;
}

std::optional<Expression> ExpressionBuilder::condition(const Node& node) {
  Result out = boolean(build(node), scope_.table != nullptr ? "the condition" : "the policy");
  if (!out) return out;
  const std::size_t before = problems_.size();
  type_null_tested(*out);
  if (problems_.size() != before) return std::nullopt;
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::build(const Node& node) {
  if (depth_ >= expression_depth_max) {
    return problem(node, "an expression nested deeper than " + std::to_string(expression_depth_max) + " levels");
  }
  ++depth_;
  Result out = dispatch(node);
  --depth_;
  if (out && out->location < 0) out->location = static_cast<int>(statement_.place(node));
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::dispatch(const Node& node) {
  if (node.type == "ColumnRef") return column_reference(node);
  if (node.type == "A_Const") return constant(node);
  if (node.type == "A_Expr") return operation(node);
  if (node.type == "BoolExpr") return junction(node);
  if (node.type == "NullTest") return null_test(node);
  if (node.type == "BooleanTest") return truth_test(node);
  if (node.type == "TypeCast") return type_cast(node);
  return problem(node, describe(node) + " is not supported" + std::string(allowed));
}

ExpressionBuilder::Result ExpressionBuilder::column_reference(const Node& node) {
  const std::vector<std::string> names = node.strings("fields");
  if (names.size() != node.list("fields").size()) return problem(node, "* is not supported here; name a column");
  if (names.size() == 1) return column(node, names[0]);
  if (names.size() != 2) {
    return problem(node, "a name of " + std::to_string(names.size()) +
                             " parts; allowed are a column, params.x, claims.x and space.name");
  }
  Expression out;
  out.type = Type::unknown;
  out.name = names[1];
  out.location = static_cast<int>(statement_.place(node));
  if (names[0] == "claims") {
    out.kind = Kind::claim;
    return out;
  }
  if (names[0] == "params") {
    if (!scope_.parameters) {
      return problem(node,
                     "params." + names[1] +
                         " in a policy; a parameter is the subscriber's own choice and cannot decide what it may see");
    }
    out.kind = Kind::parameter;
    parameters_.try_emplace(names[1], ParameterUse{Type::unknown, false, place_of(out)});
    return out;
  }
  if (names[0] == "space") {
    if (names[1] != "name") return problem(node, "space." + names[1] + " is not known; a space has only space.name");
    out.kind = Kind::space_name;
    out.type = Type::text;
    out.name.clear();
    return out;
  }
  if (scope_.table != nullptr && names[0] == scope_.table->name) return column(node, names[1]);
  return problem(node,
                 names[0] + "." + names[1] + " is not known; allowed are a column, params.x, claims.x and space.name");
}

ExpressionBuilder::Result ExpressionBuilder::column(const Node& node, const std::string& name) {
  if (scope_.table == nullptr) return problem(node, "the column " + name + " " + std::string(scope_.without_columns));
  const auto index = scope_.table->find_column(name);
  if (!index) {
    std::string columns;
    for (std::size_t i = 0; i < scope_.table->layout.size(); ++i) {
      columns += (i == 0 ? "" : ", ") + scope_.table->layout.column(i).name;
    }
    return problem(node, scope_.table->name + " has no column " + name + "; it has " + columns);
  }
  Expression out;
  out.kind = Kind::column;
  out.index = static_cast<int>(*index);
  out.type = scope_.table->layout.column(*index).type;
  out.location = static_cast<int>(statement_.place(node));
  if (out.type == Type::carried) {
    return problem(node, "the column " + name + " has the type " + scope_.table->type_names[*index] +
                             ", which may be selected but not used in an expression; types for that are " +
                             std::string(known_types));
  }
  return out;
}

// libpg_query 15-4.0.0 prints an Integer as {} unless it is above zero, so a negative literal is read again from the
// text: its location is that of the sign. To see whether a newer version is right: `select -5` must print "ival":-5.
ExpressionBuilder::Result ExpressionBuilder::integer_constant(const Node& node) {
  const auto* printed = node.plain("ival").find("ival");
  std::int64_t value = printed != nullptr && printed->is_int64() ? printed->get_int64() : 0;
  if (value == 0) {
    std::size_t at = statement_.place(node);
    while (at < text_.size() && (text_[at] == '-' || text_[at] == '(' || text_[at] == '+'))
      at = skip_comments(text_, at + 1);
    while (at < text_.size() && text_[at] >= '0' && text_[at] <= '9') value = value * 10 - (text_[at++] - '0');
  }
  return make_constant(Type::int4, value);
}

ExpressionBuilder::Result ExpressionBuilder::constant(const Node& node) {
  if (node.flag("isnull")) return make_constant(Type::unknown, Null{});
  if (node.find("ival") != nullptr) return integer_constant(node);
  if (node.find("boolval") != nullptr) return make_constant(Type::boolean, node.plain("boolval").flag("boolval"));
  if (node.find("sval") != nullptr) return make_constant(Type::unknown, node.plain("sval").text("sval"));
  if (node.find("fval") != nullptr) {
    const std::string digits = node.plain("fval").text("fval");
    for (const Type type : {Type::int4, Type::int8, Type::numeric}) {
      Value value = parse_text(type, digits);
      if (!is_fault(value)) return make_constant(type, std::move(value));
    }
    return problem(node, "the number " + digits.substr(0, 40) + " is out of numeric's range");
  }
  return problem(node, "a bit string is not supported" + std::string(allowed));
}

ExpressionBuilder::Result ExpressionBuilder::operation(const Node& node) {
  const std::string kind = node.text("kind");
  const std::vector<std::string> names = node.strings("name");
  if (names.size() != 1) return problem(node, "an operator with a schema is not supported; write the operator alone");
  const std::string& name = names.front();
  if (kind == "AEXPR_OP") {
    if (!node.node("lexpr")) return unary(node, name);
    if (const auto op = comparison_operator(name)) return comparison(node, *op);
    if (const auto op = arithmetic_operator(name)) return arithmetic(node, *op);
    return problem(node, "the operator " + name + " is not supported" + std::string(allowed));
  }
  if (kind == "AEXPR_DISTINCT") return comparison(node, Op::distinct);
  if (kind == "AEXPR_NOT_DISTINCT") return comparison(node, Op::not_distinct);
  if (kind == "AEXPR_IN") return in_list(node);
  if (kind == "AEXPR_BETWEEN" || kind == "AEXPR_NOT_BETWEEN") return between(node, kind == "AEXPR_NOT_BETWEEN");
  if (kind == "AEXPR_OP_ANY" || kind == "AEXPR_OP_ALL") return quantified(node, kind == "AEXPR_OP_ANY");
  static constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"AEXPR_LIKE", "LIKE"},
      {"AEXPR_ILIKE", "ILIKE"},
      {"AEXPR_SIMILAR", "SIMILAR TO"},
      {"AEXPR_NULLIF", "NULLIF"},
      {"AEXPR_BETWEEN_SYM", "BETWEEN SYMMETRIC"},
      {"AEXPR_NOT_BETWEEN_SYM", "BETWEEN SYMMETRIC"}};
  for (const auto& [spelt, what] : others) {
    if (spelt == kind) return problem(node, std::string(what) + " is not supported" + std::string(allowed));
  }
  return problem(node, "the operator " + name + " is not supported" + std::string(allowed));
}

ExpressionBuilder::Result ExpressionBuilder::comparison(const Node& node, Op op) {
  Result left = build(node.node("lexpr"));
  Result right = build(node.node("rexpr"));
  if (!left || !right) return std::nullopt;
  return compare(std::move(*left), std::move(*right), op, statement_.place(node));
}

ExpressionBuilder::Result ExpressionBuilder::compare(Expression left, Expression right, Op op, std::size_t place) {
  std::vector<Expression> operands;
  operands.push_back(std::move(left));
  operands.push_back(std::move(right));
  if (std::any_of(operands.begin(), operands.end(), is_array)) {
    return problem(place, "an array in a comparison; write = any(…)");
  }
  if (!unify(operands, "a comparison", place)) return std::nullopt;
  Expression out;
  out.kind = Kind::comparison;
  out.op = op;
  out.location = static_cast<int>(place);
  out.children = std::move(operands);
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::arithmetic(const Node& node, Op op) {
  Result left = build(node.node("lexpr"));
  Result right = build(node.node("rexpr"));
  if (!left || !right) return std::nullopt;
  const std::size_t place = statement_.place(node);
  std::vector<Expression> operands;
  operands.push_back(std::move(*left));
  operands.push_back(std::move(*right));
  if (operands[0].type == Type::unknown && operands[1].type == Type::unknown) {
    return problem(place, "an operator between values without a type; cast one, for example params.x::int");
  }
  if (!unify(operands, "arithmetic", place)) return std::nullopt;
  for (const Expression& operand : operands) {
    if (!is_number(operand.type)) {
      return problem(place, "arithmetic on " + std::string(name(operand.type)) + "; it takes numbers");
    }
  }
  Expression out;
  out.kind = Kind::arithmetic;
  out.op = op;
  out.type = std::max(operands[0].type, operands[1].type);
  out.children = std::move(operands);
  return folded(std::move(out), place);
}

ExpressionBuilder::Result ExpressionBuilder::unary(const Node& node, const std::string& op) {
  Result operand = build(node.node("rexpr"));
  if (!operand) return operand;
  if (op != "-" && op != "+") return problem(node, "the operator " + op + " is not supported" + std::string(allowed));
  if (operand->array || !is_number(operand->type)) {
    return problem(
        node, "a sign before " + std::string(name(operand->type)) + "; it takes a number, for example params.x::int");
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
  Result low = build(bounds[0]);
  Result high = build(bounds[1]);
  if (!low_left || !low || !high) return std::nullopt;
  const std::size_t place = statement_.place(node);
  Result first = compare(*low_left, std::move(*low), negated ? Op::lt : Op::ge, place);
  Result second = compare(std::move(*low_left), std::move(*high), negated ? Op::gt : Op::le, place);
  if (!first || !second) return std::nullopt;
  Expression out;
  out.kind = negated ? Kind::logical_or : Kind::logical_and;
  out.children.push_back(std::move(*first));
  out.children.push_back(std::move(*second));
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::in_list(const Node& node) {
  std::vector<Expression> operands;
  bool sound = true;
  const auto take = [&](const Node& operand) {
    Result built = build(operand);
    if (built && built->array) built = problem(operand, "an array in a list; write = any(…)");
    sound = sound && built.has_value();
    if (built) operands.push_back(std::move(*built));
  };
  take(node.node("lexpr"));
  for (const Node& item : node.node("rexpr").list("items")) take(item);
  const std::size_t place = statement_.place(node);
  if (!sound || !unify(operands, "IN", place)) return std::nullopt;
  Expression out;
  out.kind = Kind::quantified;
  out.any = node.strings("name") == std::vector<std::string>{"="};
  out.op = out.any ? Op::eq : Op::ne;
  out.children = std::move(operands);
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::quantified(const Node& node, bool any) {
  const auto op = comparison_operator(node.strings("name").front());
  if (!op) return problem(node, "the operator " + node.strings("name").front() + " is not supported with ANY or ALL");
  Result left = build(node.node("lexpr"));
  const Node right = node.node("rexpr");
  const std::size_t place = statement_.place(node);
  std::vector<Expression> operands;
  bool sound = left.has_value();
  if (left) operands.push_back(std::move(*left));
  if (right.type == "A_ArrayExpr") {
    for (const Node& element : right.list("elements")) {
      Result built = build(element);
      if (built && built->array) built = problem(element, "an array inside an array is not supported");
      sound = sound && built.has_value();
      if (built) operands.push_back(std::move(*built));
    }
  } else {
    Result built = build(right);
    if (built && built->type == Type::unknown && !is_literal(*built)) built->array = true;
    if (built && !built->array) {
      built =
          problem(right, "ANY and ALL take claims.x, params.x (with or without a cast such as ::text[]) or array[…]");
    }
    sound = sound && built.has_value();
    if (built) operands.push_back(std::move(*built));
  }
  if (!sound) return std::nullopt;
  if (operands.front().array) return problem(place, "an array on the left of ANY or ALL");
  if (!unify(operands, "ANY or ALL", place)) return std::nullopt;
  Expression out;
  out.kind = Kind::quantified;
  out.op = *op;
  out.any = any;
  out.children = std::move(operands);
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::junction(const Node& node) {
  const std::string op = node.text("boolop");
  Expression out;
  out.kind = op == "AND_EXPR" ? Kind::logical_and : op == "OR_EXPR" ? Kind::logical_or : Kind::logical_not;
  const std::string_view spelt = op == "AND_EXPR"  ? "an operand of AND"
                                 : op == "OR_EXPR" ? "an operand of OR"
                                                   : "the operand of NOT";
  bool sound = true;
  for (const Node& argument : node.list("args")) {
    Result built = boolean(build(argument), spelt);
    sound = sound && built.has_value();
    if (built) out.children.push_back(std::move(*built));
  }
  if (!sound) return std::nullopt;
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::null_test(const Node& node) {
  Result operand = build(node.node("arg"));
  if (!operand) return operand;
  Expression out;
  out.kind = Kind::null_test;
  out.negated = node.text("nulltesttype") == "IS_NOT_NULL";
  out.children.push_back(std::move(*operand));
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::truth_test(const Node& node) {
  Result operand = boolean(build(node.node("arg")), "the operand of IS");
  if (!operand) return operand;
  const std::string test = node.text("booltesttype");
  Expression out;
  out.kind = Kind::truth_test;
  out.negated = test.starts_with("IS_NOT_");
  out.truth = test.ends_with("TRUE") ? Truth::yes : test.ends_with("FALSE") ? Truth::no : Truth::unknown;
  out.children.push_back(std::move(*operand));
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::type_cast(const Node& node) {
  const Node type_name = node.plain("typeName");
  const std::vector<std::string> names = type_name.strings("names");
  const bool array = type_name.find("arrayBounds") != nullptr;
  const Type target = names.empty() || (names.size() > 1 && names.front() != "pg_catalog")
                          ? Type::carried
                          : type_from_name(names.back());
  Result operand = build(node.node("arg"));
  if (target == Type::carried) {
    return problem(type_name, "a cast to " + (names.empty() ? std::string("a type") : names.back()) +
                                  " is not supported; types for that are " + std::string(known_types));
  }
  if (type_name.find("typmods") != nullptr) {
    return problem(type_name,
                   "a cast with a length or precision is not supported; write ::" + std::string(name(target)));
  }
  if (!operand) return operand;
  const std::size_t place = statement_.place(node);
  if (!array) return cast(std::move(*operand), target, place);
  if (operand->type != Type::unknown || is_literal(*operand)) {
    return problem(node, "a cast to an array is for claims.x and params.x; elements of array[…] are cast one by one");
  }
  return take_type(std::move(*operand), target, true);
}

}  // namespace viewgate::projection
