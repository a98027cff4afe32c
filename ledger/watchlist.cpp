#include "ledger/watchlist.hpp"

#include <algorithm>

namespace viewgate::ledger {

bool Watchlist::watch(const std::string& space) {
  if (!watched_.try_emplace(space).second) return false;
  newly_watched_.push_back(space);
  return true;
}

void Watchlist::unwatch(const std::string& space) {
  const auto found = watched_.find(space);
  if (found == watched_.end()) return;
  if (found->second.follower) found->second.follower->is_watched = false;
  watched_.erase(found);
}

void Watchlist::drop_new(std::size_t count) {
  newly_watched_.erase(newly_watched_.begin(), newly_watched_.begin() + static_cast<std::ptrdiff_t>(count));
}

bool Watchlist::begin(const std::string& space, Position head, Sequence erased_through) {
  const auto found = watched_.find(space);
  if (found == watched_.end() || found->second.follower) return false;
  found->second.follower = std::make_shared<Follower>(space, head);
  found->second.head = head.sequence;
  found->second.erased_through = erased_through;
  return true;
}

bool Watchlist::begin_anew(const FollowerPtr& follower, Position head) {
  if (!is_current(follower)) return false;
  follower->is_watched = false;
  Watched& watched = watched_.find(follower->space)->second;
  watched.follower = std::make_shared<Follower>(follower->space, head);
  watched.head = head.sequence;
  return true;
}

std::vector<FollowerPtr> Watchlist::followers() const {
  std::vector<FollowerPtr> out;
  for (const auto& [space, watched] : watched_) {
    if (watched.follower) out.push_back(watched.follower);
  }
  return out;
}

bool Watchlist::is_current(const FollowerPtr& follower) const {
  const auto found = watched_.find(follower->space);
  return found != watched_.end() && found->second.follower == follower;
}

void Watchlist::note_head(const std::string& space, Sequence head, PlanClock::time_point now) {
  const auto found = watched_.find(space);
  if (found == watched_.end() || !found->second.follower) return;
  Watched& watched = found->second;
  watched.head = head;
  if (watched.head <= watched.follower->position.sequence) return;
  if (!watched.behind_since) watched.behind_since = now;
  if (!watched.follower->is_large) mark_dirty(space, watched);
}

bool Watchlist::note_erased(const std::string& space, Sequence through) {
  const auto found = watched_.find(space);
  if (found == watched_.end() || !found->second.follower || through <= found->second.erased_through) return false;
  found->second.erased_through = through;
  return true;
}

FollowerPtr Watchlist::gone_back(const std::string& space, Sequence head) const {
  const auto found = watched_.find(space);
  return found != watched_.end() && head < found->second.head ? found->second.follower : nullptr;
}

void Watchlist::mark_dirty(const std::string& space, Watched& watched) {
  if (watched.is_dirty) return;
  watched.is_dirty = true;
  dirty_.push_back(space);
}

std::vector<FollowerPtr> Watchlist::take_dirty(std::size_t count_max) {
  std::vector<FollowerPtr> out;
  while (!dirty_.empty() && out.size() < count_max) {
    const auto found = watched_.find(dirty_.front());
    dirty_.pop_front();
    if (found == watched_.end() || !found->second.is_dirty) continue;  // unwatched; perhaps watched again since
    found->second.is_dirty = false;
    out.push_back(found->second.follower);
  }
  return out;
}

std::vector<FollowerPtr> Watchlist::settle(const std::vector<FollowerPtr>& read, const std::vector<Sequence>& before) {
  std::vector<FollowerPtr> suspects;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!is_current(read[i])) continue;
    Watched& watched = watched_.find(read[i]->space)->second;
    const Sequence reached = read[i]->position.sequence;
    const bool is_behind = reached < watched.head;
    if (!is_behind) watched.behind_since.reset();
    if (read[i]->is_large) continue;
    if (is_behind && reached == before[i] && !read[i]->fault) read[i]->fault = errc::log_corrupt;
    if (read[i]->fault) {
      suspects.push_back(read[i]);
    } else if (is_behind) {
      mark_dirty(read[i]->space, watched);
    }
  }
  return suspects;
}

SpaceLag Watchlist::lag_of(const std::string& space, const Watched& watched, PlanClock::time_point now) const {
  SpaceLag out{space};
  if (!watched.follower) return out;
  if (watched.behind_since && watched.head > watched.follower->position.sequence) {
    out.commits = watched.head.value - watched.follower->position.sequence.value;
    out.time = now - *watched.behind_since;
  }
  if (const auto waits = waiting_.find(space); waits != waiting_.end()) {
    out.time = std::max(out.time, now - waits->second.since);
  }
  return out;
}

void Watchlist::note_waiting(const std::map<std::string, std::int64_t>& oldest, PlanClock::time_point now) {
  std::erase_if(waiting_, [&](const auto& each) {
    const auto found = oldest.find(each.first);
    return found == oldest.end() || found->second != each.second.marker;
  });
  for (const auto& [space, marker] : oldest) waiting_.emplace(space, Waiting{marker, now});
}

SpaceLag Watchlist::lag(const std::string& space, PlanClock::time_point now) const {
  const auto found = watched_.find(space);
  return found == watched_.end() ? SpaceLag{space} : lag_of(space, found->second, now);
}

void Watchlist::take_back(const FollowerPtr& follower) {
  follower->is_large = false;
  if (!is_current(follower)) return;
  Watched& watched = watched_.find(follower->space)->second;
  if (follower->position.sequence < watched.head || follower->fault) {
    mark_dirty(follower->space, watched);
  } else {
    watched.behind_since.reset();
  }
}

std::vector<SpaceLag> Watchlist::lags(PlanClock::time_point now) const {
  std::vector<SpaceLag> out;
  for (const auto& [space, watched] : watched_) {
    if (!watched.behind_since && waiting_.empty()) continue;
    if (auto each = lag_of(space, watched, now); each.commits > 0 || each.time.count() > 0) {
      out.push_back(std::move(each));
    }
  }
  return out;
}

}  // namespace viewgate::ledger
