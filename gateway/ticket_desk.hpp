// Tickets: POST /v1/tickets with a token gives a text that opens one socket within a short time, on any node; the socket shows it as
// a subprotocol (`viewgate.ticket.…`), so that a page never holds the token itself.
//
// A ticket lies in the database and is taken out of it by its use: a sealed one that each node remembers as used could be used once on every
// node. What it stands for is the token: everything that ends a token ends it, and the session that it opened.
//
// Shared by all reactors; the loop, the store and the verifier outlive it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "auth/principal.hpp"
#include "auth/token_verifier.hpp"
#include "gateway/http_api.hpp"
#include "ledger/access_store.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::gateway {

struct UsedTicket {
  std::string token;         ///< empty: there is no such ticket (any more)
  bool unavailable = false;  ///< whether there is one cannot be told; it may be used up all the same
};

class TicketDesk {
 public:
  /// `io` is the store's.
  TicketDesk(boost::asio::io_context& io, ledger::AccessStore& store, const auth::TokenVerifier& verifier,
             std::chrono::milliseconds lasting)
      : io_(io), store_(store), verifier_(verifier), lasting_(lasting) {}

  /// `token` was verified as this principal's; who is revoked before the database has answered gets 401. Thread-safe.
  void issue(const std::string& token, const auth::Principal& principal, std::shared_ptr<HttpReply> reply);

  /// Thread-safe; `done` is called on the store's thread. `ticket` has the form of one. A ticket whose `asker` has gone before
  /// the database is asked is not used up, and nothing is told: whoever only comes and goes keeps nobody waiting. `who` shows it.
  void use(const std::string& ticket, Correlation who, std::weak_ptr<const void> asker,
           std::function<void(UsedTicket)> done);

 private:
  boost::asio::io_context& io_;
  ledger::AccessStore& store_;
  const auth::TokenVerifier& verifier_;
  const std::chrono::milliseconds lasting_;
};

}  // namespace viewgate::gateway
