// A bounded number of connections for whoever needs one for a moment. All on one thread, but for `stats`; the pool must
// outlive its leases' coroutines or be closed before (a lease that outlives the pool closes its connection).
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "ledger/pg/connection.hpp"
#include "ledger/pg/pool_stats.hpp"

namespace viewgate::ledger::pg {

class Pool {
  struct State;

 public:
  /// A connection that goes back to the pool when this ends; one that is in a transaction, holds an unread result or is
  /// broken is closed instead.
  class Lease {
   public:
    Lease(std::shared_ptr<State> pool, std::unique_ptr<Connection> connection);
    ~Lease();
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;

    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }

   private:
    std::shared_ptr<State> pool_;
    std::unique_ptr<Connection> connection_;
  };

  Pool(boost::asio::any_io_executor executor, ConnectOptions options, std::size_t connections_max);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// An idle connection, or a new one, or the next that comes back. Errors: those of connect; timeout when all stay in
  /// use.
  Task<Lease> acquire(std::chrono::milliseconds time_max);

  /// From any thread: what was so a moment ago.
  [[nodiscard]] PoolStats stats() const;

  /// Ends what runs on leased connections and refuses more.
  void close();

 private:
  std::shared_ptr<State> state_;
};

}  // namespace viewgate::ledger::pg
