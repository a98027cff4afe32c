// The engine for the reactors' threads: every call becomes a post to the engine's loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gateway/engine.hpp"
#include "gateway/ports.hpp"

namespace viewgate::gateway {

class PostedEngine final : public EnginePort {
 public:
  PostedEngine(boost::asio::io_context& io, Engine& engine) : io_(io), engine_(engine) {}

  void join(std::size_t reactor, GroupSpecPtr group) override {
    boost::asio::post(io_, [this, reactor, group = std::move(group)] { engine_.join(reactor, group); });
  }
  void leave(std::size_t reactor, GroupId group) override {
    boost::asio::post(io_, [this, reactor, group] { engine_.leave(reactor, group); });
  }
  void history(std::size_t reactor, GroupId group, ledger::Position after,
               std::function<void(HistoryReply)> reply) override {
    boost::asio::post(io_, [this, reactor, group, after, reply = std::move(reply)]() mutable {
      engine_.history(reactor, group, after, std::move(reply));
    });
  }
  void bootstrap(std::size_t reactor, GroupId group, std::string principal,
                 std::function<void(BootstrapReply)> reply) override {
    boost::asio::post(io_,
                      [this, reactor, group, principal = std::move(principal), reply = std::move(reply)]() mutable {
                        engine_.bootstrap(reactor, group, std::move(principal), std::move(reply));
                      });
  }
  void spilled(std::size_t reactor, SpilledTextsPtr texts, std::size_t index,
               std::function<void(std::optional<std::string>)> reply) override {
    boost::asio::post(io_, [this, reactor, texts = std::move(texts), index, reply = std::move(reply)]() mutable {
      engine_.spilled(reactor, std::move(texts), index, std::move(reply));
    });
  }
  void mutate(std::size_t reactor, MutationCall call, std::function<void(MutationReply)> reply) override {
    boost::asio::post(io_, [this, reactor, call = std::move(call), reply = std::move(reply)]() mutable {
      engine_.mutate(reactor, std::move(call), std::move(reply));
    });
  }
  void receipts(std::size_t reactor, ledger::ReceiptsQuery query, std::function<void(ReceiptsReply)> reply) override {
    boost::asio::post(io_, [this, reactor, query = std::move(query), reply = std::move(reply)]() mutable {
      engine_.receipts(reactor, std::move(query), std::move(reply));
    });
  }

 private:
  boost::asio::io_context& io_;
  Engine& engine_;
};

}  // namespace viewgate::gateway
