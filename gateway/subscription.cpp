#include "gateway/subscription.hpp"

#include <algorithm>

#include "gateway/errors.hpp"
#include "gateway/log_sparingly.hpp"
#include "gateway/protocol_json.hpp"
#include "gateway/sending_time.hpp"
#include "gateway/session.hpp"

namespace viewgate::gateway {

namespace {

/// The longest run of complete documents within `bytes_max`, at least one document.
std::string_view whole_documents(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  const auto within = bytes_max == 0 ? std::string_view::npos : text.rfind('\n', bytes_max - 1);
  const auto end = within != std::string_view::npos ? within : text.find('\n', bytes_max);
  return text.substr(0, end + 1);
}

}  // namespace

Subscription::Subscription(Session& session, Fanout& fanout, SubscriptionName first, std::optional<Cursor> cursor)
    : session_(session), fanout_(fanout), group_(fanout.enter(first.bound.spec, *this)) {
  names_.push_back(std::move(first));
  if (cursor) {
    stage_ = Stage::returning;
    at_ = cursor->after;
    cursor_token_ = std::move(cursor->token);
  }
}

Subscription::~Subscription() {
  fanout_.forget(ticket_);
  fanout_.leave(group_, *this);
}

void Subscription::begin() {
  if (stage_ == Stage::joining) {
    for (auto& each : names_) tell_subscribed(each, false);
  }
  if (group_.joined) on_joined();
}

void Subscription::add_name(SubscriptionName name) {
  names_.push_back(std::move(name));
  // While the first name waits for the answer about its cursor, the others wait with it.
  if (names_.front().told) tell_subscribed(names_.back(), false);
}

// What the engine says.

void Subscription::on_joined() {
  const bool known = stage_ == Stage::returning && group_.ring.knows(at_);
  step(known ? Event::cursor_known : Event::joined);
}

void Subscription::on_bootstrap(BootstrapReply reply) {
  ticket_ = 0;
  if (const auto* refusal = std::get_if<Refusal>(&reply)) return give_up(*refusal);
  snapshot_ = std::get<std::shared_ptr<const SnapshotChunks>>(std::move(reply));
  next_chunk_ = 0;
  loaded_text_.reset();
  reading_deadline_.reset();
  doubtful_ = snapshot_->at.sequence > group_.head();
  step(Event::snapshot_arrived);
}

void Subscription::on_history(HistoryReply reply) {
  ticket_ = 0;
  if (const auto* refusal = std::get_if<Refusal>(&reply)) return give_up(*refusal);
  history_ = std::get<std::shared_ptr<const History>>(std::move(reply));
  history_written_ = 0;
  next_spilled_ = 0;
  loaded_text_.reset();
  reading_deadline_.reset();
  doubtful_ = history_->through.sequence > group_.head();
  asks_at_once_ = false;
  step(Event::history_arrived);
}

void Subscription::on_spilled(std::optional<std::string> text) {
  ticket_ = 0;
  if (text) {
    loaded_text_ = std::move(text);
    return session_.mark_due();
  }
  const auto& who = session_.correlation();
  log::error("file_not_readable",
             {who.connection_field(), who.trace_field(), {"space", spec().space}, {"stage", name(stage_)}});
  // A snapshot that cannot be read would be followed by the same one, which is kept; a history is followed by a snapshot.
  if (stage_ == Stage::history) return session_.restart(*this, ResetReason::state_unavailable);
  session_.close(close_code::internal_error,
                 "a snapshot could not be read; resume the other views, and ask for this anew");
}

bool Subscription::is_being_sent(ledger::Sequence through) const {
  if (stage_ == Stage::snapshot) return snapshot_->at.sequence < through;
  return stage_ == Stage::history && at_.sequence < through;
}

/// Of what is bounded for all together. A history in memory is of a size that does not matter.
std::size_t Subscription::room_taken() const {
  if (stage_ == Stage::snapshot) return snapshot_->bytes();
  return stage_ == Stage::history && history_->spilled ? history_->spilled->bytes() : 0;
}

std::optional<std::chrono::steady_clock::time_point> Subscription::reading_deadline(
    std::chrono::steady_clock::time_point now) {
  if (stage_ != Stage::snapshot && room_taken() == 0) return std::nullopt;
  if (!reading_deadline_) {
    const auto& options = fanout_.options();
    reading_deadline_ = now + sending_time(room_taken(), options.snapshot_bytes_per_second, options.snapshot_send_time,
                                           options.no_progress);
  }
  return reading_deadline_;
}

void Subscription::refuse(const Refusal& refusal) { give_up(refusal); }

void Subscription::on_restored() {
  if (!doubtful_ || in_ring_) return;
  asks_at_once_ = true;
  session_.mark_due();
}

void Subscription::give_up(const Refusal& refusal) {
  refusal_ = refusal;
  step(std::holds_alternative<ResetReason>(refusal.why) ? Event::lost : Event::refused);
}

// The plan at work.

void Subscription::step(Event event) {
  const Move move = next_move(stage_, event);
  stage_ = move.stage;
  session_.mark_due();
  act(move.action);  // last: it may end this subscription
}

void Subscription::act(Action action) {
  switch (action) {
    case Action::none:
      return;
    case Action::ask_bootstrap:
      ticket_ = fanout_.ask_bootstrap(group_, *this);
      return;
    case Action::ask_history:
      ticket_ = fanout_.ask_history(group_, at_, *this);
      return;
    case Action::tell_ready:
      ready_ = true;
      return;
    case Action::tell_resumed:
      return tell_resumed();
    case Action::start_over:
      return start_over();
    case Action::tell_error:
      return tell_error();
  }
}

void Subscription::tell_subscribed(SubscriptionName& name, bool resumed) {
  const bool first = &name == &names_.front();
  Subscribed document{name.request.id, spec().channel, name.bound.context_token, resumed && first, std::nullopt};
  if (!first) document.same_as = names_.front().request.id;
  session_.tell(document);
  name.told = true;
}

void Subscription::tell_resumed() {
  for (auto& each : names_) tell_subscribed(each, true);
  session_.tell(Ready{spec().channel, at_.sequence.value, cursor_token_, std::max(group_.head(), at_.sequence).value});
  cursor_token_ = {};
  ready_ = true;
  moved_ = true;
}

void Subscription::start_over() {
  const auto* reason = std::get_if<ResetReason>(&refusal_.why);
  for (const auto& each : names_) session_.tell(ResetRequired{each.request.id, *reason});
  for (auto& each : names_) tell_subscribed(each, false);
  ready_ = false;
  in_ring_ = false;
  cursor_token_ = {};
  ticket_ = fanout_.ask_bootstrap(group_, *this);
}

void Subscription::tell_error() {
  const auto* told = std::get_if<ErrorCode>(&refusal_.why);
  const ErrorCode code = told != nullptr ? *told : ErrorCode::unavailable;
  const auto retry_after = told != nullptr ? refusal_.retry_after : fanout_.model().retry_after;
  const auto& who = session_.correlation();
  log::write_sparingly(log::Level::warn, "subscription_ended",
                       {who.connection_field(),
                        who.trace_field(),
                        {"space", spec().space},
                        {"view", spec().group->view()->name},
                        {"error", name(code)}});
  for (const auto& each : names_) {
    Error error{each.request.id, code, std::string(constant_text(code)), retry_after};
    error.connection = who.id;
    session_.tell(error);
  }
  session_.end(*this);
}

// Writing.

void Subscription::write(Message& message) {
  while (message.room() > 0 && write_some(message)) {
  }
}

bool Subscription::write_some(Message& message) {
  if (stage_ == Stage::snapshot) return write_chunk(message);
  if (stage_ == Stage::history) return write_history(message);
  if (stage_ == Stage::following) return write_ring(message);
  return false;
}

bool Subscription::write_chunk(Message& message) {
  if (next_chunk_ < snapshot_->chunks.size()) {
    const std::string& chunk = *snapshot_->chunks[next_chunk_];
    if (!message.takes(chunk.size())) return false;
    message.add(chunk);
    ++next_chunk_;
    return true;
  }
  const std::size_t spilled = next_chunk_ - snapshot_->chunks.size();
  if (snapshot_->spilled && spilled < snapshot_->spilled->count()) {
    if (!write_spilled(message, snapshot_->spilled, spilled)) return false;
    ++next_chunk_;
    return true;
  }
  stand_at(snapshot_->at);
  message.own(ready_document(at_.sequence, snapshot_->position_token));
  moved_ = true;
  message.keep(std::move(snapshot_));
  step(Event::snapshot_written);
  return true;
}

/// Read only when it is its turn: a reader that waits holds nothing of it. What is not in the page cache is read by a thread
/// that may wait for the disk.
bool Subscription::write_spilled(Message& message, const SpilledTextsPtr& texts, std::size_t index) {
  if (ticket_ != 0 || !message.takes(texts->size_of(index))) return false;
  auto text = loaded_text_ ? std::exchange(loaded_text_, {}) : texts->text_at_once(index);
  if (!text) {
    ticket_ = fanout_.ask_spilled(texts, index, *this);
    return false;
  }
  message.own(*std::move(text));
  return true;
}

std::string Subscription::ready_document(ledger::Sequence sequence, std::string_view position) const {
  std::string out;
  append_document(
      out, Ready{spec().channel, sequence.value, std::string(position), std::max(group_.head(), sequence).value});
  out += '\n';
  return out;
}

bool Subscription::write_history(Message& message) {
  const auto rest = std::string_view(history_->text).substr(history_written_);
  if (!rest.empty()) {
    const auto documents = whole_documents(rest, message.room());
    if (!message.takes(documents.size())) return false;
    message.add(documents);
    history_written_ += documents.size();
    moved_ = true;
    return true;
  }
  if (history_->spilled && next_spilled_ < history_->spilled->count()) {
    if (!write_spilled(message, history_->spilled, next_spilled_)) return false;
    ++next_spilled_;
    moved_ = true;
    return true;
  }
  const bool moves = history_->through != at_;
  // What lay between may not touch the view, or end before `through`: the cursor moves all the same.
  if (moves && !history_->is_told) {
    std::string document;
    append_progress(document, spec().channel, history_->through.sequence.value, history_->position_token);
    message.own(document + '\n');
  }
  moved_ = moved_ || moves;  // told only now: while the history was being written, the views of the space did not agree
  stand_at(history_->through);
  message.keep(std::move(history_));
  step(Event::history_written);
  return true;
}

void Subscription::stand_at(ledger::Position position) {
  at_ = position;
  in_ring_ = false;
}

/// False: it is not in the ring any more (and the history was asked for), or nothing above at_ is there yet.
bool Subscription::find_place_in_ring() {
  const Ring& ring = group_.ring;
  // A snapshot or a cursor may be ahead of the stream. If the database then loses what lies between and goes on with other
  // commits of the same numbers, the stream does not see that. So the ledger is asked once more when the stream has passed
  // the place, or the database was away.
  const bool passed = asks_at_once_ || ring.last_sequence() > at_.sequence;
  const bool unsure = !in_ring_ && doubtful_ && passed && !ring.knows(at_);
  const bool held = in_ring_ ? ring.holds(offset_) : ring.covers(at_.sequence);
  if (!held || unsure) {
    in_ring_ = false;
    fanout_.tally().ring_misses.add();
    step(Event::fell_off);
    return false;
  }
  if (!in_ring_) {
    // As long as the ring holds nothing above at_, frames at or below it may still come (the snapshot was ahead of the
    // stream) and must be skipped: there is no offset yet that would say so.
    if (ring.last_sequence() <= at_.sequence) return false;
    offset_ = ring.offset_after(at_.sequence);
    in_ring_ = true;
    doubtful_ = false;
  }
  return offset_ < ring.end();
}

bool Subscription::write_ring(Message& message) {
  if (!find_place_in_ring()) return false;
  const auto slice = group_.ring.slice(offset_, message.room());
  if (!message.takes(slice.text.size())) return false;
  message.add(slice.text);
  offset_ = slice.end;
  at_ = slice.position;
  moved_ = true;
  return true;
}

std::size_t Subscription::unwritten_bytes() const {
  if (stage_ == Stage::snapshot) return snapshot_->bytes();
  if (stage_ == Stage::history) {
    return history_->text.size() - history_written_ + (history_->spilled ? history_->spilled->bytes() : 0);
  }
  if (stage_ != Stage::following) return 0;
  const Ring& ring = group_.ring;
  if (in_ring_) return ring.holds(offset_) ? static_cast<std::size_t>(ring.end() - offset_) : ring.bytes();
  if (!ring.covers(at_.sequence)) return ring.bytes();
  return static_cast<std::size_t>(ring.end() - ring.offset_after(at_.sequence));
}

ledger::Sequence Subscription::through() const {
  if (stage_ != Stage::following) return at_.sequence;
  const Ring& ring = group_.ring;
  if (in_ring_ && offset_ < ring.end())
    return ring.holds(offset_) ? ledger::Sequence{ring.sequence_at(offset_).value - 1} : at_.sequence;
  if (!in_ring_ && (!ring.covers(at_.sequence) || ring.last_sequence() > at_.sequence)) return at_.sequence;
  return std::max(group_.head(), at_.sequence);
}

}  // namespace viewgate::gateway
