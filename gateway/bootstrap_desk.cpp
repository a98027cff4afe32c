#include "gateway/bootstrap_desk.hpp"

#include <algorithm>
#include <utility>

#include "gateway/errors.hpp"
#include "gateway/log.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::size_t page_growth_max = 8;

/// Catching up on so many commits costs about as much as reading ten times as many records anew.
constexpr std::size_t records_per_commit = 10;

ledger::Error gone_back() {
  return {ledger::errc::history_diverged, "", "the head went back while a bootstrap was read"};
}

}  // namespace

BootstrapDesk::Flight::Flight(GroupSpecPtr group, ledger::Position known, const EngineLimits& limits,
                              std::shared_ptr<SnapshotRoom> room)
    : spec(std::move(group)),
      head(known),
      plan(projection::read_plan(*spec->group)),
      builder(spec, limits, std::move(room)),
      page_rows(plan.key_columns.empty() ? 0 : limits.snapshot_page_rows) {}

BootstrapDesk::BootstrapDesk(const EngineLimits& limits, const EngineSurroundings& surroundings,
                             ledger::LogReader& reader)
    : limits_(limits),
      surroundings_(surroundings),
      reader_(reader),
      room_(std::make_shared<SnapshotRoom>(limits.snapshot_disk_bytes)) {}

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
  if (closed_ || queue_.size() >= limits_.snapshot_queue || !has_room()) {
    refuse(asker, Refusal{ErrorCode::unavailable, limits_.retry_after});
    return;
  }
  auto flight = std::make_shared<Flight>(spec, head, limits_, room_);
  flight->askers.push_back(std::move(asker));
  flights_.emplace(spec->id, flight);
  queue_.push_back(std::move(flight));
  take_off();
}

/// Those that are only kept make room for one that is needed.
bool BootstrapDesk::has_room() {
  const auto is_full = [this] {
    const bool has_files = limits_.snapshot_disk_bytes > 0;
    return has_files ? disk_bytes() >= limits_.snapshot_disk_bytes : memory_bytes() >= limits_.snapshot_total_bytes;
  };
  if (is_full()) kept_.clear();
  return !is_full();
}

std::shared_ptr<const SnapshotChunks> BootstrapDesk::kept(const GroupId& group, ledger::Sequence head) {
  const auto found = kept_.find(group);
  if (found == kept_.end()) return nullptr;
  const auto behind = head.value - found->second.snapshot->at.sequence.value;
  if (surroundings_.now() >= found->second.until || behind > found->second.commits_max) {
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
    if (!flight->first) flight->begun = surroundings_.now();
    read_page(flight);
  }
}

void BootstrapDesk::read_page(const FlightPtr& flight) {
  const auto& plan = flight->plan;
  ledger::SnapshotQuery query;
  query.space = flight->spec->space;
  if (!plan.relation.empty()) query.tables.push_back(plan.relation);
  query.rows_max = flight->page_rows;
  if (flight->first) query.after = flight->builder.last_key().value_or("");
  query.sql = query.rows_max == 0 ? plan.query() : plan.page(query.after, query.rows_max);
  flight->rows_before = flight->builder.rows();
  flight->page_begun = surroundings_.now();
  reader_.snapshot(
      std::move(query), limits_.snapshot_time,
      [flight](std::string_view row) { return !flight->is_forgotten && flight->builder.add_row(row); },
      [this, flight](const ledger::Result<ledger::Position>& at) { on_page(flight, at); });
}

void BootstrapDesk::on_page(const FlightPtr& flight, const ledger::Result<ledger::Position>& at) {
  if (!at) return land(flight, at.error());
  const ledger::Position before = flight->first ? flight->last : flight->head;
  const bool is_of_this_history =
      at->sequence > before.sequence || (at->sequence == before.sequence && at->stamp == before.stamp);
  if (!is_of_this_history) {
    log::warn("head_went_back",
              {{"space", flight->spec->space}, {"known", before.sequence.value}, {"found", at->sequence.value}});
    return land(flight, gone_back());
  }
  if (!flight->first) flight->first = *at;
  flight->last = *at;
  if (flight->is_forgotten) return land(flight, {});
  const bool is_full = flight->page_rows > 0 && flight->builder.rows() - flight->rows_before >= flight->page_rows;
  if (is_full) {
    // Behind those that wait: the next page is a snapshot of its own, and a small view is not to wait for a large one's end.
    flight->page_rows = next_page_rows(*flight);
    --reading_;
    queue_.push_back(flight);
    return take_off();
  }
  if (*flight->first == flight->last) return land(flight, {});
  catch_up(flight, *flight->first);
}

/// As many as the last page would have had if it had taken as long as one should.
std::size_t BootstrapDesk::next_page_rows(const Flight& flight) const {
  using Microseconds = std::chrono::microseconds;
  const auto took = std::chrono::duration_cast<Microseconds>(surroundings_.now() - flight.page_begun).count();
  const auto should = std::chrono::duration_cast<Microseconds>(limits_.snapshot_hold).count();
  const double share = static_cast<double>(should) / static_cast<double>(std::max<std::int64_t>(took, 1));
  const double grown = std::min(share, static_cast<double>(page_growth_max)) * static_cast<double>(flight.page_rows);
  return std::max<std::size_t>(1, static_cast<std::size_t>(grown));
}

