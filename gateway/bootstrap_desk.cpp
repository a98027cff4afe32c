#include "gateway/bootstrap_desk.hpp"

#include <algorithm>
#include <utility>

#include "gateway/errors.hpp"
#include "gateway/log.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::size_t page_growth_max = 8;
constexpr std::size_t principals_max = 4;  // of those who wait for one, whose turns count

/// Catching up on so many commits costs about as much as reading ten times as many records anew.
constexpr std::size_t records_per_commit = 10;

/// Who was refused for want of room and has not asked again by then is not made room for.
constexpr std::chrono::minutes need_time{1};

ledger::Error gone_back() {
  return {ledger::errc::history_diverged, "", "the head went back while a bootstrap was read"};
}

ledger::Error too_long() { return {ledger::errc::timeout, "", "a bootstrap took longer than snapshot.read_time"}; }

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
      room_(std::make_shared<SnapshotRoom>(limits.snapshot_disk_bytes,
                                           [aside = surroundings.aside](auto call) { aside(std::move(call), {}); })) {}

void BootstrapDesk::ask(const GroupSpecPtr& spec, const std::string& principal, BootstrapAsker asker,
                        ledger::Position head) {
  if (const auto snapshot = kept(spec->id, head.sequence)) return asker(snapshot);
  if (const auto flight = flights_.find(spec->id); flight != flights_.end()) {
    flight->second->askers.push_back(std::move(asker));
    return join(flight->second, principal);
  }
  if (has_its_share(principal)) {
    ++over_share_;
    return asker(Refusal{ErrorCode::unavailable, limits_.retry_after});
  }
  const auto need = needs_.find(spec->id);
  const bool has_room = !closed_ && make_room(need == needs_.end() ? 1 : need->second.bytes);
  const bool is_full = waiting_ >= limits_.snapshot_queue;
  if (is_full) {
    ++queue_full_;
    const auto wait = appointments_.next(surroundings_.now(), limits_.retry_after);
    return asker(Refusal{ErrorCode::unavailable, std::chrono::ceil<std::chrono::milliseconds>(wait)});
  }
  if (!has_room) return asker(Refusal{ErrorCode::unavailable, limits_.retry_after});
  auto flight = std::make_shared<Flight>(spec, head, limits_, room_);
  flight->askers.push_back(std::move(asker));
  flight->principals.push_back(principal);
  flights_.emplace(spec->id, flight);
  enqueue(flight);
  take_off();
}

bool BootstrapDesk::has_its_share(const std::string& principal) const {
  return limits_.principal_bootstraps > 0 && !principal.empty() &&
         queue_.size_of(principal) >= limits_.principal_bootstraps;
}

/// Who comes later waits no longer than for its own turn. The first few are enough: one of them has few others.
void BootstrapDesk::join(const FlightPtr& flight, const std::string& principal) {
  auto& principals = flight->principals;
  const bool is_known = std::ranges::find(principals, principal) != principals.end();
  if (is_known || principals.size() >= principals_max) return;
  principals.push_back(principal);
  if (flight->waits) queue_.push(principal, flight);
}

void BootstrapDesk::enqueue(const FlightPtr& flight) {
  flight->waits = true;
  ++waiting_;
  for (const auto& each : flight->principals) queue_.push(each, flight);
}

void BootstrapDesk::dequeue(const FlightPtr& flight) {
  waiting_ -= flight->waits ? 1 : 0;
  flight->waits = false;
  for (const auto& each : flight->principals) queue_.erase(each, flight);
}

bool BootstrapDesk::is_needed(const GroupId& group) const {
  if (flights_.contains(group)) return true;
  const auto given = given_.find(group);
  return given != given_.end() && std::ranges::any_of(given->second, [](const auto& each) { return !each.expired(); });
}

/// Of what is scarce: of files, where there are any, else of memory.
std::size_t BootstrapDesk::takes(const SnapshotChunks& snapshot) const {
  if (limits_.snapshot_disk_bytes == 0) return snapshot.bytes();
  return snapshot.spilled ? snapshot.spilled->file_bytes() : 0;
}

/// Those that are only kept go until there is room for so many bytes: the least recently used first, and only such as bring
/// some, which one that is still being sent does not. False: there is none at all.
bool BootstrapDesk::make_room(std::size_t bytes) {
  const bool has_files = limits_.snapshot_disk_bytes > 0;
  const std::size_t max = has_files ? limits_.snapshot_disk_bytes : limits_.snapshot_total_bytes;
  std::size_t used = has_files ? disk_bytes() : memory_bytes();
  while (used >= max || max - used < bytes) {
    auto oldest = kept_.end();
    for (auto each = kept_.begin(); each != kept_.end(); ++each) {
      const bool brings_some = each->second.snapshot.use_count() == 1 && takes(*each->second.snapshot) > 0;
      if (brings_some && (oldest == kept_.end() || each->second.used < oldest->second.used)) oldest = each;
    }
    if (oldest == kept_.end()) break;
    // A file gives its bytes back a little later, on the thread that will write the next one.
    used -= std::min(used, takes(*oldest->second.snapshot));
    kept_.erase(oldest);
  }
  return used < max;
}

