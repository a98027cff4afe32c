#include "gateway/recent_commits.hpp"

#include <iterator>
#include <utility>

namespace viewgate::gateway {

void RecentCommits::restart(ledger::Position begin) {
  begin_ = begin;
  commits_ = Commits();
  dropped_ = 0;
  open_ = {};
  open_too_large_ = false;
  bytes_ = 0;
}

void RecentCommits::append(const ledger::CommitPartPtr& part) {
  if (part->first) {
    bytes_ -= open_.bytes;
    open_ = {};
    open_too_large_ = false;
  }
  open_.position = part->position;
  if (!open_too_large_) {
    const auto bytes = ledger::bytes_of(*part);
    open_.bytes += bytes;
    bytes_ += bytes;
    open_.parts.push_back(part);
    while (bytes_ > bytes_max_ && drop_oldest()) {
    }
    if (bytes_ > bytes_max_) {
      open_too_large_ = true;
      open_.parts.clear();
      bytes_ -= std::exchange(open_.bytes, 0);
    }
  }
  if (!part->last) return;
  if (open_too_large_) {
    restart(part->position);
  } else {
    commits_.push_back(std::exchange(open_, {}));
  }
}

void RecentCommits::prepend(ledger::Position after, const std::vector<ledger::CommitPartPtr>& parts) {
  Commits older;
  for (const auto& part : parts) {
    if (part->position.sequence > begin_.sequence) break;
    if (part->first) older.emplace_back();
    if (older.empty()) return;
    older.back().position = part->position;
    older.back().bytes += ledger::bytes_of(*part);
    older.back().parts.push_back(part);
  }
  if (older.empty() || older.back().position != begin_) return;
  std::size_t bytes = bytes_;
  auto kept = older.end();
  while (kept != older.begin() && bytes + std::prev(kept)->bytes <= bytes_max_) bytes += (--kept)->bytes;
  if (kept == older.end()) return;
  begin_ = kept == older.begin() ? after : std::prev(kept)->position;
  bytes_ = bytes;
  commits_.erase(commits_.begin(), first());
  dropped_ = 0;
  commits_.insert(commits_.begin(), std::make_move_iterator(kept), std::make_move_iterator(older.end()));
}

RecentCommits::Cover RecentCommits::covers(ledger::Position after) const {
  if (after.sequence < begin_.sequence) return Cover::no;
  if (after.sequence == begin_.sequence) return after.stamp == begin_.stamp ? Cover::yes : Cover::diverged;
  const auto index = static_cast<std::size_t>(after.sequence.value - begin_.sequence.value - 1);
  if (index >= size()) return Cover::no;
  return std::next(first(), static_cast<std::ptrdiff_t>(index))->position == after ? Cover::yes : Cover::diverged;
}

RecentCommits::Stretch RecentCommits::stretch(ledger::Position after, std::size_t bytes_max) const {
  Stretch out;
  out.through = after;
  std::size_t bytes = 0;
  for (auto commit = std::next(first(), after.sequence.value - begin_.sequence.value); commit != commits_.end();
       ++commit) {
    if (bytes > 0 && bytes + commit->bytes > bytes_max) break;
    bytes += commit->bytes;
    out.parts.insert(out.parts.end(), commit->parts.begin(), commit->parts.end());
    out.through = commit->position;
  }
  return out;
}

bool RecentCommits::drop_oldest() {
  if (size() == 0) return false;
  Commit& oldest = commits_[static_cast<std::size_t>(dropped_)];
  bytes_ -= oldest.bytes;
  begin_ = oldest.position;
  oldest.parts = {};
  ++dropped_;
  // Twice what lives is held at most, so that the moves cost nothing together.
  if (static_cast<std::size_t>(dropped_) * 2 >= commits_.size()) {
    commits_.erase(commits_.begin(), first());
    dropped_ = 0;
    if (commits_.empty()) commits_ = Commits();
  }
  return true;
}

void RecentCommits::forget(ledger::Sequence through) {
  while (begin_.sequence < through && drop_oldest()) {
  }
  if (open_.parts.empty() || open_.position.sequence > through) return;
  open_too_large_ = true;  // as one that is not kept
  open_.parts.clear();
  bytes_ -= std::exchange(open_.bytes, 0);
}

}  // namespace viewgate::gateway
