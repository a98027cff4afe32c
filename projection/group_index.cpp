#include "projection/group_index.hpp"

#include <algorithm>
#include <utility>

namespace viewgate::projection {

void KeyMembers::add(const GroupPtr* group, const std::optional<Interval>& interval) {
  if (interval) {
    if (empty()) members_.emplace<RangeIndex>();
    std::get<RangeIndex>(members_).add(*interval, group);
    return;
  }
  if (empty()) {
    members_ = group;
    return;
  }
  if (const auto* one = std::get_if<const GroupPtr*>(&members_)) {
    auto crowd = std::make_unique<Crowd>();
    crowd->insert(*one);
    members_ = std::move(crowd);
  }
  std::get<std::unique_ptr<Crowd>>(members_)->insert(group);
}

void KeyMembers::remove(const GroupPtr* group, const std::optional<Interval>& interval) {
  bool is_empty = false;
  if (interval) {
    auto& ranges = std::get<RangeIndex>(members_);
    ranges.remove(*interval, group);
    is_empty = ranges.empty();
  } else if (const auto* one = std::get_if<const GroupPtr*>(&members_)) {
    is_empty = *one == group;
  } else {
    auto& crowd = *std::get<std::unique_ptr<Crowd>>(members_);
    crowd.erase(group);
    is_empty = crowd.empty();
  }
  if (is_empty) members_.emplace<std::monostate>();
}

void KeyMembers::append_to(std::vector<const GroupPtr*>& out, const Value& ranged) const {
  if (const auto* one = std::get_if<const GroupPtr*>(&members_)) {
    out.push_back(*one);
  } else if (const auto* crowd = std::get_if<std::unique_ptr<Crowd>>(&members_)) {
    out.insert(out.end(), (*crowd)->begin(), (*crowd)->end());
  } else {
    std::get<RangeIndex>(members_).find(ranged, out);
  }
}

/// Of expressions with values and one with an interval: their bytes, each with its length behind it.
std::string CollectionIndex::slot_name(const AccessPath& path) const {
  std::string out;
  const auto add = [&](const Expression& expression) {
    const std::size_t before = out.size();
    append_canonical(out, expression, table_->layout);
    out += std::to_string(out.size() - before);
  };
  for (const Expression& each : path.expressions) add(each);
  if (path.ranged) {
    out += '<';
    add(*path.ranged);
  }
  return out;
}

void CollectionIndex::add(const GroupPtr* group) {
  ++size_;
  auto paths = access_paths((*group)->predicate(), table_->layout);
  if (!paths) {
    residual_.insert(group);
    return;
  }
  for (AccessPath& path : *paths) {
    Slot& slot = slots_[slot_name(path)];
    for (const std::uint64_t key : path.keys) slot.members[key].add(group, path.interval);
    slot.expressions = std::move(path.expressions);
    slot.ranged = std::move(path.ranged);
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
    const auto found = slots_.find(slot_name(path));
    if (found == slots_.end()) continue;  // two paths of one expression, and the first emptied it
    Slot& slot = found->second;
    for (const std::uint64_t key : path.keys) {
      const auto members = slot.members.find(key);
      if (members == slot.members.end()) continue;
      members->second.remove(group, path.interval);
      if (members->second.empty()) slot.members.erase(members);
    }
    if (slot.members.empty()) slots_.erase(found);
  }
}

void CollectionIndex::candidates(const Record* before, const Record* after, std::vector<const GroupPtr*>& out) const {
  out.insert(out.end(), residual_.begin(), residual_.end());
  const std::size_t start = out.size();
  for (const auto& [name, slot] : slots_) {
    const auto first = place_of(slot, before), second = place_of(slot, after);
    if (first) find(slot, *first, out);
    const bool is_same =
        first && second && first->key == second->key && (!slot.ranged || compare(first->ranged, second->ranged) == 0);
    if (second && !is_same) find(slot, *second, out);
  }
  if (out.size() - start < 2) return;
  const auto found = out.begin() + static_cast<std::ptrdiff_t>(start);
  std::sort(found, out.end(), OrderById{});
  out.erase(std::unique(found, out.end()), out.end());
}

/// Nothing: no group can stand there, since errors meet no equality, and neither they nor NULL are in an interval.
std::optional<CollectionIndex::Place> CollectionIndex::place_of(const Slot& slot, const Record* record) {
  if (record == nullptr) return std::nullopt;
  Place out;
  for (std::size_t i = 0; i < slot.expressions.size(); ++i) {
    const Value value = evaluate(slot.expressions[i], *record);
    if (is_fault(value)) return std::nullopt;
    const std::uint64_t key = is_null(value) ? null_key : index_key(value);
    out.key = i == 0 ? key : joined_key(out.key, key);
  }
  if (!slot.ranged) return out;
  out.ranged = evaluate(*slot.ranged, *record);
  if (is_null(out.ranged) || is_fault(out.ranged)) return std::nullopt;
  return out;
}

void CollectionIndex::find(const Slot& slot, const Place& place, std::vector<const GroupPtr*>& out) {
  const auto members = slot.members.find(place.key);
  if (members != slot.members.end()) members->second.append_to(out, place.ranged);
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
