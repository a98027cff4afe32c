#include "ledger/housekeeper.hpp"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "ledger/spawn.hpp"

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr int kPruneBatch = 1000;  // commits deleted in one transaction

}  // namespace

Housekeeper::Housekeeper(asio::any_io_executor executor, std::string conninfo, HousekeeperOptions options)
    : executor_(std::move(executor)),
      conninfo_(std::move(conninfo)),
      options_(options),
      connection_(executor_),
      timer_(executor_) {}

void Housekeeper::start() { spawn(executor_, run(shared_from_this())); }

void Housekeeper::stop() {
  stopped_ = true;
  timer_.cancel();
  connection_.close();
}

asio::awaitable<void> Housekeeper::run(std::shared_ptr<Housekeeper> self) {
  while (!self->stopped_) {
    bool failed = false;
    try {
      auto done = co_await self->turn();
      failed = !done;
    } catch (const Failure&) {
      failed = true;
    }
    // What failed is tried again next time; whether the database can be reached at all is the tailer's to tell.
    if (failed) self->connection_.close();
    if (self->stopped_) co_return;
    Clock::time_point until = self->captures_at_;
    if (self->options_.prune_keep > 0) until = std::min(until, self->prune_at_);
    self->timer_.expires_at(until);
    boost::system::error_code ignored;
    co_await self->timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

pg::Task<void> Housekeeper::turn() {
  const Clock::time_point now = Clock::now();
  const bool captures_due = now >= captures_at_;
  const bool prune_due = options_.prune_keep > 0 && now >= prune_at_;
  if (captures_due) captures_at_ = now + options_.captures_interval;
  if (prune_due) prune_at_ = now + options_.prune_interval;
  if (!connection_.is_idle()) {
    pg::ConnectOptions connect;
    connect.conninfo = conninfo_;
    connect.application_name = "viewgate housekeeping";
    connect.connect_time_max = options_.time_max;
    auto connected = co_await connection_.connect(std::move(connect));
    if (!connected) co_return connected.error();
  }
  if (captures_due) {
    std::string sql = "select count(*) from viewgate.check_captures()";
    auto checked = co_await connection_.exec(std::move(sql), pg::Params(), options_.time_max);
    if (!checked) co_return checked.error();
  }
  if (!prune_due) co_return Result<void>();
  co_return co_await prune();
}

pg::Task<void> Housekeeper::prune() {
  // A tenth more than what is kept may gather, so that a busy space is not pruned commit by commit.
  std::string sql = "select name from viewgate.spaces where head - retained_from + 1 > $1::bigint + $1::bigint / 10";
  pg::Params params;
  params.emplace_back(std::to_string(options_.prune_keep));
  auto grown = co_await connection_.exec(std::move(sql), std::move(params), options_.time_max);
  if (!grown) co_return grown.error();
  for (int i = 0; i < grown->size(); ++i) {
    auto pruned = co_await prune_space((*grown)[i].string(0));
    if (!pruned) co_return pruned.error();
  }
  co_return Result<void>();
}

/// The horizon first, in a transaction of its own; what is below it is deleted in later ones, so that a reader that
/// misses a commit also sees the horizon that explains it.
pg::Task<void> Housekeeper::prune_space(std::string space) {
  std::string raise = "select viewgate.prune($1, $2)";
  pg::Params kept;
  kept.emplace_back(space);
  kept.emplace_back(std::to_string(options_.prune_keep));
  auto raised = co_await connection_.exec(std::move(raise), std::move(kept), options_.time_max);
  if (!raised) co_return raised.error();
  for (;;) {
    std::string batch = "select viewgate.prune_batch($1, $2)";
    pg::Params params;
    params.emplace_back(space);
    params.emplace_back(std::to_string(kPruneBatch));
    auto deleted = co_await connection_.exec(std::move(batch), std::move(params), options_.time_max);
    if (!deleted) co_return deleted.error();
    const std::int64_t count = (*deleted)[0].integer(0);
    pruned_ += static_cast<std::uint64_t>(count);
    if (count == 0) co_return Result<void>();
  }
}

}  // namespace viewgate::ledger
