#include "gateway/fanout.hpp"

#include <algorithm>
#include <cassert>

#include "gateway/session.hpp"
#include "gateway/subscription.hpp"

namespace viewgate::gateway {

Fanout::Fanout(std::size_t reactor, SessionOptions options, EnginePort& engine, const auth::TokenVerifier& verifier,
               ActiveModelPtr model, std::function<void()> on_due)
    : reactor_(reactor),
      options_(std::move(options)),
      engine_(engine),
      verifier_(verifier),
      on_due_(std::move(on_due)),
      model_(std::move(model)),
      message_(options_.server_message_bytes) {
  assert(model_ != nullptr);
}

Fanout::~Fanout() { assert(sessions_.empty()); }

// The stream.

/// Counts what a change makes of the ring.
template <class Change>
void Fanout::change_ring(LocalGroup& group, const Change& change) {
  ring_bytes_ -= group.ring.bytes();
  change(group.ring);
  ring_bytes_ += group.ring.bytes();
}

void Fanout::on_joined(const GroupId& id, ledger::Position head) {
  LocalGroup* group = find(id);
  if (group == nullptr) return;  // left before the answer came
  // Also where it was joined already: what came between two joins may have a hole, so all readers come back by history.
  group->joined = true;
  group->joined_at = head.sequence;
  change_ring(*group, [&](Ring& ring) { ring.restart(head); });
  for (Subscription* each : group->subscribers) each->on_joined();
  mark_subscribers_due(*group);
}

void Fanout::on_delivery(std::shared_ptr<const Delivery> delivery) {
  for (const auto& frame : delivery->frames) {
    LocalGroup* group = find(frame->group);
    if (group == nullptr || !group->joined) continue;  // left, and the engine does not know yet
    change_ring(*group, [&](Ring& ring) { ring.append(*frame); });
    if (frame->committed_us != 0 && !group->subscribers.empty()) unwritten_us_.push_back(frame->committed_us);
    mark_subscribers_due(*group);
  }
  for (const auto& [name, head] : delivery->heads) {
    if (const auto space = spaces_.find(name); space != spaces_.end()) space->second.head = head;
  }
  for (const auto& receipt : delivery->receipts) {
    const auto found = clients_.find(receipt->client_key);
    if (found == clients_.end()) continue;
    for (Session* each : found->second) each->on_logged_receipt(*receipt);
  }
  if (delivery->all_lost || !delivery->lost.empty()) tell_lost(*delivery);
  // A space may have come as far without a word of its groups.
  for (Session* each : std::exchange(awaiting_spaces_, {})) {
    each->awaits_space_ = false;
    mark_due(*each);
  }
}

void Fanout::tell_lost(const Delivery& delivery) {
  for (const auto& [key, sessions] : clients_) {
    if (!delivery.all_lost && !delivery.lost.contains(key)) continue;
    for (Session* each : sessions) each->on_lost_receipts();
  }
}

/// Whoever had not read it yet asks for history, and learns there that it starts anew. Who is in the middle of a snapshot or
/// history that holds the values starts anew at once.
void Fanout::on_erased(const std::string& space, ledger::Sequence through) {
  std::vector<std::pair<GroupId, std::vector<Subscription*>>> readers;
  for (auto& [id, group] : groups_) {
    if (group->spec->space != space) continue;
    change_ring(*group, [&](Ring& ring) { ring.forget(through); });
    mark_subscribers_due(*group);
    auto& of_group = readers.emplace_back(id, std::vector<Subscription*>{}).second;
    for (Subscription* each : group->subscribers) {
      if (each->is_being_sent(through)) of_group.push_back(each);
    }
  }
  for (const auto& [id, subscribers] : readers) restart_each(id, subscribers);
}

void Fanout::restart_each(const GroupId& id, const std::vector<Subscription*>& subscribers) {
  for (Subscription* each : subscribers) {
    // Starting one anew may end others, and the group's place in the table is not kept.
    const LocalGroup* group = find(id);
    if (group == nullptr || std::ranges::find(group->subscribers, each) == group->subscribers.end()) continue;
    each->session().restart(*each, ResetReason::state_unavailable);
  }
}

void Fanout::on_reset(const GroupId& id, ResetReason reason) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return;
  // Out of the table first, so that those who bind to the same group again make a new one, which is joined anew.
  const auto group = std::move(found->second);
  groups_.erase(found);
  ring_bytes_ -= group->ring.bytes();
  const bool history_is_another = reason == ResetReason::history_diverged || reason == ResetReason::state_unavailable;
  if (history_is_another) group->space.head = {};
  const auto subscribers = group->subscribers;
  for (Subscription* each : subscribers) {
    // Starting one anew may end others: those are not in the group any more.
    if (std::ranges::find(group->subscribers, each) != group->subscribers.end()) each->session().restart(*each, reason);
  }
  assert(group->subscribers.empty());
  drop_space_of(*group);
}

