#include "gateway/engine.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "gateway/documents.hpp"
#include "gateway/errors.hpp"
#include "gateway/log.hpp"
#include "gateway/mutation_door.hpp"
#include "ledger/planted.hpp"
#include "projection/timestamp.hpp"

namespace viewgate::gateway {
namespace {

/// Planted: old membership is not looked at, so nothing ever leaves a view.
ledger::CommitPart without_before(ledger::CommitPart part) {
  for (auto& change : part.changes) change.before.reset();
  return part;
}

/// Of a commit's transaction time; 0 where it is not known.
std::int64_t unix_microseconds(const std::string& at) {
  constexpr std::int64_t from_1970_to_2000_us = 946'684'800'000'000;
  const auto parsed = projection::parse_moment(projection::Type::timestamptz, at);
  const auto* instant = std::get_if<projection::Timestamp>(&parsed);
  return instant == nullptr ? 0 : instant->microseconds + from_1970_to_2000_us;
}

projection::Digest digest_of(const GroupId& id) { return projection::Digest{id.bytes}; }

}  // namespace

Engine::Engine(EngineLimits limits, EngineSurroundings surroundings, ledger::LogReader& reader,
               ledger::LogReader& bootstrap_reader, std::function<void()> on_registry_moved)
    : limits_(std::move(limits)),
      surroundings_(std::move(surroundings)),
      registry_moved_(std::move(on_registry_moved)),
      reader_(reader),
      recent_(limits_.space_bytes, limits_.spaces_bytes),
      bootstraps_(limits_, surroundings_, bootstrap_reader),
      history_room_(limits_, bootstraps_.disk()),
      // The place that led nowhere may be that of a kept snapshot, which would lead everybody there again.
      history_(history_room_, surroundings_, reader, recent_,
               [this](const GroupId& group, ledger::Position position) { bootstraps_.distrust_from(group, position); }),
      progress_at_(surroundings_.now() + limits_.progress_interval),
      forget_at_(surroundings_.now()) {
  outlets_.reserve(surroundings_.reactors);
  for (std::size_t reactor = 0; reactor < surroundings_.reactors; ++reactor)
    outlets_.emplace_back(reactor, limits_.reactor_backlog_bytes, surroundings_);
}

// ---- what the tail tells ----

void Engine::on_watched(const std::string& name, ledger::Position head) {
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return;
  auto& space = found->second;
  space.following = true;
  space.commit_open = false;
  space.open_file = nullptr;
  space.head = head;
  recent_.restart(name, head);
  complete_joins(space);
}

void Engine::on_part(ledger::CommitPartPtr part) {
  const auto found = spaces_.find(part->space);
  if (found == spaces_.end() || !found->second.following) return;
  auto& space = found->second;
  if (part->position.sequence != space.head.sequence.next()) {
    log::error(
        "commit_out_of_order",
        {{"space", part->space}, {"sequence", part->position.sequence.value}, {"head", space.head.sequence.value}});
    reset_space(part->space, ResetReason::state_unavailable);
    // What is kept counts from its beginning without a hole. The stamp before this commit is not known: nobody resumes there.
    recent_.restart(part->space, ledger::Position{ledger::Sequence{part->position.sequence.value - 1}, {}});
  }
  project(space, *part);
  recent_.append(part);
  if (!std::exchange(space.moved, true)) moved_spaces_.push_back(part->space);
  if (!std::exchange(space.untold, true)) untold_spaces_.push_back(part->space);
  if (part->receipt) put_receipt(space, *part);
  space.commit_open = !part->last;
  if (!part->last) return;
  space.open_file = nullptr;
  ++commits_;
  space.head = part->position;
  complete_joins(space);
}

void Engine::project(Space& space, const ledger::CommitPart& part) {
  const auto touched =
      ledger::is_planted("ignore_before") ? projector_.project(without_before(part)) : projector_.project(part);
  if (!touched) {
    log::error("record_malformed",
               {{"space", part.space}, {"sequence", part.position.sequence.value}, {"detail", touched.error().detail}});
    reset_space(part.space, ResetReason::state_unavailable);
    return;
  }
  const std::int64_t committed_us = touched->empty() ? 0 : unix_microseconds(part.provenance.at);
  for (const auto& events : *touched) {
    const auto found = groups_.find(GroupId{events.group->id().bytes});
    if (found == groups_.end()) continue;
    if (!part.first || !part.last) {
      collect(space, found->second, events);
      continue;
    }
    // Planted: a cursor that says one commit less than what it is stored with.
    const auto sealed = ledger::is_planted("early_cursor") ? space.head : events.position;
    std::string text;
    append_events(text, *found->second.spec, events, sealed);
    put_documents(found->second, events.position, std::move(text), committed_us);
  }
}

void Engine::put_documents(Followed& followed, ledger::Position position, std::string text, std::int64_t committed_us) {
  ++frames_;
  auto frame = std::make_shared<GroupFrame>();
  frame->group = followed.spec->id;
  frame->position = position;
  frame->text = std::move(text);
  frame->committed_us = committed_us;
  ++followed.documents;
  followed.document_bytes += frame->text.size();
  followed.told = position;
  put(followed, frame);
}

/// A commit in parts: what it means to the group is told when its last part has come.
void Engine::collect(Space& space, Followed& followed, const projection::GroupEvents& events) {
  if (!space.open_file) space.open_file = std::make_shared<HistoryFile>(history_room_);
  if (!followed.open) followed.open = std::make_unique<HistoryBuilder>(followed.spec, history_room_, space.open_file);
  if (!followed.open->add(events)) {
    log::warn("commit_too_large", {{"space", followed.spec->space},
                                   {"sequence", events.position.sequence.value},
                                   {"reason", followed.open->problem()}});
    reset_group(GroupId{followed.spec->id}, ResetReason::state_unavailable);
    return;
  }
  if (!events.last) return;
  const auto history = std::exchange(followed.open, nullptr)->finish(events.position);
  if (history->spilled || history->text.size() > limits_.frame_bytes) {
    tell_as_history(space, followed, history);
  } else {
    put_documents(followed, events.position, history->text, unix_microseconds(events.at));
  }
}

/// Too much for rings: they would lose what everybody is about to read, and a reactor that cannot write it as fast as it comes
/// would fall behind. So the group is joined anew above it, and its readers come for it, each at its own pace.
void Engine::tell_as_history(Space& space, Followed& followed, const std::shared_ptr<const History>& history) {
  ++frames_;
  history_.publish(followed.spec->id, {followed.told, space.head}, history);
  ++followed.documents;
  followed.document_bytes += history->text.size() + (history->spilled ? history->spilled->bytes() : 0);
  followed.told = history->through;
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) {
    if ((followed.reactors & ~followed.holes & bit(reactor)) == 0) continue;
    followed.holes |= bit(reactor);
    space.joining.push_back(Joining{reactor, followed.spec});  // completed when the commit is
  }
}

