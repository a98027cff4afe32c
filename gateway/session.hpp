// One client's side of the protocol, without a socket: bytes in, messages out, time handed in. The connection (or the
// simulator) reads what it can, calls on_bytes, and lets it write when it is due and the socket takes more.
//
//   waiting for hello ──► open ──► closing (our close frame is to be written) ──► closed (it is; the peer's is awaited)
//
// It holds no unsent documents of the stream: its subscriptions are positions, and `produce` gathers one message from
// them. Only answers (subscribed, error …) wait here, bounded by reading no more while they do.
//
// Owned by its connection, on its reactor's thread; the fan-out outlives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/principal.hpp"
#include "gateway/correlation.hpp"
#include "gateway/fanout.hpp"
#include "gateway/protocol_json.hpp"
#include "gateway/subscription.hpp"
#include "gateway/ws_codec.hpp"

namespace viewgate::gateway {

/// Who carries the session's bytes. It outlives the session.
class Transport {
 public:
  virtual ~Transport() = default;
  /// The session may have something to write. May end the session, and none other.
  virtual void flush(Now now) = 0;
  /// The hello was accepted.
  virtual void on_welcome() = 0;
  [[nodiscard]] virtual const Correlation& correlation() const = 0;
};

class Session {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The upgrade is done.
  Session(Fanout& fanout, Transport& transport, Now now);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // From the transport.

  /// Bytes after the upgrade, cut anywhere; they are unmasked in place.
  void on_bytes(std::span<char> bytes, Now now);
  void on_tick(Now now);
  /// The socket took some bytes, or took none although there are some.
  void on_written(Now now);
  void on_blocked(Now now);

  /// The next frames to write; empty: nothing now. The pieces live until the next call for any session of the reactor,
  /// or until anything else happens there; the transport writes or copies them at once.
  [[nodiscard]] std::span<const std::string_view> produce(Now now);

  /// False: read nothing more until some of what was produced is written.
  [[nodiscard]] bool wants_input() const {
    return !waiting_ && answers_.size() < fanout_.options().unsent_answers_bytes;
  }
  /// Both sides have said close: the transport ends its writing side and waits for the end of the other's.
  [[nodiscard]] bool said_goodbye() const { return phase_ == Phase::closed && peer_closed_; }
  /// The transport, too, drops what it holds, rather than to say it first.
  [[nodiscard]] bool revoked() const { return revoked_; }
  /// The socket is to be closed now.
  [[nodiscard]] bool over() const { return over_; }
  /// No on_tick is needed before; never later than the next deadline, often earlier.
  [[nodiscard]] Time next_tick() const { return next_tick_; }

  /// A ticket came with the upgrade: its hello waits for what the ticket stands for.
  void await_ticket() { ticket_ = TicketState::awaited; }
  /// The token that the ticket stood for; empty: it was none (any more).
  void on_ticket(std::string token, Now now);
  /// Nobody can tell what it stands for now.
  void on_ticket_unavailable();

  // From the reactor.

  void close(std::uint16_t code, std::string_view reason);
  /// Tells when to come back, then closes with 1012.
  void drain(std::chrono::milliseconds reconnect_after);
  void on_notice(NoticeKind kind);
  /// Keys that its token waits for may be there now; or another issuer's are.
  void on_keys(Now now);
  /// Its token counts no more: nothing of what waits here leaves, and the session closes with 4005.
  void revoke();

  // From the fan-out and the subscriptions.

  /// The model or the claims are others: subscriptions whose binding changed start anew, those no longer admitted end.
  void rebind(ResetReason reason);
  /// The group's state is void: each name of the subscription binds again and starts anew.
  void restart(Subscription& subscription, ResetReason reason);
  /// Ends it without a word: the client was told.
  void end(Subscription& subscription);
  void mark_due() { fanout_.mark_due(*this); }

  // What became of its mutations.
  void on_mutation(const MutationOffer& offer, const MutationReply& reply);
  void on_receipts(const ReceiptsReply& reply);
  void on_logged_receipt(const LoggedReceipt& receipt);
  /// Receipts of its client that came through the log could not be kept.
  void on_lost_receipts();
  /// Principal and client; empty where hello named no client.
  [[nodiscard]] const std::string& client_key() const { return client_key_; }

  /// Answers go out before any other document of the next message.
  template <class Document>
  void tell(const Document& document) {
    append_document(answers_, document);
    fanout_.tally().count(document);
    answers_ += '\n';
    mark_due();
  }

  /// The hello was accepted, whatever came afterwards.
  [[nodiscard]] bool authenticated() const { return authenticated_; }
  [[nodiscard]] const Correlation& correlation() const { return transport_.correlation(); }
  /// Empty before hello.
  [[nodiscard]] const auth::Principal& principal() const { return principal_; }
  [[nodiscard]] std::size_t subscription_count() const;

  // What an operator looks at.
  [[nodiscard]] std::string_view state() const;
  [[nodiscard]] Time heard_at() const { return heard_at_; }
  /// Since when the socket takes nothing of what there is for it.
  [[nodiscard]] std::optional<Time> blocked_since() const { return blocked_since_; }
  [[nodiscard]] const std::string& client() const { return client_; }
  [[nodiscard]] std::span<const std::unique_ptr<Subscription>> streams() const { return streams_; }
  [[nodiscard]] std::size_t answers_bytes() const { return answers_.size(); }

  /// Bytes of memory held for this client beyond the object itself, but for the claims and the subscriptions.
  [[nodiscard]] std::size_t held_bytes() const { return reader_.held_bytes() + answers_.capacity() + pong_.capacity(); }

