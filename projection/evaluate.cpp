// The one evaluator. Strict operators: an error of an operand is the result, else NULL of an operand is (PostgreSQL
// computes every operand before it calls the operator, so an error beats NULL there too).
#include <limits>

#include "projection/expression.hpp"

namespace viewgate::projection {
namespace {

using Op = Expression::Op;
using Kind = Expression::Kind;

Truth to_truth(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? Truth::yes : Truth::no;
  return is_fault(value) ? Truth::error : Truth::unknown;
}

/// An operand: columns and constants are referred to, not copied; the rest is computed into `scratch`.
const Value& operand(const Expression& expression, const Record& record, Value& scratch) {
  if (expression.kind == Kind::constant) return expression.value;
  if (expression.kind == Kind::column) return record.value(static_cast<std::size_t>(expression.index));
  scratch = evaluate(expression, record);
  return scratch;
}

bool holds(Op op, std::strong_ordering order) {
  switch (op) {
    case Op::eq:
    case Op::not_distinct:
      return order == 0;
    case Op::ne:
    case Op::distinct:
      return order != 0;
    case Op::lt:
      return order < 0;
    case Op::le:
      return order <= 0;
    case Op::gt:
      return order > 0;
    case Op::ge:
      return order >= 0;
    default:
      return false;
  }
}

Truth compare_values(Op op, const Value& a, const Value& b) {
  if (is_fault(a) || is_fault(b)) return Truth::error;
  if (is_null(a) || is_null(b)) {
    if (op == Op::distinct) return is_null(a) != is_null(b) ? Truth::yes : Truth::no;
    if (op == Op::not_distinct) return is_null(a) == is_null(b) ? Truth::yes : Truth::no;
    return Truth::unknown;
  }
  return holds(op, compare(a, b)) ? Truth::yes : Truth::no;
}

Truth evaluate_quantified(const Expression& expression, const Record& record) {
  Value left_scratch;
  const Value& left = operand(expression.children[0], record, left_scratch);
  if (is_fault(left)) return Truth::error;
  Truth out = expression.any ? Truth::no : Truth::yes;
  const Truth decided = truth_not(out);
  for (std::size_t i = 1; i < expression.children.size(); ++i) {
    Value scratch;
    const Truth each = compare_values(expression.op, left, operand(expression.children[i], record, scratch));
    out = expression.any ? truth_or(out, each) : truth_and(out, each);
    if (out == decided) break;
  }
  return out;
}

Value integer_arithmetic(Op op, Type type, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  bool overflow = false;
  switch (op) {
    case Op::add:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case Op::subtract:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case Op::multiply:
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    case Op::divide:
    case Op::modulo:
      if (b == 0) return Fault::division_by_zero;
      if (b == -1) {  // the one quotient that overflows; the remainder is 0 by definition
        if (op == Op::divide) overflow = __builtin_sub_overflow(std::int64_t{0}, a, &out);
      } else {
        out = op == Op::divide ? a / b : a % b;
      }
      break;
    default:
      return Fault::malformed_value;
  }
  if (overflow || !in_range(type, out)) return Fault::out_of_range;
  return out;
}

Value to_value(Numeric::Outcome outcome) {
  if (auto* numeric = std::get_if<Numeric>(&outcome)) return std::move(*numeric);
  return std::get<Numeric::Fault>(outcome) == Numeric::Fault::division_by_zero ? Fault::division_by_zero
                                                                               : Fault::out_of_range;
}

Value numeric_arithmetic(Op op, const Numeric& a, const Numeric& b) {
  switch (op) {
    case Op::add:
      return to_value(Numeric::add(a, b));
    case Op::subtract:
      return to_value(Numeric::subtract(a, b));
    case Op::multiply:
      return to_value(Numeric::multiply(a, b));
    case Op::divide:
      return to_value(Numeric::divide(a, b));
    case Op::modulo:
      return to_value(Numeric::remainder(a, b));
    default:
      return Fault::malformed_value;
  }
}

Value evaluate_arithmetic(const Expression& expression, const Record& record) {
  Value left_scratch;
  Value right_scratch;
  const Value& left = operand(expression.children[0], record, left_scratch);
  const Value& right = operand(expression.children[1], record, right_scratch);
  if (is_fault(left)) return left;
  if (is_fault(right)) return right;
  if (is_null(left) || is_null(right)) return Null{};
  if (expression.type == Type::numeric) {
    return numeric_arithmetic(expression.op, std::get<Numeric>(left), std::get<Numeric>(right));
  }
  return integer_arithmetic(expression.op, expression.type, std::get<std::int64_t>(left),
                            std::get<std::int64_t>(right));
}

Value negate(Type type, const Value& value) {
  if (const auto* numeric = std::get_if<Numeric>(&value)) return numeric->negated();
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return integer_arithmetic(Op::subtract, type, 0, *integer);
  }
  return value;
}

Value evaluate_null_test(const Expression& expression, const Record& record) {
  Value scratch;
  const Value& value = operand(expression.children[0], record, scratch);
  if (is_fault(value)) return value;
  return is_null(value) != expression.negated;
}

Truth evaluate_truth_test(const Expression& expression, const Record& record) {
  const Truth value = evaluate_truth(expression.children[0], record);
  if (value == Truth::error) return value;
  return (value == expression.truth) != expression.negated ? Truth::yes : Truth::no;
}

}  // namespace

