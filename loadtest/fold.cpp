#include "loadtest/fold.hpp"

#include <unordered_set>

namespace viewgate::loadtest {

void Fold::subscribed(std::string_view context, bool resumed) {
  if (context.empty()) broken("subscribed without a context");
  if (resumed && state_ != FoldState::stored) broken("resumed without a cursor");
  context_ = context;
  pending_.clear();
  open_commit_.reset();
  if (resumed) {
    state_ = FoldState::resuming;
    return;
  }
  forget();
  context_ = context;
  state_ = FoldState::building;
}

void Fold::snapshot(std::string_view records) {
  if (state_ != FoldState::building) broken("snapshot outside a bootstrap");
  if (!elements(records, elements_scratch_)) return broken("snapshot.records is not an array");
  for (const std::string_view one : elements_scratch_) {
    if (!members(one, columns_scratch_)) return broken("a snapshot record is not an object");
    const std::string_view key = member(columns_scratch_, "key");
    const std::string_view record = member(columns_scratch_, "record");
    if (key.empty() || record.empty() || !members(record, changed_scratch_))
      return broken("a snapshot record lacks key or record");
    if (!records_.emplace(key_text(key), record_text(changed_scratch_)).second) {
      broken("record " + std::string(key) + " twice in one snapshot");
    }
  }
}

void Fold::ready(std::int64_t sequence, std::string_view position, std::int64_t head) {
  if (state_ != FoldState::building && state_ != FoldState::resuming) broken("ready without a subscription under way");
  if (sequence < sequence_)
    broken("ready at " + std::to_string(sequence) + " below the cursor's " + std::to_string(sequence_));
  if (head < sequence) broken("ready at " + std::to_string(sequence) + " above its head " + std::to_string(head));
  if (position.empty()) broken("ready without a position");
  if (open_commit_) broken("ready inside a commit");
  sequence_ = sequence;
  position_ = position;
  state_ = FoldState::live;
}

void Fold::commit(std::int64_t sequence, std::string_view position, std::string_view events, bool last) {
  const std::string name = "commit " + std::to_string(sequence);
  if (state_ != FoldState::live && state_ != FoldState::resuming) return broken(name + " before ready");
  if (open_commit_ && *open_commit_ != sequence) broken(name + " inside the parts of " + std::to_string(*open_commit_));
  if (sequence <= sequence_) broken(name + " after " + std::to_string(sequence_) + ": an event twice");
  if (sequence <= floor_) broken(name + " after `at` " + std::to_string(floor_));
  if (last == position.empty()) broken(name + (last ? " ends without a position" : " has a position inside it"));
  if (!parse_events(events)) broken(name + ": events are not an array of events");
  if (!last) {
    open_commit_ = sequence;
    return;
  }
  open_commit_.reset();
  std::unordered_set<std::string_view> keys;
  for (const Event& event : pending_) {
    if (!keys.insert(event.key).second) broken(name + " has two events for " + event.key);
  }
  sequence_ = sequence;
  for (const Event& event : pending_) apply(event);
  if (pending_.empty()) broken(name + " has no event");
  events_ += pending_.size();
  ++commits_;
  pending_.clear();
  position_ = position;
}

void Fold::pass(std::int64_t sequence, std::string_view position, bool last) {
  if (state_ != FoldState::live && state_ != FoldState::resuming)
    return broken("commit " + std::to_string(sequence) + " before ready");
  if (sequence <= sequence_)
    broken("commit " + std::to_string(sequence) + " after " + std::to_string(sequence_) + ": an event twice");
  if (!last) return;
  sequence_ = sequence;
  position_ = position;
}

void Fold::progress(std::int64_t sequence, std::string_view position) {
  const std::string name = "progress " + std::to_string(sequence);
  if (state_ != FoldState::live && state_ != FoldState::resuming) return broken(name + " before ready");
  if (sequence < sequence_) broken(name + " below " + std::to_string(sequence_));
  if (open_commit_) broken(name + " inside commit " + std::to_string(*open_commit_));
  if (position.empty()) broken(name + " without a position");
  sequence_ = sequence;
  position_ = position;
}

void Fold::complete_through(std::int64_t sequence) {
  if (open_commit_) broken("at " + std::to_string(sequence) + " inside commit " + std::to_string(*open_commit_));
  if (state_ == FoldState::live && sequence > floor_) floor_ = sequence;
}

void Fold::reset_required() { forget(); }

void Fold::lost() {
  pending_.clear();
  open_commit_.reset();
  floor_ = 0;
  if (state_ == FoldState::building) forget();
  if (state_ == FoldState::resuming || state_ == FoldState::live) state_ = FoldState::stored;
}

void Fold::forget() {
  records_.clear();
  context_.clear();
  position_.clear();
  pending_.clear();
  open_commit_.reset();
  sequence_ = 0;
  floor_ = 0;
  state_ = FoldState::empty;
}

std::optional<std::string> Fold::cursor() const {
  if (state_ == FoldState::empty || state_ == FoldState::building) return std::nullopt;
  return context_ + "." + position_;
}

bool Fold::parse_events(std::string_view events) {
  if (!elements(events, elements_scratch_)) return false;
  for (const std::string_view one : elements_scratch_) {
    if (!members(one, columns_scratch_)) return false;
    Event event;
    event.kind = unquoted(member(columns_scratch_, "kind"));
    event.key = key_text(member(columns_scratch_, "key"));
    const std::string_view body = member(columns_scratch_, event.kind == "updated" ? "changed" : "record");
    event.body = body;
    const bool has_body = event.kind == "entered" || event.kind == "updated";
    if (has_body == body.empty()) return false;
    // I6: what leaves is told by its key and nothing else.
    if (!has_body && columns_scratch_.size() != 2) broken(event.kind + " " + event.key + " tells more than the key");
    const bool has_groups = event.kind == "updated" && !member(columns_scratch_, "groups").empty();
    if (has_body && columns_scratch_.size() != (has_groups ? 4 : 3))
      broken(event.kind + " " + event.key + " has members that it should not have");
    pending_.push_back(std::move(event));
  }
  return true;
}

void Fold::apply(const Event& event) {
  const auto found = records_.find(event.key);
  const bool present = found != records_.end();
  const std::string where = " " + event.key + " in commit " + std::to_string(sequence_);
  if (event.kind == "entered") {
    if (present) broken("entered" + where + ": it was inside already (a leave skipped, or an event twice)");
    if (!members(event.body, columns_scratch_)) return broken("entered" + where + ": record is not an object");
    records_[event.key] = record_text(columns_scratch_);
  } else if (event.kind == "updated") {
    if (!present) return broken("updated" + where + ": it was not inside (an enter skipped)");
    update(found->second, event);
  } else if (event.kind == "removed_from_scope" || event.kind == "deleted") {
    if (!present) return broken(event.kind + where + ": it was not inside (an event twice, or an enter skipped)");
    records_.erase(found);
  } else {
    broken("unknown event kind " + event.kind + where);
  }
}

void Fold::update(std::string& record, const Event& event) {
  if (!members(record, columns_scratch_) || !members(event.body, changed_scratch_)) {
    return broken("updated " + event.key + ": changed is not an object");
  }
  if (changed_scratch_.empty()) broken("updated " + event.key + " with nothing changed");
  std::size_t merged = 0;
  for (Member& column : columns_scratch_) {
    const std::string_view value = member(changed_scratch_, column.name);
    if (value.empty()) continue;
    if (value == column.value) {
      broken("updated " + event.key + " in commit " + std::to_string(sequence_) + ": column " +
             std::string(column.name) + " is what it was");
    }
    column.value = value;
    ++merged;
  }
  if (merged != changed_scratch_.size())
    broken("updated " + event.key + " names a column that the record does not have");
  record = record_text(columns_scratch_);
}

std::string Fold::record_text(const std::vector<Member>& columns) {
  std::string out = "{";
  for (const Member& column : columns) {
    if (out.size() > 1) out += ',';
    out += '"';
    out += column.name;
    out += "\":";
    out += column.value;
  }
  return out + '}';
}

}  // namespace viewgate::loadtest
