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

constexpr std::uint64_t bit(std::size_t reactor) { return std::uint64_t{1} << reactor; }

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
               std::function<void()> on_registry_moved)
    : limits_(std::move(limits)),
      surroundings_(std::move(surroundings)),
      registry_moved_(std::move(on_registry_moved)),
      reader_(reader),
      // The place that led nowhere may be that of a kept snapshot, which would lead everybody there again.
      history_(limits_, surroundings_, reader,
               [this](const GroupId& group, ledger::Position position) { bootstraps_.distrust_from(group, position); }),
      bootstraps_(limits_, surroundings_, reader),
      progress_at_(surroundings_.now() + limits_.progress_interval),
      forget_at_(surroundings_.now()) {
  outlets_.reserve(surroundings_.reactors);
  for (std::size_t reactor = 0; reactor < surroundings_.reactors; ++reactor)
    outlets_.emplace_back(reactor, limits_.reactor_backlog_bytes, surroundings_);
}

// ---- what reactors ask ----

Engine::Space& Engine::space_of(const std::string& name) {
  const auto [found, made] = spaces_.try_emplace(name, limits_.space_bytes);
  if (made) {
    found->second.followers.resize(surroundings_.reactors);
    tail_->watch(name);
  }
  return found->second;
}

void Engine::join(std::size_t reactor, GroupSpecPtr spec) {
  auto& space = space_of(spec->space);
  space.unused_since.reset();
  space.joining.push_back(Joining{reactor, std::move(spec)});
  if (space.following && !space.commit_open) complete_joins(space);
}

void Engine::complete_joins(Space& space) {
  for (const auto& joining : std::exchange(space.joining, {})) complete_join(space, joining);
}

void Engine::complete_join(Space& space, const Joining& joining) {
  const auto& id = joining.spec->id;
  auto& followed = groups_[id];
  if (!followed.spec) {
    followed.spec = joining.spec;
    followed.space = &space;
    followed.told = space.head.sequence;
    static_cast<void>(projector_.add(joining.spec->group));
    ++space.groups;
  }
  followed.unused_since.reset();
  followed.holes &= ~bit(joining.reactor);
  if ((followed.reactors & bit(joining.reactor)) == 0) {
    followed.reactors |= bit(joining.reactor);
    ++space.followers[joining.reactor];
  }
  // Frames up to `head` that wait for this turn's end must not come behind the answer.
  outlets_[joining.reactor].flush();
  surroundings_.post(joining.reactor, [id, head = space.head](ReactorPort& port) { port.on_joined(id, head); });
}

void Engine::leave(std::size_t reactor, GroupId id) {
  for (auto& [name, space] : spaces_) {
    if (space.joining.empty()) continue;
    std::erase_if(space.joining, [&](const Joining& each) { return each.reactor == reactor && each.spec->id == id; });
  }
  if (const auto found = groups_.find(id); found != groups_.end()) drop_reactor(found->second, reactor);
}

void Engine::drop_reactor(Followed& followed, std::size_t reactor) {
  if ((followed.reactors & bit(reactor)) == 0) return;
  followed.reactors &= ~bit(reactor);
  followed.holes &= ~bit(reactor);
  --followed.space->followers[reactor];
  if (followed.reactors == 0) followed.unused_since = surroundings_.now();
}

void Engine::history(std::size_t reactor, GroupId id, ledger::Position after, std::function<void(HistoryReply)> reply) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) {
    // It was reset meanwhile; the reactor learns that in order, before this.
    history_.refuse(HistoryAsker{reactor, nullptr, after, std::move(reply)}, Refusal{ResetReason::state_unavailable});
    return;
  }
  auto& space = *found->second.space;
  HistoryAsker asker{reactor, found->second.spec, after, std::move(reply)};
  switch (space.recent.covers(after)) {
    case RecentCommits::Cover::yes:
      history_.answer(asker, [&] { return space.recent.stretch(after, limits_.history_bytes); });
      return;
    case RecentCommits::Cover::diverged:
      history_.refuse(asker, Refusal{ResetReason::history_diverged});
      return;
    case RecentCommits::Cover::no:
      history_.ask(std::move(asker));
      return;
  }
}

void Engine::bootstrap(std::size_t reactor, GroupId id, std::function<void(BootstrapReply)> reply) {
  BootstrapAsker asker{reactor, std::move(reply)};
  const auto found = groups_.find(id);
  if (found == groups_.end()) {
    bootstraps_.refuse(asker, Refusal{ResetReason::state_unavailable});
    return;
  }
  bootstraps_.ask(found->second.spec, std::move(asker), found->second.space->head);
}

void Engine::mutate(std::size_t reactor, MutationCall call, std::function<void(MutationReply)> reply) {
  std::function<void(MutationReply)> done = [this, reactor, reply = std::move(reply)](MutationReply answer) {
    surroundings_.post(reactor, [reply, answer = std::move(answer)](ReactorPort&) { reply(answer); });
  };
  if (mutations_ == nullptr) return done(ledger::Error{ledger::errc::unavailable, "", "this node does not write"});
  mutations_->mutate(std::move(call.request), std::move(call.rules), std::move(done));
}

void Engine::receipts(std::size_t reactor, ledger::ReceiptsQuery query, std::function<void(ReceiptsReply)> reply) {
  reader_.receipts(std::move(query), [this, reactor, reply = std::move(reply)](ReceiptsReply answer) {
    surroundings_.post(reactor, [reply, answer = std::move(answer)](ReactorPort&) { reply(answer); });
  });
}

// ---- what the tail tells ----

