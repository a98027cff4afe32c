// Which requests wait, and which of them are written together next. Pure bookkeeping: no I/O, no clock.
//
// A space is written by one batch at a time. A batch takes whole spaces, those that have waited longest first; where many
// wait it leaves half of them to a second one beside it.
//
// A principal may have no more waiting than there is room left: one alone fills half of a space's room, or of all bytes, and
// whoever comes finds some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ledger/mutation_form.hpp"
#include "ledger/ports.hpp"

namespace viewgate::ledger {

/// A request and who waits for its answer.
struct PendingMutation {
  MutationRequest request;
  WriteRulesPtr rules;
  std::function<void(Result<MutationAnswer>)> done;
  std::size_t bytes = 0;  ///< bytes_of(request)
};

/// What it holds while it waits, roughly.
[[nodiscard]] std::size_t bytes_of(const MutationRequest& request);

/// What is written in one transaction. The spaces stand in the order of their names: all nodes lock in one order.
struct PendingBatch {
  MutationBatch content;  ///< points into `pending`
  std::vector<PendingMutation> pending;
};
[[nodiscard]] PendingBatch batch_of(std::vector<PendingMutation> pending);

struct MutationQueueLimits {
  std::size_t batch_max = 0;  ///< requests
  std::size_t batch_bytes_max = 0;
  std::size_t waiting_max = 0;  ///< per space
  std::size_t waiting_bytes_max = 0;
};

class MutationQueue {
 public:
  explicit MutationQueue(MutationQueueLimits limits) : limits_(limits) {}

  [[nodiscard]] bool has_room_for(const std::string& space, const std::string& principal, std::size_t bytes) const;
  void add(PendingMutation pending);

  /// Whether a batch can be taken now.
  [[nodiscard]] bool is_ready() const { return !ready_.empty(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

  /// At least one request; only where one is ready. Its spaces are not taken again before `finish`.
  [[nodiscard]] PendingBatch take();
  /// The requests from the nth on wait again, before those that came after them.
  void give_back(PendingBatch& batch, std::size_t from);
  /// The next batch with such a space has no other, and may wait for its locks.
  void keep_alone(const std::vector<std::string>& spaces);
  /// The spaces may be written again.
  void finish(const std::vector<std::string>& spaces);

 private:
  enum class SpaceState : std::uint8_t { idle, ready, written };
  using Shares = std::map<std::string, std::size_t>;  // by principal; those that have none are not in it
  struct Space {
    std::deque<PendingMutation> waiting;
    Shares requests;
    SpaceState state = SpaceState::idle;
    bool is_alone = false;
  };

  static void take_off(Shares& shares, const std::string& principal, std::size_t less);
  void count(Space& space, const PendingMutation& pending);
  void discount(Space& space, const PendingMutation& pending);
  void make_ready(const std::string& name, Space& space);
  void take_from(Space& space, std::vector<PendingMutation>& pending, std::size_t& bytes);

  const MutationQueueLimits limits_;
  std::map<std::string, Space> spaces_;
  std::deque<std::string> ready_;  ///< spaces in which requests wait and that nobody writes
  std::size_t waiting_ = 0;
  std::size_t waiting_bytes_ = 0;
  Shares bytes_;
};

}  // namespace viewgate::ledger
