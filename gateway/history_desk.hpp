// Answers "what lies after my position?" from the space's recent commits, else from the ledger: one read per stretch of a
// space for everyone whose position lies in it. What was read is put to the recent commits where it leads up to them: when a
// node dies, all of its clients come to another one at once, and the first read there serves nearly all of them.
//
// A read begins at the lowest position that somebody waits for, and takes along all others of the space. Who was not
// reached by it is the first of the next one, so nobody waits for more than those before it. Where the lowest is below the
// horizon, all that are below it, too, are found by halving: thousands may come back after an outage that was longer than
// the retention. Owned by the engine's thread;
// `room`, `reader` and `recent` must outlive it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/active_model.hpp"
#include "gateway/engine_options.hpp"
#include "gateway/history_builder.hpp"
#include "gateway/recent_store.hpp"
#include "ledger/ports.hpp"
#include "projection/projector.hpp"

namespace viewgate::gateway {

struct HistoryAsker {
  std::size_t reactor = 0;
  GroupSpecPtr spec;
  ledger::Position after;
  std::function<void(HistoryReply)> reply;
  bool is_passed_over = false;  ///< a read did not reach it
};

class HistoryDesk {
 public:
  /// `on_void`: who stood at this position of the group was told to start anew.
  HistoryDesk(const HistoryRoom& room, const EngineSurroundings& surroundings, ledger::LogReader& reader,
              RecentStore& recent, std::function<void(const GroupId&, ledger::Position)> on_void);

  void ask(HistoryAsker asker);

  /// A commit that is too much for the ring. Whoever stands at one of these places of the group is given it, and it is kept
  /// at hand for a while, since all will come.
  void publish(const GroupId& group, const std::vector<ledger::Position>& places,
               const std::shared_ptr<const History>& history);
  /// Lets go of what was published a while ago.
  void tick();

  void refuse(const HistoryAsker& asker, const Refusal& refusal);

  /// Values of commits of the space were erased: what was read before is told to nobody; who waits for it is answered anew.
  void distrust(const std::string& space);

  /// The group ended: what was made for it may be of a history that is another one now.
  void forget(const GroupId& group);

 private:
  /// Everyone in one read who has the same group and position.
  struct Target {
    Target(const HistoryRoom& room, std::shared_ptr<HistoryFile> file, GroupSpecPtr group, ledger::Position position);
    GroupSpecPtr spec;
    ledger::Position after;
    projection::Replay replay;
    HistoryBuilder documents;
    bool known = false;              ///< the ledger has `after` with its stamp
    std::optional<Refusal> refusal;  ///< why there is no answer
    std::vector<HistoryAsker> askers;
  };
  struct Read {
    std::string space;
    ledger::Position start;
    std::shared_ptr<HistoryFile> file;  ///< of all targets
    std::deque<Target> targets;
    std::vector<ledger::CommitPartPtr> parts;  ///< for the recent commits
    std::size_t parts_bytes = 0;
    bool is_too_much = false;  ///< for these
  };
  struct Line {
    std::deque<HistoryAsker> waiting;
    bool reading = false;
    bool is_distrusted = false;  ///< what is being read
    bool is_pruned = false;      ///< the lowest places may be below the horizon: it is looked for among them
  };

  /// False: the recent commits do not say.
  [[nodiscard]] bool answer(const HistoryAsker& asker);
  void answer_from(const RecentCommits& recent, const HistoryAsker& asker);
  void share(const GroupId& group, ledger::Position after, const std::shared_ptr<const History>& history);
  void start_read(const std::string& space);
  [[nodiscard]] static ledger::Position start_of(Line& line);
  void refuse_through(Line& line, ledger::Sequence pruned, const Refusal& refusal);
  void board(Read& read, std::deque<HistoryAsker>& waiting) const;
  void on_part(Read& read, const ledger::CommitPartPtr& part) const;
  void hold(Read& read, const ledger::CommitPartPtr& part) const;
  void on_done(Read& read, const ledger::Result<ledger::Position>& reached);
  static void append(Target& target, const ledger::CommitPart& part);
  void deliver(Target& target, ledger::Position through);

  const HistoryRoom& room_;
  const EngineLimits& limits_;
  const EngineSurroundings& surroundings_;
  ledger::LogReader& reader_;
  RecentStore& recent_;
  const std::function<void(const GroupId&, ledger::Position)> on_void_;
  std::map<std::string, Line> lines_;  // by space
  // What was made for one place of a group, for as long as somebody still writes it out.
  std::map<std::pair<GroupId, ledger::Position>, std::weak_ptr<const History>> shared_;
  std::size_t shared_swept_ = 0;  // how many were left when it was swept last
  struct Published {
    GroupId group;
    std::shared_ptr<const History> history;
    TimePoint until;
  };
  std::deque<Published> published_;  // oldest first
};

}  // namespace viewgate::gateway
