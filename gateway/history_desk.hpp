// Answers "what lies after my position?" from the ledger: one read per stretch of a space for everyone whose position
// lies in it. The engine asks here only for what its recent commits do not cover.
//
// Those who wait are served in the order in which they came: a read begins at the first one's position, and takes along
// all others of the space that stand at or above it. Owned by the engine's thread; `reader` must outlive it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/active_model.hpp"
#include "gateway/engine_options.hpp"
#include "gateway/recent_commits.hpp"
#include "ledger/ports.hpp"
#include "projection/projector.hpp"

namespace viewgate::gateway {

struct HistoryAsker {
  std::size_t reactor = 0;
  GroupSpecPtr spec;
  ledger::Position after;
  std::function<void(HistoryReply)> reply;
};

class HistoryDesk {
 public:
  /// `on_void`: who stood at this position of the group was told to start anew.
  HistoryDesk(const EngineLimits& limits, const EngineSurroundings& surroundings, ledger::LogReader& reader,
              std::function<void(const GroupId&, ledger::Position)> on_void);

  void ask(HistoryAsker asker);

  /// The answer from commits that are at hand: `stretch()` reads them where nobody has had the same answer a moment ago.
  /// After a break many come back from one position at once; they share what is projected and encoded for the first.
  void answer(const HistoryAsker& asker, const std::function<RecentCommits::Stretch()>& stretch);
  void refuse(const HistoryAsker& asker, const Refusal& refusal);

  /// Values of commits of the space were erased: what was read before is told to nobody; who waits for it is answered anew.
  void distrust(const std::string& space);

  /// The group ended: what was made for it may be of a history that is another one now.
  void forget(const GroupId& group);

 private:
  /// Everyone in one read who has the same group and position.
  struct Target {
    Target(GroupSpecPtr group, ledger::Position position);
    GroupSpecPtr spec;
    ledger::Position after;
    projection::Replay replay;
    std::string text;
    bool known = false;              ///< the ledger has `after` with its stamp
    std::optional<Refusal> refusal;  ///< why there is no answer
    std::vector<HistoryAsker> askers;
  };
  struct Read {
    std::string space;
    ledger::Position start;
    std::vector<Target> targets;
  };
  struct Line {
    std::deque<HistoryAsker> waiting;
    bool reading = false;
    bool is_distrusted = false;  ///< what is being read
  };

  void start_read(const std::string& space);
  static void board(Read& read, std::deque<HistoryAsker>& waiting, std::size_t groups_max);
  void on_part(Read& read, const ledger::CommitPart& part) const;
  void on_done(Read& read, const ledger::Result<ledger::Position>& reached);
  void append(Target& target, const ledger::CommitPart& part) const;
  std::shared_ptr<const History> deliver(Target& target, ledger::Position through);

  const EngineLimits& limits_;
  const EngineSurroundings& surroundings_;
  ledger::LogReader& reader_;
  const std::function<void(const GroupId&, ledger::Position)> on_void_;
  std::map<std::string, Line> lines_;  // by space
  // What answers from commits at hand made, for as long as somebody still writes it out.
  std::map<std::pair<GroupId, ledger::Position>, std::weak_ptr<const History>> shared_;
  std::size_t shared_swept_ = 0;  // how many were left when it was swept last
};

}  // namespace viewgate::gateway
