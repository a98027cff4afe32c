#include "ledger/access_store.hpp"

#include <boost/asio/io_context.hpp>

#include "ledger/pg/pool.hpp"
#include "ledger/spawn.hpp"

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;

constexpr std::size_t connections_max = 2;

pg::ConnectOptions connect_options(std::string conninfo, std::chrono::milliseconds time_max) {
  pg::ConnectOptions out;
  out.conninfo = std::move(conninfo);
  out.application_name = "viewgate access";
  out.connect_time_max = time_max;
  return out;
}

}  // namespace

pg::Statement statement_of(const RevocationOrder& order) {
  pg::Statement out;
  out.sql = "select viewgate.revoke(nullif($1, ''), nullif($2, ''), nullif($3, ''), $4::interval)";
  out.params = {order.principal, order.token_id, order.issuer, std::to_string(order.lasting.count()) + " ms"};
  return out;
}

struct AccessStore::State {
  State(asio::io_context& io, std::string conninfo, AccessStoreOptions options_)
      : executor(io.get_executor()),
        options(options_),
        pool(executor, connect_options(std::move(conninfo), options_.time_max), connections_max) {}

  using Done = std::function<void(Result<pg::Rows>)>;

  static asio::awaitable<void> run(std::shared_ptr<State> self, pg::Statement statement, Done done) {
    auto lease = co_await self->pool.acquire(self->options.time_max);
    if (!lease) {
      done(lease.error());
      co_return;
    }
    auto rows = co_await (*lease)->exec(std::move(statement.sql), std::move(statement.params), self->options.time_max);
    done(std::move(rows));
  }

  const asio::any_io_executor executor;
  const AccessStoreOptions options;
  pg::Pool pool;
};

AccessStore::AccessStore(asio::io_context& io, std::string conninfo, AccessStoreOptions options)
    : state_(std::make_shared<State>(io, std::move(conninfo), options)) {}
AccessStore::~AccessStore() { stop(); }

void AccessStore::stop() { state_->pool.close(); }

void AccessStore::revoke(const RevocationOrder& order, std::function<void(Result<std::int64_t>)> done) {
  State::Done take = [done = std::move(done)](Result<pg::Rows> rows) {
    if (!rows) return done(rows.error());
    done((*rows)[0].integer(0));
  };
  spawn(state_->executor, State::run(state_, statement_of(order), std::move(take)));
}

void AccessStore::issue_ticket(const TicketOrder& order, std::function<void(Result<bool>)> done) {
  pg::Statement statement;
  statement.sql = "select viewgate.issue_ticket($1, $2, $3, $4::interval, $5::int)";
  statement.params = {order.digest, order.sealed, order.principal, std::to_string(order.lasting.count()) + " ms",
                      std::to_string(state_->options.tickets_per_principal)};
  State::Done take = [done = std::move(done)](Result<pg::Rows> rows) {
    if (!rows) return done(rows.error());
    done((*rows)[0].text(0) == "t");
  };
  spawn(state_->executor, State::run(state_, std::move(statement), std::move(take)));
}

void AccessStore::use_ticket(const std::string& digest, std::function<void(Result<std::string>)> done) {
  pg::Statement statement;
  statement.sql = "select coalesce(viewgate.use_ticket($1), '')";
  statement.params = {digest};
  State::Done take = [done = std::move(done)](Result<pg::Rows> rows) {
    if (!rows) return done(rows.error());
    done((*rows)[0].string(0));
  };
  spawn(state_->executor, State::run(state_, std::move(statement), std::move(take)));
}

}  // namespace viewgate::ledger
