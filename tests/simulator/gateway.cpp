// SimGateway: the engine, its tail and reader, the reactors' fan-outs, and the links between them.
#include <algorithm>

#include "simulator/world.hpp"

namespace viewgate::simulator {

using gateway::EngineSurroundings;
using gateway::ReactorPort;

class SimGateway::PostingEngine final : public gateway::EnginePort {
 public:
  explicit PostingEngine(SimGateway& owner) : owner_(owner) {}

  void join(std::size_t reactor, gateway::GroupSpecPtr group) override {
    post(reactor, [this, reactor, group] { owner_.engine_.join(reactor, group); });
  }
  void leave(std::size_t reactor, gateway::GroupId group) override {
    post(reactor, [this, reactor, group] { owner_.engine_.leave(reactor, group); });
  }
  void history(std::size_t reactor, gateway::GroupId group, ledger::Position after,
               std::function<void(gateway::HistoryReply)> reply) override {
    post(reactor, [this, reactor, group, after, reply] { owner_.engine_.history(reactor, group, after, reply); });
  }
  void bootstrap(std::size_t reactor, gateway::GroupId group, std::string principal,
                 std::function<void(gateway::BootstrapReply)> reply) override {
    post(reactor,
         [this, reactor, group, principal, reply] { owner_.engine_.bootstrap(reactor, group, principal, reply); });
  }
  void spilled(std::size_t reactor, gateway::SpilledTextsPtr texts, std::size_t index,
               std::function<void(std::optional<std::string>)> reply) override {
    post(reactor, [this, reactor, texts, index, reply] { owner_.engine_.spilled(reactor, texts, index, reply); });
  }
  void mutate(std::size_t reactor, gateway::MutationCall call,
              std::function<void(gateway::MutationReply)> reply) override {
    post(reactor, [this, reactor, call, reply] { owner_.engine_.mutate(reactor, call, reply); });
  }
  void receipts(std::size_t reactor, ledger::ReceiptsQuery call,
                std::function<void(gateway::ReceiptsReply)> reply) override {
    post(reactor, [this, reactor, call, reply] { owner_.engine_.receipts(reactor, call, reply); });
  }

 private:
  void post(std::size_t reactor, std::function<void()> call) { owner_.to_engine_[reactor].push_back(std::move(call)); }
  SimGateway& owner_;
};

SimGateway::SimGateway(const WorldSize& size, FakeLedger& ledger, Random& random, const gateway::Now& now,
                       const auth::TokenVerifier& verifier, gateway::ActiveModelPtr model)
    : size_(size),
      random_(random),
      now_(now),
      reader_(ledger, random),
      engine_(size.engine,
              EngineSurroundings{reactors,
                                 [this](std::size_t reactor, std::function<void(ReactorPort&)> call) {
                                   to_reactor_[reactor].push_back(std::move(call));
                                 },
                                 asides_.aside(),
                                 {},
                                 [this] { return now_.steady; }},
              reader_, reader_, [] {}),
      tail_(ledger, engine_),
      to_reactor_(reactors),
      posting_(std::make_unique<PostingEngine>(*this)) {
  engine_.attach(tail_);
  reader_.changes_per_part = size.changes_per_part;
  reader_.database_is_there = [this] { return tail_.connected(); };
  for (std::size_t i = 0; i < reactors; ++i) {
    fanouts_.push_back(
        std::make_unique<gateway::Fanout>(i, size.session, *posting_, verifier, model, [this, i] { due_[i] = true; }));
  }
}

SimGateway::~SimGateway() = default;

void SimGateway::step() {
  const std::size_t reactor = random_() % reactors;
  switch (random_() % 4) {
    case 0:
      if (to_reactor_[reactor].empty()) return;
      {
        const auto call = std::move(to_reactor_[reactor].front());
        to_reactor_[reactor].pop_front();
        call(*fanouts_[reactor]);
      }
      return;
    case 1:
      if (to_engine_[reactor].empty()) return;
      {
        const auto call = std::move(to_engine_[reactor].front());
        to_engine_[reactor].pop_front();
        call();
      }
      return;
    case 2:
      if (std::exchange(due_[reactor], false)) fanouts_[reactor]->flush_due(now_);
      return;
    default:
      return asides_.empty() ? reader_.step() : asides_.run_one();
  }
}

void SimGateway::tick() {
  engine_.tick();
  for (const auto& each : fanouts_) each->on_tick(now_);
}

}  // namespace viewgate::simulator
