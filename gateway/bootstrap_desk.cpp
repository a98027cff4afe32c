#include "gateway/bootstrap_desk.hpp"

#include <algorithm>
#include <utility>

#include "gateway/errors.hpp"
#include "gateway/log.hpp"
#include "gateway/protocol_json.hpp"
#include "projection/pushdown.hpp"

namespace viewgate::gateway {
namespace {

/// A chunk that is counted for as long as anybody holds it.
struct Counted {
  Counted(std::string document, std::shared_ptr<std::atomic<std::size_t>> budget)
      : text(std::move(document)), total(std::move(budget)) {
    total->fetch_add(text.size(), std::memory_order_relaxed);
  }
  ~Counted() { total->fetch_sub(text.size(), std::memory_order_relaxed); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  const std::string text;
  const std::shared_ptr<std::atomic<std::size_t>> total;
};

}  // namespace

BootstrapDesk::BootstrapDesk(const EngineLimits& limits, const EngineSurroundings& surroundings,
                             ledger::LogReader& reader)
    : limits_(limits), surroundings_(surroundings), reader_(reader) {}

void BootstrapDesk::refuse(const BootstrapAsker& asker, const Refusal& refusal) {
  surroundings_.post(asker.reactor, [reply = asker.reply, refusal](ReactorPort&) { reply(refusal); });
}

void BootstrapDesk::ask(const GroupSpecPtr& spec, BootstrapAsker asker, ledger::Position head) {
  if (auto snapshot = kept(spec->id, head.sequence)) {
    surroundings_.post(asker.reactor,
                       [reply = asker.reply, snapshot = std::move(snapshot)](ReactorPort&) { reply(snapshot); });
    return;
  }
  if (const auto flight = flights_.find(spec->id); flight != flights_.end()) {
    flight->second->askers.push_back(std::move(asker));
    return;
  }
  if (closed_ || queue_.size() >= limits_.snapshot_queue || bytes() >= limits_.snapshot_total_bytes) {
    refuse(asker, Refusal{ErrorCode::unavailable, limits_.retry_after});
    return;
  }
  auto flight = std::make_shared<Flight>();
  flight->spec = spec;
  flight->head = head;
  flight->askers.push_back(std::move(asker));
  flights_.emplace(spec->id, flight);
  queue_.push_back(std::move(flight));
  take_off();
}

std::shared_ptr<const SnapshotChunks> BootstrapDesk::kept(const GroupId& group, ledger::Sequence head) {
  const auto found = kept_.find(group);
  if (found == kept_.end()) return nullptr;
  const auto behind = head.value - found->second.snapshot->at.sequence.value;
  if (surroundings_.now() >= found->second.until || behind > limits_.snapshot_reuse_commits) {
    kept_.erase(found);
    return nullptr;
  }
  return found->second.snapshot;
}

void BootstrapDesk::take_off() {
  while (reading_ < limits_.snapshot_concurrent && !queue_.empty()) {
    const auto flight = std::move(queue_.front());
    queue_.pop_front();
    ++reading_;
    read(flight);
  }
}

void BootstrapDesk::read(const FlightPtr& flight) {
  const auto plan = projection::read_plan(*flight->spec->group);
  ledger::SnapshotQuery query;
  query.space = flight->spec->space;
  if (!plan.relation.empty()) query.tables.push_back(plan.relation);
  query.sql = plan.query();
  reader_.snapshot(
      std::move(query), limits_.snapshot_time, [this, flight](std::string_view row) { return on_row(*flight, row); },
      [this, flight](const ledger::Result<ledger::Position>& at) { land(flight, at); });
}

bool BootstrapDesk::on_row(Flight& flight, std::string_view row) {
  if (flight.forgotten) return false;
  const auto record = flight.spec->group->snapshot_record(row);
  if (!record) {
    flight.damaged = true;
    return false;
  }
  if (!*record) return true;
  flight.records += flight.records.empty() ? '[' : ',';
  flight.records += **record;
  if (flight.records.size() >= limits_.snapshot_chunk_bytes) close_chunk(flight);
  flight.too_large = flight.bytes > limits_.snapshot_bytes || bytes() > limits_.snapshot_total_bytes;
  return !flight.too_large;
}

void BootstrapDesk::close_chunk(Flight& flight) {
  if (flight.records.empty()) return;
  flight.records += ']';
  std::string document;
  document.reserve(flight.records.size() + 64);
  append_snapshot(document, flight.spec->channel, flight.records);
  document += '\n';
  flight.records.clear();
  flight.bytes += document.size();
  const auto counted = std::make_shared<Counted>(std::move(document), budget_);
  flight.chunks.emplace_back(counted, &counted->text);
}

void BootstrapDesk::land(const FlightPtr& flight, const ledger::Result<ledger::Position>& at) {
  --reading_;
  if (!flight->forgotten) flights_.erase(flight->spec->id);
  const auto& head = flight->head;
  const bool is_of_this_history =
      at && (at->sequence > head.sequence || (at->sequence == head.sequence && at->stamp == head.stamp));
  if (flight->forgotten) {
    // Whoever waited was told when it was.
  } else if (at && at->sequence < flight->erased_through) {
    for (const auto& asker : flight->askers) refuse(asker, Refusal{ErrorCode::unavailable, limits_.retry_after});
  } else if (is_of_this_history) {
    deliver(*flight, *at);
  } else if (at) {
    log::warn("head_went_back",
              {{"space", flight->spec->space}, {"known", head.sequence.value}, {"found", at->sequence.value}});
    for (const auto& asker : flight->askers) refuse(asker, Refusal{ErrorCode::unavailable, limits_.retry_after});
  } else {
    const auto refusal = refusal_for(*flight, at.error());
    log::warn("bootstrap_refused", {{"space", flight->spec->space},
                                    {"view", flight->spec->group->view()->name},
                                    {"error", flight->too_large ? "too_large" : ledger::name(at.error().code)},
                                    {"detail", at.error().detail}});
    for (const auto& asker : flight->askers) refuse(asker, refusal);
  }
  take_off();
}

void BootstrapDesk::deliver(Flight& flight, ledger::Position at) {
  close_chunk(flight);
  auto made = std::make_shared<SnapshotChunks>();
  made->at = at;
  made->position_token = flight.spec->sealer.seal(at);
  made->chunks = std::move(flight.chunks);
  const std::shared_ptr<const SnapshotChunks> snapshot = std::move(made);
  for (const auto& asker : flight.askers) {
    surroundings_.post(asker.reactor, [reply = asker.reply, snapshot](ReactorPort&) { reply(snapshot); });
  }
  kept_[flight.spec->id] = Kept{snapshot, surroundings_.now() + limits_.snapshot_reuse};
}

Refusal BootstrapDesk::refusal_for(const Flight& flight, const ledger::Error& error) const {
  if (flight.too_large || flight.damaged) return Refusal{ErrorCode::unavailable, limits_.retry_after};
  const auto refusal = refusal_of(error.code, limits_.retry_after);
  // A bootstrap has no position that could be void; whatever else went wrong, asking again is the way.
  return std::holds_alternative<ErrorCode>(refusal.why) ? refusal
                                                        : Refusal{ErrorCode::unavailable, limits_.retry_after};
}

void BootstrapDesk::forget(const GroupId& group) {
  kept_.erase(group);
  const auto found = flights_.find(group);
  if (found == flights_.end()) return;
  const auto flight = found->second;
  flights_.erase(found);
  flight->forgotten = true;
  for (const auto& asker : flight->askers) refuse(asker, Refusal{ResetReason::state_unavailable});
  flight->askers.clear();
  std::erase(queue_, flight);
}

void BootstrapDesk::distrust(const GroupId& group, ledger::Sequence through) {
  const auto kept = kept_.find(group);
  if (kept != kept_.end() && kept->second.snapshot->at.sequence < through) kept_.erase(kept);
  const auto flight = flights_.find(group);
  if (flight != flights_.end()) flight->second->erased_through = through;
}

void BootstrapDesk::tick() {
  std::erase_if(kept_, [now = surroundings_.now()](const auto& each) { return now >= each.second.until; });
}

}  // namespace viewgate::gateway
