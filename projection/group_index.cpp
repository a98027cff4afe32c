#include "projection/group_index.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;
using Op = Expression::Op;

/// An expression and the values that it must have for the predicate to hold.
struct Condition {
  const Expression* expression = nullptr;
  std::vector<std::string> values;
};

/// `x = constant` or `x IN (constants)`; fold has put constants on the right. NULL among them can make nothing true.
std::optional<Condition> equality(const Expression& expression) {
  const bool compared = expression.kind == Kind::comparison;
  const bool listed = expression.kind == Kind::quantified && expression.any;
  if ((!compared && !listed) || expression.op != Op::eq) return std::nullopt;
  Condition out;
  out.expression = &expression.children.front();
  for (std::size_t i = 1; i < expression.children.size(); ++i) {
    if (expression.children[i].kind != Kind::constant) return std::nullopt;
    const Value& value = expression.children[i].value;
    if (!is_null(value) && !is_fault(value)) out.values.push_back(canonical(value));
  }
  std::sort(out.values.begin(), out.values.end());
  out.values.erase(std::unique(out.values.begin(), out.values.end()), out.values.end());
  return out;
}

/// The conjunct that a group is indexed by: the one that admits the fewest values, columns before computed expressions.
std::optional<Condition> indexable(const Expression& predicate) {
  std::optional<Condition> best;
  const auto weight = [](const Condition& condition) {
    return std::pair(condition.values.size(), condition.expression->kind != Kind::column);
  };
  const auto consider = [&](const Expression& conjunct) {
    auto condition = equality(conjunct);
    if (condition && (!best || weight(*condition) < weight(*best))) best = std::move(condition);
  };
  if (predicate.kind == Kind::logical_and) {
    for (const Expression& conjunct : predicate.children) consider(conjunct);
  } else {
    consider(predicate);
  }
  return best;
}

std::string slot_name(const Expression& expression, const RecordLayout& layout) {
  std::string out;
  append_canonical(out, expression, layout);
  return out;
}

}  // namespace

void CollectionIndex::add(const GroupPtr& group) {
  ++size_;
  const auto condition = indexable(group->predicate());
  if (!condition) {
    residual_.push_back(group);
    return;
  }
  Slot& slot = slots_[slot_name(*condition->expression, group->table().layout)];
  if (slot.size++ == 0) slot.expression = *condition->expression;
  const bool several = condition->values.size() > 1;
  for (const std::string& value : condition->values) slot.groups[value].push_back({group, several});
}

void CollectionIndex::remove(const Group& group) {
  const auto condition = indexable(group.predicate());
  --size_;
  if (!condition) {
    std::erase_if(residual_, [&group](const GroupPtr& other) { return other->id() == group.id(); });
    return;
  }
  const auto slot = slots_.find(slot_name(*condition->expression, group.table().layout));
  for (const std::string& value : condition->values) {
    const auto groups = slot->second.groups.find(value);
    std::erase_if(groups->second, [&group](const Entry& other) { return other.group->id() == group.id(); });
    if (groups->second.empty()) slot->second.groups.erase(groups);
  }
  if (--slot->second.size == 0) slots_.erase(slot);
}

void CollectionIndex::candidates(const Record* before, const Record* after, std::vector<const GroupPtr*>& out) const {
  for (const GroupPtr& group : residual_) out.push_back(&group);
  for (const auto& [name, slot] : slots_) {
    const std::vector<Entry>* taken = nullptr;
    for (const Record* record : {before, after}) {
      if (record == nullptr) continue;
      const Value value = evaluate(slot.expression, *record);
      if (is_null(value) || is_fault(value)) continue;
      const auto groups = slot.groups.find(canonical(value));
      if (groups == slot.groups.end() || &groups->second == taken) continue;
      take(groups->second, taken, out);
      taken = &groups->second;
    }
  }
}

/// Those of `entries` that did not stand in `taken` as well.
void CollectionIndex::take(const std::vector<Entry>& entries, const std::vector<Entry>* taken,
                           std::vector<const GroupPtr*>& out) {
  for (const Entry& entry : entries) {
    const auto same = [&entry](const Entry& other) { return other.group == entry.group; };
    if (entry.several && taken != nullptr && std::any_of(taken->begin(), taken->end(), same)) continue;
    out.push_back(&entry.group);
  }
}

bool GroupIndex::add(const GroupPtr& group) {
  if (!groups_.emplace(group->id(), group).second) return false;
  std::vector<CollectionIndex>& indexes = spaces_[group->space()][group->table().collection];
  const std::shared_ptr<const Table>& table = group->view()->table;
  auto index = std::find_if(indexes.begin(), indexes.end(),
                            [&table](const CollectionIndex& each) { return &each.table() == table.get(); });
  if (index == indexes.end()) index = indexes.emplace(index, table);
  index->add(group);
  return true;
}

GroupPtr GroupIndex::remove(const Digest& id) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return nullptr;
  GroupPtr group = found->second;
  groups_.erase(found);
  const auto space = spaces_.find(group->space());
  const auto collection = space->second.find(group->table().collection);
  const auto index = std::find_if(collection->second.begin(), collection->second.end(),
                                  [&group](const CollectionIndex& each) { return &each.table() == &group->table(); });
  index->remove(*group);
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
