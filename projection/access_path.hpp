// What the group index looks a group up by: conditions one of which a record must meet for the predicate to hold.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "projection/expression.hpp"
#include "projection/range_index.hpp"

namespace viewgate::projection {

/// An expression, and the values or the interval that it must have.
struct AccessPath {
  Expression expression;
  std::vector<std::uint64_t> values;  ///< index_key of each
  std::optional<Interval> interval;   ///< instead of values
};

/// A value's place in the index. Two values may share one: what is found there is asked again.
[[nodiscard]] std::uint64_t index_key(const Value& value);

/// The conditions that narrow the predicate most: equalities and IN lists before ranges, values of the caller before
/// those that all groups of the view have, also inside OR where each operand has one. Empty: no record can meet it.
/// Nothing: it asks about every record. `predicate` is bound and folded.
[[nodiscard]] std::optional<std::vector<AccessPath>> access_paths(const Expression& predicate,
                                                                  const RecordLayout& layout);

}  // namespace viewgate::projection
