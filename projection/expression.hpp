// A typed expression: what the model parser makes of a WHERE or USING clause or of an entry of a select list, and what
// binding makes of that. All implicit casts are explicit here, so evaluating and printing never choose a type. Immutable
// once built; shared between threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "projection/function.hpp"
#include "projection/record.hpp"
#include "projection/regex.hpp"
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
    slot,        ///< index: of the values that a group brings (shape.hpp)
    column,      ///< index: of the table's columns
    parameter,   ///< name; array where `array`
    claim,       ///< name; array where `array`
    space_name,  ///< the subscription's space
    logical_and,
    logical_or,
    logical_not,
    comparison,  ///< op, two children of one comparable type
    quantified,  ///< op, children[0] against the elements of the others (ANY where `any`, else ALL); IN is = ANY
    arithmetic,  ///< op, two children of `type`; or dates and days
    negation,    ///< unary minus
    cast,        ///< from children[0].type to type
    null_test,   ///< IS NULL; IS NOT NULL where `negated`
    truth_test,  ///< IS TRUE, FALSE, UNKNOWN by `truth`; IS NOT … where `negated`
    call,        ///< function
    list,        ///< array[…] of its children
    conditional  ///< CASE: condition, result, condition, result, …, otherwise
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
  Function function = Function::lower;
  bool any = false;
  bool array = false;
  bool negated = false;
  /// A constant that came from the caller or the subscription: groups of one view differ in these. No part of identity.
  bool bound = false;
  Truth truth = Truth::yes;
  int index = -1;
  int location = -1;  ///< byte offset in the model's text, for messages; not part of its identity
  Value value;
  std::string name;
  EnumTypePtr labels;  ///< of enumeration
  RegexPtr regex;      ///< of a call of `matches`
  std::vector<Expression> children;

  [[nodiscard]] FullType full_type() const { return {type, array, labels}; }
  void set_type(const FullType& full) {
    type = full.type;
    array = full.array;
    labels = full.labels;
  }
};

/// Evaluates a bound expression (no parameter, claim or space_name in it). `slots` are the values that its slots stand
/// for.
[[nodiscard]] Value evaluate(const Expression& expression, const Record& record, std::span<const Value> slots = {});
[[nodiscard]] Truth evaluate_truth(const Expression& expression, const Record& record,
                                   std::span<const Value> slots = {});

/// Canonical bytes: equal exactly for equal trees, the same on every node and in every build. Columns stand by name.
void append_canonical(std::string& out, const Expression& expression, const RecordLayout& layout);

/// Constant subtrees become their value, AND and OR lose what cannot matter, lists are sorted: expressions that bind to
/// the same question become the same tree. For bound expressions.
[[nodiscard]] Expression fold(Expression expression, const RecordLayout& layout);

/// As an explicit cast does it; the model parser has checked that there is such a cast. Elements of arrays one by one.
[[nodiscard]] Value cast_value(const Value& value, Type from, const FullType& to);

[[nodiscard]] Expression make_constant(const FullType& type, Value value);

/// Adds the columns that it reads and that are not there yet, in the order in which it names them.
void collect_columns(const Expression& expression, std::vector<std::size_t>& out);

/// Whether the condition holds for one comparison of values, NULL and errors included.
[[nodiscard]] Truth compare_values(Expression::Op op, const Value& a, const Value& b);

}  // namespace viewgate::projection
