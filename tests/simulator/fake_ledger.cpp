#include "simulator/fake_ledger.hpp"

#include <algorithm>
#include <memory>

namespace viewgate::simulator {

namespace {

constexpr int ids = 12;

std::string row_text(int id, Random& random) {
  static constexpr std::array owners{"ann", "bob", "cy"};
  return "{\"id\": " + std::to_string(id) + ", \"owner\": \"" + owners[random() % owners.size()] +
         "\", \"balance\": " + std::to_string(static_cast<int>(random() % 9) - 4) + "}";
}

void apply_change(FakeLedger::Rows& rows, const ledger::Change& change) {
  const int id = std::stoi(change.key.substr(1));
  if (change.after) {
    rows[id] = *change.after;
  } else {
    rows.erase(id);
  }
}

ledger::Change random_change(const FakeLedger::Rows& rows, int id, Random& random) {
  ledger::Change out;
  out.collection = "accounts";
  out.key = "[" + std::to_string(id) + "]";
  const auto row = rows.find(id);
  if (row == rows.end()) {
    out.kind = ledger::ChangeKind::created;
    out.after = row_text(id, random);
    return out;
  }
  out.before = row->second;
  out.kind = ledger::ChangeKind::updated;
  if (one_in(random, 6)) {
    out.kind = one_in(random, 3) ? ledger::ChangeKind::moved : ledger::ChangeKind::deleted;
  } else {
    out.after = row_text(id, random);
  }
  return out;
}

}  // namespace

FakeLedger::FakeLedger(std::vector<std::string> spaces) : names_(std::move(spaces)) {
  for (const auto& each : names_) spaces_[each];
}

void FakeLedger::commit(const std::string& name, Random& random) {
  Space& space = spaces_.at(name);
  ledger::Commit commit;
  commit.space = name;
  commit.position = {head(name).sequence.next(), {std::uint64_t{random()} << 32 | random()}};
  const std::size_t count = one_in(random, 10) ? random() % 25 : random() % 4;  // none at all is a commit too
  for (std::size_t i = 0; i < count; ++i) {
    auto change = random_change(space.rows, 1 + static_cast<int>(random() % ids), random);
    change.ordinal = static_cast<std::int64_t>(i);
    apply_change(space.rows, change);
    commit.changes.push_back(std::move(change));
  }
  space.log.push_back(std::move(commit));
}

void FakeLedger::prune(const std::string& name, Random& random) {
  Space& space = spaces_.at(name);
  const auto size = static_cast<std::int64_t>(space.log.size());
  if (size > space.pruned) space.pruned += 1 + static_cast<std::int64_t>(random() % (size - space.pruned));
}

void FakeLedger::restore(const std::string& name, Random& random) {
  Space& space = spaces_.at(name);
  if (space.log.empty()) return;
  space.lost_lines.push_back(space.log);
  const auto lost = 1 + random() % std::min<std::size_t>(space.log.size(), 5);
  space.log.resize(space.log.size() - lost);
  const auto size = static_cast<std::int64_t>(space.log.size());
  space.pruned = std::min(space.pruned, size);
  space.rows = replay(space.log, size);
}

ledger::Position FakeLedger::head(const std::string& name) const {
  const Log& log = spaces_.at(name).log;
  return log.empty() ? ledger::Position{} : log.back().position;
}

std::optional<ledger::errc> FakeLedger::fault_at(const std::string& name, ledger::Position position) const {
  const Space& space = spaces_.at(name);
  const auto sequence = position.sequence.value;
  if (sequence > static_cast<std::int64_t>(space.log.size())) return ledger::errc::history_diverged;
  if (sequence < space.pruned) return ledger::errc::history_unavailable;
  const auto stamp = sequence == 0 ? ledger::Stamp{} : space.log[static_cast<std::size_t>(sequence) - 1].position.stamp;
  return stamp == position.stamp ? std::nullopt : std::optional(ledger::errc::history_diverged);
}

const ledger::Commit& FakeLedger::commit_after(const std::string& name, ledger::Sequence sequence) const {
  return spaces_.at(name).log.at(static_cast<std::size_t>(sequence.value));
}

FakeLedger::Rows FakeLedger::replay(const Log& log, std::int64_t sequence) {
  Rows rows;
  for (std::int64_t i = 0; i < sequence; ++i) {
    for (const auto& change : log[static_cast<std::size_t>(i)].changes) apply_change(rows, change);
  }
  return rows;
}

std::vector<FakeLedger::Rows> FakeLedger::states_at(const std::string& name, std::int64_t sequence) const {
  const Space& space = spaces_.at(name);
  std::vector<Rows> out;
  const auto add = [&](const Log& log) {
    if (static_cast<std::int64_t>(log.size()) >= sequence) out.push_back(replay(log, sequence));
  };
  add(space.log);
  for (const Log& each : space.lost_lines) add(each);
  return out;
}

std::vector<ledger::CommitPartPtr> parts_of(const ledger::Commit& commit, Random& random,
                                            std::size_t changes_per_part) {
  std::vector<ledger::Change> changes = commit.changes;
  const bool by_key = changes.size() > changes_per_part && one_in(random, 2);
  if (by_key) std::ranges::stable_sort(changes, {}, &ledger::Change::key);
  std::vector<ledger::CommitPartPtr> out;
  std::size_t next = 0;
  do {
    auto part = std::make_shared<ledger::CommitPart>();
    part->space = commit.space;
    part->position = commit.position;
    part->first = out.empty();
    part->by_key = by_key;
    // Whole records only: all changes of one are in one part.
    while (next < changes.size() &&
           (!by_key || part->changes.size() < changes_per_part || changes[next].key == part->changes.back().key)) {
      part->changes.push_back(changes[next++]);
    }
    part->last = next == changes.size();
    out.push_back(std::move(part));
  } while (next < changes.size());
  return out;
}

void FakeTail::disconnect() {
  if (!std::exchange(connected_, false)) return;
  sink_.on_degraded(ledger::Error{ledger::errc::unavailable, {}, "simulated"});
}

void FakeTail::reconnect() {
  connected_ = true;
  for (auto& [space, followed] : followed_) static_cast<void>(begin_or_break(space, followed));
  sink_.on_restored();
}

/// True: that was all that could be said about the space for now.
bool FakeTail::begin_or_break(const std::string& space, Followed& followed) {
  if (!std::exchange(followed.told, true)) {
    followed.position = ledger_.head(space);
    sink_.on_watched(space, followed.position);
    return true;
  }
  auto fault = ledger_.fault_at(space, followed.position);
  if (!followed.open.empty() && ledger_.fault_at(space, followed.open.front()->position)) {
    fault = ledger::errc::history_diverged;  // the commit that was begun is lost
  }
  if (!fault) return false;
  followed.open.clear();
  followed.position = ledger_.head(space);
  sink_.on_broken(space, *fault, followed.position);
  return true;
}

void FakeTail::look(const std::string& space, Random& random, std::size_t changes_per_part) {
  if (!connected_) return reconnect();
  const auto found = followed_.find(space);
  if (found == followed_.end() || begin_or_break(space, found->second)) return;
  hand_on(found->second, space, random, changes_per_part);
  sink_.on_turn();
}

void FakeTail::hand_on(Followed& followed, const std::string& space, Random& random, std::size_t changes_per_part) {
  for (auto budget = 1 + random() % 6; budget > 0; --budget) {
    if (followed.open.empty()) {
      if (followed.position.sequence >= ledger_.head(space).sequence) return;
      const auto& commit = ledger_.commit_after(space, followed.position.sequence);
      for (auto& part : parts_of(commit, random, changes_per_part)) followed.open.push_back(std::move(part));
    }
    const auto part = std::move(followed.open.front());
    followed.open.pop_front();
    if (part->last) followed.position = part->position;
    sink_.on_part(part);
  }
}

void FakeReader::read(std::string space, ledger::Position after, std::size_t bytes_max,
                      std::function<void(ledger::CommitPartPtr)> on_part,
                      std::function<void(ledger::Result<ledger::Position>)> done) {
  jobs_.push_back(
      [this, space, at = after, bytes_max, bytes = std::size_t{0}, on_part, done, connection = connection_]() mutable {
        const auto fault = fails(connection) ? std::optional(ledger::errc::unavailable) : ledger_.fault_at(space, at);
        if (fault) {
          done(ledger::Error{*fault, {}, "simulated"});
          return true;
        }
        if (at.sequence >= ledger_.head(space).sequence || bytes >= bytes_max) {
          done(at);
          return true;
        }
        const auto& commit = ledger_.commit_after(space, at.sequence);
        for (const auto& part : parts_of(commit, random_, changes_per_part)) on_part(part);
        for (const auto& change : commit.changes) bytes += 100 + change.key.size();
        at = commit.position;
        return false;
      });
}

namespace {

FakeLedger::Rows page_of(FakeLedger::Rows rows, const ledger::SnapshotQuery& query) {
  // The key of id 7 is [7].
  if (!query.after.empty()) rows.erase(rows.begin(), rows.upper_bound(std::stoi(query.after.substr(1))));
  while (query.rows_max > 0 && rows.size() > query.rows_max) rows.erase(std::prev(rows.end()));
  return rows;
}

}  // namespace

void FakeReader::snapshot(ledger::SnapshotQuery query, std::chrono::milliseconds,
                          std::function<bool(std::string_view)> on_row,
                          std::function<void(ledger::Result<ledger::Position>)> done) {
  struct State {
    bool begun = false;
    ledger::Position at;
    FakeLedger::Rows rows;
  };
  auto state = std::make_shared<State>();
  jobs_.push_back([this, query = std::move(query), state, on_row, done, connection = connection_] {
    if (!std::exchange(state->begun, true)) {
      state->at = ledger_.head(query.space);
      state->rows = page_of(ledger_.rows(query.space), query);
    }
    if (fails(connection)) {
      done(ledger::Error{one_in(random_, 2) ? ledger::errc::timeout : ledger::errc::unavailable, {}, "simulated"});
      return true;
    }
    for (auto budget = 1 + random_() % 6; budget > 0 && !state->rows.empty(); --budget) {
      const auto row = state->rows.extract(state->rows.begin());
      if (!on_row(row.mapped())) {
        done(ledger::Error{ledger::errc::rejected, {}, "given up"});
        return true;
      }
    }
    if (!state->rows.empty()) return false;
    done(state->at);
    return true;
  });
}

void FakeReader::step() {
  if (jobs_.empty()) return;
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  if (!job()) jobs_.push_back(std::move(job));
}

}  // namespace viewgate::simulator
