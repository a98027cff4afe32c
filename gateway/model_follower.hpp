// The model in force: the one that the database has, read again whenever it may have changed. On the engine's loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>

#include "gateway/model_loader.hpp"

namespace viewgate::gateway {

class ModelFollower {
 public:
  /// `io` and `registry` outlive it and every read. `on_change`: another one is in force than the one before.
  ModelFollower(boost::asio::io_context& io, ledger::Registry& registry, std::chrono::milliseconds retry_after,
                std::function<void(const ActiveModelPtr&)> on_change)
      : loader_(registry, retry_after), retry_after_(retry_after), on_change_(std::move(on_change)), retry_timer_(io) {}

  /// Reads the first one; on_change is not called for it. Errors: it could not be read, and none is in force.
  void start(std::function<void(ledger::Result<ActiveModelPtr>)> done);

  /// Null before the first one is read.
  [[nodiscard]] const ActiveModelPtr& model() const { return model_; }

  /// One read at a time; whoever asks meanwhile asks for another one after it. What could not be read is read again later.
  void read();

 private:
  void take(const ledger::Result<ActiveModelPtr>& loaded);

  ModelLoader loader_;
  const std::chrono::milliseconds retry_after_;
  const std::function<void(const ActiveModelPtr&)> on_change_;
  boost::asio::steady_timer retry_timer_;
  ActiveModelPtr model_;
  bool reading_ = false;
  bool read_again_ = false;
  bool has_failed_ = false;  ///< told once, until it succeeds
};

}  // namespace viewgate::gateway
