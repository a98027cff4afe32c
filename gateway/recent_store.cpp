#include "gateway/recent_store.hpp"

namespace viewgate::gateway {

/// Counts what a change makes of the space.
template <class Change>
void RecentStore::change(Kept& kept, const Change& change) {
  bytes_ -= kept.commits.bytes();
  change(kept.commits);
  bytes_ += kept.commits.bytes();
  const bool is_filled = kept.commits.bytes() > 0;
  if (is_filled == (kept.place != npos)) return;
  if (is_filled) {
    kept.place = filled_.size();
    filled_.push_back(&kept);
    return;
  }
  filled_[kept.place] = filled_.back();
  filled_[kept.place]->place = kept.place;
  filled_.pop_back();
  kept.place = npos;
}

void RecentStore::restart(const std::string& space, ledger::Position begin) {
  const auto found = spaces_.try_emplace(space, space_bytes_max_).first;
  change(found->second, [&](RecentCommits& commits) { commits.restart(begin); });
}

void RecentStore::drop(const std::string& space) {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return;
  change(found->second, [](RecentCommits& commits) { commits.restart({}); });
  spaces_.erase(found);
}

void RecentStore::append(const ledger::CommitPartPtr& part) {
  const auto found = spaces_.find(part->space);
  if (found == spaces_.end()) return;
  change(found->second, [&](RecentCommits& commits) { commits.append(part); });
  make_room();
}

void RecentStore::prepend(const std::string& space, ledger::Position after,
                          const std::vector<ledger::CommitPartPtr>& parts) {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return;
  change(found->second, [&](RecentCommits& commits) { commits.prepend(after, parts); });
  make_room();
}

void RecentStore::forget(const std::string& space, ledger::Sequence through) {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return;
  change(found->second, [&](RecentCommits& commits) { commits.forget(through); });
}

const RecentCommits* RecentStore::find(const std::string& space) const {
  const auto found = spaces_.find(space);
  return found == spaces_.end() ? nullptr : &found->second.commits;
}

/// Too much in all spaces together: each gives its oldest commit, in turn, until it fits. Spaces of which nothing is kept
/// are not asked, however many there are.
void RecentStore::make_room() {
  std::size_t in_vain = 0;  // in a row: they hold nothing but a commit that is not complete
  while (bytes_ > bytes_max_ && in_vain < filled_.size()) {
    if (next_ >= filled_.size()) next_ = 0;
    bool dropped = false;
    change(*filled_[next_++], [&](RecentCommits& commits) { dropped = commits.drop_oldest(); });
    in_vain = dropped ? 0 : in_vain + 1;
  }
}

}  // namespace viewgate::gateway
