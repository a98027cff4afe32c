// + - * / % and unary minus: exact, and an error where PostgreSQL raises.
#pragma once

#include "projection/expression.hpp"

namespace viewgate::projection {

/// Of operands that are neither NULL nor errors: two of `type`, or dates and days.
[[nodiscard]] Value compute(Expression::Op op, Type type, const Value& left, const Value& right);

/// Unary minus; NULL and errors stay what they are.
[[nodiscard]] Value negate(Type type, const Value& value);

}  // namespace viewgate::projection
