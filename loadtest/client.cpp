#include "loadtest/client.hpp"

#include <algorithm>

#include "gateway/protocol.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::loadtest {

namespace {

using Members = std::vector<Member>;

// From connect to welcome; the server's own deadlines for the same are shorter.
constexpr std::chrono::seconds welcome_time{20};

std::string_view plain(const Members& document, std::string_view name) { return unquoted(member(document, name)); }

std::int64_t number(const Members& document, std::string_view name) {
  return integer(member(document, name)).value_or(-1);
}

/// Closing codes that an honest client may get from a server that restarts, drains or finds it slow.
bool honest(std::uint16_t code) {
  return code == gateway::close_code::going_away || code == gateway::close_code::service_restart ||
         code == gateway::close_code::try_again_later || code == gateway::close_code::slow_reader || code == 1000;
}

}  // namespace

Client::Client(Loop& loop, std::string name, Address address, std::string token, std::vector<Wanted> wanted,
               Violations& violations, Totals& totals)
    : name_(std::move(name)),
      address_(std::move(address)),
      token_(std::move(token)),
      violations_(&violations),
      totals_(&totals),
      link_(loop, *this) {
  for (Wanted& one : wanted) subscriptions_.emplace_back(std::move(one), name_, violations);
}

void Client::connect(Clock::time_point now) {
  welcomed_ = false;
  heard_ = now;
  connecting_since_ = now;
  not_before_.reset();
  link_.open(address_);
}

void Client::on_open() {
  std::string text;
  gateway::append_document(text, gateway::Hello{gateway::protocol_version, token_});
  link_.send(text);
}

void Client::on_message(std::string_view text) {
  heard_ = Clock::now();
  totals_->bytes += text.size();
  while (!text.empty() && online()) {
    const std::size_t end = text.find('\n');
    const std::string_view document = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!document.empty()) on_document(document);
  }
}

void Client::on_document(std::string_view text) {
  ++totals_->documents;
  Members document = std::move(members_scratch_);
  if (!members(text, document)) return broken("not a document: " + std::string(text.substr(0, 200)));
  const std::string_view type = plain(document, "type");
  if (observer_) observer_(text, document);
  if (type == "commit" || type == "progress" || type == "snapshot" || type == "ready") {
    on_shared(type, document);
  } else if (type == "at") {
    on_at(document);
  } else if (type == "ping") {
    link_.send(R"({"type":"pong"})");
  } else if (type == "welcome") {
    if (welcomed_) broken("welcome twice");
    welcomed_ = true;
    ++totals_->connections;
    heartbeat_ = std::chrono::seconds(number(document, "heartbeat"));
    for (Subscription& subscription : subscriptions_) ask(subscription);
  } else if (type == "subscribed") {
    on_subscribed(document);
  } else if (type == "reset_required") {
    ++totals_->resets;
    Subscription* subscription = by_id(plain(document, "id"));
    if (subscription == nullptr) return broken("reset_required for no subscription of mine");
    subscription->fold.reset_required();
  } else if (type == "unsubscribed") {
    on_unsubscribed(document);
  } else if (type == "error") {
    on_error(document);
  } else if (type == "drain") {
    ++totals_->drains;
    not_before_ =
        Clock::now() + std::chrono::milliseconds(std::max<std::int64_t>(0, number(document, "reconnect_after")));
  } else if (type == "notice") {
    ++totals_->notices;
  }
  members_scratch_ = std::move(document);
}

void Client::on_subscribed(const Members& document) {
  Subscription* subscription = by_id(plain(document, "id"));
  if (subscription == nullptr) return broken("subscribed for no subscription of mine");
  const bool resumed = member(document, "resumed") == "true";
  subscription->phase = Subscription::Phase::open;
  subscription->shares.reset();
  subscription->channel = plain(document, "channel");
  if (const std::string_view same = plain(document, "same_as"); !same.empty() && same != "null") {
    const Subscription* holder = by_id(same);
    if (holder == nullptr || holder == subscription) return broken("same_as names no other subscription of mine");
    subscription->fold.forget();
    for (std::size_t i = 0; i < subscriptions_.size(); ++i) {
      if (&subscriptions_[i] == holder) subscription->shares = i;
    }
    return;
  }
  ++(resumed ? totals_->resumptions : totals_->bootstraps);
  subscription->fold.subscribed(plain(document, "context"), resumed);
}

