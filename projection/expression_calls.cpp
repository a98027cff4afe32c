// The part of ExpressionBuilder that knows functions, and operators that are functions.
#include <algorithm>
#include <utility>

#include "projection/characters.hpp"
#include "projection/expression_builder.hpp"
#include "projection/like.hpp"
#include "projection/text_functions.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;

std::string spelt_arguments(const std::vector<FullType>& types) {
  std::string out = "(";
  for (const FullType& type : types) {
    out += (out.size() > 1 ? ", " : "");
    out += type.type == Type::unknown ? (type.array ? "array" : "number") : spelt(type);
  }
  return out + ")";
}

/// Whether an argument of that type may stand where `wanted` is asked for, after an implicit cast.
bool fits(const Expression& argument, const FullType& wanted) {
  if (wanted.type == Type::unknown) {
    return wanted.array ? argument.array && argument.type != Type::unknown
                        : !argument.array && is_number(argument.type);
  }
  if (argument.type == Type::unknown) return argument.array == wanted.array || argument.kind != Kind::constant;
  if (argument.array != wanted.array) return false;
  return argument.type == wanted.type || (wanted.type == Type::text && argument.type == Type::bpchar) ||
         (wanted.type == Type::int4 && argument.type == Type::int2);
}

/// Nothing, or why a constant pattern cannot work.
std::string broken_pattern(const std::string& pattern) {
  std::size_t blanks = 0;
  std::size_t characters = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%') {
      blanks = characters = 0;
      continue;
    }
    blanks += pattern[i] == '_' ? 1 : 0;
    if (pattern[i] == '\\' && ++i == pattern.size()) return "a LIKE pattern that ends with the escape character";
    characters += begins_character(pattern[i]) ? 1 : 0;
    if (blanks > 0 && characters > like_blanks_piece_max)
      return "a LIKE pattern with _ among more than " + std::to_string(like_blanks_piece_max) + " characters without %";
  }
  return {};
}

/// What comes nearest to a function that is not here; empty: nothing does.
std::string_view nearest_to(std::string_view function) {
  static constexpr std::pair<std::string_view, std::string_view> nearest[] = {
      {"mod", "write %"},
      {"power", "write the product"},
      {"pow", "write the product"},
      {"round", "compare with a range"},
      {"floor", "compare with a range"},
      {"ceil", "compare with a range"},
      {"ceiling", "compare with a range"},
      {"trunc", "compare with a range"},
      {"extract", "compare with a range of times"},
      {"date_part", "compare with a range of times"},
      {"date_trunc", "compare with a range of times"},
      {"to_char", "compare with a range of times"},
      {"age", "compare with a parameter"},
      {"now", "compare with a parameter"},
      {"isfinite", "compare with 'infinity' and '-infinity'"},
      {"to_date", "write ::date"},
      {"to_timestamp", "write ::timestamptz"},
      {"to_number", "write ::numeric"},
      {"concat", "write ||"},
      {"concat_ws", "write ||"},
      {"regexp_like", "write ~"},
      {"array_length", "write cardinality"},
      {"array_position", "write = any (…)"},
      {"array_contains", "write @>"},
      {"jsonb_extract_path", "write -> step by step"},
      {"jsonb_extract_path_text", "write -> and ->> step by step"},
      {"jsonb_contains", "write @>"},
      {"jsonb_exists", "write ?"},
      {"current_setting", "write claims.x"}};
  for (const auto& [name, hint] : nearest) {
    if (name == function) return hint;
  }
  return {};
}

}  // namespace

