// A typed expression: what the model parser makes of a WHERE or USING clause, and what binding makes of that. All
// implicit casts are explicit here, so evaluating and printing never choose a type. Immutable once built; shared
// between threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "projection/record.hpp"
#include "projection/type.hpp"
#include "projection/value.hpp"

namespace viewgate::projection {

/// Three-valued logic and the fourth value: AND with false is false, OR with true is true, else an error stays an
/// error, and a record whose predicate is an error is outside.
enum class Truth : std::uint8_t { no, yes, unknown, error };

[[nodiscard]] Truth truth_and(Truth a, Truth b);
[[nodiscard]] Truth truth_or(Truth a, Truth b);
[[nodiscard]] Truth truth_not(Truth a);

/// One node. Which members mean something depends on `kind`; children are the operands in order.
struct Expression {
  enum class Kind : std::uint8_t {
    constant,    ///< value
    column,      ///< index: of the table's columns
    parameter,   ///< name; array where `array`
    claim,       ///< name; array where `array`
    space_name,  ///< the subscription's space
    logical_and,
    logical_or,
    logical_not,
    comparison,  ///< op, two children of one comparable type
    quantified,  ///< op, children[0] against each of the others (ANY where `any`, else ALL); IN is = ANY
    arithmetic,  ///< op, two children of `type`
    negation,    ///< unary minus
    cast,        ///< from children[0].type to type
    null_test,   ///< IS NULL; IS NOT NULL where `negated`
    truth_test   ///< IS TRUE, FALSE, UNKNOWN by `truth`; IS NOT … where `negated`
  };
  enum class Op : std::uint8_t {
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    distinct,
    not_distinct,
    add,
    subtract,
    multiply,
    divide,
    modulo
  };

  Kind kind = Kind::constant;
  Type type = Type::boolean;
  Op op = Op::eq;
  bool any = false;
  bool array = false;
  bool negated = false;
  Truth truth = Truth::yes;
  int index = -1;
  int location = -1;  ///< byte offset in the model's text, for messages; not part of its identity
  Value value;
  std::string name;
  std::vector<Expression> children;
};

/// Evaluates a bound expression (no parameter, claim or space_name in it).
[[nodiscard]] Value evaluate(const Expression& expression, const Record& record);
[[nodiscard]] Truth evaluate_truth(const Expression& expression, const Record& record);

/// Canonical bytes: equal exactly for equal trees, the same on every node and in every build. Columns stand by name.
void append_canonical(std::string& out, const Expression& expression, const RecordLayout& layout);

/// Constant subtrees become their value, AND and OR lose what cannot matter, lists are sorted: expressions that bind to
/// the same question become the same tree. For bound expressions.
[[nodiscard]] Expression fold(Expression expression, const RecordLayout& layout);

/// As an explicit cast does it; `value` is of type `from`, and the model parser has checked that there is such a cast.
[[nodiscard]] Value cast_value(const Value& value, Type from, Type to);

[[nodiscard]] Expression make_constant(Type type, Value value);

}  // namespace viewgate::projection
