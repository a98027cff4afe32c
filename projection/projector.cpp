#include "projection/projector.hpp"

#include "projection/event.hpp"

namespace viewgate::projection {
namespace {

using ledger::Change;
using ledger::ChangeKind;

/// What all changes of one record in one part amount to.
struct NetChange {
  const Change* first = nullptr;
  const Change* last = nullptr;

  [[nodiscard]] const std::optional<std::string>& before() const { return first->before; }
  [[nodiscard]] const std::optional<std::string>& after() const { return last->after; }
};

/// In the order in which the records are first touched, so that every node makes the same bytes.
std::vector<NetChange> net_changes(const std::vector<Change>& changes) {
  std::vector<NetChange> out;
  out.reserve(changes.size());
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const Change& change : changes) {
    if (changes.size() > 1) {
      const auto [place, inserted] = places.try_emplace({change.collection, change.key}, out.size());
      if (!inserted) {
        out[place->second].last = &change;
        continue;
      }
    }
    out.push_back({&change, &change});
  }
  return out;
}

/// The records of a net change, cut by one definition of the table.
struct Images {
  std::optional<Record> before;
  std::optional<Record> after;

  [[nodiscard]] const Record* before_or_null() const { return before ? &*before : nullptr; }
  [[nodiscard]] const Record* after_or_null() const { return after ? &*after : nullptr; }
};

Result<Images> cut(const RecordLayout& layout, const NetChange& change) {
  Images out;
  if (change.before()) out.before = Record::parse(layout, *change.before());
  if (change.after()) out.after = Record::parse(layout, *change.after());
  if (out.before.has_value() == change.before().has_value() && out.after.has_value() == change.after().has_value()) {
    return out;
  }
  return Error{errc::malformed_record, change.first->collection,
               "the log holds a record of " + change.first->collection + " that is not a JSON object of to_jsonb"};
}

void begin_event(std::string& out, EventKind kind, const std::string& key) {
  out += out.empty() ? "[" : ",";
  out += "{\"kind\":\"";
  out += name(kind);
  out += "\",\"key\":";
  out += key;
}

/// Appends the change's one event for the group, if it means something to it.
bool append_event(std::string& out, const Group& group, const NetChange& change, const Images& images) {
  const bool was_inside = images.before && group.includes(*images.before);
  const bool is_inside = images.after && group.includes(*images.after);
  if (!was_inside && !is_inside) return false;
  const std::string& key = change.last->key;
  if (!was_inside) {
    begin_event(out, EventKind::entered, key);
    out += ",\"record\":";
    group.append_record(out, *images.after);
  } else if (!is_inside) {
    const bool gone = change.last->kind == ChangeKind::deleted;
    begin_event(out, gone ? EventKind::deleted : EventKind::removed_from_scope, key);
  } else {
    std::string changed;
    if (!group.append_changed(changed, *images.before, *images.after)) return false;
    begin_event(out, EventKind::updated, key);
    out += ",\"changed\":";
    out += changed;
    std::string groups;
    if (group.append_changed_groups(groups, *images.before, *images.after)) out.append(",\"groups\":").append(groups);
  }
  out += '}';
  return true;
}

void close_events(GroupEvents& events, const ledger::CommitPart& part, bool touched_before) {
  events.position = part.position;
  events.first = !touched_before;
  events.last = part.last;
  if (part.last) events.at = part.provenance.at;
  // Who sent a mutation is told by its receipt where it went; nobody else is to see what ids a client uses.
  if (part.last && part.provenance.source != "mutation") events.request_id = part.provenance.request_id;
  events.events += events.events.empty() ? "[]" : "]";
}

}  // namespace

ledger::Sequence Projector::add(const GroupPtr& group) {
  Space& space = spaces_[group->space()];
  if (!space.open) {
    index_.add(group);
  } else if (!contains(group->id())) {
    joining_.emplace(group->id(), group);
    space.joining.push_back(group->id());
  }
  return space.sequence;
}

void Projector::remove(const Digest& id) {
  GroupPtr group = index_.remove(id);
  if (const auto joining = joining_.find(id); joining != joining_.end()) {
    group = joining->second;
    joining_.erase(joining);
  }
  if (!group) return;
  const auto space = spaces_.find(group->space());
  space->second.touched.erase(id);
  std::erase(space->second.joining, id);
  const bool idle = !space->second.open && space->second.joining.empty();
  if (idle && !index_.has_space(group->space())) spaces_.erase(space);
}

Result<std::vector<GroupEvents>> Projector::project(const ledger::CommitPart& part) {
  Space& space = spaces_[part.space];
  if (part.first) begin_commit(space);
  space.sequence = part.position.sequence;
  std::vector<GroupEvents> out;
  std::unordered_map<const Group*, std::size_t> places;
  std::vector<const GroupPtr*> candidates;
  for (const NetChange& change : net_changes(part.changes)) {
    if (change.before() == change.after()) continue;
    const auto* indexes = index_.find(part.space, change.first->collection);
    if (indexes == nullptr) continue;
    for (const CollectionIndex& index : *indexes) {
      const auto images = cut(index.table().layout, change);
      if (!images) return images.error();
      candidates.clear();
      index.candidates(images->before_or_null(), images->after_or_null(), candidates);
      for (const GroupPtr* group : candidates) {
        const auto place = places.find(group->get());
        if (place != places.end()) {
          GroupEvents& events = out[place->second];
          events.count += append_event(events.events, **group, change, *images) ? 1 : 0;
          continue;
        }
        GroupEvents events;
        if (!append_event(events.events, **group, change, *images)) continue;
        events.group = *group;
        events.count = 1;
        places.emplace(group->get(), out.size());
        out.push_back(std::move(events));
      }
    }
  }
  end_part(space, part, out);
  return out;
}

void Projector::begin_commit(Space& space) {
  space.touched.clear();
  for (const Digest& id : space.joining) {
    index_.add(joining_.at(id));
    joining_.erase(id);
  }
  space.joining.clear();
}

/// Closes the documents of this part; the last one also speaks to the groups that only earlier parts touched.
void Projector::end_part(Space& space, const ledger::CommitPart& part, std::vector<GroupEvents>& out) {
  for (GroupEvents& events : out) {
    const bool touched_before = space.touched.erase(events.group->id()) > 0;
    close_events(events, part, touched_before);
  }
  space.open = !part.last;
  if (part.last) {
    for (auto& [id, group] : space.touched) {
      GroupEvents& events = out.emplace_back();
      events.group = group;
      close_events(events, part, true);
    }
    begin_commit(space);
  } else {
    for (const GroupEvents& events : out) space.touched.emplace(events.group->id(), events.group);
  }
}

void Projector::reset(std::string_view space) {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return;
  begin_commit(found->second);
  found->second.open = false;
}

Result<std::optional<GroupEvents>> Replay::project(const ledger::CommitPart& part) {
  if (part.first) touched_ = false;
  GroupEvents out;
  if (part.space == group_->space()) {
    for (const NetChange& change : net_changes(part.changes)) {
      if (change.first->collection != group_->table().collection || change.before() == change.after()) continue;
      const auto images = cut(group_->table().layout, change);
      if (!images) return images.error();
      out.count += append_event(out.events, *group_, change, *images) ? 1 : 0;
    }
  }
  if (out.count == 0 && !(part.last && touched_)) return std::optional<GroupEvents>();
  out.group = group_;
  close_events(out, part, touched_);
  touched_ = !part.last;
  return std::optional<GroupEvents>(std::move(out));
}

}  // namespace viewgate::projection