ExpressionBuilder::Result ExpressionBuilder::function_call(const Node& node) {
  std::vector<std::string> names = node.strings("funcname");
  std::string whole;
  for (const std::string& part : names) whole += (whole.empty() ? "" : ".") + part;
  if (names.size() == 2 && names.front() == "pg_catalog") names.erase(names.begin());
  if (names.size() != 1 || signatures_of(names.front()).empty()) {
    if (names.back() == "like_escape") return problem(node, "ESCAPE is not supported; the escape character is \\");
    if (names.back() == "timezone") return problem(node, "AT TIME ZONE is not supported; times are UTC here");
    const std::string_view hint = nearest_to(names.back());
    return problem(node, "the function " + whole + "() is not supported; " +
                             (hint.empty() ? "functions are " + std::string(function_names()) : std::string(hint)));
  }
  for (const char* clause : {"agg_star", "agg_distinct", "agg_order", "agg_filter", "over", "func_variadic"}) {
    if (node.find(clause) == nullptr) continue;
    return problem(node, "the function " + whole + "() with *, DISTINCT, ORDER BY, FILTER, OVER or VARIADIC");
  }
  auto arguments = build_all(node.list("args"));
  if (!arguments) return std::nullopt;
  if (names.front() == "substring" && arguments->size() == 2 && is_literal(arguments->back()) &&
      std::holds_alternative<std::string>(arguments->back().value)) {
    return problem(node, "substring with a pattern is not supported; write ~, or substring(… from 1 for 2)");
  }
  return call_known(names.front(), std::move(*arguments), statement_.place(node));
}

ExpressionBuilder::Result ExpressionBuilder::call_known(const std::string& name, std::vector<Expression> arguments,
                                                        std::size_t place) {
  std::string forms;
  for (const Signature& signature : signatures_of(name)) {
    forms += (forms.empty() ? "" : " and ") + name + spelt_arguments(signature.arguments);
    if (signature.arguments.size() != arguments.size()) continue;
    bool fit = true;
    for (std::size_t i = 0; i < arguments.size(); ++i) fit = fit && fits(arguments[i], signature.arguments[i]);
    // A char(n)'s bytes count its blanks, which a record's comparisons forget.
    if (signature.function == Function::octet_length && arguments[0].type == Type::bpchar) fit = false;
    if (!fit) continue;
    Type result = signature.result;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const FullType& wanted = signature.arguments[i];
      if (wanted.type == Type::unknown) {
        if (!wanted.array) result = arguments[i].type;
        continue;
      }
      Result converted = convert(std::move(arguments[i]), wanted);
      if (!converted) return converted;
      arguments[i] = std::move(*converted);
    }
    return call(signature.function, result, std::move(arguments), place);
  }
  std::string given = "(";
  for (const Expression& argument : arguments) given += (given.size() > 1 ? ", " : "") + spelt(argument.full_type());
  return problem(place, "there is no " + name + given + "); there is " + forms + "; cast the arguments");
}

ExpressionBuilder::Result ExpressionBuilder::common_call(const Node& node, Function function) {
  auto operands = build_all(node.list("args"));
  if (!operands) return std::nullopt;
  const std::size_t place = statement_.place(node);
  const std::string_view of = function == Function::coalesce ? "COALESCE" : "GREATEST or LEAST";
  const auto common = unify(*operands, Rules::common, of, place);
  if (!common) return std::nullopt;
  if (function != Function::coalesce && common->type == Type::jsonb)
    return problem(place, "jsonb has no order here; compare a part of it, for example (doc ->> 'n')::int");
  return call(function, *common, std::move(*operands), place);
}

ExpressionBuilder::Result ExpressionBuilder::nullif(const Node& node) {
  auto operands = build_all({node.node("lexpr"), node.node("rexpr")});
  if (!operands) return std::nullopt;
  const std::size_t place = statement_.place(node);
  if (!unify(*operands, Rules::comparison, "NULLIF", place)) return std::nullopt;
  const FullType type = (*operands)[0].full_type();
  return call(Function::nullif, type, std::move(*operands), place);
}

ExpressionBuilder::Result ExpressionBuilder::conditional(const Node& node) {
  const std::size_t place = statement_.place(node);
  Result tested = Expression{};
  const Node argument = node.node("arg");
  if (argument) tested = build(argument);
  std::vector<Expression> conditions;
  std::vector<Expression> results;
  bool sound = tested.has_value();
  // PostgreSQL looks at ELSE first when it chooses the type.
  const Node otherwise = node.node("defresult");
  Result last = otherwise ? build(otherwise) : Result(make_constant(Type::unknown, Null{}));
  sound = sound && last.has_value();
  if (last) results.push_back(std::move(*last));
  for (const Node& when : node.list("args")) {
    Result condition = build(when.node("expr"));
    if (condition && argument && tested)
      condition = compare(*tested, std::move(*condition), Op::eq, statement_.place(when));
    if (!argument) condition = boolean(std::move(condition), "the condition of CASE");
    Result result = build(when.node("result"));
    sound = sound && condition && result;
    if (!condition || !result) continue;
    conditions.push_back(std::move(*condition));
    results.push_back(std::move(*result));
  }
  if (!sound) return std::nullopt;
  const auto common = unify(results, Rules::common, "CASE", place);
  if (!common) return std::nullopt;
  Expression out;
  out.kind = Kind::conditional;
  out.set_type(*common);
  out.location = static_cast<int>(place);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    out.children.push_back(std::move(conditions[i]));
    out.children.push_back(std::move(results[i + 1]));
  }
  out.children.push_back(std::move(results.front()));
  return out;
}

