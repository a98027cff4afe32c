// Session, second half: which subscriptions it has, and its deadlines.
#include <algorithm>
#include <iterator>

#include "gateway/errors.hpp"
#include "gateway/session.hpp"

namespace viewgate::gateway {

// Streams and their names.

std::size_t Session::subscription_count() const {
  std::size_t out = 0;
  for (const auto& each : streams_) out += each->names().size();
  return out;
}

std::string_view Session::state() const {
  switch (phase_) {
    case Phase::hello:
      return "hello";
    case Phase::open:
      return "open";
    case Phase::closing:
    case Phase::closed:
      return "closing";
  }
  return {};
}

bool Session::has(std::string_view id) const {
  return std::ranges::any_of(streams_, [&](const auto& stream) {
    return std::ranges::any_of(stream->names(), [&](const auto& name) { return name.request.id == id; });
  });
}

Subscription* Session::find(const GroupId& group) {
  const auto found = std::ranges::find_if(streams_, [&](const auto& stream) { return stream->spec().id == group; });
  return found == streams_.end() ? nullptr : found->get();
}

void Session::open(SubscriptionName name, std::optional<Subscription::Cursor> cursor) {
  if (Subscription* shared = find(name.bound.spec->id)) return shared->add_name(std::move(name));
  streams_.push_back(std::make_unique<Subscription>(*this, fanout_, std::move(name), std::move(cursor)));
  streams_.back()->begin();
}

void Session::end(Subscription& subscription) {
  std::erase_if(streams_, [&](const auto& each) { return each.get() == &subscription; });
}

void Session::remove_name(std::string_view id) {
  for (const auto& stream : streams_) {
    auto& names = stream->names();
    const auto name = std::ranges::find_if(names, [&](const auto& each) { return each.request.id == id; });
    if (name == names.end()) continue;
    // The others of the group go on with the stream; but one that still waits for the answer about the first one's
    // cursor would resume a set that they do not hold.
    const bool takes_cursor_along = name == names.begin() && !name->told;
    names.erase(name);
    if (!names.empty() && !takes_cursor_along) return;
    auto others = std::exchange(names, {});
    end(*stream);
    for (auto& each : others) open(std::move(each), std::nullopt);
    return;
  }
}

std::optional<SubscriptionName> Session::bound_again(const SubscriptionName& name) {
  auto result = bind_subscription(fanout_.model(), principal_, name.request);
  if (auto* bound = std::get_if<Bound>(&result)) return SubscriptionName{name.request, std::move(*bound)};
  const auto& refusal = std::get<SubscribeRefusal>(result);
  if (refusal.code == ErrorCode::forbidden) {
    tell(Unsubscribed{name.request.id, UnsubscribedReason::forbidden});
  } else {
    refuse(name.request.id, refusal);
  }
  return std::nullopt;
}

std::vector<SubscriptionName> Session::take_changed_names(Subscription& stream) {
  std::vector<SubscriptionName> kept;
  std::vector<SubscriptionName> changed;
  for (auto& name : stream.names()) {
    auto again = bound_again(name);
    if (!again) continue;
    const bool same = again->bound.context == name.bound.context && again->bound.spec->id == stream.spec().id;
    if (same) {
      kept.push_back(std::move(name));
    } else {
      changed.push_back(std::move(*again));
    }
  }
  // The stream that waits for an answer about its first name's cursor does not go on without that name.
  if (!kept.empty() && !kept.front().told && kept.front().request.id != stream.names().front().request.id) {
    std::ranges::move(kept, std::back_inserter(changed));
    kept.clear();
  }
  stream.names() = std::move(kept);
  return changed;
}

void Session::rebind(ResetReason reason) {
  std::vector<SubscriptionName> changed;
  for (const auto& stream : streams_) std::ranges::move(take_changed_names(*stream), std::back_inserter(changed));
  std::erase_if(streams_, [](const auto& stream) { return stream->names().empty(); });
  start_anew(std::move(changed), reason);
}

void Session::restart(Subscription& subscription, ResetReason reason) {
  const auto names = std::exchange(subscription.names(), {});
  end(subscription);
  std::vector<SubscriptionName> again;
  for (const auto& each : names) {
    if (auto name = bound_again(each)) again.push_back(std::move(*name));
  }
  start_anew(std::move(again), reason);
}

void Session::start_anew(std::vector<SubscriptionName> names, ResetReason reason) {
  // First every reset, then every subscribed: those that share a set must not drop it when it has begun anew.
  for (const auto& each : names) tell(ResetRequired{each.request.id, reason});
  for (auto& each : names) open(std::move(each), std::nullopt);
}

// Time.

void Session::on_written(Now now) {
  // What is due only while nothing is in its way, such as the heartbeat, may be due by now.
  if (std::exchange(blocked_since_, std::nullopt)) next_tick_ = std::min(next_tick_, now.steady);
}

void Session::on_blocked(Now now) {
  if (blocked_since_) return;
  blocked_since_ = now.steady;
  next_tick_ = std::min(next_tick_, now.steady + fanout_.options().no_progress);
}

void Session::on_tick(Now now) {
  if (now.steady < next_tick_ || over_) return;
  if (!closing()) check_deadlines(now);
  if (closing()) {
    if (!closing_since_) closing_since_ = now.steady;
    over_ = now.steady - *closing_since_ >= fanout_.options().close_time;
  }
  next_tick_ = deadline(now);
}

void Session::check_deadlines(Now now) {
  const auto& options = fanout_.options();
  const auto passed = [&](Time since, std::chrono::milliseconds limit) { return now.steady - since >= limit; };
  if (phase_ == Phase::hello && passed(opened_at_, options.hello_time)) {
    if (waiting_ && ticket_ == TicketState::awaited) return on_ticket_unavailable();
    return close(close_code::auth_required, "no hello came in time");
  }
  if (message_since_ && passed(*message_since_, options.message_time))
    return close(close_code::policy_violation, "a message took too long");
  if (blocked_since_ && passed(*blocked_since_, options.no_progress))
    return close(close_code::slow_reader, "nothing was read for too long; resume with the stored cursor");
  if (passed(heard_at_, options.silence)) return close(close_code::going_away, "nothing was heard for too long");
  if (phase_ != Phase::open) return;
  const auto is_late = [&](const auto& each) {
    const auto end = each->reading_deadline(now.steady);
    return end && now.steady >= *end;
  };
  if (std::ranges::any_of(streams_, is_late))
    return close(close_code::slow_reader, "what was to be sent was read too slowly for others to have room");
  check_expiry(now);
  check_heartbeat(now);
}

void Session::check_expiry(Now now) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(principal_.expires_at - now.wall);
  if (left.count() <= 0) return close(close_code::auth_expired, "the token has expired");
  if (warned_of_expiry_ || left > fanout_.options().expiry_warning) return;
  warned_of_expiry_ = true;
  tell(Notice{NoticeKind::auth_expiring, left});
}

