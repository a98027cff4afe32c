#include "gateway/inspect_rows.hpp"

#include <algorithm>
#include <numeric>

#include "gateway/proxies.hpp"
#include "projection/expression_text.hpp"

namespace viewgate::gateway {
namespace {

std::int64_t milliseconds_between(Session::Time from, Session::Time to) {
  return std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count(), 0);
}

std::int64_t number_of(auto value) { return static_cast<std::int64_t>(value); }

/// Which of its subscriptions have something in what a blocked socket has not taken, nobody can tell: all of them may.
bool is_behind(const Subscription& stream, bool is_blocked) { return is_blocked || stream.stage() != Stage::following; }

std::string json_of(const SubscriptionName& name) {
  JsonObject out;
  return out.text("id", name.request.id).text("view", name.request.view).json("params", name.request.params).str();
}

std::string json_of(const Subscription& stream, bool is_blocked) {
  const GroupSpec& spec = stream.spec();
  JsonObject out;
  out.json("names", json_array(stream.names(), [](const SubscriptionName& each) { return json_of(each); }))
      .text("space", spec.space)
      .text("view", spec.group->view()->name)
      .text("group", hex(spec.id))
      .text("stage", name(stream.stage()))
      .boolean("behind", is_behind(stream, is_blocked))
      .text("through", std::to_string(stream.through().value))
      .text("head", std::to_string(stream.group().head().value))
      .number("unwritten_bytes", stream.unwritten_bytes());
  return out.str();
}

std::string condition_text(const projection::Group& group) {
  return projection::text_of(group.predicate(), group.table().layout);
}

}  // namespace

std::size_t StreamsSight::count() const { return std::accumulate(stages.begin(), stages.end(), std::size_t{0}); }

void StreamsSight::add(const StreamsSight& other) {
  for (std::size_t i = 0; i < stages.size(); ++i) stages[i] += other.stages[i];
  behind += other.behind;
  unwritten_bytes += other.unwritten_bytes;
}

StreamsSight streams_of(const Session& session) {
  StreamsSight out;
  const bool is_blocked = session.blocked_since().has_value();
  for (const auto& each : session.streams()) {
    ++out.stages[static_cast<std::size_t>(each->stage())];
    if (is_behind(*each, is_blocked)) ++out.behind;
    out.unwritten_bytes += each->unwritten_bytes();
  }
  return out;
}

std::size_t ConnectionSight::queue_bytes() const {
  const std::size_t answers = session_ == nullptr ? 0 : session_->answers_bytes();
  return connection_.pending_bytes() + answers + streams_.unwritten_bytes;
}

std::string ConnectionSight::id() const { return std::to_string(reactor_) + "-" + std::to_string(connection_.number); }

bool ConnectionSight::matches(std::string_view search) const {
  if (search.empty() || id() == search || connection_.correlation().id == search) return true;
  if (is_found_in(address_text(connection_.address), search)) return true;
  if (session_ == nullptr) return false;
  const auto& principal = session_->principal();
  return is_found_in(principal.subject, search) || is_found_in(principal.issuer, search) ||
         is_found_in(session_->client(), search);
}

RowPlace ConnectionSight::place(std::string_view sort) const {
  RowPlace out;
  out.id = id();
  // By the moment at which it was opened, which stands still while pages are turned.
  if (sort == "age") out.number = -connection_.opened_at().time_since_epoch().count();
  if (sort == "queue_bytes") out.number = number_of(queue_bytes());
  if (sort == "subscriptions") out.number = session_ == nullptr ? 0 : number_of(session_->subscription_count());
  if (sort == "behind") out.number = number_of(streams_.behind);
  if (sort == "principal" && session_ != nullptr) out.text = session_->principal().subject;
  if (sort == "address") out.text = address_text(connection_.address);
  return out;
}

JsonObject ConnectionSight::members() const {
  JsonObject out;
  out.text("id", id())
      .text("connection", connection_.correlation().id)
      .text("address", address_text(connection_.address));
  out.text("state", session_ == nullptr ? "request" : session_->state());
  out.number("age_ms", milliseconds_between(connection_.opened_at(), now_.steady));
  if (session_ == nullptr) {
    return out.number("subscriptions", 0).number("behind", 0).number("queue_bytes", queue_bytes());
  }
  out.text_if_any("principal", session_->principal().subject).text_if_any("issuer", session_->principal().issuer);
  out.text_if_any("client", session_->client());
  out.number("heard_ms", milliseconds_between(session_->heard_at(), now_.steady));
  if (const auto since = session_->blocked_since()) {
    out.number("blocked_ms", milliseconds_between(*since, now_.steady));
  }
  return out.number("subscriptions", session_->subscription_count())
      .number("behind", streams_.behind)
      .number("queue_bytes", queue_bytes());
}

