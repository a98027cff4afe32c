#include "projection/record_story.hpp"

#include <utility>

#include "projection/event.hpp"

namespace viewgate::projection {
namespace {

constexpr std::string_view unrecorded = "unrecorded";

StoryEvent event_of(const ledger::CommitPart& commit, std::string_view what) {
  StoryEvent out;
  out.sequence = commit.position.sequence;
  out.provenance = commit.provenance;
  out.what = what;
  return out;
}

bool is_inside(const std::optional<Judgement>& judgement) { return judgement && judgement->inside; }

}  // namespace

Result<std::optional<Judgement>> RecordStory::judge(const std::optional<std::string>& record) const {
  if (!record) return std::optional<Judgement>();
  auto out = explainer_.judge(*record);
  if (!out) return out.error();
  return std::optional<Judgement>(std::move(*out));
}

Result<void> RecordStory::take(const ledger::CommitPart& commit) {
  const ledger::Change& change = commit.changes.front();
  const bool is_first = !std::exchange(has_commits_, true);
  if (change.kind == ledger::ChangeKind::erased) {
    inside_.reset();
    add(event_of(commit, "erased"));
    return {};
  }
  const auto before = judge(change.before);
  if (!before) return before.error();
  const auto after = judge(change.after);
  if (!after) return after.error();
  if (is_first) began_inside_ = is_inside(*before);
  if (inside_ && *inside_ != is_inside(*before)) add(event_of(commit, unrecorded));
  inside_ = is_inside(*after);

  const auto told = replay_.project(commit);
  if (!told) return told.error();
  if (!*told || (*told)->count == 0) return {};
  const auto events = parse_json_leniently((*told)->events);
  const Json& event = events->items.front();
  StoryEvent out = event_of(commit, event.find("kind")->text);
  if (out.what == name(EventKind::entered)) {
    out.reasons = *before ? what_changed((*before)->verdicts, (*after)->verdicts) : deciding((*after)->verdicts);
  } else if (out.what == name(EventKind::removed_from_scope)) {
    out.moved = !change.after;
    if (*after) out.reasons = what_changed((*before)->verdicts, (*after)->verdicts);
  } else if (const Json* changed = event.find("changed")) {
    for (const Json::Member& member : changed->members) out.changed.push_back(member.name);
  }
  add(std::move(out));
  return {};
}

void RecordStory::end(ledger::Sequence now, bool is_inside) {
  if (!inside_ || *inside_ == is_inside) return;
  StoryEvent event;
  event.sequence = now;
  event.what = unrecorded;
  add(std::move(event));
}

void RecordStory::add(StoryEvent event) {
  if (bounds_.before && event.sequence >= *bounds_.before) return;
  bytes_ += sizes_.emplace_back(bounds_.bytes_of(event));
  events_.push_back(std::move(event));
  while (is_too_much() && events_.front().sequence != events_.back().sequence) {
    const ledger::Sequence oldest = events_.front().sequence;
    for (; events_.front().sequence == oldest; ++left_out_) {
      bytes_ -= sizes_.front();
      sizes_.pop_front();
      events_.pop_front();
    }
  }
}

}  // namespace viewgate::projection
