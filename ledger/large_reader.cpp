#include "ledger/large_reader.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "ledger/settled.hpp"
#include "ledger/spawn.hpp"

namespace viewgate::ledger {

namespace asio = boost::asio;

LargeReader::LargeReader(asio::any_io_executor executor, LargeReaderOptions options, LargeReaderEvents events)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      events_(std::move(events)),
      connection_(executor_),
      pause_(executor_) {}

void LargeReader::read(FollowerPtr follower) {
  waiting_.push_back(std::move(follower));
  if (!std::exchange(running_, true)) spawn(executor_, run(shared_from_this()));
}

void LargeReader::stop() {
  stopped_ = true;
  pause_.cancel();
  connection_.close();
}

/// Ends, and with it the connection, when nothing waits: large commits are rare.
asio::awaitable<void> LargeReader::run(std::shared_ptr<LargeReader> self) {
  while (!self->stopped_ && !self->waiting_.empty()) {
    const FollowerPtr follower = self->waiting_.front();
    self->waiting_.pop_front();
    if (!follower->is_watched) continue;
    const Sequence before = follower->position.sequence;
    const auto done = co_await settled(self->read_commit(follower));
    if (!done) self->connection_.close();
    if (self->stopped_) co_return;
    if (!done) self->events_.on_failed(follower->space, done.error());
    // Whoever asked then looks what is wrong, and comes back if it still is this commit: also where a standby, which does not have it
    // yet, answered without an error.
    const bool is_in_vain = follower->position.sequence == before && !follower->fault;
    if (is_in_vain && follower->is_watched) {
      self->pause_.expires_after(self->options_.pause);
      boost::system::error_code ignored;
      co_await self->pause_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      if (self->stopped_) co_return;
    }
    self->events_.on_done(follower);
  }
  self->connection_.close();
  self->running_ = false;
}

pg::Task<void> LargeReader::read_commit(FollowerPtr follower) {
  if (!connection_.is_open()) {
    pg::ConnectOptions connect = options_.connect;
    auto connected = co_await connection_.connect(std::move(connect));
    if (!connected) co_return connected.error();
  }
  PartBuilder builder(options_.part_bytes_max, events_.on_part);
  builder.follow(follower);
  std::string sql = kReadForViews;
  // One change: the first commit comes however many it has, and no other.
  pg::Params params = read_log_params(std::span(&follower, 1), 1, options_.part_bytes_max);
  std::function<bool(const pg::Row&)> on_row = [this, &builder, &follower](const pg::Row& row) {
    builder.add(row);
    return !stopped_ && follower->is_watched;
  };
  auto done = co_await connection_.stream(std::move(sql), std::move(params), std::move(on_row), options_.silence_max);
  if (!done) co_return done.error();
  builder.finish();
  co_return Result<void>();
}

}  // namespace viewgate::ledger
