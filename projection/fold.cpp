// Folding and canonical bytes: what makes two subscriptions that ask the same question share one group.
#include <algorithm>
#include <utility>

#include "projection/digest.hpp"
#include "projection/expression.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;

/// In canonical bytes, so that a new kind or operator changes no identity that exists.
std::string_view spelt(Kind kind) {
  switch (kind) {
    case Kind::constant:
      return "constant";
    case Kind::column:
      return "column";
    case Kind::parameter:
      return "parameter";
    case Kind::claim:
      return "claim";
    case Kind::space_name:
      return "space";
    case Kind::logical_and:
      return "and";
    case Kind::logical_or:
      return "or";
    case Kind::logical_not:
      return "not";
    case Kind::comparison:
      return "compare";
    case Kind::quantified:
      return "list";
    case Kind::arithmetic:
      return "compute";
    case Kind::negation:
      return "minus";
    case Kind::cast:
      return "cast";
    case Kind::null_test:
      return "null";
    case Kind::truth_test:
      return "is";
    case Kind::slot:
      return "slot";
    case Kind::call:
      return "call";
    case Kind::list:
      return "array";
    case Kind::conditional:
      return "case";
  }
  return "";
}

std::string_view spelt(Op op) {
  switch (op) {
    case Op::eq:
      return "=";
    case Op::ne:
      return "<>";
    case Op::lt:
      return "<";
    case Op::le:
      return "<=";
    case Op::gt:
      return ">";
    case Op::ge:
      return ">=";
    case Op::distinct:
      return "distinct";
    case Op::not_distinct:
      return "not distinct";
    case Op::add:
      return "+";
    case Op::subtract:
      return "-";
    case Op::multiply:
      return "*";
    case Op::divide:
      return "/";
    case Op::modulo:
      return "%";
  }
  return "";
}

std::string_view spelt(Truth truth) { return truth == Truth::yes ? "true" : truth == Truth::no ? "false" : "unknown"; }

bool is_constant(const Expression& expression) { return expression.kind == Kind::constant; }
bool is_bound(const Expression& expression) { return expression.bound; }

Truth constant_truth(const Expression& expression) { return evaluate_truth(expression, Record{}); }

Expression truth_constant(Truth truth) {
  switch (truth) {
    case Truth::no:
      return make_constant(Type::boolean, false);
    case Truth::yes:
      return make_constant(Type::boolean, true);
    case Truth::unknown:
      return make_constant(Type::boolean, Null{});
    case Truth::error:
      break;
  }
  return make_constant(Type::boolean, Fault::condition);
}

std::string canonical_bytes(const Expression& expression, const RecordLayout& layout) {
  std::string out;
  append_canonical(out, expression, layout);
  return out;
}

void sort_unique(std::vector<Expression>& children, std::size_t from, const RecordLayout& layout) {
  std::vector<std::pair<std::string, Expression>> keyed;
  for (std::size_t i = from; i < children.size(); ++i) {
    keyed.emplace_back(canonical_bytes(children[i], layout), std::move(children[i]));
  }
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  keyed.erase(std::unique(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
              keyed.end());
  children.resize(from);
  for (auto& entry : keyed) children.push_back(std::move(entry.second));
}

/// AND and OR are commutative, associative and idempotent in all four truth values, so their operands become one sorted
/// set.
Expression fold_junction(Expression expression, const RecordLayout& layout) {
  const bool conjunction = expression.kind == Kind::logical_and;
  const auto join = conjunction ? truth_and : truth_or;
  const Truth neutral = conjunction ? Truth::yes : Truth::no;
  Truth constant = neutral;
  std::vector<Expression> rest;
  for (Expression& child : expression.children) {
    if (is_constant(child)) {
      constant = join(constant, constant_truth(child));
    } else if (child.kind == expression.kind) {
      for (Expression& inner : child.children) {
        if (is_constant(inner)) {
          constant = join(constant, constant_truth(inner));
        } else {
          rest.push_back(std::move(inner));
        }
      }
    } else {
      rest.push_back(std::move(child));
    }
  }
  if (rest.empty() || constant == truth_not(neutral)) return truth_constant(constant);
  sort_unique(rest, 0, layout);
  if (constant != neutral) rest.push_back(truth_constant(constant));
  if (rest.size() == 1) return std::move(rest.front());
  expression.children = std::move(rest);
  return expression;
}

Op mirrored(Op op) {
  switch (op) {
    case Op::lt:
      return Op::gt;
    case Op::le:
      return Op::ge;
    case Op::gt:
      return Op::lt;
    case Op::ge:
      return Op::le;
    default:
      return op;
  }
}

/// As search wants it: sorted, without repetition, and behind that one NULL and one error where there are some.
ArrayPtr sorted_array(std::vector<Value> elements) {
  auto out = std::make_shared<Array>();
  out->sorted = true;
  bool null = false;
  bool fault = false;
  for (Value& element : elements) {
    null = null || is_null(element);
    fault = fault || is_fault(element);
    if (!is_null(element) && !is_fault(element)) out->elements.push_back(std::move(element));
  }
  std::vector<Value>& sound = out->elements;
  std::sort(sound.begin(), sound.end(), [](const Value& a, const Value& b) { return compare(a, b) < 0; });
  sound.erase(
      std::unique(sound.begin(), sound.end(), [](const Value& a, const Value& b) { return compare(a, b) == 0; }),
      sound.end());
  if (null) sound.emplace_back(Null{});
  if (fault) sound.emplace_back(Fault::condition);
  return out;
}

/// The constants of a list become one sorted array; what is not constant stands behind it.
Expression fold_quantified(Expression expression, const RecordLayout& layout) {
  std::vector<Value> elements;
  std::vector<Expression> others;
  bool bound = false;
  FullType element = Type::unknown;  // the latest of the constants' types: integers differ in width
  for (std::size_t i = 1; i < expression.children.size(); ++i) {
    Expression& child = expression.children[i];
    if (!is_constant(child)) {
      others.push_back(std::move(child));
      continue;
    }
    bound = bound || child.bound;
    if (element.type == Type::unknown || element.type < child.type) element = FullType(child.type, false, child.labels);
    if (const auto* array = std::get_if<ArrayPtr>(&child.value)) {
      elements.insert(elements.end(), (*array)->elements.begin(), (*array)->elements.end());
    } else {
      elements.push_back(std::move(child.value));
    }
  }
  expression.children.resize(1);
  // An operand that may fail must still be asked; a column or constant cannot.
  const Expression& left = expression.children.front();
  const ArrayPtr constants = sorted_array(std::move(elements));
  if (constants->elements.empty() && others.empty() && left.kind == Kind::column) {
    return truth_constant(expression.any ? Truth::no : Truth::yes);
  }
  sort_unique(others, 0, layout);
  if (constants->elements.size() == 1) {
    others.insert(others.begin(), make_constant(element, constants->elements.front()));
    others.front().bound = bound;
  } else if (!constants->elements.empty() || others.empty()) {
    others.insert(others.begin(), make_constant(FullType(element.type, true, element.labels), constants));
    others.front().bound = bound;
  }
  for (Expression& other : others) expression.children.push_back(std::move(other));
  if (expression.children.size() == 2 && !expression.children.back().array) expression.kind = Kind::comparison;
  return expression;
}

}  // namespace

