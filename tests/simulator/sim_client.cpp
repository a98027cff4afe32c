#include "simulator/sim_client.hpp"

#include <algorithm>

#include "gateway/protocol_json.hpp"

namespace viewgate::simulator {

using gateway::Now;
using loadtest::Member;
using loadtest::member;
using loadtest::unquoted;

// The server's end.

void SimConnection::flush(Now now) {
  while (session_ && pending_.empty()) {
    const auto pieces = session_->produce(now);
    if (pieces.empty()) break;
    for (const auto piece : pieces) pending_ += piece;
    fill_pipe();
    if (!pending_.empty()) session_->on_blocked(now);
  }
  if (session_ && session_->said_goodbye() && pending_.empty()) session_.reset();
}

void SimConnection::fill_pipe() {
  const std::size_t count = std::min(pending_.size(), capacity_ - std::min(capacity_, pipe_.size()));
  pipe_ += pending_.substr(0, count);
  pending_.erase(0, count);
}

std::string SimConnection::take(std::size_t bytes_max, Now now) {
  std::string out = pipe_.substr(0, bytes_max);
  pipe_.erase(0, out.size());
  if (!session_ || pending_.empty()) return out;
  const std::size_t before = pending_.size();
  fill_pipe();
  if (pending_.size() < before) session_->on_written(now);
  if (pending_.empty()) {
    flush(now);
  } else {
    session_->on_blocked(now);
  }
  return out;
}

void SimConnection::receive(std::string bytes, Now now) {
  if (session_) session_->on_bytes(bytes, now);
}

void SimConnection::on_tick(Now now) {
  if (!session_) return;
  session_->on_tick(now);
  if (session_->over()) session_.reset();
}

// The client.

SimClient::SimClient(std::string name, std::vector<gateway::Subscribe> wanted, loadtest::Violations& violations)
    : name_(std::move(name)), violations_(violations) {
  for (auto& each : wanted) {
    each.id = name_ + " " + each.space + " " + each.view + " " + each.params;
    slots_.push_back(std::make_unique<Slot>(std::move(each), violations));
  }
}

void SimClient::connect(gateway::Fanout& fanout, std::size_t capacity, std::string token, Now now) {
  connection_ = std::make_unique<SimConnection>(fanout, capacity, now);
  reader_ = gateway::WsReader(gateway::WsRole::client, {64 * 1024 * 1024, 64});
  to_say_.clear();
  welcomed_ = false;
  gives_up_ = false;
  std::string hello;
  append_document(hello, gateway::Hello{1, std::move(token)});
  say(hello);
}

void SimClient::say(const std::string& text) { append_ws_masked(to_say_, gateway::WsOpcode::text, text, 0x5a5a1234); }

void SimClient::cut() {
  connection_.reset();
  for (auto& each : slots_) lose(*each);
}

void SimClient::lose(Slot& slot) {
  slot.fold.lost();
  slot.link = Slot::Link::none;
  slot.channel.clear();
  slot.shadow.clear();
  slot.former.clear();
}

void SimClient::write(std::size_t bytes_max, Now now) {
  if (!connection_) return;
  if (connection_->session() != nullptr && !connection_->session()->wants_input()) return;
  std::string bytes = to_say_.substr(0, bytes_max);
  to_say_.erase(0, bytes.size());
  connection_->receive(std::move(bytes), now);
}

void SimClient::read(std::size_t bytes_max, Now now) {
  if (!connection_) return;
  std::string bytes = connection_->take(bytes_max, now);
  std::span<char> rest(bytes);
  while (const auto event = reader_.next(rest)) {
    if (event->kind == gateway::WsEvent::Kind::failure)
      return broken("a frame that is none: " + std::string(event->text));
    if (event->kind == gateway::WsEvent::Kind::close) {
      // Too slow to say hello or to read is what a slow client may be told; all else would be its own mistake.
      if (event->code >= 4000 && event->code != 4001 && event->code != 4008)
        broken("closed with " + std::to_string(event->code));
      return cut();
    }
    if (event->kind == gateway::WsEvent::Kind::message) on_message(event->text, now);
  }
  if (gives_up_ || (connection_->closed() && connection_->drained())) cut();
}

void SimClient::on_message(std::string_view text, Now now) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    on_document(text.substr(0, end), now);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

Slot* SimClient::by_id(std::string_view id) {
  const auto found = std::ranges::find_if(slots_, [&](const auto& each) {
    return each->link != Slot::Link::none && (each->id == id || each->shadow == id || each->former == id);
  });
  return found == slots_.end() ? nullptr : found->get();
}

Slot* SimClient::by_channel(std::string_view channel) {
  const auto found = std::ranges::find_if(slots_, [&](const auto& each) { return each->channel == channel; });
  return found == slots_.end() ? nullptr : found->get();
}

void SimClient::on_document(std::string_view document, Now now) {
  if (gives_up_) return;
  std::vector<Member> all;
  if (!loadtest::members(document, all)) return broken("not a document: " + std::string(document));
  const auto type = unquoted(member(all, "type"));
  if (type == "welcome") welcomed_ = true;
  if (type == "ping") say("{\"type\":\"pong\"}");
  if (type == "subscribed") return on_subscribed(all);
  if (type == "error") return on_error(all, now);
  if (type == "unsubscribed") {
    Slot* slot = by_id(unquoted(member(all, "id")));
    if (slot != nullptr && slot->link == Slot::Link::leaving) lose(*slot);
    if (slot != nullptr) slot->former.clear();
  }
  const auto sequence = loadtest::integer(member(all, "sequence"));
  if (type == "at") {
    for (auto& each : slots_) {
      if (each->request.space == unquoted(member(all, "space"))) each->fold.complete_through(*sequence);
    }
  }
  if (type == "reset_required") {
    if (Slot* slot = by_id(unquoted(member(all, "id")))) slot->fold.reset_required();
  }
  const auto channel = member(all, "channel");
  if (channel.empty()) return;
  Slot* slot = by_channel(unquoted(channel));
  if (slot == nullptr) return broken("a document for a channel that was not opened: " + std::string(document));
  const auto position = unquoted(member(all, "position"));
  if (type == "snapshot") slot->fold.snapshot(member(all, "records"));
  if (type == "ready") slot->fold.ready(*sequence, position, *loadtest::integer(member(all, "head")));
  if (type == "progress") slot->fold.progress(*sequence, position);
  if (type == "commit") slot->fold.commit(*sequence, position, member(all, "events"), member(all, "last") != "false");
}

void SimClient::on_subscribed(const std::vector<Member>& document) {
  const auto id = unquoted(member(document, "id"));
  Slot* slot = by_id(id);
  if (slot == nullptr) return;  // left meanwhile
  if (!member(document, "same_as").empty()) {
    slot->shadow_told = true;
    return;
  }
  // A shadow may come first where the one before it left in time.
  if (slot->shadow == id) slot->id = std::exchange(slot->shadow, {});
  if (slot->link == Slot::Link::asked) slot->link = Slot::Link::told;
  slot->channel = unquoted(member(document, "channel"));
  slot->fold.subscribed(unquoted(member(document, "context")), member(document, "resumed") == "true");
}

void SimClient::on_error(const std::vector<Member>& document, Now now) {
  const auto code = unquoted(member(document, "code"));
  Slot* slot = by_id(unquoted(member(document, "id")));
  if (code != "unavailable" && code != "bootstrap_timeout") broken("error " + std::string(code));
  if (slot == nullptr) return;
  // A shadow whose answer is still to come may or may not have the stream by now; a new connection knows.
  gives_up_ = gives_up_ || !slot->former.empty() || (!slot->shadow.empty() && !slot->shadow_told);
  lose(*slot);
  slot->ask_at = now.steady + std::chrono::milliseconds(loadtest::integer(member(document, "retry_after")).value_or(0));
}

void SimClient::want(Now now) {
  if (!connection_ || !welcomed_) return;
  for (auto& slot : slots_) {
    if (slot->link != Slot::Link::none || slot->ask_at > now.steady) continue;
    slot->id = "i" + std::to_string(next_id_++);
    slot->link = Slot::Link::asked;
    auto request = slot->request;
    request.id = slot->id;
    request.cursor = slot->fold.cursor();
    std::string text;
    append_document(text, request);
    say(text);
  }
}

void SimClient::leave(Slot& slot) {
  if (slot.link != Slot::Link::told || !slot.shadow.empty() || !slot.former.empty()) return;
  std::string text;
  append_document(text, gateway::Unsubscribe{slot.id});
  say(text);
  slot.link = Slot::Link::leaving;  // what is on its way still belongs to the set
}

void SimClient::cast_shadow(Slot& slot) {
  if (slot.link != Slot::Link::told || !slot.shadow.empty() || !slot.former.empty()) return;
  slot.shadow = "i" + std::to_string(next_id_++);
  slot.shadow_told = false;
  auto request = slot.request;
  request.id = slot.shadow;
  std::string text;
  append_document(text, request);
  say(text);
}

void SimClient::step_into_shadow(Slot& slot) {
  if (slot.link != Slot::Link::told || slot.shadow.empty()) return;
  std::string text;
  append_document(text, gateway::Unsubscribe{slot.id});
  say(text);
  slot.former = std::exchange(slot.id, std::exchange(slot.shadow, {}));
}

std::string SimClient::describe() const {
  std::string out = name_ + (connection_ ? " connected" : " away");
  for (const auto& each : slots_) {
    out += " [" + each->request.view + each->request.params + " in " + each->request.space + " at " +
           std::to_string(each->fold.sequence()) + (each->fold.live() ? " live" : " not live") + "]";
  }
  return out;
}

}  // namespace viewgate::simulator
