#include "gateway/recent_commits.hpp"

#include <utility>

namespace viewgate::gateway {

void RecentCommits::restart(ledger::Position begin) {
  begin_ = begin;
  commits_.clear();
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

RecentCommits::Cover RecentCommits::covers(ledger::Position after) const {
  if (after.sequence < begin_.sequence) return Cover::no;
  if (after.sequence == begin_.sequence) return after.stamp == begin_.stamp ? Cover::yes : Cover::diverged;
  const auto index = static_cast<std::size_t>(after.sequence.value - begin_.sequence.value - 1);
  if (index >= commits_.size()) return Cover::no;
  return commits_[index].position == after ? Cover::yes : Cover::diverged;
}

RecentCommits::Stretch RecentCommits::stretch(ledger::Position after, std::size_t bytes_max) const {
  Stretch out;
  out.through = after;
  std::size_t bytes = 0;
  for (auto i = static_cast<std::size_t>(after.sequence.value - begin_.sequence.value); i < commits_.size(); ++i) {
    const auto& commit = commits_[i];
    if (bytes > 0 && bytes + commit.bytes > bytes_max) break;
    bytes += commit.bytes;
    out.parts.insert(out.parts.end(), commit.parts.begin(), commit.parts.end());
    out.through = commit.position;
  }
  return out;
}

bool RecentCommits::drop_oldest() {
  if (commits_.empty()) return false;
  bytes_ -= commits_.front().bytes;
  begin_ = commits_.front().position;
  commits_.pop_front();
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