void Engine::put(const Followed& followed, const GroupFramePtr& frame) {
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) {
    if ((followed.reactors & ~followed.holes & bit(reactor)) != 0) outlets_[reactor].put(frame);
  }
}

/// For those sockets of its client that have a view of the space: wherever one does, the reactor follows the space.
void Engine::put_receipt(const Space& space, const ledger::CommitPart& part) {
  const auto key = client_key_of(part.provenance.principal, part.provenance.client);
  const auto receipt =
      std::make_shared<const LoggedReceipt>(LoggedReceipt{part.space, part.position.sequence, key, part.receipt->text});
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) {
    if (space.followers[reactor] > 0) outlets_[reactor].put(receipt);
  }
}

void Engine::on_turn() {
  take_back();
  std::vector<Outlet::Heads> heads(outlets_.size());
  for (const auto& name : std::exchange(moved_spaces_, {})) {
    const auto found = spaces_.find(name);
    if (found == spaces_.end()) continue;
    auto& space = found->second;
    space.moved = false;
    for (std::size_t reactor = 0; reactor < heads.size(); ++reactor) {
      // A head says that every frame up to it was delivered.
      if (space.followers[reactor] > 0 && !has_hole(space, reactor)) heads[reactor].emplace_back(name, space.head);
    }
  }
  for (std::size_t reactor = 0; reactor < heads.size(); ++reactor) outlets_[reactor].flush(std::move(heads[reactor]));
}

void Engine::take_back() {
  std::set<std::string> spaces;
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) {
    if (!outlets_[reactor].take_caught_up()) continue;
    ++backlogs_;
    for (auto& [id, followed] : groups_) {
      if ((followed.reactors & bit(reactor)) == 0) continue;
      followed.holes |= bit(reactor);
      followed.space->joining.push_back(Joining{reactor, followed.spec});
      spaces.insert(followed.spec->space);
    }
  }
  for (const auto& name : spaces) {
    auto& space = spaces_.find(name)->second;
    if (space.following && !space.commit_open) complete_joins(space);
  }
}

bool Engine::has_hole(const Space& space, std::size_t reactor) const {
  return std::ranges::any_of(space.joining, [&](const Joining& each) {
    const auto found = groups_.find(each.spec->id);
    return each.reactor == reactor && found != groups_.end() && (found->second.holes & bit(reactor)) != 0;
  });
}

void Engine::on_broken(const std::string& name, ledger::errc why, ledger::Position head) {
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return;
  log::warn("history_broken", {{"space", name}, {"why", ledger::name(why)}, {"head", head.sequence.value}});
  reset_space(name, reset_reason_of(why));
  auto& space = found->second;
  space.following = true;
  space.commit_open = false;
  space.open_file = nullptr;
  space.head = head;
  recent_.restart(name, head);
  complete_joins(space);
}