void BootstrapDesk::catch_up(const FlightPtr& flight, ledger::Position from) {
  const auto on_part = [flight](const ledger::CommitPartPtr& part) {
    if (flight->is_forgotten || part->position.sequence > flight->last.sequence) return;
    // Whoever cannot go on keeps its problem; what still comes changes nothing of it.
    if (flight->builder.problem().empty()) static_cast<void>(flight->builder.correct(*part));
    flight->has_last = flight->has_last || part->position == flight->last;
  };
  const auto done = [this, flight, from](const ledger::Result<ledger::Position>& reached) {
    on_caught_up(flight, from, reached);
  };
  reader_.read(flight->spec->space, from, limits_.history_bytes, on_part, done);
}

void BootstrapDesk::on_caught_up(const FlightPtr& flight, ledger::Position from,
                                 const ledger::Result<ledger::Position>& reached) {
  if (!reached) return land(flight, reached.error());
  const bool goes_on = reached->sequence > from.sequence && flight->builder.problem().empty() && !flight->is_forgotten;
  if (goes_on && reached->sequence < flight->last.sequence) return catch_up(flight, *reached);
  if (goes_on && !flight->has_last) return land(flight, gone_back());
  if (goes_on || flight->is_forgotten) return land(flight, {});
  land(flight, ledger::Error{ledger::errc::rejected, "", "the log ends before the last page"});
}

void BootstrapDesk::land(const FlightPtr& flight, const ledger::Result<void>& read) {
  --reading_;
  if (!flight->is_forgotten) flights_.erase(flight->spec->id);
  if (flight->is_forgotten) {
    // Whoever waited was told when it was.
  } else if (!read) {
    give_up(*flight, read.error());
  } else if (flight->first->sequence < flight->erased_through) {
    give_up(*flight, {ledger::errc::rejected, "", "values were erased while it was read"});
  } else {
    deliver(*flight);
  }
  take_off();
}

void BootstrapDesk::deliver(Flight& flight) {
  const auto made = flight.builder.finish();
  if (made == nullptr) return give_up(flight, {ledger::errc::rejected, "", ""});
  made->at = flight.last;
  made->position_token = flight.spec->sealer.seal(flight.last);
  const std::shared_ptr<const SnapshotChunks> snapshot = made;
  for (const auto& asker : flight.askers) {
    surroundings_.post(asker.reactor, [reply = asker.reply, snapshot](ReactorPort&) { reply(snapshot); });
  }
  const auto now = surroundings_.now();
  const bool is_shared = limits_.snapshot_reuse > TimePoint::duration::zero();
  const auto worth = is_shared ? std::max<TimePoint::duration>(limits_.snapshot_reuse, now - flight.begun)
                               : TimePoint::duration::zero();
  const auto commits = static_cast<std::int64_t>(flight.builder.rows() / records_per_commit);
  kept_[flight.spec->id] = Kept{snapshot, now + worth, std::max(limits_.snapshot_reuse_commits, commits)};
}

void BootstrapDesk::give_up(const Flight& flight, const ledger::Error& error) {
  const auto& problem = flight.builder.problem();
  log::warn("bootstrap_refused", {{"space", flight.spec->space},
                                  {"view", flight.spec->group->view()->name},
                                  {"error", problem.empty() ? ledger::name(error.code) : "given_up"},
                                  {"detail", problem.empty() ? error.detail : problem}});
  // What nobody waits for goes first: then the next attempt may have room.
  if (flight.builder.lacks_room()) kept_.clear();
  auto refusal = refusal_of(error.code, limits_.retry_after);
  // A bootstrap has no position that could be void; whatever else went wrong, asking again is the way.
  const bool is_named = problem.empty() && std::holds_alternative<ErrorCode>(refusal.why);
  if (!is_named) refusal = Refusal{ErrorCode::unavailable, limits_.retry_after};
  for (const auto& asker : flight.askers) refuse(asker, refusal);
}

void BootstrapDesk::close() {
  closed_ = true;
  kept_.clear();
  queue_.clear();
  for (const auto& [group, flight] : std::exchange(flights_, {})) {
    flight->is_forgotten = true;
    for (const auto& asker : flight->askers) refuse(asker, Refusal{ErrorCode::unavailable, limits_.retry_after});
    flight->askers.clear();
  }
}

void BootstrapDesk::forget(const GroupId& group) {
  kept_.erase(group);
  const auto found = flights_.find(group);
  if (found == flights_.end()) return;
  const auto flight = found->second;
  flights_.erase(found);
  flight->is_forgotten = true;
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

void BootstrapDesk::distrust_from(const GroupId& group, ledger::Position position) {
  const auto kept = kept_.find(group);
  if (kept != kept_.end() && kept->second.snapshot->at.sequence <= position.sequence) kept_.erase(kept);
}

void BootstrapDesk::tick() {
  std::erase_if(kept_, [now = surroundings_.now()](const auto& each) { return now >= each.second.until; });
}

}  // namespace viewgate::gateway