Expression make_constant(const FullType& type, Value value) {
  Expression out;
  out.kind = Kind::constant;
  out.set_type(type);
  out.value = std::move(value);
  return out;
}

void collect_columns(const Expression& expression, std::vector<std::size_t>& out) {
  if (expression.kind == Kind::column) {
    const auto column = static_cast<std::size_t>(expression.index);
    if (std::find(out.begin(), out.end(), column) == out.end()) out.push_back(column);
  }
  for (const Expression& child : expression.children) collect_columns(child, out);
}

Expression fold(Expression expression, const RecordLayout& layout) {
  for (Expression& child : expression.children) child = fold(std::move(child), layout);
  if (expression.kind == Kind::logical_and || expression.kind == Kind::logical_or) {
    return fold_junction(std::move(expression), layout);
  }
  if (!expression.children.empty() &&
      std::all_of(expression.children.begin(), expression.children.end(), is_constant)) {
    Expression out = make_constant(expression.full_type(), evaluate(expression, Record{}));
    out.bound = std::any_of(expression.children.begin(), expression.children.end(), is_bound);
    return out;
  }
  if (expression.kind == Kind::quantified) return fold_quantified(std::move(expression), layout);
  if (expression.kind == Kind::comparison && is_constant(expression.children[0])) {
    std::swap(expression.children[0], expression.children[1]);
    expression.op = mirrored(expression.op);
  }
  return expression;
}

void append_canonical(std::string& out, const Expression& expression, const RecordLayout& layout) {
  out += '(';
  out += spelt(expression.kind);
  out += ',';
  const bool array_apart = expression.kind == Kind::parameter || expression.kind == Kind::claim;
  out += spelt(FullType(expression.type, expression.array && !array_apart, expression.labels));
  out += ',';
  switch (expression.kind) {
    case Kind::constant:
      append_field(out, canonical(expression.value));
      // Two numerics of one value differ in what ::text prints and division keeps.
      if (const auto* numeric = std::get_if<Numeric>(&expression.value)) out += std::to_string(numeric->scale());
      if (const auto* jsonb = std::get_if<Jsonb>(&expression.value)) append_field(out, jsonb->text);
      break;
    case Kind::column:
      append_field(out, layout.column(static_cast<std::size_t>(expression.index)).name);
      break;
    case Kind::parameter:
    case Kind::claim:
      append_field(out, expression.name);
      if (expression.array) out += "[]";
      break;
    case Kind::comparison:
    case Kind::arithmetic:
      out += spelt(expression.op);
      break;
    case Kind::quantified:
      out += spelt(expression.op);
      out += expression.any ? "any" : "all";
      break;
    case Kind::null_test:
      out += expression.negated ? "not" : "";
      break;
    case Kind::truth_test:
      out += spelt(expression.truth);
      out += expression.negated ? "not" : "";
      break;
    case Kind::slot:
      out += std::to_string(expression.index);
      break;
    case Kind::call:
      out += expression.function == Function::matches ? std::string_view(expression.name) : name(expression.function);
      break;
    case Kind::list:
    case Kind::conditional:
    case Kind::space_name:
    case Kind::logical_and:
    case Kind::logical_or:
    case Kind::logical_not:
    case Kind::negation:
    case Kind::cast:
      break;
  }
  for (const Expression& child : expression.children) append_canonical(out, child, layout);
  out += ')';
}

}  // namespace viewgate::projection