/// A ping also where only the client is silent: a busy stream would otherwise never make it speak.
void Session::check_heartbeat(Now now) {
  const auto& options = fanout_.options();
  if (blocked_since_ || closing()) return;
  const auto quiet_since = std::min(sent_at_, std::max(heard_at_, pinged_at_));
  if (now.steady - quiet_since < options.heartbeat) return;
  pinged_at_ = now.steady;
  tell(Ping{});
}

Session::Time Session::deadline(Now now) const {
  const auto& options = fanout_.options();
  if (closing_since_) return *closing_since_ + options.close_time;
  Time out = heard_at_ + options.silence;
  if (phase_ == Phase::hello) out = std::min(out, opened_at_ + options.hello_time);
  if (message_since_) out = std::min(out, *message_since_ + options.message_time);
  if (blocked_since_) out = std::min(out, *blocked_since_ + options.no_progress);
  if (phase_ != Phase::open) return out;
  for (const auto& each : streams_) out = std::min(out, each->reading_deadline(now.steady).value_or(out));
  const Time quiet_since = blocked_since_ ? now.steady : std::min(sent_at_, std::max(heard_at_, pinged_at_));
  out = std::min(out, quiet_since + options.heartbeat);
  // The wall clock may be set: the token's end is looked at at least once in a heartbeat, which is what `out` is now.
  const auto expiry = principal_.expires_at - now.wall;
  const auto warning = warned_of_expiry_ ? expiry : expiry - options.expiry_warning;
  return std::min(out, now.steady + std::max(warning, std::chrono::system_clock::duration{0}));
}

}  // namespace viewgate::gateway