std::shared_ptr<const SnapshotChunks> BootstrapDesk::kept(const GroupId& group, ledger::Sequence head) {
  const auto found = kept_.find(group);
  if (found == kept_.end()) return nullptr;
  const auto behind = head.value - found->second.snapshot->at.sequence.value;
  if (surroundings_.now() >= found->second.until || behind > found->second.commits_max) {
    kept_.erase(found);
    return nullptr;
  }
  found->second.used = ++uses_;
  return found->second.snapshot;
}

void BootstrapDesk::take_off() {
  while (reading_ < limits_.snapshot_concurrent) {
    const auto next = queue_.pop();
    if (!next) return;
    const auto& flight = *next;
    dequeue(flight);
    ++reading_;
    if (flight->pages.empty()) flight->begun = surroundings_.now();
    read_page(flight);
  }
}

TimePoint::duration BootstrapDesk::time_left(const Flight& flight) const {
  return flight.begun + limits_.snapshot_read_time - surroundings_.now();
}

void BootstrapDesk::read_page(const FlightPtr& flight) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time_left(*flight));
  if (left <= std::chrono::milliseconds::zero()) return land(flight, too_long());
  const auto& plan = flight->plan;
  ledger::SnapshotQuery query;
  query.space = flight->spec->space;
  if (!plan.relation.empty()) query.tables.push_back(plan.relation);
  query.rows_max = flight->page_rows;
  if (!flight->pages.empty()) query.after = flight->builder.last_key().value_or("");
  query.sql = query.rows_max == 0 ? plan.query() : plan.page(query.after, query.rows_max);
  flight->rows_before = flight->builder.rows();
  flight->page_begun = surroundings_.now();
  reader_.snapshot(
      std::move(query), std::min(limits_.snapshot_time, left),
      [flight](std::string_view row) { return !flight->is_forgotten() && flight->builder.add_row(row); },
      [this, flight](const ledger::Result<ledger::Position>& at) { on_page(flight, at); });
}

void BootstrapDesk::on_page(const FlightPtr& flight, const ledger::Result<ledger::Position>& at) {
  if (!at) return land(flight, at.error());
  auto& pages = flight->pages;
  const ledger::Position before = pages.empty() ? flight->head : pages.back();
  const bool is_of_this_history =
      at->sequence > before.sequence || (at->sequence == before.sequence && at->stamp == before.stamp);
  if (!is_of_this_history) {
    log::warn("head_went_back",
              {{"space", flight->spec->space}, {"known", before.sequence.value}, {"found", at->sequence.value}});
    return land(flight, gone_back());
  }
  if (pages.empty() || pages.back() != *at) pages.push_back(*at);
  if (flight->is_forgotten()) return land(flight, {});
  const bool is_full = flight->page_rows > 0 && flight->builder.rows() - flight->rows_before >= flight->page_rows;
  if (is_full) {
    // Behind those that wait: the next page is a snapshot of its own, and a small view is not to wait for a large one's end.
    flight->page_rows = next_page_rows(*flight);
    --reading_;
    enqueue(flight);
    return take_off();
  }
  flight->confirmed = 1;  // by the reader, where it has to read on from there
  if (pages.size() == 1) return finish(flight);
  catch_up(flight, pages.front());
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
  if (time_left(*flight) <= TimePoint::duration::zero()) return land(flight, too_long());
  const auto on_part = [flight](const ledger::CommitPartPtr& part) {
    if (!flight->is_forgotten()) take_part(*flight, *part);
  };
  const auto done = [this, flight, from](const ledger::Result<ledger::Position>& reached) {
    on_caught_up(flight, from, reached);
  };
  reader_.read(flight->spec->space, from, limits_.history_bytes, on_part, done);
}

/// The log is read up to the last page, and must have the commit of each page: a database that was restored between two of
/// them may have reached the number of a page again, with another commit.
void BootstrapDesk::take_part(Flight& flight, const ledger::CommitPart& part) {
  const auto& pages = flight.pages;
  if (part.position.sequence > pages.back().sequence) return;
  while (flight.confirmed < pages.size() && pages[flight.confirmed].sequence <= part.position.sequence) {
    flight.is_of_two_histories = flight.is_of_two_histories || pages[flight.confirmed] != part.position;
    ++flight.confirmed;
  }
  // Whoever cannot go on keeps its problem; what still comes changes nothing of it.
  if (flight.builder.problem().empty()) static_cast<void>(flight.builder.correct(part));
}

