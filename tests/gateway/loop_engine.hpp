// A whole engine for one reactor in forty lines: one group's documents in a list, every question answered by a post to the
// reactor's loop, where all of it lives. For tests and measurements over real sockets.
#pragma once

#include <string>
#include <vector>

#include "gateway/listening.hpp"
#include "gateway/reactor.hpp"
#include "gateway/session_world.hpp"

namespace viewgate::gateway::testing {

class LoopEngine final : public EnginePort {
 public:
  void attach(Reactor& reactor) { reactor_ = &reactor; }

  /// From any thread: one commit for each text, delivered together.
  void commit(std::vector<std::string> texts) {
    reactor_->post([this, texts = std::move(texts)](ReactorPort& port) {
      auto delivery = std::make_shared<Delivery>();
      for (const auto& text : texts) {
        log_.push_back(text);
        auto frame = std::make_shared<GroupFrame>();
        frame->group = group_;
        frame->position = head();
        frame->text = text;
        delivery->frames.push_back(std::move(frame));
      }
      delivery->heads.emplace_back("s", head());
      port.on_delivery(std::move(delivery));
    });
  }

  void join(std::size_t, GroupSpecPtr spec) override {
    group_ = spec->id;
    reactor_->post([this](ReactorPort& port) { port.on_joined(group_, head()); });
  }
  void leave(std::size_t, GroupId) override {}
  void bootstrap(std::size_t, GroupId, std::string, std::function<void(BootstrapReply)> reply) override {
    reactor_->post([this, reply = std::move(reply)](ReactorPort&) {
      auto out = std::make_shared<SnapshotChunks>();
      out->at = head();
      out->position_token = "p";
      reply(std::shared_ptr<const SnapshotChunks>(std::move(out)));
    });
  }
  void history(std::size_t, GroupId, ledger::Position after, std::function<void(HistoryReply)> reply) override {
    reactor_->post([this, after, reply = std::move(reply)](ReactorPort&) {
      auto out = std::make_shared<History>();
      auto next = static_cast<std::size_t>(after.sequence.value);
      while (next < log_.size() && out->text.size() < history_bytes) out->text += log_[next++];
      out->through = at(static_cast<std::int64_t>(next));
      out->is_told = !out->text.empty();
      ++histories;
      reply(std::shared_ptr<const History>(std::move(out)));
    });
  }

  void spilled(std::size_t, SpilledTextsPtr, std::size_t, std::function<void(std::optional<std::string>)>) override {}
  void mutate(std::size_t, MutationCall, std::function<void(MutationReply)>) override {}
  void receipts(std::size_t, ledger::ReceiptsQuery, std::function<void(ReceiptsReply)>) override {}

  static constexpr std::size_t history_bytes = 256 * 1024;
  std::atomic<int> histories = 0;

 private:
  [[nodiscard]] ledger::Position head() const { return at(static_cast<std::int64_t>(log_.size())); }

  Reactor* reactor_ = nullptr;
  GroupId group_;
  std::vector<std::string> log_;
};

inline std::chrono::sys_seconds wall_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// A reactor with its engine, listening on a free port; stopped at the end.
struct RunningReactor {
  explicit RunningReactor(ReactorOptions options = {}) : verifier(token_verifier()) {
    options.port = reserve_port(options.address, 0);
    port = options.port;
    reactor = std::make_unique<Reactor>(std::move(options), engine, verifier, active_model());
    engine.attach(*reactor);
    reactor->listen();
    reactor->set_ready(true);
    reactor->start();
  }

  LoopEngine engine;
  auth::TokenVerifier verifier;
  std::uint16_t port = 0;
  std::unique_ptr<Reactor> reactor;
};

}  // namespace viewgate::gateway::testing
