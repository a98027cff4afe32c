// Collects the documents of one answer to "what lies after my position?": in memory up to a bound of its own and one for all
// of them, behind that in a file. So whoever fell behind below a commit of a million changes is given it whole, and what is
// held of it is one part. What comes of it is immutable and shared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/active_model.hpp"
#include "gateway/history_file.hpp"
#include "gateway/ports.hpp"
#include "projection/projector.hpp"

namespace viewgate::gateway {

class HistoryBuilder {
 public:
  /// `file` is shared with the other groups of the same commit or read. `room` must outlive this.
  HistoryBuilder(GroupSpecPtr spec, const HistoryRoom& room, std::shared_ptr<HistoryFile> file)
      : spec_(std::move(spec)), room_(room), file_(std::move(file)), charge_(room.memory) {}

  /// The document of a commit, or of a part of one. False: it is too much for memory, and no file takes it either; what was
  /// collected is gone, and `problem` says why.
  [[nodiscard]] bool add(const projection::GroupEvents& events);
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// All commits up to `through` were offered. At most once.
  [[nodiscard]] std::shared_ptr<const History> finish(ledger::Position through);

 private:
  const GroupSpecPtr spec_;
  const HistoryRoom& room_;
  const std::shared_ptr<HistoryFile> file_;
  std::string text_;
  ByteCharge charge_;                        // for `text_`
  std::vector<SpilledTexts::Place> places_;  // of what follows it
  ledger::Position moved_to_;                // by the last document; a part before the last moves nothing
  std::string problem_;
};

}  // namespace viewgate::gateway
