// The engine: what is followed, for whom, and up to where. It takes commits from the tail, projects each once for all
// groups, and hands the documents to the reactors that have the groups; it answers their questions for history and
// bootstraps.
//
// One thread, no sockets, no clock of its own: everything outside comes through EngineSurroundings, the tail and the
// readers, so that a simulator can run it under a seed. EnginePort's functions are called on the engine's thread here;
// the server wraps them in posts. `tail` and the readers must outlive it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gateway/active_model.hpp"
#include "gateway/bootstrap_desk.hpp"
#include "gateway/engine_options.hpp"
#include "gateway/history_desk.hpp"
#include "gateway/outlet.hpp"
#include "gateway/ports.hpp"
#include "gateway/recent_store.hpp"
#include "gateway/table_walk.hpp"
#include "ledger/ports.hpp"
#include "projection/projector.hpp"

namespace viewgate::gateway {

class Engine final : public ledger::TailSink, public EnginePort {
 public:
  /// `bootstrap_reader`: hands on rows and commits on the thread of bootstraps, see EngineSurroundings::aside.
  /// `on_registry_moved`: somebody should read the model again and give it to `set_model`.
  Engine(EngineLimits limits, EngineSurroundings surroundings, ledger::LogReader& reader,
         ledger::LogReader& bootstrap_reader, std::function<void()> on_registry_moved);

  /// Before anything else: the tail needs its sink first.
  void attach(ledger::Tail& tail) { tail_ = &tail; }
  /// Until then mutations are answered `unavailable`.
  void attach(ledger::Mutations& mutations) { mutations_ = &mutations; }

  /// Groups whose view is not the same under the new model are reset; the others go on.
  void set_model(const ActiveModelPtr& model);

  /// Regularly, at least as often as the shortest of the intervals: progress, linger, kept snapshots.
  void tick();

  /// The process ends: what the thread of bootstraps is at is given up.
  void close() { bootstraps_.close(); }

  // What an operator and the tests look at.
  [[nodiscard]] bool degraded() const { return degraded_; }
  [[nodiscard]] std::size_t groups() const { return groups_.size(); }
  [[nodiscard]] std::size_t spaces() const { return spaces_.size(); }
  [[nodiscard]] std::size_t recent_bytes() const { return recent_.bytes(); }
  [[nodiscard]] std::size_t snapshot_memory_bytes() const { return bootstraps_.memory_bytes(); }
  [[nodiscard]] std::size_t snapshot_disk_bytes() const { return bootstraps_.disk_bytes(); }
  /// Commits projected so far, and the frames that came of them: one per commit and group, whatever the subscribers.
  [[nodiscard]] std::uint64_t commits() const { return commits_; }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }
  /// Times that a reactor with more than ring.backlog_bytes on their way to it was taken back.
  [[nodiscard]] std::uint64_t backlogs() const { return backlogs_; }
  /// Questions for a snapshot that were one too many of their principal.
  [[nodiscard]] std::uint64_t bootstraps_over_share() const { return bootstraps_.over_share(); }
  /// And those for which snapshot.queue had no place.
  [[nodiscard]] std::uint64_t bootstrap_queue_full() const { return bootstraps_.queue_full(); }

  // The same one by one, for an operator: a bounded number at a time, since commits wait meanwhile.

  struct SpaceSight {
    const std::string& name;
    bool following;
    ledger::Sequence head;
    std::size_t groups;
    std::size_t recent_bytes;
  };
  /// Those behind `after` by name, at most `count`. The last one's name, to go on from; absent: there are no more.
  std::optional<std::string> see_spaces(const std::optional<std::string>& after, std::size_t count,
                                        const std::function<void(const SpaceSight&)>& see) const;

  struct GroupSight {
    const GroupSpec& spec;
    std::uint64_t documents;  ///< encoded since it is followed: one for each commit that touched it, or for its parts
    std::uint64_t document_bytes;
  };
  Steps see_groups(TableWalk& walk, std::size_t count, const std::function<void(const GroupSight&)>& see) const;

  /// A snapshot for somebody who follows nothing; the group is followed for as long as it takes, and a little longer, so
  /// that others who come find it kept. Where the space cannot be followed in `join_time`: unavailable. The reply comes on this
  /// thread.
  void bootstrap_once(GroupSpecPtr spec, std::string principal, std::function<void(BootstrapReply)> reply);
  /// Also for those who wait already.
  void set_join_time(std::chrono::milliseconds time) { join_time_ = time; }

  void join(std::size_t reactor, GroupSpecPtr spec) override;
  void leave(std::size_t reactor, GroupId id) override;
  void history(std::size_t reactor, GroupId id, ledger::Position after,
               std::function<void(HistoryReply)> reply) override;
  void bootstrap(std::size_t reactor, GroupId id, std::string principal,
                 std::function<void(BootstrapReply)> reply) override;
  void spilled(std::size_t reactor, SpilledTextsPtr texts, std::size_t index,
               std::function<void(std::optional<std::string>)> reply) override;
  void mutate(std::size_t reactor, MutationCall call, std::function<void(MutationReply)> reply) override;
  void receipts(std::size_t reactor, ledger::ReceiptsQuery query, std::function<void(ReceiptsReply)> reply) override;

