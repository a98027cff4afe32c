// One reactor's share of the stream, without a socket and without a clock of its own: which groups its sessions read,
// each with its ring; the sessions; and the sessions that have something to write since the loop last turned.
//
// A delivery is appended to the rings of its groups, the sessions of their subscribers become due, and that is all: the
// reactor (or the simulator) then lets each due session write once. So a burst becomes few messages.
//
// Owned by its reactor and used on its thread only; outlives its sessions. The engine must outlive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "auth/token_verifier.hpp"
#include "gateway/active_model.hpp"
#include "gateway/message.hpp"
#include "gateway/mutation_door.hpp"
#include "gateway/now.hpp"
#include "gateway/ports.hpp"
#include "gateway/ring.hpp"
#include "gateway/session_options.hpp"
#include "gateway/tally.hpp"

namespace viewgate::gateway {

class Session;
class Subscription;

/// How far a space has been delivered here. It lives as long as a group of the space does.
struct LocalSpace {
  std::string name;
  ledger::Position head;
  std::size_t groups = 0;
};

struct LocalGroup {
  LocalGroup(GroupSpecPtr spec_, LocalSpace& space_, std::size_t ring_bytes)
      : spec(std::move(spec_)), space(space_), ring(ring_bytes) {}

  GroupSpecPtr spec;
  LocalSpace& space;
  Ring ring;
  bool joined = false;
  ledger::Sequence joined_at;
  std::vector<Subscription*> subscribers;
  std::optional<std::chrono::steady_clock::time_point> unused_since;
  std::optional<std::chrono::steady_clock::time_point> joining_since;

  /// Every frame of the group up to here is in the ring, or was.
  [[nodiscard]] ledger::Sequence head() const { return std::max(joined_at, space.head.sequence); }
};

class Fanout final : public ReactorPort {
 public:
  /// `on_due`: called when the first session becomes due since flush_due; it sees to it that flush_due is called soon.
  Fanout(std::size_t reactor, SessionOptions options, EnginePort& engine, const auth::TokenVerifier& verifier,
         ActiveModelPtr model, std::function<void()> on_due);
  ~Fanout() override;
  Fanout(const Fanout&) = delete;
  Fanout& operator=(const Fanout&) = delete;

  void on_joined(const GroupId& group, ledger::Position head) override;
  void on_delivery(std::shared_ptr<const Delivery> delivery) override;
  void on_erased(const std::string& space, ledger::Sequence through) override;
  void on_reset(const GroupId& group, ResetReason reason) override;
  void on_notice(NoticeKind kind) override;
  void on_model(ActiveModelPtr model) override;
  void on_revoked() override;
  void on_keys() override;

  /// Groups that nobody uses any more are left, those that the engine cannot join are refused; rings that hold too much
  /// together are halved.
  void on_tick(Now now);

  /// Lets every session that became due write.
  void flush_due(Now now);

  // What sessions and subscriptions use.
  [[nodiscard]] const SessionOptions& options() const { return options_; }
  /// Limits and times count at once for whoever is there; what was told or made at a socket's or a group's beginning stays with it.
  void set_options(SessionOptions options) { options_ = std::move(options); }
  [[nodiscard]] const ActiveModel& model() const { return *model_; }
  [[nodiscard]] const auth::TokenVerifier& verifier() const { return verifier_; }
  [[nodiscard]] Message& message() { return message_; }
  [[nodiscard]] bool degraded() const { return degraded_; }

  void add(Session& session);
  void remove(Session& session);
  void mark_due(Session& session);

  /// Whether a subscription to this group may begin. One socket can ask for any number of groups, one after the other, and each
  /// is kept for a while; while the database is away even until it is back.
  [[nodiscard]] bool has_room_for(const GroupId& group) const {
    return groups_.size() < options_.groups || groups_.contains(group);
  }
  /// The group becomes followed with its first subscriber.
  LocalGroup& enter(const GroupSpecPtr& spec, Subscription& subscription);
  void leave(LocalGroup& group, Subscription& subscription);

  /// The answer reaches the subscription unless it forgets the ticket first.
  using Ticket = std::uint64_t;
  [[nodiscard]] Ticket ask_bootstrap(const LocalGroup& group, Subscription& subscription);
  [[nodiscard]] Ticket ask_spilled(SpilledTextsPtr texts, std::size_t index, Subscription& subscription);
  [[nodiscard]] Ticket ask_history(const LocalGroup& group, ledger::Position after, Subscription& subscription);
  void forget(Ticket ticket) { waiting_.erase(ticket); }

  // Mutations; the session is told what became of them as long as it lives.
  void mutate(MutationOffer offer, Session& session);
  void ask_receipts(ledger::ReceiptsQuery query, Session& session);
  /// It is told the receipts of its client that come through the log.
  void add_client(const std::string& key, Session& session);
  /// It has receipts that wait for a space to come as far.
  void await_space(Session& session);

  using Groups = std::unordered_map<GroupId, std::unique_ptr<LocalGroup>, GroupIdHash>;

  // What an operator and the tests look at.
  [[nodiscard]] const Groups& local_groups() const { return groups_; }
  [[nodiscard]] std::size_t groups() const { return groups_.size(); }
  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }
  [[nodiscard]] std::size_t subscriptions() const { return subscriptions_; }
  [[nodiscard]] std::size_t ring_bytes() const { return ring_bytes_; }
  /// The only part of it that other threads may read.
  [[nodiscard]] Tally& tally() { return tally_; }

 private:
  [[nodiscard]] LocalGroup* find(const GroupId& group);
  [[nodiscard]] LocalSpace& space_of(const std::string& name);
  void tell_lost(const Delivery& delivery);
  void drop_space_of(const LocalGroup& group);
  void restart_each(const GroupId& id, const std::vector<Subscription*>& subscribers);
  void refuse_if_stuck(LocalGroup& group, Now now);
  [[nodiscard]] bool leave_if_unused(LocalGroup& group, Now now);
  [[nodiscard]] bool watch(const GroupId& id, Now now);
  template <class Change>
  void change_ring(LocalGroup& group, const Change& change);
  void shorten_rings();
  void mark_subscribers_due(const LocalGroup& group);
  [[nodiscard]] Subscription* take_waiting(Ticket ticket, Times& times);
  [[nodiscard]] Session* take_writer(Ticket ticket);
  [[nodiscard]] Ticket add_writer(Session& session);

  const std::size_t reactor_;
  SessionOptions options_;
  EnginePort& engine_;
  const auth::TokenVerifier& verifier_;
  const std::function<void()> on_due_;

  ActiveModelPtr model_;
  Message message_;
  std::map<std::string, LocalSpace, std::less<>> spaces_;
  Groups groups_;
  std::unordered_set<GroupId, GroupIdHash> watched_;  // those that wait to be joined, and those that nobody reads
  std::size_t ring_bytes_ = 0;                        // of all groups
  std::size_t subscriptions_ = 0;                     // of all groups
  std::vector<Session*> sessions_;
  std::vector<Session*> due_;
  struct Question {
    Subscription* asker;
    std::chrono::steady_clock::time_point since;
  };
  std::unordered_map<Ticket, Question> waiting_;
  std::unordered_map<Ticket, Session*> writers_;  // wait for what became of a mutation
  std::unordered_map<std::string, std::vector<Session*>> clients_;
  std::vector<Session*> awaiting_spaces_;
  Ticket last_ticket_ = 0;
  bool degraded_ = false;
  std::vector<std::int64_t> unwritten_us_;  // transaction times of the commits that the next flush writes
  Tally tally_;
};

}  // namespace viewgate::gateway