void Fanout::on_notice(NoticeKind kind) {
  degraded_ = kind == NoticeKind::degraded;
  for (Session* each : sessions_) each->on_notice(kind);
  if (kind != NoticeKind::restored) return;
  for (auto& [id, group] : groups_) {
    for (Subscription* each : group->subscribers) each->on_restored();
  }
}

void Fanout::on_model(ActiveModelPtr model) {
  model_ = std::move(model);
  for (Session* each : sessions_) each->rebind(ResetReason::view_changed);
}

void Fanout::on_revoked() {
  const auto now = Now::read().wall;
  for (Session* each : sessions_) {
    if (each->authenticated() && verifier_.is_revoked(each->principal(), now)) each->revoke();
  }
}

void Fanout::on_keys() {
  const Now now = Now::read();
  for (Session* each : sessions_) each->on_keys(now);
}

void Fanout::on_tick(Now now) {
  // A copy: whoever is refused leaves its group, which is then one that nobody reads.
  const std::vector<GroupId> watched(watched_.begin(), watched_.end());
  for (const GroupId& id : watched) {
    if (!watch(id, now)) watched_.erase(id);
  }
  if (ring_bytes_ > options_.rings_bytes) shorten_rings();
}

/// First to the newer half of each; a ring keeps its newest segment then, and where there are many even these are too much.
void Fanout::shorten_rings() {
  tally_.count_limit(Limit::rings);
  for (auto& [id, group] : groups_) {
    change_ring(*group, [](Ring& ring) { ring.trim(ring.bytes() / 2); });
  }
  for (auto& [id, group] : groups_) {
    if (ring_bytes_ <= options_.rings_bytes) return;
    // Who has read to the end does not notice; the others come back through history.
    change_ring(*group, [](Ring& ring) { ring.forget(ring.last_sequence()); });
  }
}

/// False: there is nothing to wait for any more. Only these groups are looked at: a hundred thousand quiet ones cost nothing.
bool Fanout::watch(const GroupId& id, Now now) {
  LocalGroup* const group = find(id);
  if (group == nullptr) return false;
  refuse_if_stuck(*group, now);
  if (leave_if_unused(*group, now)) {
    ring_bytes_ -= group->ring.bytes();
    groups_.erase(id);
    return false;
  }
  return !group->joined || group->subscribers.empty();
}

void Fanout::refuse_if_stuck(LocalGroup& group, Now now) {
  if (group.joined || group.subscribers.empty()) return;
  if (!group.joining_since) group.joining_since = now.steady;
  if (!degraded_ && now.steady - *group.joining_since < options_.join_time) return;
  const auto subscribers = group.subscribers;  // each leaves the group as it ends
  for (Subscription* each : subscribers) each->refuse({ErrorCode::unavailable, model_->retry_after});
  group.joining_since.reset();
}

bool Fanout::leave_if_unused(LocalGroup& group, Now now) {
  if (!group.subscribers.empty()) return false;
  if (!group.unused_since) group.unused_since = now.steady;
  // A group that is not joined yet is not left: the answer to this join could be taken for that to a later one.
  if (!group.joined || now.steady - *group.unused_since < options_.group_linger) return false;
  engine_.leave(reactor_, group.spec->id);
  drop_space_of(group);
  return true;
}

// Sessions.

void Fanout::add(Session& session) {
  session.fanout_index_ = sessions_.size();
  sessions_.push_back(&session);
}

void Fanout::remove(Session& session) {
  sessions_[session.fanout_index_] = sessions_.back();
  sessions_[session.fanout_index_]->fanout_index_ = session.fanout_index_;
  sessions_.pop_back();
  if (session.due_) std::erase(due_, &session);
  if (session.awaits_space_) std::erase(awaiting_spaces_, &session);
  if (session.writes_ > 0) std::erase_if(writers_, [&](const auto& each) { return each.second == &session; });
  if (session.client_key().empty()) return;
  const auto clients = clients_.find(session.client_key());
  std::erase(clients->second, &session);
  if (clients->second.empty()) clients_.erase(clients);
}

void Fanout::mark_due(Session& session) {
  if (session.due_) return;
  session.due_ = true;
  due_.push_back(&session);
  if (due_.size() == 1) on_due_();
}

void Fanout::flush_due(Now now) {
  const auto due = std::exchange(due_, {});
  for (Session* each : due) each->due_ = false;
  for (Session* each : due) each->transport_.flush(now);
  if (unwritten_us_.empty()) return;
  const auto written = std::chrono::system_clock::now().time_since_epoch();
  for (const std::int64_t us : unwritten_us_) {
    tally_.commit_to_socket.add(
        std::chrono::duration_cast<std::chrono::microseconds>(written - std::chrono::microseconds(us)));
  }
  unwritten_us_.clear();
}

void Fanout::mark_subscribers_due(const LocalGroup& group) {
  for (const Subscription* each : group.subscribers) mark_due(each->session());
}

// Groups.

LocalGroup* Fanout::find(const GroupId& id) {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : found->second.get();
}

LocalSpace& Fanout::space_of(const std::string& name) {
  auto& space = spaces_[name];
  if (space.name.empty()) space.name = name;
  return space;
}

