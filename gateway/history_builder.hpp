// Collects the documents of one answer to "what lies after my position?": in memory up to a bound, behind that in a file. So
// whoever fell behind below a commit of a million changes is given it whole, and what is held of it is one part.
//
// Used by one thread, which does not wait for the disk: what goes to the file is written on the thread that may, in order and
// before anybody's question for it is answered there. What comes of it is immutable and shared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/active_model.hpp"
#include "gateway/engine_options.hpp"
#include "gateway/ports.hpp"
#include "gateway/spill.hpp"
#include "projection/projector.hpp"

namespace viewgate::gateway {

class HistoryBuilder {
 public:
  HistoryBuilder(GroupSpecPtr spec, const EngineLimits& limits, std::shared_ptr<SpillBudget> disk)
      : spec_(std::move(spec)), limits_(limits), disk_(std::move(disk)) {}

  /// The document of a commit, or of a part of one. False: it is too much for memory, and no file takes it either, or not as
  /// fast as it comes; what was collected is gone, and `problem` says why. A disk that fails later is found by whoever reads.
  [[nodiscard]] bool add(const projection::GroupEvents& events);
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// All commits up to `through` were offered. At most once.
  [[nodiscard]] std::shared_ptr<const History> finish(ledger::Position through);

 private:
  struct Writing;

  [[nodiscard]] bool spill(std::string document);

  const GroupSpecPtr spec_;
  const EngineLimits& limits_;
  const std::shared_ptr<SpillBudget> disk_;
  std::string text_;
  std::shared_ptr<Writing> writing_;  // null: nothing was too much for memory yet
  std::vector<SpilledTexts::Place> places_;
  std::uint64_t spilled_bytes_ = 0;
  ledger::Position moved_to_;  // by the last document; a part before the last moves nothing
  std::string problem_;
};

}  // namespace viewgate::gateway
