// Looks now and then whether every reactor still turns, on the engine's loop, so that a look at all says that this one does. The
// service manager hears of it only while all turn: a loop that stands still gets the program killed and started anew, and a log line
// says which one it was.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "gateway/reactor.hpp"
#include "gateway/service_manager.hpp"

namespace viewgate::gateway {

class Watchdog {
 public:
  /// All outlive it.
  Watchdog(boost::asio::io_context& io, const ServiceManager& manager,
           const std::vector<std::unique_ptr<Reactor>>& reactors);

  /// Once the reactors run.
  void start();

 private:
  struct Seen {
    std::uint64_t turns = 0;
    bool stands_still = false;
  };

  void look_later();
  void look();

  const ServiceManager& manager_;
  const std::vector<std::unique_ptr<Reactor>>& reactors_;
  const std::chrono::microseconds interval_;
  boost::asio::steady_timer timer_;
  std::vector<Seen> seen_;
};

}  // namespace viewgate::gateway
