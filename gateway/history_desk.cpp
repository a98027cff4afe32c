#include "gateway/history_desk.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gateway/errors.hpp"
#include "gateway/log.hpp"

namespace viewgate::gateway {

HistoryDesk::Target::Target(const HistoryRoom& room, std::shared_ptr<HistoryFile> file, GroupSpecPtr group,
                            ledger::Position position)
    : spec(std::move(group)), after(position), replay(spec->group), documents(spec, room, std::move(file)) {}

HistoryDesk::HistoryDesk(const HistoryRoom& room, const EngineSurroundings& surroundings, ledger::LogReader& reader,
                         RecentStore& recent, std::function<void(const GroupId&, ledger::Position)> on_void)
    : room_(room),
      limits_(room.limits),
      surroundings_(surroundings),
      reader_(reader),
      recent_(recent),
      on_void_(std::move(on_void)) {}

void HistoryDesk::ask(HistoryAsker asker) {
  if (answer(asker)) return;
  const std::string space = asker.spec->space;
  auto& line = lines_[space];
  line.waiting.push_back(std::move(asker));
  if (!line.reading) start_read(space);
}

bool HistoryDesk::answer(const HistoryAsker& asker) {
  if (const auto made = shared_.find({asker.spec->id, asker.after}); made != shared_.end()) {
    if (auto history = made->second.lock()) {
      // It may end before the head; then its reader asks again from there.
      surroundings_.post(asker.reactor, [reply = asker.reply, history](ReactorPort&) { reply(history); });
      return true;
    }
  }
  const RecentCommits* recent = recent_.find(asker.spec->space);
  if (recent == nullptr) return false;
  switch (recent->covers(asker.after)) {
    case RecentCommits::Cover::yes:
      answer_from(*recent, asker);
      return true;
    case RecentCommits::Cover::diverged:
      refuse(asker, Refusal{ResetReason::history_diverged});
      return true;
    case RecentCommits::Cover::no:
      return false;
  }
  return false;
}

void HistoryDesk::answer_from(const RecentCommits& recent, const HistoryAsker& asker) {
  Target target(room_, std::make_shared<HistoryFile>(room_), asker.spec, asker.after);
  target.known = true;
  target.askers.push_back(asker);
  const auto commits = recent.stretch(asker.after, limits_.history_bytes);
  for (const auto& part : commits.parts) append(target, *part);
  deliver(target, commits.through);
}

/// After a break many come back from one position at once; they share what is projected and encoded for the first.
void HistoryDesk::share(const GroupId& group, ledger::Position after, const std::shared_ptr<const History>& history) {
  if (history->through == after) return;  // it goes nowhere, and would be told for as long as it lives
  // Twice what lives is swept at a time, so that the sweeps cost nothing together.
  if (shared_.size() > 2 * shared_swept_ + 64) {
    std::erase_if(shared_, [](const auto& each) { return each.second.expired(); });
    shared_swept_ = shared_.size();
  }
  shared_[{group, after}] = history;
}

void HistoryDesk::publish(const GroupId& group, const std::vector<ledger::Position>& places,
                          const std::shared_ptr<const History>& history) {
  for (const auto& each : places) share(group, each, history);
  published_.push_back({group, history, surroundings_.now() + limits_.snapshot_reuse});
}

void HistoryDesk::tick() {
  while (!published_.empty() && surroundings_.now() >= published_.front().until) published_.pop_front();
}

void HistoryDesk::distrust(const std::string& space) {
  const auto line = lines_.find(space);
  if (line != lines_.end() && line->second.reading) line->second.is_distrusted = true;
}

void HistoryDesk::forget(const GroupId& group) {
  auto each = shared_.lower_bound({group, ledger::Position{}});
  while (each != shared_.end() && each->first.first == group) each = shared_.erase(each);
  std::erase_if(published_, [&](const Published& made) { return made.group == group; });
}

void HistoryDesk::refuse(const HistoryAsker& asker, const Refusal& refusal) {
  if (asker.spec != nullptr && std::holds_alternative<ResetReason>(refusal.why)) on_void_(asker.spec->id, asker.after);
  surroundings_.post(asker.reactor, [reply = asker.reply, refusal](ReactorPort&) { reply(refusal); });
}

void HistoryDesk::board(Read& read, std::deque<HistoryAsker>& waiting) const {
  std::deque<HistoryAsker> left;
  for (auto& asker : waiting) {
    const auto same = [&](const Target& target) {
      return target.spec->id == asker.spec->id && target.after == asker.after;
    };
    const bool reachable = asker.after == read.start || asker.after.sequence > read.start.sequence;
    auto target = std::find_if(read.targets.begin(), read.targets.end(), same);
    if (target == read.targets.end() && reachable && read.targets.size() < limits_.history_groups) {
      read.targets.emplace_back(room_, read.file, asker.spec, asker.after);
      target = std::prev(read.targets.end());
      target->known = asker.after == read.start;  // the reader itself compares the stamp of where it starts
    }
    if (target == read.targets.end()) {
      left.push_back(std::move(asker));
    } else {
      target->askers.push_back(std::move(asker));
    }
  }
  waiting = std::move(left);
}

ledger::Position HistoryDesk::start_of(Line& line) {
  if (line.is_pruned) {
    const auto middle = line.waiting.begin() + static_cast<std::ptrdiff_t>(line.waiting.size() / 2);
    std::ranges::nth_element(line.waiting, middle, {}, &HistoryAsker::after);
    return middle->after;
  }
  if (line.waiting.front().is_passed_over) return line.waiting.front().after;
  return std::ranges::min_element(line.waiting, {}, &HistoryAsker::after)->after;
}

/// Whoever waits at or below a place that is not readable any more need not be looked for.
void HistoryDesk::refuse_through(Line& line, ledger::Sequence pruned, const Refusal& refusal) {
  line.is_pruned = true;
  std::erase_if(line.waiting, [&](const HistoryAsker& each) {
    if (each.after.sequence > pruned) return false;
    refuse(each, refusal);
    return true;
  });
}

void HistoryDesk::start_read(const std::string& space) {
  auto& line = lines_[space];
  // What the read before brought in may be all that they need.
  std::erase_if(line.waiting, [this](const HistoryAsker& each) { return answer(each); });
  if (line.waiting.empty()) {
    lines_.erase(space);
    return;
  }
  line.reading = true;
  auto read = std::make_shared<Read>();
  read->space = space;
  read->file = std::make_shared<HistoryFile>(room_);
  read->start = start_of(line);
  board(*read, line.waiting);
  reader_.read(
      space, read->start, limits_.history_bytes,
      [this, read](const ledger::CommitPartPtr& part) { on_part(*read, part); },
      [this, read](const ledger::Result<ledger::Position>& reached) { on_done(*read, reached); });
}

void HistoryDesk::on_part(Read& read, const ledger::CommitPartPtr& part) const {
  hold(read, part);
  for (auto& target : read.targets) {
    if (part->position.sequence > target.after.sequence) {
      append(target, *part);
    } else if (part->position.sequence == target.after.sequence) {
      target.known = part->position.stamp == target.after.stamp;
      if (!target.known) target.refusal = Refusal{ResetReason::history_diverged};
    }
  }
}

/// A commit that would not fit among the recent ones is not held here either.
void HistoryDesk::hold(Read& read, const ledger::CommitPartPtr& part) const {
  if (read.is_too_much) return;
  read.parts_bytes += ledger::bytes_of(*part);
  read.is_too_much = read.parts_bytes > limits_.space_bytes;
  if (read.is_too_much) {
    read.parts = {};
  } else {
    read.parts.push_back(part);
  }
}

void HistoryDesk::append(Target& target, const ledger::CommitPart& part) {
  if (target.refusal) return;
  const auto events = target.replay.project(part);
  if (!events) {
    log::error("record_malformed", {{"space", part.space}, {"sequence", part.position.sequence.value}});
    target.refusal = Refusal{ResetReason::state_unavailable};
  } else if (*events && !target.documents.add(**events)) {
    log::warn(
        "history_too_large",
        {{"space", part.space}, {"sequence", part.position.sequence.value}, {"reason", target.documents.problem()}});
    target.refusal = Refusal{ResetReason::state_unavailable};
  }
}

void HistoryDesk::deliver(Target& target, ledger::Position through) {
  if (target.refusal) {
    for (const auto& asker : target.askers) refuse(asker, *target.refusal);
    return;
  }
  std::shared_ptr<const History> shared = target.documents.finish(through);
  share(target.spec->id, target.after, shared);
  for (const auto& asker : target.askers) {
    surroundings_.post(asker.reactor, [reply = asker.reply, shared](ReactorPort&) { reply(shared); });
  }
}

void HistoryDesk::on_done(Read& read, const ledger::Result<ledger::Position>& reached) {
  auto& line = lines_[read.space];
  line.reading = false;
  const bool is_distrusted = std::exchange(line.is_distrusted, false);
  std::optional<Refusal> failure;
  if (!reached) {
    const auto& error = reached.error();
    log::warn("history_refused", {{"space", read.space},
                                  {"after", read.start.sequence.value},
                                  {"error", ledger::name(error.code)},
                                  {"detail", error.detail}});
    failure = refusal_of(error.code, limits_.retry_after);
    // Only a bootstrap has a time of its own that can be too short.
    if (error.code == ledger::errc::timeout) failure->why = ErrorCode::unavailable;
  }
  if (reached && !is_distrusted) recent_.prepend(read.space, read.start, read.parts);
  // What is wrong with the position that the read began at says nothing about the others; a database that is away does.
  const bool for_all = failure && std::holds_alternative<ErrorCode>(failure->why);
  std::deque<HistoryAsker> again;
  for (auto& target : read.targets) {
    if (is_distrusted && !failure) {
      std::move(target.askers.begin(), target.askers.end(), std::back_inserter(again));
      continue;
    }
    if (!target.refusal && failure && (for_all || target.after == read.start)) target.refusal = failure;
    if (target.refusal || (reached && target.known)) {
      deliver(target, reached ? *reached : target.after);
    } else {
      // The read ended before it came to this position: the next one may begin there.
      for (auto& each : target.askers) each.is_passed_over = true;
      std::move(target.askers.begin(), target.askers.end(), std::back_inserter(again));
    }
  }
  line.waiting.insert(line.waiting.begin(), std::make_move_iterator(again.begin()),
                      std::make_move_iterator(again.end()));
  line.is_pruned = line.is_pruned && !reached;  // or whoever comes meanwhile would be served before the lowest
  if (!reached && reached.error().code == ledger::errc::history_unavailable) {
    refuse_through(line, read.start.sequence, *failure);
  }
  start_read(read.space);
}

}  // namespace viewgate::gateway
