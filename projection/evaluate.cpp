// The one evaluator. Strict operators: an error of an operand is the result, else NULL of an operand is (PostgreSQL
// computes every operand before it calls the operator, so an error beats NULL there too).
#include <algorithm>
#include <array>

#include "projection/arithmetic.hpp"
#include "projection/expression.hpp"

namespace viewgate::projection {
namespace {

using Op = Expression::Op;
using Kind = Expression::Kind;

Truth to_truth(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? Truth::yes : Truth::no;
  return is_fault(value) ? Truth::error : Truth::unknown;
}

/// What one evaluation looks at.
struct Input {
  const Record& record;
  std::span<const Value> slots;
};

Value value_of(const Expression& expression, const Input& input);
Truth truth_of(const Expression& expression, const Input& input);

/// An operand: columns, constants and slots are referred to, not copied; the rest is computed into `scratch`.
const Value& operand(const Expression& expression, const Input& input, Value& scratch) {
  if (expression.kind == Kind::constant) return expression.value;
  if (expression.kind == Kind::column) return input.record.value(static_cast<std::size_t>(expression.index));
  if (expression.kind == Kind::slot) return input.slots[static_cast<std::size_t>(expression.index)];
  scratch = value_of(expression, input);
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

/// ANY and ALL over values that come one by one; `decided` ends them.
class Quantifier {
 public:
  explicit Quantifier(bool any) : any_(any), truth_(any ? Truth::no : Truth::yes), decided_(truth_not(truth_)) {}

  /// False: the rest does not matter.
  bool take(Truth each) {
    truth_ = any_ ? truth_or(truth_, each) : truth_and(truth_, each);
    return truth_ != decided_;
  }
  [[nodiscard]] Truth truth() const { return truth_; }

 private:
  bool any_;
  Truth truth_;
  Truth decided_;
};

/// Constant lists are sorted by `fold`, so that a long IN list costs a binary search.
constexpr std::size_t searched_list_min = 16;

bool takes_search(const Expression& expression, const Array& array) {
  return array.sorted && array.elements.size() >= searched_list_min &&
         ((expression.any && expression.op == Op::eq) || (!expression.any && expression.op == Op::ne));
}

Truth search(const Expression& expression, const Value& left, const std::vector<Value>& elements) {
  const auto sorts_before = [](const Value& element, const Value& wanted) {
    return !is_null(element) && !is_fault(element) && compare(element, wanted) < 0;
  };
  // Errors and NULLs stand at the end.
  std::size_t sound = elements.size();
  while (sound > 0 && (is_null(elements[sound - 1]) || is_fault(elements[sound - 1]))) --sound;
  const auto end = elements.begin() + static_cast<std::ptrdiff_t>(sound);
  const auto found = std::lower_bound(elements.begin(), end, left, sorts_before);
  Quantifier out(expression.any);
  if (found != end && compare(*found, left) == 0) {
    out.take(expression.any ? Truth::yes : Truth::no);
    return out.truth();
  }
  for (std::size_t i = sound; i < elements.size(); ++i) out.take(is_fault(elements[i]) ? Truth::error : Truth::unknown);
  return out.truth();
}

Truth evaluate_quantified(const Expression& expression, const Input& input) {
  Value left_scratch;
  const Value& left = operand(expression.children[0], input, left_scratch);
  if (is_fault(left)) return Truth::error;
  Quantifier out(expression.any);
  for (std::size_t i = 1; i < expression.children.size(); ++i) {
    Value scratch;
    const Value& right = operand(expression.children[i], input, scratch);
    const auto* array = std::get_if<ArrayPtr>(&right);
    if (array == nullptr) {
      if (!out.take(compare_values(expression.op, left, right))) break;
      continue;
    }
    const std::vector<Value>& elements = (*array)->elements;
    if (!is_null(left) && takes_search(expression, **array)) {
      if (!out.take(search(expression, left, elements))) break;
      continue;
    }
    bool goes_on = true;
    for (std::size_t each = 0; each < elements.size() && goes_on; ++each) {
      goes_on = out.take(compare_values(expression.op, left, elements[each]));
    }
    if (!goes_on) break;
  }
  return out.truth();
}

Value evaluate_arithmetic(const Expression& expression, const Input& input) {
  Value left_scratch;
  Value right_scratch;
  const Value& left = operand(expression.children[0], input, left_scratch);
  const Value& right = operand(expression.children[1], input, right_scratch);
  if (is_fault(left)) return left;
  if (is_fault(right)) return right;
  if (is_null(left) || is_null(right)) return Null{};
  return compute(expression.op, expression.type, left, right);
}

Value evaluate_null_test(const Expression& expression, const Input& input) {
  Value scratch;
  const Value& value = operand(expression.children[0], input, scratch);
  if (is_fault(value)) return value;
  return is_null(value) != expression.negated;
}

Truth evaluate_truth_test(const Expression& expression, const Input& input) {
  const Truth value = truth_of(expression.children[0], input);
  if (value == Truth::error) return value;
  return (value == expression.truth) != expression.negated ? Truth::yes : Truth::no;
}

Value evaluate_coalesce(const Expression& expression, const Input& input) {
  for (const Expression& child : expression.children) {
    Value scratch;
    const Value& value = operand(child, input, scratch);
    if (!is_null(value)) return value;
  }
  return Null{};
}

Value evaluate_nullif(const Expression& expression, const Input& input) {
  Value left_scratch;
  Value right_scratch;
  const Value& left = operand(expression.children[0], input, left_scratch);
  const Value& right = operand(expression.children[1], input, right_scratch);
  const Truth equal = compare_values(Op::eq, left, right);
  if (equal == Truth::error) return is_fault(left) ? left : right;
  return equal == Truth::yes ? Value(Null{}) : left;
}

/// GREATEST and LEAST pass over NULLs.
Value evaluate_extreme(const Expression& expression, const Input& input) {
  Value out = Null{};
  for (const Expression& child : expression.children) {
    Value scratch;
    const Value& value = operand(child, input, scratch);
    if (is_fault(value)) return value;
    if (is_null(value)) continue;
    const bool better =
        is_null(out) || (expression.function == Function::greatest ? compare(value, out) > 0 : compare(value, out) < 0);
    if (better) out = value;
  }
  return out;
}

constexpr std::size_t arguments_max = 3;

Value evaluate_strict(const Expression& expression, const Input& input) {
  std::array<Value, arguments_max> scratch;
  std::array<const Value*, arguments_max> arguments{};
  const std::size_t count = expression.children.size();
  bool null = false;
  for (std::size_t i = 0; i < count; ++i) {
    arguments[i] = &operand(expression.children[i], input, scratch[i]);
    if (is_fault(*arguments[i])) return *arguments[i];
    null = null || is_null(*arguments[i]);
  }
  if (null) return Null{};
  if (expression.function == Function::matches) return expression.regex->matches(std::get<std::string>(*arguments[0]));
  return call(expression.function, expression.type, std::span(arguments.data(), count));
}

Value evaluate_call(const Expression& expression, const Input& input) {
  switch (expression.function) {
    case Function::coalesce:
      return evaluate_coalesce(expression, input);
    case Function::nullif:
      return evaluate_nullif(expression, input);
    case Function::greatest:
    case Function::least:
      return evaluate_extreme(expression, input);
    default:
      return evaluate_strict(expression, input);
  }
}

Value evaluate_list(const Expression& expression, const Input& input) {
  auto out = std::make_shared<Array>();
  for (const Expression& child : expression.children) {
    Value scratch;
    const Value& element = operand(child, input, scratch);
    if (is_fault(element)) return element;
    out->elements.push_back(element);
  }
  return ArrayPtr(std::move(out));
}

Value evaluate_conditional(const Expression& expression, const Input& input) {
  for (std::size_t i = 0; i + 1 < expression.children.size(); i += 2) {
    const Truth condition = truth_of(expression.children[i], input);
    if (condition == Truth::error) return Fault::condition;
    if (condition == Truth::yes) return value_of(expression.children[i + 1], input);
  }
  return value_of(expression.children.back(), input);
}

Truth truth_of(const Expression& expression, const Input& input) {
  switch (expression.kind) {
    case Kind::logical_and: {
      Truth out = Truth::yes;
      for (const Expression& child : expression.children) {
        out = truth_and(out, truth_of(child, input));
        if (out == Truth::no) break;
      }
      return out;
    }
    case Kind::logical_or: {
      Truth out = Truth::no;
      for (const Expression& child : expression.children) {
        out = truth_or(out, truth_of(child, input));
        if (out == Truth::yes) break;
      }
      return out;
    }
    case Kind::logical_not:
      return truth_not(truth_of(expression.children[0], input));
    case Kind::comparison: {
      Value left_scratch;
      Value right_scratch;
      return compare_values(expression.op, operand(expression.children[0], input, left_scratch),
                            operand(expression.children[1], input, right_scratch));
    }
    case Kind::quantified:
      return evaluate_quantified(expression, input);
    case Kind::truth_test:
      return evaluate_truth_test(expression, input);
    default: {
      Value scratch;
      return to_truth(operand(expression, input, scratch));
    }
  }
}

Value value_of(const Expression& expression, const Input& input) {
  switch (expression.kind) {
    case Kind::constant:
      return expression.value;
    case Kind::column:
      return input.record.value(static_cast<std::size_t>(expression.index));
    case Kind::slot:
      return input.slots[static_cast<std::size_t>(expression.index)];
    case Kind::arithmetic:
      return evaluate_arithmetic(expression, input);
    case Kind::null_test:
      return evaluate_null_test(expression, input);
    case Kind::negation: {
      Value scratch;
      return negate(expression.type, operand(expression.children[0], input, scratch));
    }
    case Kind::cast: {
      Value scratch;
      const Expression& from = expression.children[0];
      return cast_value(operand(from, input, scratch), from.type, expression.full_type());
    }
    case Kind::call:
      return evaluate_call(expression, input);
    case Kind::list:
      return evaluate_list(expression, input);
    case Kind::conditional:
      return evaluate_conditional(expression, input);
    case Kind::parameter:
    case Kind::claim:
    case Kind::space_name:
      return Fault::malformed_value;  // only bound expressions are evaluated
    default:
      break;
  }
  switch (truth_of(expression, input)) {
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

Truth compare_values(Op op, const Value& a, const Value& b) {
  if (is_fault(a) || is_fault(b)) return Truth::error;
  if (is_null(a) || is_null(b)) {
    if (op == Op::distinct) return is_null(a) != is_null(b) ? Truth::yes : Truth::no;
    if (op == Op::not_distinct) return is_null(a) == is_null(b) ? Truth::yes : Truth::no;
    return Truth::unknown;
  }
  return holds(op, compare(a, b)) ? Truth::yes : Truth::no;
}

Value evaluate(const Expression& expression, const Record& record, std::span<const Value> slots) {
  return value_of(expression, Input{record, slots});
}

Truth evaluate_truth(const Expression& expression, const Record& record, std::span<const Value> slots) {
  return truth_of(expression, Input{record, slots});
}

}  // namespace viewgate::projection
