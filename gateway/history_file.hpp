// The file that answers to "what lies after my position?" go on in when they are too much for memory: one for all groups that
// a commit touches, or that one read of the ledger serves, since descriptors are fewer than groups. It lives for as long as
// somebody reads one of them.
//
// Used by one thread, which does not wait for the disk: what goes to the file is written on the thread that may, in order and
// before anybody's question for it is answered there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gateway/byte_budget.hpp"
#include "gateway/engine_options.hpp"
#include "gateway/spill.hpp"

namespace viewgate::gateway {

/// What all answers of an engine share. `limits` must outlive it.
struct HistoryRoom {
  HistoryRoom(const EngineLimits& engine_limits, std::shared_ptr<SpillBudget> files)
      : limits(engine_limits),
        disk(std::move(files)),
        memory(std::make_shared<ByteBudget>(limits.history_total_bytes)),
        waiting_bytes(std::make_shared<std::atomic<std::size_t>>(0)) {}

  const EngineLimits& limits;
  const std::shared_ptr<SpillBudget> disk;
  const std::shared_ptr<ByteBudget> memory;                       ///< of texts, until nobody reads them any more
  const std::shared_ptr<std::atomic<std::size_t>> waiting_bytes;  ///< for the disk
};

class HistoryFile {
 public:
  /// The file is made when something is put there. `room` must outlive this.
  explicit HistoryFile(const HistoryRoom& room) : room_(room) {}

  /// Where it will lie. Absent: there is no file, or the disk does not take it, or not as fast as it comes; `problem` says
  /// which. A disk that fails later is found by whoever reads.
  [[nodiscard]] std::optional<SpilledTexts::Place> append(std::string document, std::string& problem);

  /// What was put there, for its readers. Something was.
  [[nodiscard]] SpilledTextsPtr texts(std::vector<SpilledTexts::Place> places) const;

 private:
  struct Writing;

  const HistoryRoom& room_;
  std::shared_ptr<Writing> writing_;  // null: there is no file yet
  std::uint64_t end_ = 0;
};

}  // namespace viewgate::gateway
