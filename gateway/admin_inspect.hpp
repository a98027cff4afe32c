// GET /v1/inspect/… on the operators' port: what this node has and how it is doing, as JSON; the Inspector's page is made of it.
//
//   overview      is everyone caught up? counts of the node, its reactors and its subscriptions
//   nodes         who follows the log, as the database knows it
//   spaces        with head, lag, groups and bytes                                           (a page)
//   views         with what they cost
//   groups        the different forms of the views, with what they cost                       (a page)
//   connections   whose, since when, with what they wait for                                  (a page)
//   connection    one of them with its subscriptions
//   commits       of a space, without values of records
//
// On a thread of its own, which asks the engine and each reactor on theirs, a bounded piece in each of their turns (see
// inspect_walk), and puts the answers together. No lock, nothing that is counted for it, nothing that a commit waits for.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/admin_door.hpp"
#include "gateway/engine.hpp"
#include "gateway/metrics.hpp"
#include "gateway/reactor.hpp"

namespace viewgate::gateway {

/// All of it outlives the answers: the reactors are not changed any more once the door is open.
struct InspectSources {
  boost::asio::io_context& engine_io;
  const Engine& engine;
  const ledger::Tailer& tailer;
  std::function<EngineReading()> read_engine;  ///< called on the engine's thread
  const std::vector<std::unique_ptr<Reactor>>& reactors;
  std::string conninfo;
  std::string version;
  std::string node;  ///< what the database calls this one
  std::chrono::milliseconds time_max{10'000};
};

class AdminInspect {
 public:
  static constexpr std::size_t asked_max = 16;  ///< questions at a time; one more is told to come back

  explicit AdminInspect(InspectSources sources);
  ~AdminInspect();
  AdminInspect(const AdminInspect&) = delete;
  AdminInspect& operator=(const AdminInspect&) = delete;

  /// Before the door starts.
  void add_to(AdminDoor& door);

  /// What is not answered is not any more. The door is stopped before; engine and reactors are still there.
  void stop();

 private:
  class Desk;
  std::unique_ptr<Desk> desk_;
};

}  // namespace viewgate::gateway
