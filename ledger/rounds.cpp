#include "ledger/rounds.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "ledger/settled.hpp"
#include "ledger/spawn.hpp"

namespace viewgate::ledger {

namespace asio = boost::asio;

Rounds::Rounds(asio::any_io_executor executor, pg::ConnectOptions connect)
    : executor_(std::move(executor)), connect_(std::move(connect)), connection_(executor_), timer_(executor_) {}

void Rounds::start() { spawn(executor_, run(shared_from_this())); }

void Rounds::stop() {
  stopped_ = true;
  timer_.cancel();
  connection_.close();
}

asio::awaitable<void> Rounds::run(std::shared_ptr<Rounds> self) {
  while (!self->stopped_) {
    const Result<void> done = co_await settled(self->connect_and_turn());
    if (self->stopped_) co_return;
    if (!done) self->connection_.close();
    self->timer_.expires_at(self->next_turn(done));
    boost::system::error_code ignored;
    co_await self->timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

pg::Task<void> Rounds::connect_and_turn() {
  if (!connection_.is_idle()) {
    auto connected = co_await connection_.connect(connect_);
    if (!connected) co_return connected.error();
    on_connected();
  }
  co_return co_await turn();
}

}  // namespace viewgate::ledger
