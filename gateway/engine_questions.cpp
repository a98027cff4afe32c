// Engine, the part that reactors and doors ask: who follows which group, and what they want to know of it.
#include <algorithm>
#include <utility>

#include "gateway/engine.hpp"

namespace viewgate::gateway {

Engine::Space& Engine::space_of(const std::string& name) {
  const auto [found, made] = spaces_.try_emplace(name);
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

void Engine::bootstrap_once(GroupSpecPtr spec, std::string principal, std::function<void(BootstrapReply)> reply) {
  if (degraded_) return reply(Refusal{ErrorCode::unavailable, limits_.retry_after});
  auto& space = space_of(spec->space);
  space.unused_since.reset();
  const auto now = surroundings_.now();
  awaited_spaces_.emplace_back(now, spec->space);
  space.once.push_back(Once{std::move(spec), std::move(principal), std::move(reply), now});
  if (space.following && !space.commit_open) complete_joins(space);
}

void Engine::complete_joins(Space& space) {
  for (const auto& joining : std::exchange(space.joining, {})) complete_join(space, joining);
  for (auto& each : std::exchange(space.once, {})) {
    auto& followed = follow(space, each.spec);
    if (followed.reactors == 0) note_unused(followed);
    bootstraps_.ask(followed.spec, each.principal, std::move(each.asker), space.head);
  }
}

Engine::Followed& Engine::follow(Space& space, const GroupSpecPtr& spec) {
  auto& followed = groups_[spec->id];
  if (!followed.spec) {
    followed.spec = spec;
    followed.space = &space;
    followed.told = space.head;
    static_cast<void>(projector_.add(spec->group));
    followed.place = space.groups.size();
    space.groups.push_back(&followed);
  }
  followed.unused_since.reset();
  return followed;
}

void Engine::complete_join(Space& space, const Joining& joining) {
  const auto& id = joining.spec->id;
  auto& followed = follow(space, joining.spec);
  followed.holes &= ~bit(joining.reactor);
  if ((followed.reactors & bit(joining.reactor)) == 0) {
    followed.reactors |= bit(joining.reactor);
    ++space.followers[joining.reactor];
  }
  // Frames up to `head` that wait for this turn's end must not come behind the answer.
  outlets_[joining.reactor].flush();
  surroundings_.post(joining.reactor, [id, head = space.head](ReactorPort& port) { port.on_joined(id, head); });
}

/// A reactor leaves what it has joined; it may have to be joined anew at this moment.
void Engine::leave(std::size_t reactor, GroupId id) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return;
  std::erase_if(found->second.space->joining,
                [&](const Joining& each) { return each.reactor == reactor && each.spec->id == id; });
  drop_reactor(found->second, reactor);
}

void Engine::drop_reactor(Followed& followed, std::size_t reactor) {
  if ((followed.reactors & bit(reactor)) == 0) return;
  followed.reactors &= ~bit(reactor);
  followed.holes &= ~bit(reactor);
  --followed.space->followers[reactor];
  if (followed.reactors == 0) note_unused(followed);
}

void Engine::note_unused(Followed& followed) {
  followed.unused_since = surroundings_.now();
  unused_groups_.insert(followed.spec->id);
}

void Engine::history(std::size_t reactor, GroupId id, ledger::Position after, std::function<void(HistoryReply)> reply) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) {
    // It was reset meanwhile; the reactor learns that in order, before this.
    history_.refuse(HistoryAsker{reactor, nullptr, after, std::move(reply)}, Refusal{ResetReason::state_unavailable});
    return;
  }
  history_.ask(HistoryAsker{reactor, found->second.spec, after, std::move(reply)});
}

void Engine::bootstrap(std::size_t reactor, GroupId id, std::string principal,
                       std::function<void(BootstrapReply)> reply) {
  BootstrapAsker asker = [this, reactor, reply = std::move(reply)](const BootstrapReply& answer) {
    surroundings_.post(reactor, [reply, answer](ReactorPort&) { reply(answer); });
  };
  const auto found = groups_.find(id);
  if (found == groups_.end()) return asker(Refusal{ResetReason::state_unavailable});
  bootstraps_.ask(found->second.spec, principal, std::move(asker), found->second.space->head);
}

void Engine::spilled(std::size_t reactor, SpilledTextsPtr texts, std::size_t index,
                     std::function<void(std::optional<std::string>)> reply) {
  const auto text = std::make_shared<std::optional<std::string>>();
  surroundings_.aside([texts = std::move(texts), index, text] { *text = texts->text(index); },
                      [this, reactor, text, reply = std::move(reply)] {
                        surroundings_.post(reactor, [text, reply](ReactorPort&) { reply(std::move(*text)); });
                      });
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

}  // namespace viewgate::gateway