void Fanout::drop_space_of(const LocalGroup& group) {
  if (--group.space.groups == 0) spaces_.erase(spaces_.find(group.space.name));
}

LocalGroup& Fanout::enter(const GroupSpecPtr& spec, Subscription& subscription) {
  auto& slot = groups_[spec->id];
  if (slot == nullptr) {
    LocalSpace& space = space_of(spec->space);
    ++space.groups;
    slot = std::make_unique<LocalGroup>(spec, space, options_.ring_bytes);
    watched_.insert(spec->id);
    engine_.join(reactor_, spec);
  }
  slot->unused_since.reset();
  subscription.group_index_ = slot->subscribers.size();
  slot->subscribers.push_back(&subscription);
  ++subscriptions_;
  return *slot;
}

void Fanout::leave(LocalGroup& group, Subscription& subscription) {
  Subscription* last = group.subscribers.back();
  group.subscribers[subscription.group_index_] = last;
  last->group_index_ = subscription.group_index_;
  group.subscribers.pop_back();
  --subscriptions_;
  if (group.subscribers.empty()) watched_.insert(group.spec->id);
}

// Questions to the engine. An answer finds its subscription by a ticket, because that may be gone by then.

/// Also counts how long it waited.
Subscription* Fanout::take_waiting(Ticket ticket, Times& times) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return nullptr;
  const Question question = found->second;
  waiting_.erase(found);
  times.add(std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - question.since));
  return question.asker;
}

namespace {

/// Unlike a reset, after which the view goes on by itself.
bool is_error(const Refusal& refusal) { return std::holds_alternative<ErrorCode>(refusal.why); }

}  // namespace

Fanout::Ticket Fanout::ask_bootstrap(const LocalGroup& group, Subscription& subscription) {
  const Ticket ticket = ++last_ticket_;
  waiting_.emplace(ticket, Question{&subscription, std::chrono::steady_clock::now()});
  std::string turn = turn_of(subscription.session().principal());
  engine_.bootstrap(reactor_, group.spec->id, std::move(turn), [this, ticket](BootstrapReply reply) {
    if (const auto* refusal = std::get_if<Refusal>(&reply); refusal != nullptr && is_error(*refusal)) {
      tally_.bootstraps_refused.add();
    }
    if (Subscription* waiting = take_waiting(ticket, tally_.bootstraps)) waiting->on_bootstrap(std::move(reply));
  });
  return ticket;
}

Fanout::Ticket Fanout::ask_spilled(SpilledTextsPtr texts, std::size_t index, Subscription& subscription) {
  const Ticket ticket = ++last_ticket_;
  waiting_.emplace(ticket, Question{&subscription, std::chrono::steady_clock::now()});
  engine_.spilled(reactor_, std::move(texts), index, [this, ticket](std::optional<std::string> text) {
    if (Subscription* waiting = take_waiting(ticket, tally_.spills)) waiting->on_spilled(std::move(text));
  });
  return ticket;
}

Fanout::Ticket Fanout::ask_history(const LocalGroup& group, ledger::Position after, Subscription& subscription) {
  const Ticket ticket = ++last_ticket_;
  waiting_.emplace(ticket, Question{&subscription, std::chrono::steady_clock::now()});
  engine_.history(reactor_, group.spec->id, after, [this, ticket](HistoryReply reply) {
    if (Subscription* waiting = take_waiting(ticket, tally_.histories)) waiting->on_history(std::move(reply));
  });
  return ticket;
}

// Mutations.

Session* Fanout::take_writer(Ticket ticket) {
  const auto found = writers_.find(ticket);
  if (found == writers_.end()) return nullptr;
  Session* const session = found->second;
  writers_.erase(found);
  --session->writes_;
  return session;
}

Fanout::Ticket Fanout::add_writer(Session& session) {
  const Ticket ticket = ++last_ticket_;
  writers_.emplace(ticket, &session);
  ++session.writes_;
  return ticket;
}

void Fanout::mutate(MutationOffer offer, Session& session) {
  const Ticket ticket = add_writer(session);
  MutationCall call = std::move(offer.call);
  engine_.mutate(reactor_, std::move(call), [this, ticket, offer = std::move(offer)](const MutationReply& reply) {
    if (Session* writer = take_writer(ticket)) writer->on_mutation(offer, reply);
  });
}

void Fanout::ask_receipts(ledger::ReceiptsQuery query, Session& session) {
  const Ticket ticket = add_writer(session);
  engine_.receipts(reactor_, std::move(query), [this, ticket](const ReceiptsReply& reply) {
    if (Session* writer = take_writer(ticket)) writer->on_receipts(reply);
  });
}

void Fanout::add_client(const std::string& key, Session& session) { clients_[key].push_back(&session); }

void Fanout::await_space(Session& session) {
  if (std::exchange(session.awaits_space_, true)) return;
  awaiting_spaces_.push_back(&session);
}

}  // namespace viewgate::gateway
