// Which groups may a change touch? Groups stand under what a record must have for their predicate to hold: the values of
// equalities and IN lists, in them or alone the interval of a range, or several of these where it is an OR. The others are asked about
// every change of their collection. Owned by one thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "projection/access_path.hpp"
#include "projection/group.hpp"
#include "projection/range_index.hpp"

namespace viewgate::projection {

/// In an order that is the same on every node.
struct OrderById {
  bool operator()(const GroupPtr* a, const GroupPtr* b) const { return (*a)->id() < (*b)->id(); }
};

/// The groups under one key: nearly always one, which then needs no memory of its own; leaving a crowd is quick, too. Where
/// they have intervals, all of them do.
class KeyMembers {
 public:
  void add(const GroupPtr* group, const std::optional<Interval>& interval);
  void remove(const GroupPtr* group, const std::optional<Interval>& interval);
  [[nodiscard]] bool empty() const { return std::holds_alternative<std::monostate>(members_); }
  /// Those whose interval holds the value, or all, where they have none.
  void append_to(std::vector<const GroupPtr*>& out, const Value& ranged) const;

 private:
  using Crowd = std::set<const GroupPtr*, OrderById>;
  std::variant<std::monostate, const GroupPtr*, std::unique_ptr<Crowd>, RangeIndex> members_;
};

/// The groups of one collection in one space, over one definition of its table (while a new model replaces an old one
/// there may be two, and each cuts a record in its own way).
class CollectionIndex {
 public:
  explicit CollectionIndex(std::shared_ptr<const Table> table) : table_(std::move(table)) {}

  [[nodiscard]] const Table& table() const { return *table_; }
  /// `group` stays where it is until it is removed.
  void add(const GroupPtr* group);
  void remove(const GroupPtr* group);
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Groups that are asked about every change.
  [[nodiscard]] std::size_t residual() const { return residual_.size(); }

  /// Appends every group whose predicate may hold for `before` or `after` (null = absent), each once, and few others.
  void candidates(const Record* before, const Record* after, std::vector<const GroupPtr*>& out) const;

 private:
  /// What is indexed together: columns, or what is computed of them, such as aid % 10.
  struct Slot {
    std::vector<Expression> expressions;
    std::optional<Expression> ranged;
    std::unordered_map<std::uint64_t, KeyMembers> members;
  };
  /// Where a record stands in a slot.
  struct Place {
    std::uint64_t key = no_key;
    Value ranged;
  };
  [[nodiscard]] std::string slot_name(const AccessPath& path) const;
  static std::optional<Place> place_of(const Slot& slot, const Record* record);
  static void find(const Slot& slot, const Place& place, std::vector<const GroupPtr*>& out);

  std::shared_ptr<const Table> table_;
  std::map<std::string, Slot> slots_;  ///< by the expressions' canonical bytes
  std::set<const GroupPtr*, OrderById> residual_;
  std::size_t size_ = 0;
};

class GroupIndex {
 public:
  /// False: the group was there already.
  bool add(const GroupPtr& group);
  /// The group that was there; null: no such group.
  GroupPtr remove(const Digest& id);
  [[nodiscard]] bool contains(const Digest& id) const { return groups_.contains(id); }
  [[nodiscard]] std::size_t size() const { return groups_.size(); }

  /// Null: no group looks at this collection of this space. One index for each definition of the table.
  [[nodiscard]] const std::vector<CollectionIndex>* find(std::string_view space, std::string_view collection) const;
  /// False: no group looks at this space.
  [[nodiscard]] bool has_space(std::string_view space) const { return spaces_.find(space) != spaces_.end(); }

 private:
  using Collections = std::map<std::string, std::vector<CollectionIndex>, std::less<>>;
  std::map<std::string, Collections, std::less<>> spaces_;
  std::unordered_map<Digest, GroupPtr, DigestHash> groups_;  ///< whose nodes never move: the indexes point at them
};

}  // namespace viewgate::projection
