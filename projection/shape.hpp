// A million groups of one view differ in a few values. What they have in common, their shape, is one tree that they
// share; each group keeps only the values that came from its caller or its subscription.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "projection/expression.hpp"

namespace viewgate::projection {

struct Shaped {
  std::shared_ptr<const Expression> shape;  ///< with slots where `values` go
  std::vector<Value> values;
};

/// The shapes of one view that groups have now. Safe from any thread.
class ShapeTable {
 public:
  /// `predicate` is bound and folded: its bound constants become slots.
  [[nodiscard]] Shaped split(Expression predicate, const RecordLayout& layout);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Expression>> shapes_;  ///< by canonical bytes
  std::size_t sweep_at_ = 64;                                                ///< look for dead ones at that size
};

/// The predicate again.
[[nodiscard]] Expression fill(const Expression& shape, std::span<const Value> values);

}  // namespace viewgate::projection
