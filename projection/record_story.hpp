// How one record came into a view and left it, from the commits that changed it. What it tells is what subscribers were
// sent: the events are those of Replay, the reasons those of Explainer. Judged by the view, the parameters and the claims of
// today, whatever was in force then.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/commit.hpp"
#include "projection/explain.hpp"
#include "projection/projector.hpp"

namespace viewgate::projection {

struct StoryEvent {
  ledger::Sequence sequence;
  ledger::Provenance provenance;
  /// A name of event.hpp; "erased": what the commit did is not told any more; "unrecorded": before this commit the record
  /// went in or out without one that the log has, as while its table was not captured.
  std::string what;
  std::vector<Verdict> reasons;      ///< of entered and removed_from_scope: the pieces that made it so
  std::vector<std::string> changed;  ///< of updated: the visible columns
  bool moved = false;                ///< of removed_from_scope: the record belongs to another space now
};

/// Which events are kept: of those before `before` the latest that fit. A commit's events are kept or left out together, and those
/// of the latest commit are kept whatever they take.
struct StoryBounds {
  std::size_t events_max = 0;
  std::size_t bytes_max = 0;
  std::function<std::size_t(const StoryEvent&)> bytes_of;  ///< what an event takes where it is told
  std::optional<ledger::Sequence> before;                  ///< nothing: the latest of all
};

class RecordStory {
 public:
  /// `explainer` outlives the story.
  RecordStory(const Explainer& explainer, StoryBounds bounds)
      : explainer_(explainer), replay_(explainer.group()), bounds_(std::move(bounds)) {}

  /// The next commit: one part with the one change of the record. errc::malformed_record.
  [[nodiscard]] Result<void> take(const ledger::CommitPart& commit);

  /// After the last one, the record as it is at `now`.
  void end(ledger::Sequence now, bool is_inside);

  [[nodiscard]] const std::deque<StoryEvent>& events() const { return events_; }
  /// Older than those.
  [[nodiscard]] std::size_t left_out() const { return left_out_; }
  [[nodiscard]] bool has_commits() const { return has_commits_; }
  /// Before the first commit of the log that changed it. Nothing: that was erased.
  [[nodiscard]] std::optional<bool> began_inside() const { return began_inside_; }

 private:
  void add(StoryEvent event);
  [[nodiscard]] bool is_too_much() const { return events_.size() > bounds_.events_max || bytes_ > bounds_.bytes_max; }
  [[nodiscard]] Result<std::optional<Judgement>> judge(const std::optional<std::string>& record) const;

  const Explainer& explainer_;
  Replay replay_;
  const StoryBounds bounds_;
  std::deque<StoryEvent> events_;
  std::deque<std::size_t> sizes_;  // of these
  std::size_t bytes_ = 0;          // of all of them
  std::size_t left_out_ = 0;
  bool has_commits_ = false;
  std::optional<bool> began_inside_;
  std::optional<bool> inside_;  ///< after the latest commit; nothing: not known
};

}  // namespace viewgate::projection
