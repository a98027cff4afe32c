#include "ledger/pg/pool.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <vector>

namespace viewgate::ledger::pg {

namespace asio = boost::asio;

struct Pool::State {
  State(asio::any_io_executor executor_, ConnectOptions options_, std::size_t size_max_)
      : executor(std::move(executor_)), options(std::move(options_)), size_max(size_max_) {}

  /// One waiting acquire: the timer is its deadline, and cancelling it its bell. A grant is a place that is kept for it
  /// until it runs.
  class Waiter {
   public:
    Waiter(State& state, std::chrono::milliseconds time_max) : bell(state.executor, time_max), state_(state) {
      state_.waiters.push_back(this);
      state_.tell();
    }
    ~Waiter() {
      std::erase(state_.waiters, this);
      if (granted_) --state_.granted;
      state_.tell();
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    void grant() {
      granted_ = true;
      ++state_.granted;
      bell.cancel();
    }
    [[nodiscard]] bool granted() const { return granted_; }

    asio::steady_timer bell;

   private:
    State& state_;
    bool granted_ = false;
  };

  /// An idle connection, or null.
  std::unique_ptr<Connection> take_idle() {
    std::unique_ptr<Connection> out;
    while (!out && !idle.empty()) {
      out = std::move(idle.back());
      idle.pop_back();
      if (!out->is_idle()) out.reset();  // the server closed it meanwhile
    }
    return out;
  }

  void lease(Connection* connection) {
    leased.push_back(connection);
    tell();
  }

  void release(std::unique_ptr<Connection> connection) {
    std::erase(leased, connection.get());
    if (!closed && connection->is_idle()) idle.push_back(std::move(connection));
    tell();
    if (waiters.empty()) return;
    Waiter* next = waiters.front();
    waiters.pop_front();
    next->grant();
  }

  /// To those on other threads who ask how busy the pool is.
  void tell() {
    told_used.store(leased.size(), std::memory_order_relaxed);
    told_idle.store(idle.size(), std::memory_order_relaxed);
    told_waiting.store(waiters.size(), std::memory_order_relaxed);
  }

  [[nodiscard]] bool is_full() const { return leased.size() + granted >= size_max; }

  asio::any_io_executor executor;
  ConnectOptions options;
  std::size_t size_max;
  std::vector<std::unique_ptr<Connection>> idle;
  std::vector<Connection*> leased;
  std::deque<Waiter*> waiters;
  std::size_t granted = 0;
  bool closed = false;
  std::atomic<std::size_t> told_used{0};
  std::atomic<std::size_t> told_idle{0};
  std::atomic<std::size_t> told_waiting{0};
};

Pool::Lease::Lease(std::shared_ptr<State> pool, std::unique_ptr<Connection> connection)
    : pool_(std::move(pool)), connection_(std::move(connection)) {}

Pool::Lease::~Lease() {
  if (connection_) pool_->release(std::move(connection_));
}

Pool::Pool(asio::any_io_executor executor, ConnectOptions options, std::size_t connections_max)
    : state_(std::make_shared<State>(std::move(executor), std::move(options), connections_max)) {}

Pool::~Pool() { close(); }

PoolStats Pool::stats() const {
  return {state_->size_max, state_->told_used.load(std::memory_order_relaxed),
          state_->told_idle.load(std::memory_order_relaxed), state_->told_waiting.load(std::memory_order_relaxed)};
}

void Pool::close() {
  state_->closed = true;
  state_->idle.clear();
  for (Connection* connection : state_->leased) connection->close();
  for (State::Waiter* waiter : state_->waiters) waiter->bell.cancel();
  state_->waiters.clear();
  state_->tell();
}

Task<Pool::Lease> Pool::acquire(std::chrono::milliseconds time_max) {
  const std::shared_ptr<State> state = state_;
  if (state->is_full() && !state->closed) {
    State::Waiter waiter(*state, time_max);
    boost::system::error_code ignored;
    co_await waiter.bell.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (!waiter.granted() && !state->closed) {
      co_return Error{errc::timeout, "",
                      "all " + std::to_string(state->size_max) + " connections to PostgreSQL stayed in use for " +
                          std::to_string(time_max.count()) + " ms"};
    }
  }
  if (state->closed) co_return Error{errc::unavailable, "", "the connections to PostgreSQL are closed: shutting down"};

  if (auto idle = state->take_idle()) {
    state->lease(idle.get());
    co_return Lease(state, std::move(idle));
  }
  auto fresh = std::make_unique<Connection>(state->executor);
  Connection& connection = *fresh;
  state->lease(&connection);
  Lease lease(state, std::move(fresh));
  auto connected = co_await connection.connect(state->options);
  if (!connected) co_return connected.error();
  co_return std::move(lease);
}

}  // namespace viewgate::ledger::pg
