// What the group index looks a group up by: conditions one of which a record must meet for the predicate to hold.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "projection/expression.hpp"
#include "projection/range_index.hpp"

namespace viewgate::projection {

/// Expressions with the values that they must have, and one with the interval that it must be in; either may be absent.
struct AccessPath {
  std::vector<Expression> expressions;
  std::vector<std::uint64_t> keys;  ///< joined, of each combination of values; that of none is no_key
  std::optional<Expression> ranged;
  std::optional<Interval> interval;  ///< of `ranged`
};

/// A value's place in the index, and that of several: joined_key(joined_key(a, b), c). Two may share one: what is found there
/// is asked again.
[[nodiscard]] std::uint64_t index_key(const Value& value);
[[nodiscard]] std::uint64_t joined_key(std::uint64_t before, std::uint64_t next);
inline constexpr std::uint64_t no_key = 0;
inline constexpr std::uint64_t null_key = 0x6e756c6c9d3a57b1;

/// The conditions that narrow the predicate most: equalities and IN lists before ranges, values of the caller before
/// those that all groups of the view have, also inside OR where each operand has one; of the caller's, all equalities together
/// and a range beside them, so that it does not matter which of them many groups share. That a column is NULL, true or false is an
/// equality. Empty: no record can meet it.
/// Nothing: it asks about every record. `predicate` is bound and folded.
[[nodiscard]] std::optional<std::vector<AccessPath>> access_paths(const Expression& predicate,
                                                                  const RecordLayout& layout);

}  // namespace viewgate::projection
