#include "projection/arithmetic.hpp"

#include "projection/floats.hpp"
#include "projection/timestamp.hpp"

namespace viewgate::projection {
namespace {

using Op = Expression::Op;

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

FloatOp float_op(Op op) {
  switch (op) {
    case Op::add:
      return FloatOp::add;
    case Op::subtract:
      return FloatOp::subtract;
    case Op::multiply:
      return FloatOp::multiply;
    default:
      return FloatOp::divide;
  }
}

/// date - date, date + days, days + date, date - days.
Value date_arithmetic(Op op, const Value& left, const Value& right) {
  const auto* date = std::get_if<Date>(&left);
  if (date == nullptr) return add_days(std::get<Date>(right), std::get<std::int64_t>(left));
  if (const auto* other = std::get_if<Date>(&right)) return days_between(*date, *other);
  const std::int64_t days = std::get<std::int64_t>(right);
  return add_days(*date, op == Op::subtract ? -days : days);
}

}  // namespace

Value compute(Op op, Type type, const Value& left, const Value& right) {
  if (std::holds_alternative<Date>(left) || std::holds_alternative<Date>(right)) {
    return date_arithmetic(op, left, right);
  }
  if (type == Type::numeric) return numeric_arithmetic(op, std::get<Numeric>(left), std::get<Numeric>(right));
  if (is_float(type)) return float_arithmetic(float_op(op), type, std::get<double>(left), std::get<double>(right));
  return integer_arithmetic(op, type, std::get<std::int64_t>(left), std::get<std::int64_t>(right));
}

Value negate(Type type, const Value& value) {
  if (const auto* numeric = std::get_if<Numeric>(&value)) return numeric->negated();
  if (const auto* real = std::get_if<double>(&value)) return -*real;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return integer_arithmetic(Op::subtract, type, 0, *integer);
  }
  return value;
}

}  // namespace viewgate::projection