Truth truth_and(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  if (a == Truth::error || b == Truth::error) return Truth::error;
  if (a == Truth::unknown || b == Truth::unknown) return Truth::unknown;
  return Truth::yes;
}

Truth truth_or(Truth a, Truth b) { return truth_not(truth_and(truth_not(a), truth_not(b))); }

Truth truth_not(Truth a) {
  if (a == Truth::no) return Truth::yes;
  if (a == Truth::yes) return Truth::no;
  return a;
}

Value cast_value(const Value& value, Type from, Type to) {
  if (is_null(value) || is_fault(value)) return value;
  if (to == Type::text) return from == Type::text ? value : Value(print_text(value));
  if (from == Type::text) return parse_text(to, std::get<std::string>(value));
  if (const auto* boolean = std::get_if<bool>(&value)) {
    return to == Type::boolean ? value : Value(std::int64_t{*boolean ? 1 : 0});
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (to == Type::boolean) return *integer != 0;
    if (to == Type::numeric) return Numeric(*integer);
    if (!in_range(to, *integer)) return Fault::out_of_range;
    return value;
  }
  if (const auto* numeric = std::get_if<Numeric>(&value); numeric != nullptr && is_integer(to)) {
    const auto integer = numeric->to_int8();
    if (!integer || !in_range(to, *integer)) return Fault::out_of_range;
    return *integer;
  }
  return value;
}

Truth evaluate_truth(const Expression& expression, const Record& record) {
  switch (expression.kind) {
    case Kind::logical_and: {
      Truth out = Truth::yes;
      for (const Expression& child : expression.children) {
        out = truth_and(out, evaluate_truth(child, record));
        if (out == Truth::no) break;
      }
      return out;
    }
    case Kind::logical_or: {
      Truth out = Truth::no;
      for (const Expression& child : expression.children) {
        out = truth_or(out, evaluate_truth(child, record));
        if (out == Truth::yes) break;
      }
      return out;
    }
    case Kind::logical_not:
      return truth_not(evaluate_truth(expression.children[0], record));
    case Kind::comparison: {
      Value left_scratch;
      Value right_scratch;
      return compare_values(expression.op, operand(expression.children[0], record, left_scratch),
                            operand(expression.children[1], record, right_scratch));
    }
    case Kind::quantified:
      return evaluate_quantified(expression, record);
    case Kind::truth_test:
      return evaluate_truth_test(expression, record);
    default: {
      Value scratch;
      return to_truth(operand(expression, record, scratch));
    }
  }
}

Value evaluate(const Expression& expression, const Record& record) {
  switch (expression.kind) {
    case Kind::constant:
      return expression.value;
    case Kind::column:
      return record.value(static_cast<std::size_t>(expression.index));
    case Kind::arithmetic:
      return evaluate_arithmetic(expression, record);
    case Kind::null_test:
      return evaluate_null_test(expression, record);
    case Kind::negation: {
      Value scratch;
      return negate(expression.type, operand(expression.children[0], record, scratch));
    }
    case Kind::cast: {
      Value scratch;
      const Expression& from = expression.children[0];
      return cast_value(operand(from, record, scratch), from.type, expression.type);
    }
    case Kind::parameter:
    case Kind::claim:
    case Kind::space_name:
      return Fault::malformed_value;  // only bound expressions are evaluated
    default:
      break;
  }
  switch (evaluate_truth(expression, record)) {
    case Truth::no:
      return false;
    case Truth::yes:
      return true;
    case Truth::unknown:
      return Null{};
    case Truth::error:
      break;
  }
  return Fault::condition;
}

}  // namespace viewgate::projection
