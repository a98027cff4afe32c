#include "ledger/access_store.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "ledger/pg/pool.hpp"
#include "ledger/spawn.hpp"

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;

constexpr const char* application_name = "viewgate access";
constexpr std::size_t ticket_connections_max = 2;
constexpr std::size_t ticket_lookups_max = 256;  // by strangers; more are told at once

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
        tickets(executor, pg::connect_options(conninfo, application_name, options_.time_max), ticket_connections_max),
        revocations(executor, pg::connect_options(std::move(conninfo), application_name, options_.time_max), 1) {}

  using Done = std::function<void(Result<pg::Rows>)>;
  using IsWanted = std::function<bool()>;

  static asio::awaitable<void> run(std::shared_ptr<State> self, pg::Pool State::*pool, pg::Statement statement,
                                   Done done, IsWanted is_wanted = {}) {
    auto lease = co_await ((*self).*pool).acquire(self->options.time_max);
    if (!lease) {
      done(lease.error());
      co_return;
    }
    if (is_wanted && !is_wanted()) {
      done(Error{errc::unavailable, {}, "nobody waits for the answer any more"});
      co_return;
    }
    auto rows = co_await (*lease)->exec(std::move(statement.sql), std::move(statement.params), self->options.time_max);
    done(std::move(rows));
  }

  const asio::any_io_executor executor;
  const AccessStoreOptions options;
  pg::Pool tickets;      // anybody can make them busy
  pg::Pool revocations;  // so these have a connection of their own
  std::size_t lookups = 0;
};

AccessStore::AccessStore(asio::io_context& io, std::string conninfo, AccessStoreOptions options)
    : state_(std::make_shared<State>(io, std::move(conninfo), options)) {}
AccessStore::~AccessStore() { stop(); }

void AccessStore::stop() {
  state_->tickets.close();
  state_->revocations.close();
}

void AccessStore::revoke(const RevocationOrder& order, std::function<void(Result<std::int64_t>)> done) {
  State::Done take = [done = std::move(done)](Result<pg::Rows> rows) {
    if (!rows) return done(rows.error());
    done((*rows)[0].integer(0));
  };
  spawn(state_->executor, State::run(state_, &State::revocations, statement_of(order), std::move(take)));
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
  spawn(state_->executor, State::run(state_, &State::tickets, std::move(statement), std::move(take)));
}

void AccessStore::use_ticket(const std::string& digest, std::function<bool()> is_wanted,
                             std::function<void(Result<std::string>)> done) {
  if (state_->lookups >= ticket_lookups_max) {
    return asio::post(state_->executor, [done = std::move(done)] {
      done(Error{errc::unavailable, {}, "too many tickets are looked up at once"});
    });
  }
  ++state_->lookups;
  pg::Statement statement;
  statement.sql = "select coalesce(viewgate.use_ticket($1), '')";
  statement.params = {digest};
  State::Done take = [state = state_, is_wanted, done = std::move(done)](Result<pg::Rows> rows) {
    --state->lookups;
    if (!is_wanted()) return;
    if (!rows) return done(rows.error());
    done((*rows)[0].string(0));
  };
  spawn(state_->executor,
        State::run(state_, &State::tickets, std::move(statement), std::move(take), std::move(is_wanted)));
}

}  // namespace viewgate::ledger
