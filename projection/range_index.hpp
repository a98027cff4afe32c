// Which of many intervals hold a value? A balanced tree ordered by the lower bounds, each node of which knows how far the
// intervals below it reach: finding k of n costs about k + log n. Owned by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "projection/group.hpp"
#include "projection/value.hpp"

namespace viewgate::projection {

/// A bound that is absent is infinite.
struct Interval {
  struct Bound {
    Value value;
    bool open = false;  ///< the value itself is outside
  };
  std::optional<Bound> low;
  std::optional<Bound> high;
};

/// What both leave over.
[[nodiscard]] Interval intersection(Interval a, Interval b);

class RangeIndex {
 public:
  RangeIndex();
  ~RangeIndex();
  RangeIndex(RangeIndex&&) noexcept;
  RangeIndex& operator=(RangeIndex&&) noexcept;

  /// `group` is the index's own handle, which stays where it is.
  void add(Interval interval, const GroupPtr* group);
  void remove(const Interval& interval, const GroupPtr* group);
  [[nodiscard]] bool empty() const { return root_ == nullptr; }

  /// Appends the groups whose interval holds the value, which is neither NULL nor an error.
  void find(const Value& value, std::vector<const GroupPtr*>& out) const;

 private:
  struct Node;
  using Link = std::unique_ptr<Node>;
  static void insert(Link& at, Link fresh);
  static void erase(Link& at, const Node& like);
  static void split(Link whole, const Node& at, Link& before, Link& after);
  static Link merge(Link before, Link after);
  static void find(const Node* node, const Value& value, std::vector<const GroupPtr*>& out);

  Link root_;
};

}  // namespace viewgate::projection
