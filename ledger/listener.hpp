// The connection that listens and does nothing else: whatever happens to it costs promptness, never a commit. It must be a
// direct one, since a pooler in transaction mode swallows notifications; the tailer finds out by notifying itself.
//
// Lives on the executor's thread, kept alive by its own coroutine; no callback comes after stop().
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ledger/pg/connection.hpp"

namespace viewgate::ledger {

struct ListenerOptions {
  std::string conninfo;
  std::chrono::milliseconds time_max{10000};     ///< to connect
  std::chrono::milliseconds silence_max{70000};  ///< without a single notification: the connection is made anew
  std::chrono::milliseconds reconnect_first{50};
  std::chrono::milliseconds reconnect_max{2000};
};

struct ListenerEvents {
  std::function<void()> on_listening;  ///< LISTEN is committed: what is notified from now on arrives
  std::function<void()> on_deaf;
  std::function<void(std::string_view payload)> on_notification;
};

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(boost::asio::any_io_executor executor, ListenerOptions options, ListenerEvents events);

  void start();
  void stop();

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<Listener> self);
  pg::Task<void> listen();
  pg::Task<void> hear();

  boost::asio::any_io_executor executor_;
  const ListenerOptions options_;
  const ListenerEvents events_;
  pg::Connection connection_;
  boost::asio::steady_timer pause_;
  bool stopped_ = false;
};

}  // namespace viewgate::ledger
