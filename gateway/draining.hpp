// The end of serving: no reactor takes clients any more, and each tells those that it has when to come back. On the loop's
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "gateway/reactor.hpp"

namespace viewgate::gateway {

class Draining {
 public:
  explicit Draining(boost::asio::io_context& io) : io_(io), timer_(io) {}

  /// `done` is called when every client has gone, or after `time_max`, whoever is left behind. The reactors outlive it.
  void begin(const std::vector<std::unique_ptr<Reactor>>& reactors, std::chrono::milliseconds window,
             std::chrono::milliseconds time_max, std::function<void()> done);

 private:
  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;
  std::size_t undrained_ = 0;
};

}  // namespace viewgate::gateway
