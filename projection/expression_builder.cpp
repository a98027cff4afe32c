#include "projection/expression_builder.hpp"

#include <algorithm>
#include <utility>

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;

/// What an expression that is not supported is called in SQL.
std::string describe(const Node& node) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"SubLink", "a subquery"},
      {"ParamRef", "a numbered parameter"},
      {"A_Indirection", "a subscript (an array's lower bound does not stand in a record)"},
      {"RowExpr", "a row here, other than (a, b) beside another row,"},
      {"SQLValueFunction", "a function of the session or the clock"},
      {"GroupingFunc", "GROUPING"},
      {"SetToDefault", "DEFAULT"},
      {"CurrentOfExpr", "WHERE CURRENT OF"}};
  for (const auto& [type, text] : names) {
    if (type == node.type) return std::string(text);
  }
  return "this expression (" + std::string(node.type) + ")";
}

}  // namespace

std::nullopt_t ExpressionBuilder::problem(std::size_t place, std::string message) {
  problems_.add(place, std::move(message));
  return std::nullopt;
}

std::optional<Expression> ExpressionBuilder::selected(const Node& node) {
  Result out = build(node);
  if (out && out->type == Type::unknown) out = take_type(std::move(*out), Type::text);
  if (out && out->type == Type::bpchar) {
    return problem(node, "a character(n) that is computed has no length to be printed with; write ::text");
  }
  return out;
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

std::optional<std::vector<Expression>> ExpressionBuilder::build_all(const std::vector<Node>& nodes) {
  std::vector<Expression> out;
  for (const Node& node : nodes) {
    if (Result built = build(node)) out.push_back(std::move(*built));
  }
  if (out.size() != nodes.size()) return std::nullopt;
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::dispatch(const Node& node) {
  using Handler = Result (ExpressionBuilder::*)(const Node&);
  static constexpr std::pair<std::string_view, Handler> handlers[] = {
      {"ColumnRef", &ExpressionBuilder::column_reference},
      {"A_Const", &ExpressionBuilder::constant},
      {"A_Expr", &ExpressionBuilder::operation},
      {"BoolExpr", &ExpressionBuilder::junction},
      {"NullTest", &ExpressionBuilder::null_test},
      {"BooleanTest", &ExpressionBuilder::truth_test},
      {"TypeCast", &ExpressionBuilder::type_cast},
      {"CollateClause", &ExpressionBuilder::collation},
      {"FuncCall", &ExpressionBuilder::function_call},
      {"CaseExpr", &ExpressionBuilder::conditional},
      {"A_ArrayExpr", &ExpressionBuilder::array_constructor}};
  for (const auto& [type, handler] : handlers) {
    if (type == node.type) return (this->*handler)(node);
  }
  if (node.type == "CoalesceExpr") return common_call(node, Function::coalesce);
  if (node.type == "MinMaxExpr") {
    return common_call(node, node.text("op") == "IS_GREATEST" ? Function::greatest : Function::least);
  }
  if (node.type == "SQLValueFunction") {
    const std::string which = node.text("op");
    const bool moment = which.find("TIME") != std::string::npos || which.find("DATE") != std::string::npos;
    return problem(node, describe(node) + " is not supported; " +
                             (moment ? "compare with a parameter" : "who asks stands in the token: write claims.x"));
  }
  // A subscript has no place of its own.
  return problem(node.type == "A_Indirection" ? node.node("arg") : node,
                 describe(node) + " is not supported" + std::string(allowed_in_expressions));
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
  const bool of_the_caller = names[0] == "claims" || names[0] == "params" || names[0] == "space";
  if (of_the_caller && !scope_.caller) {
    return problem(node, names[0] + "." + names[1] +
                             " in the select list, which is the same for everyone; allowed are columns and constants");
  }
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
    parameters_.try_emplace(names[1], ParameterUse{Type::unknown, place_of(out)});
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
  out.set_type(scope_.table->layout.column(*index).type);
  out.location = static_cast<int>(statement_.place(node));
  if (out.type == Type::carried) {
    return problem(node, "the column " + name + " has the type " + scope_.table->type_names[*index] +
                             ", which may be selected but not used in an expression; types for that are " +
                             std::string(types_in_expressions));
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
  return problem(node, "a bit string is not supported" + std::string(allowed_in_expressions));
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

/// Carried where the name says nothing. Enums are those of the table's columns, with or without their schema.
FullType ExpressionBuilder::named_type(const Node& type_name) const {
  const std::vector<std::string> names = type_name.strings("names");
  if (names.empty()) return {};
  const bool array = type_name.find("arrayBounds") != nullptr;
  if (names.size() == 1 || names.front() == "pg_catalog") {
    const FullType known = type_from_name(names.back());
    if (known.type != Type::carried && !known.array) return {known.type, array};
  }
  std::string whole;
  for (const std::string& part : names) whole += (whole.empty() ? "" : ".") + part;
  for (std::size_t i = 0; scope_.table != nullptr && i < scope_.table->layout.size(); ++i) {
    const EnumTypePtr& labels = scope_.table->layout.column(i).type.labels;
    if (labels && (labels->name == whole || labels->name.ends_with("." + whole))) {
      return {Type::enumeration, array, labels};
    }
  }
  return {};
}

ExpressionBuilder::Result ExpressionBuilder::type_cast(const Node& node) {
  const Node type_name = node.plain("typeName");
  const std::vector<std::string> names = type_name.strings("names");
  const FullType target = named_type(type_name);
  Result operand = build(node.node("arg"));
  if (target.type == Type::carried) {
    std::string what = "a cast to " + (names.empty() ? std::string("a type") : names.back()) + " is not supported";
    if (!names.empty() && names.back() == "interval")
      what += ", since an interval has no one length; compare with a parameter";
    return problem(type_name, what + "; types for that are " + std::string(types_in_expressions));
  }
  if (type_name.find("typmods") != nullptr) {
    return problem(type_name, "a cast with a length or precision is not supported; write ::" + spelt(target));
  }
  if (!operand) return operand;
  return cast(std::move(*operand), target, statement_.place(node));
}

/// Texts compare by the C collation here, so saying so changes nothing.
ExpressionBuilder::Result ExpressionBuilder::collation(const Node& node) {
  Result operand = build(node.node("arg"));
  const std::vector<std::string> names = node.strings("collname");
  if (names.empty() || (names.back() != "C" && names.back() != "POSIX")) {
    return problem(node, "COLLATE \"" + (names.empty() ? std::string() : names.back()) +
                             "\" is not supported; texts compare by \"C\", the order of their bytes");
  }
  if (!operand) return operand;
  if (operand->type == Type::unknown && !operand->array) return take_type(std::move(*operand), Type::text);
  if (!is_text(operand->type)) return problem(node, "COLLATE on " + spelt(operand->full_type()) + "; it is for texts");
  return operand;
}

}  // namespace viewgate::projection
