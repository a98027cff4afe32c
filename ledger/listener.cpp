#include "ledger/listener.hpp"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "ledger/spawn.hpp"

namespace viewgate::ledger {

namespace asio = boost::asio;

Listener::Listener(asio::any_io_executor executor, ListenerOptions options, ListenerEvents events)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      events_(std::move(events)),
      connection_(executor_),
      pause_(executor_) {}

void Listener::start() { spawn(executor_, run(shared_from_this())); }

void Listener::stop() {
  stopped_ = true;
  pause_.cancel();
  connection_.close();
}

asio::awaitable<void> Listener::run(std::shared_ptr<Listener> self) {
  std::chrono::milliseconds pause = self->options_.reconnect_first;
  while (!self->stopped_) {
    auto listening = co_await self->listen();
    if (listening && !self->stopped_) {
      self->events_.on_listening();
      auto ended = co_await self->hear();  // always with an error
      if (!self->stopped_) self->events_.on_deaf();
      pause = self->options_.reconnect_first;
    } else {
      pause = std::min(pause * 2, self->options_.reconnect_max);
    }
    self->connection_.close();
    if (self->stopped_) co_return;
    self->pause_.expires_after(pause);
    boost::system::error_code ignored;
    co_await self->pause_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

pg::Task<void> Listener::listen() {
  pg::ConnectOptions connect = pg::connect_options(options_.conninfo, "viewgate listen", options_.time_max);
  auto connected = co_await connection_.connect(std::move(connect));
  if (!connected) co_return connected.error();
  std::string command = "listen viewgate";
  co_return co_await connection_.exec_script(std::move(command), options_.time_max);
}

pg::Task<void> Listener::hear() {
  while (!stopped_) {
    auto heard = co_await connection_.wait_notification(options_.silence_max);
    if (!heard) co_return heard.error();
    if (!*heard) co_return Error{errc::timeout, "", "not even our own notifications arrive"};
    if (!stopped_) events_.on_notification(**heard);
  }
  co_return Error{errc::unavailable, "", "stopped"};
}

}  // namespace viewgate::ledger