/// Everything that is kept of those commits goes, here and in the reactors. Cursors inside what was erased are then answered
/// by the ledger, which refuses them; nobody else notices.
void Engine::on_erased(const std::string& name, ledger::Sequence through) {
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return;
  auto& space = found->second;
  log::info("values_erased", {{"space", name}, {"through", through.value}});
  recent_.forget(name, through);
  // What was collected of a commit whose end has not come may hold values that were erased.
  std::vector<GroupId> inside;
  for (const Followed* each : space.groups) {
    if (each->open && space.head.sequence < through) inside.push_back(each->spec->id);
  }
  for (const auto& id : inside) reset_group(id, ResetReason::state_unavailable);
  history_.distrust(name);
  for (const Followed* each : space.groups) {
    history_.forget(each->spec->id);
    bootstraps_.distrust(each->spec->id, through);
  }
  if (surroundings_.erased) surroundings_.erased(name, through);
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) {
    if (space.followers[reactor] == 0) continue;
    outlets_[reactor].flush();
    surroundings_.post(reactor, [name, through](ReactorPort& port) { port.on_erased(name, through); });
  }
}

void Engine::on_degraded(const ledger::Error& error) {
  degraded_ = true;
  bootstraps_.close();
  for (auto& [name, space] : spaces_) {
    for (const auto& each : std::exchange(space.once, {})) {
      each.asker(Refusal{ErrorCode::unavailable, limits_.retry_after});
    }
    note_if_unused(name, space);
  }
  log::warn("degraded", {{"error", ledger::name(error.code)}, {"detail", error.detail}});
  tell_all(NoticeKind::degraded);
}

void Engine::on_restored() {
  degraded_ = false;
  bootstraps_.open();
  log::info("restored");
  tell_all(NoticeKind::restored);
}

void Engine::on_registry_moved() { registry_moved_(); }

// ---- what ends ----

void Engine::tell_all(NoticeKind kind) {
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) {
    outlets_[reactor].flush();
    surroundings_.post(reactor, [kind](ReactorPort& port) { port.on_notice(kind); });
  }
}

void Engine::set_model(const ActiveModelPtr& model) {
  // The model first: who is reset binds anew, and must do so under this one.
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) {
    outlets_[reactor].flush();
    surroundings_.post(reactor, [model](ReactorPort& port) { port.on_model(model); });
  }
  std::vector<GroupId> gone;
  for (const auto& [id, followed] : groups_) {
    if (!still_in_force(*model, *followed.spec)) gone.push_back(id);
  }
  for (const auto& id : gone) reset_group(id, ResetReason::view_changed);
  for (auto& [name, space] : spaces_) {
    std::erase_if(space.joining, [&](const Joining& each) {
      if (still_in_force(*model, *each.spec)) return false;
      surroundings_.post(each.reactor,
                         [id = each.spec->id](ReactorPort& port) { port.on_reset(id, ResetReason::view_changed); });
      return true;
    });
    std::erase_if(space.once, [&](const Once& each) {
      if (still_in_force(*model, *each.spec)) return false;
      each.asker(Refusal{ErrorCode::unavailable, limits_.retry_after});
      return true;
    });
    note_if_unused(name, space);
  }
}

void Engine::reset_group(const GroupId& id, ResetReason reason) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return;
  auto& followed = found->second;
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) {
    if ((followed.reactors & bit(reactor)) == 0) continue;
    outlets_[reactor].flush();
    surroundings_.post(reactor, [id, reason](ReactorPort& port) { port.on_reset(id, reason); });
    --followed.space->followers[reactor];
  }
  auto& space = *followed.space;
  // Who is told of the reset asks to be joined when it has heard of it: a join that it waited for is void.
  std::erase_if(space.joining, [&](const Joining& each) {
    return each.spec->id == id && (followed.reactors & bit(each.reactor)) != 0;
  });
  space.groups[followed.place] = space.groups.back();
  space.groups[followed.place]->place = followed.place;
  space.groups.pop_back();
  note_if_unused(followed.spec->space, space);
  bootstraps_.forget(id);
  history_.forget(id);
  projector_.remove(digest_of(id));
  groups_.erase(found);
}

void Engine::reset_space(const std::string& name, ResetReason reason) {
  std::vector<GroupId> gone;
  if (const auto space = spaces_.find(name); space != spaces_.end()) {
    for (const Followed* each : space->second.groups) gone.push_back(each->spec->id);
  }
  for (const auto& id : gone) reset_group(id, reason);
  projector_.reset(name);
}

}  // namespace viewgate::gateway
