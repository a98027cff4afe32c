// The way from the engine to one reactor: the frames of this turn, and how many bytes of what was posted the reactor has
// not taken yet. A reactor that stands still (a long write, a stopped thread) would otherwise let its queue grow without
// bound. Beyond the bound the frames are dropped and the reactor is behind: nothing more is posted until it has taken half,
// and then its groups are joined anew, so that their readers come back through history. Nothing is lost, and the others do
// not notice.
//
// Owned by the engine's thread; what is posted tells from the reactor's thread that it was taken.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gateway/engine_options.hpp"
#include "gateway/ports.hpp"

namespace viewgate::gateway {

class Outlet {
 public:
  using Heads = std::vector<std::pair<std::string, ledger::Position>>;

  Outlet(std::size_t reactor, std::size_t bytes_max, const EngineSurroundings& surroundings)
      : reactor_(reactor), bytes_max_(bytes_max), surroundings_(surroundings) {}

  void put(GroupFramePtr frame);
  /// Receipts cannot be had from history: one that is behind gets them when it goes on, as many as the bound holds, and the
  /// names of the clients to which others belonged.
  void put(LoggedReceiptPtr receipt);

  /// Posts what was put since the last flush, and these heads, as one delivery; nothing where there is neither.
  void flush(Heads heads = {});

  /// Frames were dropped: the reactor's groups have a hole.
  [[nodiscard]] bool behind() const { return behind_; }
  /// Whether a reactor that was behind has taken enough to go on; then it is not behind any more.
  [[nodiscard]] bool take_caught_up();

 private:
  const std::size_t reactor_;
  const std::size_t bytes_max_;
  const EngineSurroundings& surroundings_;
  const std::shared_ptr<std::atomic<std::size_t>> in_flight_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::vector<GroupFramePtr> frames_;
  std::size_t bytes_ = 0;  // of frames_
  std::vector<LoggedReceiptPtr> receipts_;
  std::size_t receipts_bytes_ = 0;
  std::set<std::string> lost_;  // client keys of dropped receipts
  bool all_lost_ = false;       // too many of them
  bool behind_ = false;
};

}  // namespace viewgate::gateway
