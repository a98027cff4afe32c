// The whole line in one thread under one seed: a ledger, the real engine, real fan-outs and sessions, clients that fold. Every
// step is drawn: which link moves one message, which pipe moves how many bytes, who commits, what fails. Links are delayed and
// reordered against each other, never within themselves.
//
// Safety: no promise is broken at any step, and at any moment a fold is the view at its sequence in some line of history.
// Liveness: when the faults stop, everybody comes to the head.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/engine.hpp"
#include "gateway/engine_world.hpp"
#include "gateway/session_world.hpp"
#include "simulator/fake_ledger.hpp"
#include "simulator/sim_client.hpp"

namespace viewgate::simulator {

/// What can be drawn for one world; small numbers make rare branches common.
struct WorldSize {
  gateway::SessionOptions session;
  gateway::EngineLimits engine;
  std::size_t pipe_bytes = 4096;
  std::size_t changes_per_part = 4;
  unsigned fault_one_in = 1;  ///< of the steps that may be one
  std::size_t clients = 4;
};
[[nodiscard]] WorldSize random_size(Random& random);

/// The gateway process: it can be killed, and another one started in its place.
class SimGateway {
 public:
  SimGateway(const WorldSize& size, FakeLedger& ledger, Random& random, const gateway::Now& now,
             const auth::TokenVerifier& verifier, gateway::ActiveModelPtr model);
  ~SimGateway();

  static constexpr std::size_t reactors = 2;

  /// One message of one link, one turn of one loop, or one step of the reader.
  void step();
  void look(const std::string& space) { tail_.look(space, random_, size_.changes_per_part); }
  void tick();
  void disconnect() {
    tail_.disconnect();
    reader_.disconnect();
  }
  [[nodiscard]] gateway::Fanout& fanout(std::size_t index) { return *fanouts_[index]; }
  [[nodiscard]] FakeReader& reader() { return reader_; }
  [[nodiscard]] gateway::Engine& engine() { return engine_; }

 private:
  /// The engine for one reactor: each call is a message on the link.
  class PostingEngine;

  const WorldSize& size_;
  Random& random_;
  const gateway::Now& now_;
  gateway::testing::Asides asides_;  // before the engine, which uses it
  FakeReader reader_;
  gateway::Engine engine_;
  FakeTail tail_;
  std::vector<std::deque<std::function<void(gateway::ReactorPort&)>>> to_reactor_;
  std::deque<std::function<void()>> to_engine_[reactors];
  bool due_[reactors] = {};
  std::unique_ptr<PostingEngine> posting_;
  std::vector<std::unique_ptr<gateway::Fanout>> fanouts_;
};

class World {
 public:
  explicit World(unsigned seed);
  ~World();

  /// With everything that can go wrong.
  void run_with_faults(int steps);
  /// Without; true when every client holds the view at the head of each of its spaces.
  [[nodiscard]] bool run_to_head(int steps);

  [[nodiscard]] const loadtest::Violations& violations() const { return violations_; }
  /// Where everybody is, for a failed run.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::uint64_t commits_folded() const;

 private:
  void step();
  void fault();
  void move_clients();
  void move_client(SimClient& client);
  void act_as_user(SimClient& client);
  void pass(std::chrono::milliseconds time);
  void connect(SimClient& client);
  void restart_gateway();
  void check(const Slot& slot);
  [[nodiscard]] bool at_head(const Slot& slot);
  [[nodiscard]] loadtest::Fold::Records view_of(const Slot& slot, const FakeLedger::Rows& rows) const;
  [[nodiscard]] SimClient& any_client() { return *clients_[random_() % clients_.size()]; }
  [[nodiscard]] const std::string& any_space() { return ledger_.spaces()[random_() % ledger_.spaces().size()]; }

  Random random_;
  const WorldSize size_;
  FakeLedger ledger_;
  loadtest::Violations violations_;
  gateway::Now now_;
  const auth::TokenVerifier verifier_;
  const gateway::ActiveModelPtr model_;
  std::unique_ptr<SimGateway> gateway_;
  std::vector<std::unique_ptr<SimClient>> clients_;
  bool faults_ = true;
  std::vector<const SimClient*> stalled_;
};

}  // namespace viewgate::simulator