void BootstrapDesk::on_caught_up(const FlightPtr& flight, ledger::Position from,
                                 const ledger::Result<ledger::Position>& reached) {
  if (!reached) return land(flight, reached.error());
  if (flight->is_of_two_histories) return land(flight, gone_back());
  const bool goes_on =
      reached->sequence > from.sequence && flight->builder.problem().empty() && !flight->is_forgotten();
  if (goes_on && reached->sequence < flight->pages.back().sequence) return catch_up(flight, *reached);
  if (goes_on && flight->confirmed == flight->pages.size()) return finish(flight);
  if (flight->is_forgotten()) return land(flight, {});
  land(flight, ledger::Error{ledger::errc::rejected, "", "the log ends before the last page"});
}

/// What is still to be put in place may touch all of a large file.
void BootstrapDesk::finish(const FlightPtr& flight) {
  surroundings_.aside(
      [flight] {
        if (!flight->is_forgotten()) flight->made = flight->builder.finish();
      },
      [this, flight] {
        if (flight->made) return land(flight, {});
        land(flight, ledger::Error{ledger::errc::rejected, "", ""});
      });
}

void BootstrapDesk::land(const FlightPtr& flight, const ledger::Result<void>& made) {
  --reading_;
  appointments_.served(surroundings_.now(), waiting_ > 0);
  if (!flight->is_forgotten()) flights_.erase(flight->spec->id);
  if (flight->is_forgotten()) {
    // Whoever waited was told when it was.
  } else if (!made) {
    give_up(*flight, made.error());
  } else if (flight->pages.front().sequence < flight->erased_through) {
    give_up(*flight, {ledger::errc::rejected, "", "values were erased while it was read"});
  } else {
    deliver(*flight);
  }
  take_off();
}

void BootstrapDesk::deliver(Flight& flight) {
  flight.made->at = flight.pages.back();
  flight.made->position_token = flight.spec->sealer.seal(flight.pages.back());
  const std::shared_ptr<const SnapshotChunks> snapshot = std::move(flight.made);
  for (const auto& asker : std::exchange(flight.askers, {})) asker(snapshot);
  const auto now = surroundings_.now();
  const bool is_shared = limits_.snapshot_reuse > TimePoint::duration::zero();
  const auto worth = is_shared ? std::max<TimePoint::duration>(limits_.snapshot_reuse, now - flight.begun)
                               : TimePoint::duration::zero();
  const auto commits = static_cast<std::int64_t>(flight.builder.rows() / records_per_commit);
  kept_[flight.spec->id] = Kept{snapshot, now + worth, std::max(limits_.snapshot_reuse_commits, commits), ++uses_};
  given_[flight.spec->id].push_back(snapshot);
  needs_.erase(flight.spec->id);
}

void BootstrapDesk::give_up(Flight& flight, const ledger::Error& error) {
  const auto& problem = flight.builder.problem();
  log::warn("bootstrap_refused", {{"space", flight.spec->space},
                                  {"view", flight.spec->group->view()->name},
                                  {"error", problem.empty() ? ledger::name(error.code) : "given_up"},
                                  {"detail", problem.empty() ? error.detail : problem}});
  if (flight.builder.lacks_room()) {
    // How much it needs is not known, only how much was not enough: with twice as much each time, few attempts reach it.
    needs_[flight.spec->id] =
        Need{2 * std::max<std::size_t>(flight.builder.bytes(), 1), surroundings_.now() + need_time};
  }
  auto refusal = refusal_of(error.code, limits_.retry_after);
  // A bootstrap has no position that could be void; whatever else went wrong, asking again is the way.
  const bool is_named = problem.empty() && std::holds_alternative<ErrorCode>(refusal.why);
  if (!is_named) refusal = Refusal{ErrorCode::unavailable, limits_.retry_after};
  for (const auto& asker : std::exchange(flight.askers, {})) asker(refusal);
}

void BootstrapDesk::close() {
  closed_ = true;
  kept_.clear();
  queue_.clear();
  waiting_ = 0;
  for (const auto& [group, flight] : std::exchange(flights_, {})) {
    flight->builder.abandon();
    for (const auto& asker : std::exchange(flight->askers, {})) {
      asker(Refusal{ErrorCode::unavailable, limits_.retry_after});
    }
  }
}

void BootstrapDesk::forget(const GroupId& group) {
  kept_.erase(group);
  const auto found = flights_.find(group);
  if (found == flights_.end()) return;
  const auto flight = found->second;
  flights_.erase(found);
  flight->builder.abandon();
  for (const auto& asker : std::exchange(flight->askers, {})) asker(Refusal{ResetReason::state_unavailable});
  dequeue(flight);
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
  const auto now = surroundings_.now();
  std::erase_if(kept_, [now](const auto& each) { return now >= each.second.until; });
  for (auto& [group, given] : given_) std::erase_if(given, [](const auto& each) { return each.expired(); });
  std::erase_if(given_, [](const auto& each) { return each.second.empty(); });
  std::erase_if(needs_, [now](const auto& each) { return now >= each.second.until; });
}

}  // namespace viewgate::gateway
