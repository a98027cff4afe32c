// Makes the snapshots that subscriptions start from: one read per group for everyone who asks meanwhile, encoded once
// into documents of bounded size that all of them share, and kept for a short while for those who come a little later
// (they catch up from the log).
//
// Bounded: reads at once, readers that wait, bytes of one snapshot, bytes of all together (counted until the last
// socket let go of them). Beyond a bound the answer is `unavailable` and when to ask again. Owned by the engine's
// thread; `reader` must outlive it.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/active_model.hpp"
#include "gateway/engine_options.hpp"
#include "ledger/ports.hpp"

namespace viewgate::gateway {

struct BootstrapAsker {
  std::size_t reactor = 0;
  std::function<void(BootstrapReply)> reply;
};

class BootstrapDesk {
 public:
  BootstrapDesk(const EngineLimits& limits, const EngineSurroundings& surroundings, ledger::LogReader& reader);

  /// `head`: the newest commit of the space that is known here. A kept snapshot must be recent enough for it, and a new one
  /// that does not reach it, or has another commit there, is of a ledger that lost commits: refused (unavailable) until the
  /// tail has looked at its position again and void groups are reset.
  void ask(const GroupSpecPtr& spec, BootstrapAsker asker, ledger::Position head);
  void refuse(const BootstrapAsker& asker, const Refusal& refusal);

  /// New snapshots are refused until `open`: the database is away. Kept ones go, since it may come back without the commits
  /// that they hold.
  void close() {
    closed_ = true;
    kept_.clear();
  }
  void open() { closed_ = false; }

  /// What was read or kept for the group is void: those who wait are told state_unavailable.
  void forget(const GroupId& group);

  /// Values of commits up to `through` were erased: a snapshot of before is given to nobody any more. Who waits for one is
  /// told to ask again.
  void distrust(const GroupId& group, ledger::Sequence through);

  /// Lets go of snapshots that are kept for too long.
  void tick();

  [[nodiscard]] std::size_t bytes() const { return budget_->load(std::memory_order_relaxed); }

 private:
  using Budget = std::atomic<std::size_t>;  // also counted down on reactors' threads, where the last owner may be

  struct Flight {
    GroupSpecPtr spec;
    ledger::Position head;  ///< known when the first one asked: the snapshot is taken later
    ledger::Sequence erased_through;
    std::vector<BootstrapAsker> askers;
    std::vector<std::shared_ptr<const std::string>> chunks;
    std::string records;  ///< of the chunk that is being filled
    std::size_t bytes = 0;
    bool forgotten = false;
    bool damaged = false;    ///< a row was not what to_jsonb prints
    bool too_large = false;  ///< for this snapshot's own bound, or for that of all
  };
  using FlightPtr = std::shared_ptr<Flight>;

  struct Kept {
    std::shared_ptr<const SnapshotChunks> snapshot;
    TimePoint until;
  };

  [[nodiscard]] std::shared_ptr<const SnapshotChunks> kept(const GroupId& group, ledger::Sequence head);
  void take_off();
  void read(const FlightPtr& flight);
  [[nodiscard]] bool on_row(Flight& flight, std::string_view row);
  void close_chunk(Flight& flight);
  void land(const FlightPtr& flight, const ledger::Result<ledger::Position>& at);
  void deliver(Flight& flight, ledger::Position at);
  [[nodiscard]] Refusal refusal_for(const Flight& flight, const ledger::Error& error) const;

  const EngineLimits& limits_;
  const EngineSurroundings& surroundings_;
  ledger::LogReader& reader_;
  const std::shared_ptr<Budget> budget_ = std::make_shared<Budget>(0);
  std::unordered_map<GroupId, FlightPtr, GroupIdHash> flights_;  // waiting and reading
  std::deque<FlightPtr> queue_;                                  // waiting
  std::size_t reading_ = 0;
  std::unordered_map<GroupId, Kept, GroupIdHash> kept_;
  bool closed_ = false;
};

}  // namespace viewgate::gateway