void Engine::on_watched(const std::string& name, ledger::Position head) {
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return;
  auto& space = found->second;
  space.following = true;
  space.commit_open = false;
  space.head = head;
  space.recent.restart(head);
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
    recent_bytes_ -= space.recent.bytes();
    space.recent.restart(ledger::Position{ledger::Sequence{part->position.sequence.value - 1}, {}});
  }
  project(space, *part);
  hold_recent(space, part);
  if (!space.moved) {
    space.moved = true;
    moved_spaces_.push_back(part->space);
  }
  if (part->receipt) put_receipt(space, *part);
  space.commit_open = !part->last;
  if (!part->last) return;
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
    auto& followed = found->second;
    ++frames_;
    auto frame = std::make_shared<GroupFrame>();
    frame->group = found->first;
    frame->position = events.position;
    frame->whole = events.last;
    if (events.last) frame->committed_us = committed_us;
    // Planted: a cursor that says one commit less than what it is stored with.
    const auto sealed = ledger::is_planted("early_cursor") ? space.head : events.position;
    append_events(frame->text, *followed.spec, events, sealed);
    ++followed.documents;
    followed.document_bytes += frame->text.size();
    if (events.last) followed.told = events.position.sequence;
    put(followed, frame);
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

void Engine::hold_recent(Space& space, const ledger::CommitPartPtr& part) {
  recent_bytes_ -= space.recent.bytes();
  space.recent.append(part);
  recent_bytes_ += space.recent.bytes();
  // Too much in all spaces together is rare; then each gives its oldest, in turn, until it fits.
  for (bool dropped = true; dropped && recent_bytes_ > limits_.spaces_bytes;) {
    dropped = false;
    for (auto& [name, each] : spaces_) {
      recent_bytes_ -= each.recent.bytes();
      dropped = each.recent.drop_oldest() || dropped;
      recent_bytes_ += each.recent.bytes();
    }
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
  space.head = head;
  recent_bytes_ -= space.recent.bytes();
  space.recent.restart(head);
  complete_joins(space);
}

/// Everything that is kept of those commits goes, here and in the reactors. Cursors inside what was erased are then answered
/// by the ledger, which refuses them; nobody else notices.
void Engine::on_erased(const std::string& name, ledger::Sequence through) {
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return;
  auto& space = found->second;
  log::info("values_erased", {{"space", name}, {"through", through.value}});
  recent_bytes_ -= space.recent.bytes();
  space.recent.forget(through);
  recent_bytes_ += space.recent.bytes();
  history_.distrust(name);
  for (const auto& [id, followed] : groups_) {
    if (followed.space != &space) continue;
    history_.forget(id);
    bootstraps_.distrust(id, through);
  }
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) {
    if (space.followers[reactor] == 0) continue;
    outlets_[reactor].flush();
    surroundings_.post(reactor, [name, through](ReactorPort& port) { port.on_erased(name, through); });
  }
}

void Engine::on_degraded(const ledger::Error& error) {
  degraded_ = true;
  bootstraps_.close();
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
  if (--space.groups == 0 && space.joining.empty()) space.unused_since = surroundings_.now();
  bootstraps_.forget(id);
  history_.forget(id);
  projector_.remove(digest_of(id));
  groups_.erase(found);
}

void Engine::reset_space(const std::string& name, ResetReason reason) {
  std::vector<GroupId> gone;
  for (const auto& [id, followed] : groups_) {
    if (followed.spec->space == name) gone.push_back(id);
  }
  for (const auto& id : gone) reset_group(id, reason);
  projector_.reset(name);
}

// ---- what time does ----

void Engine::tick() {
  const auto now = surroundings_.now();
  bootstraps_.tick();
  take_back();
  // A walk over all groups, so not at every tick: a linger may be longer by a tenth.
  if (now >= forget_at_) {
    forget_at_ = now + limits_.linger / 10;
    forget_unused();
  }
  if (now >= progress_at_) {
    progress_at_ = now + limits_.progress_interval;
    tell_progress();
  }
}

void Engine::tell_progress() {
  for (auto& [id, followed] : groups_) {
    const auto& space = *followed.space;
    if (followed.reactors == 0 || space.commit_open || space.head.sequence <= followed.told) continue;
    followed.told = space.head.sequence;
    auto frame = std::make_shared<GroupFrame>();
    frame->group = id;
    frame->position = space.head;
    append_progress(frame->text, *followed.spec, space.head);
    put(followed, frame);
  }
  for (std::size_t reactor = 0; reactor < outlets_.size(); ++reactor) outlets_[reactor].flush();
}

void Engine::forget_unused() {
  const auto now = surroundings_.now();
  const auto over = [&](const std::optional<TimePoint>& since) { return since && now - *since >= limits_.linger; };
  std::vector<GroupId> gone;
  for (const auto& [id, followed] : groups_) {
    if (over(followed.unused_since)) gone.push_back(id);
  }
  for (const auto& id : gone) reset_group(id, ResetReason::state_unavailable);  // nobody is told: no reactor has it
  for (auto space = spaces_.begin(); space != spaces_.end();) {
    const bool unused = space->second.groups == 0 && space->second.joining.empty();
    if (unused && !space->second.unused_since) space->second.unused_since = now;
    if (unused && over(space->second.unused_since)) {
      recent_bytes_ -= space->second.recent.bytes();
      projector_.reset(space->first);
      tail_->unwatch(space->first);
      space = spaces_.erase(space);
    } else {
      ++space;
    }
  }
}

}  // namespace viewgate::gateway
