#include "gateway/session.hpp"

#include <algorithm>
#include <cassert>

#include "gateway/errors.hpp"
#include "gateway/log_sparingly.hpp"

namespace viewgate::gateway {

namespace {

constexpr std::chrono::seconds rate_window{1};
constexpr std::string_view revoked_text = "the token was revoked";
constexpr std::uint16_t normal_closure = 1000;  // RFC 6455, 7.4.1: the answer to a close without a code

/// As long as nobody knows who it is, whatever messages may have later: a token and what else a hello has.
constexpr std::size_t hello_bytes_max = std::size_t{16} * 1024;
static_assert(hello_bytes_max > limits::token_bytes + 1024);

std::chrono::seconds whole_seconds(std::chrono::milliseconds time) {
  return std::max(std::chrono::ceil<std::chrono::seconds>(time), std::chrono::seconds{1});
}

}  // namespace

Session::Session(Fanout& fanout, Transport& transport, Now now)
    : fanout_(fanout),
      transport_(transport),
      opened_at_(now.steady),
      reader_(WsRole::server, {std::min(fanout.options().client_message_bytes, hello_bytes_max),
                               fanout.options().client_message_fragments}),
      next_tick_(now.steady + fanout.options().hello_time),
      heard_at_(now.steady),
      sent_at_(now.steady),
      pinged_at_(now.steady),
      rate_window_(now.steady) {
  fanout_.add(*this);
}

Session::~Session() {
  streams_.clear();
  fanout_.remove(*this);
}

// Bytes from the client.

void Session::on_bytes(std::span<char> bytes, Now now) {
  heard_at_ = now.steady;
  begin_rate_window(now);
  bytes_in_window_ += bytes.size();
  if (!closing() && bytes_in_window_ > fanout_.options().input_bytes_per_second) {
    fanout_.tally().count_limit(Limit::input_bytes);
    close(close_code::rate_limited, "too many bytes in a second");
  }
  take(bytes, now);
}

void Session::take(std::span<char> bytes, Now now) {
  while (!waiting_) {
    const auto event = reader_.next(bytes);
    if (!event) break;
    on_event(*event, now);
  }
  if (waiting_) waiting_->input.append(bytes.data(), bytes.size());
  if (!reader_.inside_message() || reader_.ended()) {
    message_since_.reset();
  } else if (!message_since_) {
    message_since_ = now.steady;
    next_tick_ = std::min(next_tick_, now.steady + fanout_.options().message_time);
  }
}

void Session::on_event(const WsEvent& event, Now now) {
  if (event.kind == WsEvent::Kind::close) return on_peer_close(event);
  if (event.kind == WsEvent::Kind::failure) {
    peer_closed_ = true;  // nothing is read after it, its close frame neither
    return close(event.code, event.text);
  }
  if (closing()) return;
  if (!within_rates(event.kind)) {
    const bool is_message = event.kind == WsEvent::Kind::message;
    fanout_.tally().count_limit(is_message ? Limit::messages : Limit::control_frames);
    return close(close_code::rate_limited, "too many frames in a second");
  }
  if (event.kind == WsEvent::Kind::message) {
    message_since_.reset();
    on_message(event.text, now);
  } else if (event.kind == WsEvent::Kind::ping) {
    pong_.clear();  // the latest ping may be answered for all before it (RFC 6455, 5.5.3)
    append_ws_pong(pong_, event.text);
    mark_due();
  }
}

void Session::on_peer_close(const WsEvent& event) {
  peer_closed_ = true;
  answers_.clear();
  mark_due();
  close(event.code == 0 ? normal_closure : event.code, {});
}

void Session::begin_rate_window(Now now) {
  if (now.steady - rate_window_ < rate_window) return;
  rate_window_ = now.steady;
  messages_in_window_ = 0;
  controls_in_window_ = 0;
  bytes_in_window_ = 0;
}

bool Session::within_rates(WsEvent::Kind kind) {
  if (kind == WsEvent::Kind::message) return ++messages_in_window_ <= fanout_.options().messages_per_second;
  return ++controls_in_window_ <= fanout_.options().control_frames_per_second;
}

void Session::on_message(std::string_view text, Now now) {
  const auto parsed = parse_client_message(text);
  if (const auto* bad = std::get_if<BadMessage>(&parsed)) return close(close_code::bad_message, bad->reason);
  if (phase_ == Phase::hello) return on_first_message(parsed, now);
  if (const auto* bad = std::get_if<BadRequest>(&parsed)) return strike(*bad);
  std::visit([&](const auto& message) { handle(message, now); }, std::get<ClientMessage>(parsed));
}

void Session::on_first_message(const ParsedClientMessage& parsed, Now now) {
  const auto* message = std::get_if<ClientMessage>(&parsed);
  const auto* hello = message == nullptr ? nullptr : std::get_if<Hello>(message);
  if (hello != nullptr) return on_hello(*hello, now);
  const auto* bad = std::get_if<BadRequest>(&parsed);
  refuse_hello(close_code::auth_required, "the first message must be a hello with a token",
               bad == nullptr ? "another message came first" : bad->message);
}

void Session::on_hello(const Hello& hello, Now now) {
  if (hello.protocol != protocol_version) {
    return refuse_hello(close_code::version_unsupported,
                        "this server speaks protocol " + std::to_string(protocol_version),
                        "protocol " + std::to_string(hello.protocol));
  }
  if (ticket_ == TicketState::awaited) {
    waiting_.emplace(WaitingMessage{hello, {}});
    return;
  }
  if (ticket_ == TicketState::refused || (ticket_ == TicketState::used && !hello.token.empty())) {
    return close(close_code::auth_required, auth::refusal_text);
  }
  auto verified = verify(ticket_ == TicketState::used ? ticket_token_ : hello.token, now);
  if (!verified) {
    if (!waits_for_keys(verified.error(), hello)) refuse_token(verified.error());
    return;
  }
  ticket_token_ = {};
  principal_ = std::move(verified.value());
  if (!takes_place()) return close(close_code::rate_limited, "too many connections of this principal");
  authenticated_ = true;
  transport_.on_welcome();
  phase_ = Phase::open;
  // The hello was read to its end, so another reader is as good from here on.
  const auto& options = fanout_.options();
  reader_ = WsReader(WsRole::server, {options.client_message_bytes, options.client_message_fragments});
  if (hello.client) {
    client_ = *hello.client;
    client_key_ = client_key_of(principal_text(principal_), client_);
    fanout_.add_client(client_key_, *this);
  }
  next_tick_ = now.steady;
  Welcome welcome;
  welcome.principal = principal_.subject;
  welcome.connection = correlation().id;
  welcome.expires_in = std::chrono::floor<std::chrono::seconds>(principal_.expires_at - now.wall);
  welcome.heartbeat = whole_seconds(fanout_.options().heartbeat);
  welcome.message_bytes = fanout_.options().client_message_bytes;
  welcome.subscriptions = fanout_.options().subscriptions;
  tell(welcome);
  if (fanout_.degraded()) on_notice(NoticeKind::degraded);
}

/// The client is told what is right, and whoever runs the node what was wrong.
void Session::refuse_hello(std::uint16_t code, std::string_view told, std::string_view cause) {
  log::write_sparingly(log::Level::info, "hello_refused",
                       {correlation().connection_field(), correlation().trace_field(), {"reason", cause}});
  close(code, told);
}

bool Session::takes_place() {
  place_ = fanout_.options().admission->enter_principal(principal_.issuer, principal_.subject);
  return place_.has_value();
}

auth::VerifiedToken Session::verify(const std::string& token, Now now) const {
  return token.empty() ? fanout_.verifier().anonymous() : fanout_.verifier().verify(token, now.wall);
}

/// Again, too, when it is woken while a fetch of its issuer's keys is under way: that was for another issuer's keys, or a reload.
/// A message begins one fetch at most, and the hello's time, the token's end and the silence bound the waiting.
bool Session::waits_for_keys(const auth::TokenRefused& refused, const ClientMessage& message) {
  const auto& verifier = fanout_.verifier();
  if (!(woken_ ? verifier.may_still_become_known(refused) : verifier.may_become_known(refused))) return false;
  waiting_.emplace(WaitingMessage{message, {}});
  return true;
}

void Session::on_keys(Now now) {
  woken_ = true;
  take_up_waiting(now);
}

void Session::on_ticket(std::string token, Now now) {
  ticket_ = token.empty() ? TicketState::refused : TicketState::used;
  ticket_token_ = std::move(token);
  take_up_waiting(now);
}

void Session::on_ticket_unavailable() {
  waiting_.reset();  // what comes behind it is read again: the client's close
  close(close_code::try_again_later, "the ticket cannot be looked at");
}

void Session::take_up_waiting(Now now) {
  auto waiting = std::exchange(waiting_, std::nullopt);
  if (waiting && !closing()) {
    if (const auto* hello = std::get_if<Hello>(&waiting->message); hello != nullptr && phase_ == Phase::hello) {
      on_hello(*hello, now);
    } else {
      std::visit([&](const auto& message) { handle(message, now); }, waiting->message);
    }
  }
  woken_ = false;
  if (!waiting) return;
  take(waiting->input, now);
  mark_due();
}

void Session::refuse_token(const auth::TokenRefused& refused) {
  log::write_sparingly(log::Level::info, "token_refused",
                       {correlation().connection_field(), correlation().trace_field(), {"reason", refused.reason}});
  if (refused.kind == auth::RefusalKind::revoked) return close(close_code::revoked, revoked_text);
  close(close_code::auth_required, auth::refusal_text);
}

// Messages of an open session.

void Session::handle(const Hello&, Now) {
  strike({std::nullopt, "hello was said already; a fresh token goes into refresh"});
}

void Session::handle(const Subscribe& subscribe, Now) {
  const std::string& id = subscribe.id;
  if (has(id)) return refuse(id, ErrorCode::duplicate_subscription);
  if (subscription_count() >= fanout_.options().subscriptions) {
    fanout_.tally().count_limit(Limit::subscriptions);
    return refuse(id, ErrorCode::too_many_subscriptions);
  }
  auto result = bind_subscription(fanout_.model(), principal_, subscribe);
  if (const auto* refusal = std::get_if<SubscribeRefusal>(&result)) return refuse(id, *refusal);
  if (!fanout_.has_room_for(std::get<Bound>(result).spec->id)) {
    fanout_.tally().count_limit(Limit::groups);
    return refuse(id, SubscribeRefusal{ErrorCode::unavailable, std::string(constant_text(ErrorCode::unavailable)),
                                       fanout_.model().retry_after, "limit.groups is reached"});
  }
  SubscriptionName name{subscribe, std::get<Bound>(std::move(result))};
  name.request.cursor.reset();
  if (!subscribe.cursor) return open(std::move(name), std::nullopt);
  const auto check = check_cursor(fanout_.model(), name.bound, *subscribe.cursor);
  if (std::holds_alternative<CursorInvalid>(check)) return refuse(id, ErrorCode::cursor_invalid);
  if (const auto* reason = std::get_if<ResetReason>(&check)) {
    tell(ResetRequired{id, *reason});
    return open(std::move(name), std::nullopt);
  }
  const auto parts = split_cursor(*subscribe.cursor);
  open(std::move(name), Subscription::Cursor{std::get<Resume>(check).after, std::string(parts->position)});
}

void Session::handle(const Unsubscribe& unsubscribe, Now) {
  // Also where there is none of this name (any more): the server may have ended it while this message was on its way.
  remove_name(unsubscribe.id);
  tell(Unsubscribed{unsubscribe.id, UnsubscribedReason::requested});
}

void Session::handle(const Refresh& refresh, Now now) {
  auto verified = verify(refresh.token, now);
  if (!verified) {
    if (!waits_for_keys(verified.error(), refresh)) refuse_token(verified.error());
    return;
  }
  const auto& fresh = verified.value();
  if (fresh.issuer != principal_.issuer || fresh.subject != principal_.subject) {
    return close(close_code::forbidden, "the refreshed token is of another principal");
  }
  const bool claims_changed = fresh.claims != principal_.claims;
  principal_ = std::move(verified.value());
  warned_of_expiry_ = false;
  next_tick_ = now.steady;  // the deadline so far was the old token's
  if (claims_changed) rebind(ResetReason::authorization_changed);
}

void Session::handle(const Pong&, Now) {}

void Session::strike(const BadRequest& request) {
  tell(Error{request.id, ErrorCode::bad_request, request.message, std::nullopt, request.space, request.number, {}});
  if (++strikes_ >= fanout_.options().strikes) close(close_code::bad_message, "too many bad requests");
}

void Session::refuse(const std::string& id, ErrorCode code) {
  tell(Error{id, code, std::string(constant_text(code)), std::nullopt});
}

void Session::refuse(const std::string& id, const SubscribeRefusal& refusal) {
  // The client is told a constant text; with the connection's id, which it is told, too, the cause is found here.
  const auto level = refusal.code == ErrorCode::unavailable ? log::Level::warn : log::Level::info;
  log::write_sparingly(level, "subscribe_refused",
                       {correlation().connection_field(),
                        correlation().trace_field(),
                        {"subject", principal_.subject},
                        {"id", id},
                        {"cause", refusal.cause}});
  Error error{id, refusal.code, refusal.text, refusal.retry_after};
  error.connection = correlation().id;
  tell(error);
}

// Writing.

std::span<const std::string_view> Session::produce(Now now) {
  Message& message = fanout_.message();
  message.clear();
  if (phase_ == Phase::closed || over_) return {};
  message.frames_before(std::exchange(pong_, {}));
  if (revoked_) answers_.clear();  // also what came since
  message.own(std::exchange(answers_, {}));
  ask_receipts();
  if (phase_ == Phase::open) {
    write_streams(message);
    write_receipts(message);
    write_at(message);
  }
  if (phase_ == Phase::closing) {
    std::string frame;
    append_ws_close(frame, close_code_, close_reason_);
    message.frames_after(std::move(frame));
    phase_ = Phase::closed;
  }
  const auto pieces = message.finish();
  if (!pieces.empty()) sent_at_ = now.steady;
  return pieces;
}

void Session::write_streams(Message& message) {
  // Another one begins each time, so that one with much to say does not keep the others from it.
  const std::size_t count = streams_.size();
  if (count > 0) ++next_stream_;
  for (std::size_t i = 0; i < count; ++i) streams_[(next_stream_ + i) % count]->write(message);
}

void Session::write_at(Message& message) {
  std::vector<std::string_view> moved;
  for (const auto& each : streams_) {
    const bool is_new = each->take_moved() && each->ready() && streams_.size() > 1;
    if (is_new && std::ranges::find(moved, each->spec().space) == moved.end()) moved.push_back(each->spec().space);
  }
  for (const auto space : moved) {
    if (const auto through = complete_through(space)) {
      std::string document;
      append_document(document, At{std::string(space), through->value});
      message.own(document + '\n');
    }
  }
}

/// Absent: fewer than two views of the space are ready, or one of them stands inside a commit.
std::optional<ledger::Sequence> Session::complete_through(std::string_view space) const {
  std::size_t ready = 0;
  std::optional<ledger::Sequence> out;
  for (const auto& each : streams_) {
    if (!each->ready() || each->spec().space != space) continue;
    if (!each->between_commits()) return std::nullopt;
    ++ready;
    out = out ? std::min(*out, each->through()) : each->through();
  }
  return ready < 2 ? std::nullopt : out;
}

// The end.

void Session::close(std::uint16_t code, std::string_view reason) {
  if (closing()) return;
  phase_ = Phase::closing;
  close_code_ = code;
  close_reason_ = reason;
  fanout_.tally().count_close(code);
  next_tick_ = Time::min();  // the time to close starts with the next tick
  mark_due();
}

void Session::drain(std::chrono::milliseconds reconnect_after) {
  if (phase_ == Phase::open) tell(Drain{reconnect_after});
  close(close_code::service_restart, "the node stops");
}

void Session::revoke() {
  revoked_ = true;
  streams_.clear();
  answers_.clear();
  log::info("session_revoked", {correlation().connection_field(), correlation().trace_field()});
  close(close_code::revoked, revoked_text);
  mark_due();
}

void Session::on_notice(NoticeKind kind) {
  if (phase_ == Phase::open) tell(Notice{kind, std::nullopt});
}

}  // namespace viewgate::gateway