std::string ConnectionSight::json() const { return members().str(); }

std::string ConnectionSight::whole_json() const {
  JsonObject out = members();
  if (session_ == nullptr) return out.json("streams", "[]").str();
  const auto& principal = session_->principal();
  out.text_if_any("token_id", principal.token_id);
  if (!principal.claims.empty()) {
    const auto left = std::chrono::floor<std::chrono::seconds>(principal.expires_at - now_.wall);
    out.json("claims", principal.claims).number("expires_seconds", left.count());
  }
  const auto shown = session_->streams().first(std::min(session_->streams().size(), subscriptions_shown_max));
  out.json("streams", json_array(shown, [this](const auto& each) { return json_of(*each, is_blocked()); }));
  return out.number("streams_left_out", session_->streams().size() - shown.size()).str();
}

void GroupUse::add(const GroupUse& other) {
  groups += other.groups;
  subscribers += other.subscribers;
  ring_bytes += other.ring_bytes;
}

GroupUse use_of(const LocalGroup& group) { return {1, group.subscribers.size(), group.ring.bytes()}; }

std::string hex(const GroupId& id) { return projection::Digest{id.bytes}.hex(); }

bool matches(const Engine::GroupSight& group, std::string_view search) {
  return search.empty() || is_found_in(group.spec.group->view()->name, search) ||
         is_found_in(group.spec.space, search) || is_found_in(hex(group.spec.id), search);
}

RowPlace place_of(const Engine::GroupSight& group, const GroupUse& use, std::string_view sort) {
  RowPlace out;
  out.id = hex(group.spec.id);
  if (sort == "subscribers") out.number = number_of(use.subscribers);
  if (sort == "documents") out.number = number_of(group.documents);
  if (sort == "document_bytes") out.number = number_of(group.document_bytes);
  if (sort == "ring_bytes") out.number = number_of(use.ring_bytes);
  if (sort == "view") out.text = group.spec.group->view()->name;
  if (sort == "space") out.text = group.spec.space;
  return out;
}

std::string json_of(const Engine::GroupSight& group, const GroupUse& use) {
  const GroupSpec& spec = group.spec;
  JsonObject out;
  out.text("group", hex(spec.id))
      .text("view", spec.group->view()->name)
      .text("version", spec.group->view()->version.hex())
      .text("space", spec.space)
      .text("condition", condition_text(*spec.group))
      .number("reactors", use.groups)
      .number("subscribers", use.subscribers)
      .number("ring_bytes", use.ring_bytes)
      .number("documents", group.documents)
      .number("document_bytes", group.document_bytes)
      .number("evaluation_errors", spec.group->evaluation_errors());
  return out.str();
}

std::string json_of(const projection::View& view, const ViewUse& use) {
  JsonObject out;
  out.text("view", view.name)
      .text("version", view.version.hex())
      .text("collection", view.table->collection)
      .number("groups", use.groups)
      .number("subscribers", use.on_reactors.subscribers)
      .number("ring_bytes", use.on_reactors.ring_bytes)
      .number("documents", use.documents)
      .number("document_bytes", use.document_bytes)
      .number("evaluation_errors", use.evaluation_errors);
  return out.str();
}

RowPlace place_of(const Engine::SpaceSight& space, const ledger::SpaceLag& lag, std::string_view sort) {
  RowPlace out;
  out.id = space.name;
  if (sort == "lag_seconds") out.number = lag.time.count();
  if (sort == "lag_commits") out.number = lag.commits;
  if (sort == "head") out.number = space.head.value;
  if (sort == "groups") out.number = number_of(space.groups);
  if (sort == "recent_bytes") out.number = number_of(space.recent_bytes);
  if (sort == "space") out.text = space.name;
  return out;
}

namespace {

JsonObject members_of(const ledger::SpaceLag& lag) {
  JsonObject out;
  return out.text("space", lag.space)
      .number("lag_commits", lag.commits)
      .number("lag_ms", std::chrono::duration_cast<std::chrono::milliseconds>(lag.time).count());
}

}  // namespace

std::string json_of(const ledger::SpaceLag& lag) { return members_of(lag).str(); }

std::string json_of(const Engine::SpaceSight& space, const ledger::SpaceLag& lag) {
  return members_of(lag)
      .boolean("following", space.following)
      .text("head", std::to_string(space.head.value))
      .number("groups", space.groups)
      .number("recent_bytes", space.recent_bytes)
      .str();
}

}  // namespace viewgate::gateway
