// Makes the snapshots that subscriptions start from: one read per group for everyone who asks meanwhile, encoded once
// into documents of bounded size that all of them share, and kept for a while for those who come a little later (they catch
// up from the log).
//
// No snapshot of the database is held for long: a view is read in pages of its key, each in a snapshot of its own, and the
// log between the first and the last of them makes the whole exact (see SnapshotBuilder). A view of one page, which nearly
// all are, needs no more than that.
//
// Rows, commits and files are the work of the thread of bootstraps (BootstrapThread): here is decided, there is worked and
// waited for disks. A flight's builder is that thread's while it is read or finished, and this one's in between.
//
// Bounded: reads at once, readers that wait, of those each principal's share, the time that a view's read takes, bytes of one snapshot, bytes of all together in
// memory and in files (counted until the last socket let go of them). Beyond a bound the answer is `unavailable` (or
// bootstrap_timeout) and when to ask again: where too many wait, each at a time of its own. Owned by the engine's thread; `reader` must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/active_model.hpp"
#include "gateway/appointments.hpp"
#include "gateway/engine_options.hpp"
#include "gateway/fair_queue.hpp"
#include "gateway/snapshot_builder.hpp"
#include "ledger/ports.hpp"
#include "projection/pushdown.hpp"

namespace viewgate::gateway {

/// Called on the engine's thread.
using BootstrapAsker = std::function<void(const BootstrapReply&)>;

class BootstrapDesk {
 public:
  BootstrapDesk(const EngineLimits& limits, const EngineSurroundings& surroundings, ledger::LogReader& reader);

  /// `head`: the newest commit of the space that is known here. A kept snapshot must be recent enough for it, and a new one
  /// that does not reach it, or has another commit there, is of a ledger that lost commits: refused (unavailable) until the
  /// tail has looked at its position again and void groups are reset.
  /// Principals take turns: `principal` waits for what it asked for before, and for one of each other's. Above its share it is
  /// refused (unavailable). Empty: nobody's in particular, who have a turn together and any number.
  void ask(const GroupSpecPtr& spec, const std::string& principal, BootstrapAsker asker, ledger::Position head);

  /// Somebody waits for a snapshot of the group, or is being sent one: values in it may be erased meanwhile, which is told
  /// only of what is followed.
  [[nodiscard]] bool is_needed(const GroupId& group) const;

  /// New snapshots are refused until `open`: the database is away. Kept ones and begun ones go, since it may come back without
  /// the commits that they hold.
  void close();
  void open() { closed_ = false; }

  /// Nobody can go on from `position`: a kept snapshot of then, or of before, would lead its readers there again.
  void distrust_from(const GroupId& group, ledger::Position position);

  /// What was read or kept for the group is void: those who wait are told state_unavailable.
  void forget(const GroupId& group);

  /// Values of commits up to `through` were erased: a snapshot of before is given to nobody any more. Who waits for one is
  /// told to ask again.
  void distrust(const GroupId& group, ledger::Sequence through);

  /// Lets go of snapshots that are kept for too long.
  void tick();

  [[nodiscard]] std::uint64_t over_share() const { return over_share_; }
  [[nodiscard]] std::uint64_t queue_full() const { return queue_full_; }

  /// Of all that are read, kept or written to sockets.
  [[nodiscard]] std::size_t memory_bytes() const { return room_->memory.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t disk_bytes() const { return room_->disk->bytes(); }
  /// What lies in files because it is too much for memory counts against it, whatever it is.
  [[nodiscard]] const std::shared_ptr<SpillBudget>& disk() const { return room_->disk; }

 private:
  struct Flight {
    Flight(GroupSpecPtr group, ledger::Position known, const EngineLimits& limits, std::shared_ptr<SnapshotRoom> room);

    const GroupSpecPtr spec;
    const ledger::Position head;  ///< known when the first one asked: every page is read later
    const projection::ReadPlan plan;
    ledger::Sequence erased_through{};
    std::vector<BootstrapAsker> askers;
    std::vector<std::string> principals;  ///< of the first few askers: it comes when one of them has its turn
    bool waits = false;                   ///< in the queue
    SnapshotBuilder builder;
    std::vector<ledger::Position>
        pages;                  ///< of the pages, those of one position once; the last is what the whole will be of
    std::size_t confirmed = 0;  ///< of them, those that the log has just so; the rest is behind what was read of it
    bool is_of_two_histories = false;  ///< the log has another commit where one of them is
    std::size_t page_rows = 0;         ///< asked for
    std::size_t rows_before = 0;       ///< the page that is read
    TimePoint begun;
    TimePoint page_begun;
    std::shared_ptr<SnapshotChunks> made;

    /// Who waited was told so.
    [[nodiscard]] bool is_forgotten() const { return builder.is_abandoned(); }
  };
  using FlightPtr = std::shared_ptr<Flight>;

  struct Kept {
    std::shared_ptr<const SnapshotChunks> snapshot;
    TimePoint until;
    std::int64_t commits_max = 0;
    std::uint64_t used = 0;  ///< the larger, the later
  };
  /// Of a view whose last attempt found no room.
  struct Need {
    std::size_t bytes = 0;
    TimePoint until;
  };

  [[nodiscard]] std::shared_ptr<const SnapshotChunks> kept(const GroupId& group, ledger::Sequence head);
  [[nodiscard]] bool make_room(std::size_t bytes);
  [[nodiscard]] bool has_its_share(const std::string& principal) const;
  void join(const FlightPtr& flight, const std::string& principal);
  void enqueue(const FlightPtr& flight);
  void dequeue(const FlightPtr& flight);
  [[nodiscard]] std::size_t takes(const SnapshotChunks& snapshot) const;
  void take_off();
  [[nodiscard]] TimePoint::duration time_left(const Flight& flight) const;
  void read_page(const FlightPtr& flight);
  void on_page(const FlightPtr& flight, const ledger::Result<ledger::Position>& at);
  [[nodiscard]] std::size_t next_page_rows(const Flight& flight) const;
  void catch_up(const FlightPtr& flight, ledger::Position from);
  static void take_part(Flight& flight, const ledger::CommitPart& part);
  void on_caught_up(const FlightPtr& flight, ledger::Position from, const ledger::Result<ledger::Position>& reached);
  void finish(const FlightPtr& flight);
  void land(const FlightPtr& flight, const ledger::Result<void>& made);
  void deliver(Flight& flight);
  void give_up(Flight& flight, const ledger::Error& error);

  const EngineLimits& limits_;
  const EngineSurroundings& surroundings_;
  ledger::LogReader& reader_;
  const std::shared_ptr<SnapshotRoom> room_;
  std::unordered_map<GroupId, FlightPtr, GroupIdHash> flights_;  // waiting and reading
  std::size_t waiting_ = 0;     // flights; in the queue each is once for each principal
  FairQueue<FlightPtr> queue_;  // waiting, by principal
  Appointments appointments_;   // of those who come when that is full
  std::uint64_t over_share_ = 0;
  std::uint64_t queue_full_ = 0;
  std::size_t reading_ = 0;
  std::unordered_map<GroupId, Kept, GroupIdHash> kept_;
  std::uint64_t uses_ = 0;
  std::unordered_map<GroupId, std::vector<std::weak_ptr<const SnapshotChunks>>, GroupIdHash> given_;
  std::unordered_map<GroupId, Need, GroupIdHash> needs_;
  bool closed_ = false;
};

}  // namespace viewgate::gateway