/// Elements without a type wait for what the array meets.
ExpressionBuilder::Result ExpressionBuilder::array_constructor(const Node& node) {
  auto elements = build_all(node.list("elements"));
  if (!elements) return std::nullopt;
  for (const Expression& element : *elements) {
    if (element.array) return problem(place_of(element), "an array inside an array is not supported");
  }
  Expression out;
  out.kind = Kind::list;
  out.set_type({Type::unknown, true});
  out.location = static_cast<int>(statement_.place(node));
  const bool typed = std::any_of(elements->begin(), elements->end(),
                                 [](const Expression& element) { return element.type != Type::unknown; });
  if (typed) {
    const auto common = unify(*elements, Rules::common, "array[…]", place_of(out));
    if (!common) return std::nullopt;
    out.set_type({common->type, true, common->labels});
  }
  out.children = std::move(*elements);
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::concatenation(const Node& node) {
  auto operands = build_all({node.node("lexpr"), node.node("rexpr")});
  if (!operands) return std::nullopt;
  const std::size_t place = statement_.place(node);
  for (Expression& operand : *operands) {
    Result text = as_text(std::move(operand), "||", place);
    if (!text) return text;
    operand = std::move(*text);
  }
  return call(Function::concat, Type::text, std::move(*operands), place);
}

/// LIKE, ILIKE and ^@, and their negations.
ExpressionBuilder::Result ExpressionBuilder::like(const Node& node, Function function) {
  auto operands = build_all({node.node("lexpr"), node.node("rexpr")});
  if (!operands) return std::nullopt;
  const std::size_t place = statement_.place(node);
  if ((*operands)[0].type == Type::bpchar && function != Function::starts_with)
    return problem(place, "LIKE on character(n), whose blanks at the end count there; write ::text");
  for (Expression& operand : *operands) {
    Result text = as_text(std::move(operand), function == Function::starts_with ? "^@" : "LIKE", place);
    if (!text) return text;
    operand = std::move(*text);
  }
  const auto* pattern = is_literal((*operands)[1]) ? std::get_if<std::string>(&(*operands)[1].value) : nullptr;
  if (pattern != nullptr && function != Function::starts_with) {
    if (const std::string why = broken_pattern(*pattern); !why.empty()) return problem(place, why);
  }
  const bool negative = node.strings("name").front().starts_with("!");
  Result out = call(function, Type::boolean, std::move(*operands), place);
  if (!out || !negative) return out;
  return negated(std::move(*out), place);
}

ExpressionBuilder::Result ExpressionBuilder::regular_expression(const Node& node, const std::string& op) {
  auto operands = build_all({node.node("lexpr"), node.node("rexpr")});
  if (!operands) return std::nullopt;
  const std::size_t place = statement_.place(node);
  if ((*operands)[0].type == Type::bpchar)
    return problem(place, op + " on character(n), whose blanks at the end count there; write ::text");
  for (Expression& operand : *operands) {
    Result text = as_text(std::move(operand), op, place);
    if (!text) return text;
    operand = std::move(*text);
  }
  const Expression& pattern = (*operands)[1];
  const auto* text = is_literal(pattern) ? std::get_if<std::string>(&pattern.value) : nullptr;
  if (text == nullptr) {
    return problem(
        node.node("rexpr"),
        "the pattern of " + op + " is a text written in the model; for others there are LIKE and starts_with");
  }
  auto compiled = Regex::compile(*text, op.ends_with("*") ? Regex::Case::ignored : Regex::Case::sensitive);
  if (const auto* why = std::get_if<std::string>(&compiled)) {
    return problem(node.node("rexpr"), "the pattern '" + text_left(*text, 60) + "': " + *why +
                                           " (docs/views.md has the part of PostgreSQL's patterns that is)");
  }
  Expression out;
  out.kind = Kind::call;
  out.function = Function::matches;
  out.location = static_cast<int>(place);
  out.regex = std::get<RegexPtr>(std::move(compiled));
  out.name = op.ends_with("*") ? "~*" : "~";
  out.children = std::move(*operands);
  if (op.starts_with("!")) return negated(std::move(out), place);
  return out;
}

ExpressionBuilder::Result ExpressionBuilder::json_access(const Node& node, Function function) {
  auto operands = build_all({node.node("lexpr"), node.node("rexpr")});
  if (!operands) return std::nullopt;
  const std::size_t place = statement_.place(node);
  Expression& key = (*operands)[1];
  if ((*operands)[0].type != Type::jsonb || (*operands)[0].array) {
    return problem(place, std::string(name(function)) + " on " + spelt((*operands)[0].full_type()) +
                              "; it takes a jsonb, for example claims.x::jsonb");
  }
  if (key.type == Type::unknown && !key.array) {
    Result text = take_type(std::move(key), Type::text);
    if (!text) return text;
    key = std::move(*text);
  }
  if (key.array || (key.type != Type::text && key.type != Type::int2 && key.type != Type::int4)) {
    return problem(place, std::string(name(function)) + " with " + spelt(key.full_type()) +
                              "; it takes a name (text) or a place (integer)");
  }
  return call(function, function == Function::json_get ? Type::jsonb : Type::text, std::move(*operands), place);
}

ExpressionBuilder::Result ExpressionBuilder::json_keys(const Node& node, Function function) {
  auto operands = build_all({node.node("lexpr"), node.node("rexpr")});
  if (!operands) return std::nullopt;
  const std::size_t place = statement_.place(node);
  const FullType wanted(Type::text, function != Function::json_has);
  Expression& keys = (*operands)[1];
  if (is_open(keys)) keys.array = wanted.array;
  const bool typed = keys.array == wanted.array && (keys.type == Type::text || keys.type == Type::unknown);
  if ((*operands)[0].type != Type::jsonb || (*operands)[0].array || !typed) {
    return problem(place, std::string(name(function)) + " between " + spelt((*operands)[0].full_type()) + " and " +
                              spelt(keys.full_type()) + "; it is between a jsonb and a " + spelt(wanted));
  }
  Result converted = convert(std::move(keys), wanted);
  if (!converted) return converted;
  keys = std::move(*converted);
  return call(function, Type::boolean, std::move(*operands), place);
}

/// @>, <@ and && between jsonb or arrays of one type.
ExpressionBuilder::Result ExpressionBuilder::containment(const Node& node, const std::string& op) {
  auto operands = build_all({node.node("lexpr"), node.node("rexpr")});
  if (!operands) return std::nullopt;
  const std::size_t place = statement_.place(node);
  const FullType left = operands->front().full_type();
  const FullType right = operands->back().full_type();
  const bool arrays = left.array || right.array;
  for (Expression& operand : *operands) {
    if (is_open(operand)) operand.array = arrays;
    if (operand.array == arrays) continue;
    return problem(place, op + " between an array and " + spelt(operand.full_type()) + "; write array[…]");
  }
  // A comparison widens numbers and dates; what is in an array stays what it is.
  if (arrays && left.type != right.type && left.type != Type::unknown && right.type != Type::unknown) {
    const FullType& wanted = operands->front().kind == Kind::list ? right : left;
    return problem(place, op + " between " + spelt(left) + " and " + spelt(right) +
                              "; cast one of them, for example ::" + spelt(wanted));
  }
  if (op == "<@") std::swap((*operands)[0], (*operands)[1]);
  const auto common = unify(*operands, Rules::common, op, place);
  if (!common) return std::nullopt;
  const bool sound = arrays || (common->type == Type::jsonb && op != "&&");
  if (!sound)
    return problem(place, op + " on " + spelt(*common) + "; it is for arrays" + (op == "&&" ? "" : " and jsonb"));
  const Function function = !arrays      ? Function::json_contains
                            : op == "&&" ? Function::array_overlaps
                                         : Function::array_contains;
  return call(function, Type::boolean, std::move(*operands), place);
}

}  // namespace viewgate::projection