 private:
  friend class Fanout;  // due_, fanout_index_, awaits_space_, writes_

  enum class Phase : std::uint8_t { hello, open, closing, closed };
  enum class TicketState : std::uint8_t { none, awaited, used, refused };
  using Streams = std::vector<std::unique_ptr<Subscription>>;

  /// A question of the client for receipts, as far as it is not answered.
  struct ReceiptsQuestion {
    std::string space;
    std::int64_t after = 0;
    std::size_t left = limits::receipts_per_answer;
    ledger::Sequence sequence = {};  ///< of the last receipt that was told
  };

  /// A receipt that waits until the views of its space have come as far.
  struct WaitingReceipt {
    std::string space;
    ledger::Sequence sequence;
    std::string text;
  };

  [[nodiscard]] bool closing() const { return phase_ == Phase::closing || phase_ == Phase::closed; }
  void take(std::span<char> bytes, Now now);
  void on_event(const WsEvent& event, Now now);
  void on_peer_close(const WsEvent& event);
  void begin_rate_window(Now now);
  [[nodiscard]] bool within_rates(WsEvent::Kind kind);
  [[nodiscard]] bool takes_place();
  void on_message(std::string_view text, Now now);
  void on_first_message(const ParsedClientMessage& parsed, Now now);
  void refuse_hello(std::uint16_t code, std::string_view told, std::string_view cause);
  void on_hello(const Hello& hello, Now now);
  [[nodiscard]] auth::VerifiedToken verify(const std::string& token, Now now) const;
  [[nodiscard]] bool waits_for_keys(const auth::TokenRefused& refused, const ClientMessage& message);
  void refuse_token(const auth::TokenRefused& refused);
  void take_up_waiting(Now now);
  void handle(const Hello& again, Now now);
  void handle(const Subscribe& subscribe, Now now);
  void handle(const Unsubscribe& unsubscribe, Now now);
  void handle(const Refresh& refresh, Now now);
  void handle(const Mutate& mutate, Now now);
  void handle(const AskReceipts& ask, Now now);
  void handle(const Pong& pong, Now now);
  void strike(const BadRequest& request);
  void refuse(const std::string& id, ErrorCode code);
  void refuse(const std::string& id, const SubscribeRefusal& refusal);

  /// Opens or joins the stream of the group.
  void open(SubscriptionName name, std::optional<Subscription::Cursor> cursor);
  void remove_name(std::string_view id);
  void start_anew(std::vector<SubscriptionName> names, ResetReason reason);
  [[nodiscard]] std::vector<SubscriptionName> take_changed_names(Subscription& stream);
  [[nodiscard]] std::optional<SubscriptionName> bound_again(const SubscriptionName& name);
  [[nodiscard]] bool has(std::string_view id) const;
  [[nodiscard]] Subscription* find(const GroupId& group);

  void write_streams(Message& message);
  void write_receipts(Message& message);
  void write_at(Message& message);
  void ask_receipts();
  void wait_with(WaitingReceipt receipt);
  [[nodiscard]] bool may_be_told(const WaitingReceipt& receipt) const;
  [[nodiscard]] bool was_told(std::string_view space, ledger::Sequence sequence) const;
  [[nodiscard]] std::optional<ledger::Sequence> complete_through(std::string_view space) const;

  void check_deadlines(Now now);
  void check_expiry(Now now);
  void check_heartbeat(Now now);
  [[nodiscard]] Time deadline(Now now) const;

  // Constant after construction.
  Fanout& fanout_;
  Transport& transport_;
  const Time opened_at_;

  // Kept by the fan-out.
  std::size_t fanout_index_ = 0;
  bool due_ = false;
  bool awaits_space_ = false;
  std::size_t writes_ = 0;  // mutations that are not answered

  Phase phase_ = Phase::hello;
  bool over_ = false;
  bool peer_closed_ = false;
  bool authenticated_ = false;
  bool revoked_ = false;
  bool warned_of_expiry_ = false;
  int strikes_ = 0;
  std::uint16_t close_code_ = 0;
  std::size_t next_stream_ = 0;  // who writes first in the next message

  auth::Principal principal_;
  std::string client_;
  std::string client_key_;
  std::deque<ReceiptsQuestion> questions_;
  bool is_asking_ = false;  // the first of them
  std::vector<WaitingReceipt> receipts_;
  std::size_t receipts_bytes_ = 0;
  std::deque<std::pair<std::string, ledger::Sequence>> told_receipts_;  // the latest
  std::optional<Admission::Place> place_;                               // among the principal's connections
  WsReader reader_;
  Streams streams_;
  /// A hello or refresh whose key is being fetched, and the input behind it, which is not looked at before.
  struct WaitingMessage {
    ClientMessage message;
    std::string input;
  };
  std::optional<WaitingMessage> waiting_;
  bool woken_ = false;  // in on_keys: the message begins no further fetch
  TicketState ticket_ = TicketState::none;
  std::string ticket_token_;  // until the hello
  std::string answers_;       // whole documents, each ended by a newline
  std::string pong_;          // a frame: the answer to the latest ping
  std::string close_reason_;

  Time next_tick_;
  Time heard_at_;
  Time sent_at_;
  Time pinged_at_;
  std::optional<Time> message_since_;
  std::optional<Time> blocked_since_;
  std::optional<Time> closing_since_;
  Time rate_window_;
  std::size_t messages_in_window_ = 0;
  std::size_t controls_in_window_ = 0;
  std::size_t bytes_in_window_ = 0;
};

}  // namespace viewgate::gateway
