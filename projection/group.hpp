// A group: everything that subscriptions with the same space, view version and bound predicate share. It decides
// membership and encodes records and events; each commit is encoded once per group. Immutable but for its counters;
// shared by threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "projection/digest.hpp"
#include "projection/error.hpp"
#include "projection/model.hpp"
#include "projection/shape.hpp"

namespace viewgate::projection {

class Group {
 public:
  /// `predicate` is bound and folded.
  Group(ViewPtr view, std::string space, Expression predicate);

  /// Digest of the canonical bytes of (space, view version, predicate), the same on every node.
  [[nodiscard]] const Digest& id() const { return id_; }
  [[nodiscard]] const ViewPtr& view() const { return view_; }
  [[nodiscard]] const Table& table() const { return *view_->table; }
  [[nodiscard]] const std::string& space() const { return space_; }
  /// Made anew from the shape that all groups of this form share and the values of this one.
  [[nodiscard]] Expression predicate() const { return fill(*shape_, values_); }

  /// The one decision about membership, for snapshot and stream alike: the predicate is true, and every entry of the
  /// select list has a value. Evaluation errors are outside, and counted.
  [[nodiscard]] bool includes(const Record& record) const;

  /// A snapshot row, `to_jsonb(row)::text`: {"key":[…],"record":{…}}, or nothing when the row is outside the view or in
  /// another space.
  [[nodiscard]] Result<std::optional<std::string>> snapshot_record(std::string_view row) const;

  /// The selected columns as a JSON object of raw slices, in the order of the select list; a missing one is null.
  void append_record(std::string& out, const Record& record) const;
  /// Those whose text differs, in the same form. False: none does, and nothing was appended.
  [[nodiscard]] bool append_changed(std::string& out, const Record& before, const Record& after) const;
  /// The conflict groups of these columns as a JSON array, in the order of the model. False: the table declares none.
  [[nodiscard]] bool append_changed_groups(std::string& out, const Record& before, const Record& after) const;
  /// The key as ledger::Change::key has it.
  [[nodiscard]] std::string key_of(const Record& record) const;

  /// Evaluations that ended in an error (division by zero, overflow, bad cast), since the group was made.
  [[nodiscard]] std::uint64_t evaluation_errors() const { return evaluation_errors_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool in_space(const Record& record) const;
  [[nodiscard]] bool computes(const Record& record) const;

  // There may be a million of these: what they share is shared.
  const ViewPtr view_;
  const std::string space_;
  std::shared_ptr<const Expression> shape_;
  std::vector<Value> values_;
  Digest id_;
  mutable std::atomic<std::uint64_t> evaluation_errors_{0};
};
using GroupPtr = std::shared_ptr<const Group>;

}  // namespace viewgate::projection