void Client::on_shared(std::string_view type, const Members& document) {
  Subscription* subscription = by_channel(plain(document, "channel"));
  if (subscription == nullptr) {
    // What was under way when we left may still come; anything else is a leak of a channel that nobody asked for.
    const bool leaving = std::any_of(subscriptions_.begin(), subscriptions_.end(),
                                     [](const Subscription& one) { return one.phase == Subscription::Phase::leaving; });
    if (!leaving) broken(std::string(type) + " on a channel that is not mine");
    return;
  }
  if (subscription->phase == Subscription::Phase::leaving) return;
  Fold& fold = subscription->fold;
  const std::int64_t sequence = type == "snapshot" ? 0 : number(document, "sequence");
  if (sequence < 0) return broken(std::string(type) + " without a sequence");
  if (type == "commit") {
    const bool last = member(document, "last") != "false";
    if (last) ++totals_->deliveries;
    if (keep_ == Keep::set) {
      fold.commit(sequence, plain(document, "position"), member(document, "events"), last);
    } else {
      fold.pass(sequence, plain(document, "position"), last);
    }
  } else if (type == "progress") {
    fold.progress(sequence, plain(document, "position"));
  } else if (type == "snapshot") {
    fold.snapshot(member(document, "records"));
  } else {
    fold.ready(sequence, plain(document, "position"), number(document, "head"));
  }
}

void Client::on_at(const Members& document) {
  const std::string_view space = plain(document, "space");
  for (Subscription& subscription : subscriptions_) {
    if (subscription.wanted.space == space && !subscription.shares)
      subscription.fold.complete_through(number(document, "sequence"));
  }
}

void Client::on_error(const Members& document) {
  Subscription* subscription = by_id(plain(document, "id"));
  const std::string text = std::string(plain(document, "code")) + " " + std::string(plain(document, "message"));
  if (subscription == nullptr) return broken("error " + text);
  subscription->phase = Subscription::Phase::off;
  subscription->fold.lost();
  const std::int64_t retry = number(document, "retry_after");
  if (retry < 0) return broken(subscription->wanted.id + " refused for good: " + text);
  ++totals_->refusals;
  subscription->ask_again = Clock::now() + std::chrono::milliseconds(retry);
}

void Client::on_unsubscribed(const Members& document) {
  Subscription* subscription = by_id(plain(document, "id"));
  if (subscription == nullptr || subscription->phase != Subscription::Phase::leaving)
    return broken("unsubscribed unasked");
  subscription->phase = Subscription::Phase::off;
  subscription->ask_again = Clock::now();
}

void Client::on_ended(std::uint16_t code, const std::string& why) {
  if (!welcomed_) ++totals_->connections_failed;
  ++totals_->endings[why];
  if (code != 0 && !honest(code)) broken(why);
  welcomed_ = false;
  for (Subscription& subscription : subscriptions_) {
    subscription.phase = Subscription::Phase::off;
    subscription.shares.reset();
    subscription.channel.clear();
    subscription.ask_again.reset();
    subscription.fold.lost();
  }
}

void Client::ask(Subscription& subscription) {
  subscription.phase = Subscription::Phase::asked;
  subscription.ask_again.reset();
  gateway::Subscribe message;
  message.id = subscription.wanted.id;
  message.space = subscription.wanted.space;
  message.view = subscription.wanted.view;
  message.params = subscription.wanted.params;
  message.cursor = subscription.fold.cursor();
  std::string text;
  gateway::append_document(text, message);
  link_.send(text);
}

void Client::unsubscribe(std::size_t index) {
  Subscription& subscription = subscriptions_[index];
  if (subscription.phase != Subscription::Phase::open) return;
  subscription.phase = Subscription::Phase::leaving;
  subscription.fold.lost();
  std::string text;
  gateway::append_document(text, gateway::Unsubscribe{subscription.wanted.id});
  link_.send(text);
}

void Client::tick(Clock::time_point now) {
  if (!online()) return;
  if (!welcomed_) {
    if (now - connecting_since_ > welcome_time) {
      broken("no welcome within " + std::to_string(welcome_time.count()) + " s");
      link_.cut(true);
    }
    return;
  }
  if (heartbeat_.count() > 0 && now - heard_ > 2 * heartbeat_) {
    ++totals_->dead_links;
    return link_.cut(true);
  }
  for (Subscription& subscription : subscriptions_) {
    if (!online()) return;
    if (subscription.phase == Subscription::Phase::off && subscription.ask_again && *subscription.ask_again <= now)
      ask(subscription);
  }
}

bool Client::live() const {
  if (!welcomed_) return false;
  for (std::size_t i = 0; i < subscriptions_.size(); ++i) {
    if (subscriptions_[i].phase != Subscription::Phase::open || !fold_of(i).live()) return false;
  }
  return true;
}

const Fold& Client::fold_of(std::size_t index) const {
  const Subscription& subscription = subscriptions_[index];
  return subscription.shares ? subscriptions_[*subscription.shares].fold : subscription.fold;
}

Client::Subscription* Client::by_id(std::string_view id) {
  for (Subscription& one : subscriptions_) {
    if (one.wanted.id == id) return &one;
  }
  return nullptr;
}

Client::Subscription* Client::by_channel(std::string_view channel) {
  for (Subscription& one : subscriptions_) {
    if (one.channel == channel && !one.shares && one.phase != Subscription::Phase::off) return &one;
  }
  return nullptr;
}

}  // namespace viewgate::loadtest
