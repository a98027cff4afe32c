// One live view of one session: a position in its group's documents, and what it takes to get there. It runs
// subscription_plan and writes its documents straight from the ring, a shared snapshot or a shared history.
//
// Several subscriptions of a socket that bind to the same group are one Subscription with several names: the first name
// is the one that was answered without `same_as`. When it goes, the next one has the stream, which does not notice.
//
// Owned by its session, on the session's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/fanout.hpp"
#include "gateway/subscription_plan.hpp"

namespace viewgate::gateway {

class Session;

/// What the client asked for, and what it binds to under the claims and the model in force.
struct SubscriptionName {
  Subscribe request;  ///< without its cursor
  Bound bound;
  bool told = false;  ///< `subscribed` was sent
};

class Subscription {
 public:
  struct Cursor {
    ledger::Position after;
    std::string token;  ///< its position half, as the client gave it
  };

  /// Without a cursor it starts with a snapshot.
  Subscription(Session& session, Fanout& fanout, SubscriptionName first, std::optional<Cursor> cursor);
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  /// Asks the engine, or goes on at once where the group is followed already. May end the subscription.
  void begin();

  [[nodiscard]] Session& session() const { return session_; }
  [[nodiscard]] const GroupSpec& spec() const { return *group_.spec; }

  [[nodiscard]] std::vector<SubscriptionName>& names() { return names_; }
  [[nodiscard]] const std::vector<SubscriptionName>& names() const { return names_; }
  /// Another subscription of the socket with the same group.
  void add_name(SubscriptionName name);

  // From the engine, through the fan-out.
  void on_joined();
  void on_bootstrap(BootstrapReply reply);
  void on_history(HistoryReply reply);
  void on_spilled(std::optional<std::string> text);
  void refuse(const Refusal& refusal);
  /// The database was away and may have lost commits: a place that the stream has not come to is asked for again.
  void on_restored();

  /// Adds what this subscription has for the client and the message has room for.
  void write(Message& message);

  [[nodiscard]] Stage stage() const { return stage_; }
  /// When a client that is still being sent its snapshot, or a history out of a file, has had long enough for it: the room that
  /// it takes is shared by all, so a byte at a time would shut others out. Asked for first, it begins to count.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> reading_deadline(
      std::chrono::steady_clock::time_point now);
  /// `ready` was written for the set that the client holds.
  [[nodiscard]] bool ready() const { return ready_; }
  /// Everything up to here was written.
  [[nodiscard]] ledger::Sequence through() const;
  /// Bytes that are there for the client and not written: of the ring or a history what is left, of a snapshot or a file all of it.
  [[nodiscard]] std::size_t unwritten_bytes() const;
  [[nodiscard]] const LocalGroup& group() const { return group_; }
  /// False: what was written last may have ended inside a commit.
  [[nodiscard]] bool between_commits() const { return stage_ != Stage::history; }
  /// What it is in the middle of may hold values of commits up to `through`.
  [[nodiscard]] bool is_being_sent(ledger::Sequence through) const;
  /// Whether something was written since the last call.
  [[nodiscard]] bool take_moved() { return std::exchange(moved_, false); }

 private:
  friend class Fanout;  // group_index_

  void step(Event event);
  void act(Action action);
  void give_up(const Refusal& refusal);
  void tell_subscribed(SubscriptionName& name, bool resumed);
  void tell_resumed();
  void start_over();
  void tell_error();

  [[nodiscard]] bool write_some(Message& message);
  [[nodiscard]] bool write_chunk(Message& message);
  [[nodiscard]] bool write_spilled(Message& message, const SpilledTextsPtr& texts, std::size_t index);
  [[nodiscard]] std::size_t room_taken() const;
  [[nodiscard]] bool write_history(Message& message);
  [[nodiscard]] bool write_ring(Message& message);
  void stand_at(ledger::Position position);
  [[nodiscard]] bool find_place_in_ring();
  [[nodiscard]] std::string ready_document(ledger::Sequence sequence, std::string_view position) const;

  // Constant after construction.
  Session& session_;
  Fanout& fanout_;
  std::size_t group_index_ = 0;  // kept by the fan-out; before group_, whose making sets it
  LocalGroup& group_;

  std::vector<SubscriptionName> names_;
  Stage stage_ = Stage::joining;
  Refusal refusal_{ErrorCode::unavailable};  // why it was lost or refused
  Fanout::Ticket ticket_ = 0;                // of the question that is open; 0 = none

  std::string cursor_token_;
  std::shared_ptr<const SnapshotChunks> snapshot_;
  std::size_t next_chunk_ = 0;
  std::shared_ptr<const History> history_;
  std::size_t history_written_ = 0;         // bytes of its text
  std::size_t next_spilled_ = 0;            // of its documents in a file
  std::optional<std::string> loaded_text_;  // the next one of either's file, where it had to be read from the disk
  std::optional<std::chrono::steady_clock::time_point> reading_deadline_;

  ledger::Position at_;  // of the last commit that was written whole
  // What was given was ahead of the stream when it came, so nobody has compared its stamp with the stream's.
  bool doubtful_ = false;
  bool asks_at_once_ = false;  // the database was away meanwhile
  bool in_ring_ = false;       // offset_ says what comes next; else: the first frame above at_
  Ring::Offset offset_ = 0;
  bool ready_ = false;
  bool moved_ = false;
};

}  // namespace viewgate::gateway
