// The spaces that a tailer follows: which are new, where each one is, which have something to read. Pure; one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/part_builder.hpp"
#include "ledger/tailer_plan.hpp"

namespace viewgate::ledger {

/// How far what is handed on is behind the ledger, as far as the last look showed.
struct SpaceLag {
  std::string space;
  std::int64_t commits = 0;    ///< that have a number; 0 with a time: of those that wait for one, nobody knows how many
  PlanClock::duration time{};  ///< since the first of them was seen
};

class Watchlist {
 public:
  /// False where the space is watched already.
  bool watch(const std::string& space);
  void unwatch(const std::string& space);

  /// Spaces whose head is not known yet, in the order in which they were watched; `drop_new` forgets the first ones of them.
  [[nodiscard]] const std::vector<std::string>& newly_watched() const { return newly_watched_; }
  void drop_new(std::size_t count);

  /// A new space is followed from its head on; what was erased so far is of no interest. False where it is not watched any
  /// more, or was begun before.
  bool begin(const std::string& space, Position head, Sequence erased_through);
  /// The follower's space is followed anew, from `head` on. False where the follower is not the space's any more.
  bool begin_anew(const FollowerPtr& follower, Position head);

  [[nodiscard]] std::vector<FollowerPtr> followers() const;
  [[nodiscard]] bool is_current(const FollowerPtr& follower) const;

  /// The ledger has commits up to `head`: what its follower does not have yet is to be read.
  void note_head(const std::string& space, Sequence head, PlanClock::time_point now);
  /// By space the oldest marker that looks pass over, since another session holds the space; a space that is not among them has
  /// none. What waits while its marker is the same is behind.
  void note_waiting(const std::map<std::string, std::int64_t>& oldest, PlanClock::time_point now);
  /// Values of commits up to there are erased. True: that is news, and the space is followed.
  [[nodiscard]] bool note_erased(const std::string& space, Sequence through);
  /// The space's follower, where the ledger was known to have more than that: its history is not what it was. Else null.
  [[nodiscard]] FollowerPtr gone_back(const std::string& space, Sequence head) const;
  [[nodiscard]] bool has_dirty() const { return !dirty_.empty(); }
  /// The next followers to read for, first come first served; may be fewer, as unwatched ones are left out.
  [[nodiscard]] std::vector<FollowerPtr> take_dirty(std::size_t count_max);
  /// After a read: what is not at its head yet is dirty again, but for those whose next commit is large, which are not given
  /// out until they are taken back. Returns those that did not get what should follow, with a fault.
  [[nodiscard]] std::vector<FollowerPtr> settle(const std::vector<FollowerPtr>& read,
                                                const std::vector<Sequence>& before);

  /// Its large commit was read, or could not be.
  void take_back(const FollowerPtr& follower);

  /// Of one space; no commits where it is not behind.
  [[nodiscard]] SpaceLag lag(const std::string& space, PlanClock::time_point now) const;
  /// The spaces of which the ledger has commits that were not handed on yet, numbered or not.
  [[nodiscard]] std::vector<SpaceLag> lags(PlanClock::time_point now) const;

 private:
  struct Watched {
    FollowerPtr follower;  ///< null until its head is known
    Sequence head;         ///< as far as is known
    Sequence erased_through;
    bool is_dirty = false;  ///< its name stands in dirty_
    std::optional<PlanClock::time_point> behind_since;
  };

  struct Waiting {
    std::int64_t marker;
    PlanClock::time_point since;
  };

  void mark_dirty(const std::string& space, Watched& watched);
  [[nodiscard]] SpaceLag lag_of(const std::string& space, const Watched& watched, PlanClock::time_point now) const;

  std::map<std::string, Watched> watched_;
  std::map<std::string, Waiting> waiting_;
  std::vector<std::string> newly_watched_;
  std::deque<std::string> dirty_;
};

}  // namespace viewgate::ledger
