#include "projection/group_index.hpp"

#include <algorithm>
#include <utility>

namespace viewgate::projection {
namespace {

std::string slot_name(const Expression& expression, const RecordLayout& layout) {
  std::string out;
  append_canonical(out, expression, layout);
  return out;
}

}  // namespace

void ValueMembers::add(const GroupPtr* group) {
  if (empty()) {
    one_ = group;
    return;
  }
  if (crowd_ == nullptr) {
    crowd_ = std::make_unique<std::set<const GroupPtr*, OrderById>>();
    crowd_->insert(std::exchange(one_, nullptr));
  }
  crowd_->insert(group);
}

void ValueMembers::remove(const GroupPtr* group) {
  if (crowd_ == nullptr) {
    if (one_ == group) one_ = nullptr;
    return;
  }
  crowd_->erase(group);
  if (crowd_->empty()) crowd_.reset();
}

void ValueMembers::append_to(std::vector<const GroupPtr*>& out) const {
  if (one_ != nullptr) out.push_back(one_);
  if (crowd_ != nullptr) out.insert(out.end(), crowd_->begin(), crowd_->end());
}

void CollectionIndex::add(const GroupPtr* group) {
  ++size_;
  auto paths = access_paths((*group)->predicate(), table_->layout);
  if (!paths) {
    residual_.insert(group);
    return;
  }
  for (AccessPath& path : *paths) {
    Slot& slot = slots_[slot_name(path.expression, table_->layout)];
    if (slot.points.empty() && slot.ranges.empty()) slot.expression = std::move(path.expression);
    for (const std::uint64_t value : path.values) slot.points[value].add(group);
    if (path.interval) slot.ranges.add(std::move(*path.interval), group);
  }
}

void CollectionIndex::remove(const GroupPtr* group) {
  --size_;
  const auto paths = access_paths((*group)->predicate(), table_->layout);
  if (!paths) {
    residual_.erase(group);
    return;
  }
  for (const AccessPath& path : *paths) {
    const auto found = slots_.find(slot_name(path.expression, table_->layout));
    if (found == slots_.end()) continue;  // two paths of one expression, and the first emptied it
    Slot& slot = found->second;
    for (const std::uint64_t value : path.values) {
      const auto members = slot.points.find(value);
      if (members == slot.points.end()) continue;
      members->second.remove(group);
      if (members->second.empty()) slot.points.erase(members);
    }
    if (path.interval) slot.ranges.remove(*path.interval, group);
    if (slot.points.empty() && slot.ranges.empty()) slots_.erase(found);
  }
}

void CollectionIndex::candidates(const Record* before, const Record* after, std::vector<const GroupPtr*>& out) const {
  out.insert(out.end(), residual_.begin(), residual_.end());
  const std::size_t start = out.size();
  for (const auto& [name, slot] : slots_) {
    const Value first = before == nullptr ? Value(Null{}) : evaluate(slot.expression, *before);
    const Value second = after == nullptr ? Value(Null{}) : evaluate(slot.expression, *after);
    find(slot, first, out);
    if (!is_null(first) && !is_fault(first) && !is_null(second) && !is_fault(second) && compare(first, second) == 0)
      continue;
    find(slot, second, out);
  }
  if (out.size() - start < 2) return;
  const auto found = out.begin() + static_cast<std::ptrdiff_t>(start);
  std::sort(found, out.end(), OrderById{});
  out.erase(std::unique(found, out.end()), out.end());
}

void CollectionIndex::find(const Slot& slot, const Value& value, std::vector<const GroupPtr*>& out) {
  if (is_null(value) || is_fault(value)) return;
  if (!slot.points.empty()) {
    if (const auto members = slot.points.find(index_key(value)); members != slot.points.end()) {
      members->second.append_to(out);
    }
  }
  slot.ranges.find(value, out);
}

bool GroupIndex::add(const GroupPtr& group) {
  const auto [place, inserted] = groups_.emplace(group->id(), group);
  if (!inserted) return false;
  std::vector<CollectionIndex>& indexes = spaces_[group->space()][group->table().collection];
  const std::shared_ptr<const Table>& table = group->view()->table;
  auto index = std::find_if(indexes.begin(), indexes.end(),
                            [&table](const CollectionIndex& each) { return &each.table() == table.get(); });
  if (index == indexes.end()) index = indexes.emplace(index, table);
  index->add(&place->second);
  return true;
}

GroupPtr GroupIndex::remove(const Digest& id) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return nullptr;
  GroupPtr group = found->second;
  const auto space = spaces_.find(group->space());
  const auto collection = space->second.find(group->table().collection);
  const auto index = std::find_if(collection->second.begin(), collection->second.end(),
                                  [&group](const CollectionIndex& each) { return &each.table() == &group->table(); });
  index->remove(&found->second);
  groups_.erase(found);
  if (index->empty()) collection->second.erase(index);
  if (collection->second.empty()) space->second.erase(collection);
  if (space->second.empty()) spaces_.erase(space);
  return group;
}

const std::vector<CollectionIndex>* GroupIndex::find(std::string_view space, std::string_view collection) const {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return nullptr;
  const auto indexes = found->second.find(collection);
  return indexes == found->second.end() ? nullptr : &indexes->second;
}

}  // namespace viewgate::projection
