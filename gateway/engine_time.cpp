// Engine, the part that time moves. Only what has something to be done is looked at, not all there is.
#include <memory>
#include <utility>

#include "gateway/documents.hpp"
#include "gateway/engine.hpp"

namespace viewgate::gateway {

void Engine::tick() {
  const auto now = surroundings_.now();
  bootstraps_.tick();
  history_.tick();
  take_back();
  // Not at every tick: a linger may be longer by a tenth.
  if (now >= forget_at_) {
    forget_at_ = now + limits_.linger / 10;
    turn_away_late();
    forget_unused();
  }
  if (now >= progress_at_) {
    progress_at_ = now + limits_.progress_interval;
    tell_progress();
  }
}

/// Those for a socket are told by its reactor, which has a time of its own for it.
void Engine::turn_away_late() {
  const auto too_early = surroundings_.now() - join_time_;
  while (!awaited_spaces_.empty() && awaited_spaces_.front().first <= too_early) {
    const auto space = spaces_.find(awaited_spaces_.front().second);
    awaited_spaces_.pop_front();
    if (space == spaces_.end()) continue;
    std::erase_if(space->second.once, [&](const Once& each) {
      if (each.since > too_early) return false;
      each.asker(Refusal{ErrorCode::unavailable, limits_.retry_after});
      return true;
    });
    note_if_unused(space->first, space->second);
  }
}

/// Of the spaces that have moved. One inside a commit is told of when that has ended.
void Engine::tell_progress() {
  for (const auto& name : std::exchange(untold_spaces_, {})) {
    const auto space = spaces_.find(name);
    if (space == spaces_.end()) continue;
    space->second.untold = space->second.commit_open;
    if (space->second.untold) {
      untold_spaces_.push_back(name);
    } else {
      tell_progress(space->second);
    }
  }
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) outlets_[reactor].flush();
}

void Engine::tell_progress(const Space& space) {
  for (Followed* followed : space.groups) {
    if (followed->reactors == 0 || space.head.sequence <= followed->told.sequence) continue;
    followed->told = space.head;
    auto frame = std::make_shared<GroupFrame>();
    frame->group = followed->spec->id;
    frame->position = space.head;
    append_progress(frame->text, *followed->spec, space.head);
    put(*followed, frame);
  }
}

void Engine::forget_unused() {
  const auto now = surroundings_.now();
  std::vector<GroupId> gone;
  std::erase_if(unused_groups_, [&](const GroupId& id) {
    const auto found = groups_.find(id);
    if (found == groups_.end() || !found->second.unused_since) return true;
    auto& since = *found->second.unused_since;
    if (bootstraps_.is_needed(id)) since = now;
    if (now - since < limits_.linger) return false;
    gone.push_back(id);
    return true;
  });
  for (const auto& id : gone) reset_group(id, ResetReason::state_unavailable);  // nobody is told: no reactor has it
  forget_unused_spaces();
}

bool Engine::is_unused(const Space& space) {
  return space.groups.empty() && space.joining.empty() && space.once.empty();
}

void Engine::note_if_unused(const std::string& name, const Space& space) {
  if (is_unused(space)) unused_spaces_.insert(name);
}

void Engine::forget_unused_spaces() {
  const auto now = surroundings_.now();
  std::erase_if(unused_spaces_, [&](const std::string& name) {
    const auto space = spaces_.find(name);
    if (space == spaces_.end() || !is_unused(space->second)) return true;
    if (!space->second.unused_since) space->second.unused_since = now;
    if (now - *space->second.unused_since < limits_.linger) return false;
    recent_.drop(name);
    projector_.reset(name);
    tail_->unwatch(name);
    spaces_.erase(space);
    return true;
  });
}

}  // namespace viewgate::gateway