  void on_watched(const std::string& name, ledger::Position head) override;
  void on_part(ledger::CommitPartPtr part) override;
  void on_turn() override;
  void on_broken(const std::string& name, ledger::errc why, ledger::Position head) override;
  void on_erased(const std::string& name, ledger::Sequence through) override;
  void on_degraded(const ledger::Error& error) override;
  void on_restored() override;
  void on_registry_moved() override;

 private:
  struct Joining {
    std::size_t reactor;
    GroupSpecPtr spec;
  };

  struct Once {
    GroupSpecPtr spec;
    std::string principal;
    BootstrapAsker asker;
    TimePoint since;
  };

  struct Followed;

  struct Space {
    bool following = false;                  ///< the tail has told where it begins
    bool commit_open = false;                ///< parts of the commit above `head` were projected, but not the last
    std::shared_ptr<HistoryFile> open_file;  ///< of that commit, for all groups
    bool moved = false;                      ///< in this turn
    bool untold = false;                     ///< since the last progress was told
    ledger::Position head;                   ///< the last whole commit that was projected
    std::vector<Joining> joining;            ///< wait for `following`, or for the end of an open commit
    std::vector<Once> once;                  ///< wait for the same
    std::vector<std::size_t> followers;      ///< by reactor: how many groups of this space it has
    std::vector<Followed*> groups;
    std::optional<TimePoint> unused_since;
  };

  struct Followed {
    GroupSpecPtr spec;
    Space* space = nullptr;
    std::size_t place = 0;                 ///< in the space's groups
    std::uint64_t reactors = 0;            ///< a bit each
    std::uint64_t holes = 0;               ///< of these, those that missed frames and have not been joined anew
    ledger::Position told;                 ///< of the last document that moves the cursor
    std::unique_ptr<HistoryBuilder> open;  ///< its documents of the commit whose last part has not come
    std::uint64_t documents = 0;
    std::uint64_t document_bytes = 0;
    std::optional<TimePoint> unused_since;
  };

  [[nodiscard]] static constexpr std::uint64_t bit(std::size_t reactor) { return std::uint64_t{1} << reactor; }
  [[nodiscard]] Space& space_of(const std::string& name);
  void complete_joins(Space& space);
  void complete_join(Space& space, const Joining& joining);
  [[nodiscard]] Followed& follow(Space& space, const GroupSpecPtr& spec);
  void drop_reactor(Followed& followed, std::size_t reactor);
  void note_unused(Followed& followed);
  void put(const Followed& followed, const GroupFramePtr& frame);
  void project(Space& space, const ledger::CommitPart& part);
  void put_documents(Followed& followed, ledger::Position position, std::string text, std::int64_t committed_us);
  void collect(Space& space, Followed& followed, const projection::GroupEvents& events);
  void tell_as_history(Space& space, Followed& followed, const std::shared_ptr<const History>& history);
  void put_receipt(const Space& space, const ledger::CommitPart& part);
  /// Groups of reactors that were behind are joined anew.
  void take_back();
  [[nodiscard]] bool has_hole(const Space& space, std::size_t reactor) const;
  void reset_group(const GroupId& id, ResetReason reason);
  void reset_space(const std::string& name, ResetReason reason);
  void tell_all(NoticeKind kind);
  void tell_progress();
  void tell_progress(const Space& space);
  void forget_unused();
  void forget_unused_spaces();
  /// Nobody follows a group of it, or is about to.
  [[nodiscard]] static bool is_unused(const Space& space);
  void note_if_unused(const std::string& name, const Space& space);
  void turn_away_late();

  const EngineLimits limits_;
  std::chrono::milliseconds join_time_ = limits_.join_time;
  const EngineSurroundings surroundings_;
  const std::function<void()> registry_moved_;
  ledger::Tail* tail_ = nullptr;
  ledger::LogReader& reader_;
  RecentStore recent_;
  BootstrapDesk bootstraps_;
  HistoryRoom history_room_;
  HistoryDesk history_;
  ledger::Mutations* mutations_ = nullptr;
  projection::Projector projector_;
  std::map<std::string, Space> spaces_;
  std::unordered_map<GroupId, Followed, GroupIdHash> groups_;
  std::vector<Outlet> outlets_;            // by reactor
  std::vector<std::string> moved_spaces_;  // in this turn
  // Only these are looked at when time has passed, however many groups and spaces there are.
  std::vector<std::string> untold_spaces_;  // moved since the last progress was told
  std::unordered_set<GroupId, GroupIdHash> unused_groups_;
  std::set<std::string> unused_spaces_;
  std::deque<std::pair<TimePoint, std::string>> awaited_spaces_;  // by those who ask once; since when
  TimePoint progress_at_;
  TimePoint forget_at_;
  bool degraded_ = false;
  std::uint64_t commits_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t backlogs_ = 0;
};

}  // namespace viewgate::gateway
