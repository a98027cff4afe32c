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

void CollectionIndex::add(const GroupPtr* group) {
  ++size_;
  auto paths = access_paths((*group)->predicate(), table_->layout);
  if (!paths) {
    residual_.push_back(group);
    return;
  }
  for (AccessPath& path : *paths) {
    Slot& slot = slots_[slot_name(path.expression, table_->layout)];
    if (slot.points.empty() && slot.ranges.empty()) slot.expression = std::move(path.expression);
    for (const std::uint64_t value : path.values) slot.points.emplace(value, group);
    if (path.interval) slot.ranges.add(std::move(*path.interval), group);
  }
}

void CollectionIndex::remove(const GroupPtr* group) {
  --size_;
  const auto paths = access_paths((*group)->predicate(), table_->layout);
  if (!paths) {
    std::erase(residual_, group);
    return;
  }
  for (const AccessPath& path : *paths) {
    const auto found = slots_.find(slot_name(path.expression, table_->layout));
    if (found == slots_.end()) continue;  // two paths of one expression, and the first emptied it
    Slot& slot = found->second;
    for (const std::uint64_t value : path.values) {
      const auto [begin, end] = slot.points.equal_range(value);
      const auto entry = std::find_if(begin, end, [group](const auto& each) { return each.second == group; });
      if (entry != end) slot.points.erase(entry);
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
  // In an order that is the same on every node.
  const auto found = out.begin() + static_cast<std::ptrdiff_t>(start);
  std::sort(found, out.end(), [](const GroupPtr* a, const GroupPtr* b) { return (*a)->id() < (*b)->id(); });
  out.erase(std::unique(found, out.end()), out.end());
}

void CollectionIndex::find(const Slot& slot, const Value& value, std::vector<const GroupPtr*>& out) {
  if (is_null(value) || is_fault(value)) return;
  if (!slot.points.empty()) {
    const auto [begin, end] = slot.points.equal_range(index_key(value));
    for (auto entry = begin; entry != end; ++entry) out.push_back(entry->second);
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
