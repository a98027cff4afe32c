// What the database keeps about who may come in: revocations that are asked for over HTTP, and tickets, on connections of its
// own, so that neither a long read nor a busy writer makes one late.
//
// Lives on the io_context's thread; callbacks come there, never inside the call. After stop() every call is answered
// `unavailable`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ledger/error.hpp"
#include "ledger/pg/connection.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::ledger {

/// Exactly one of `principal` and `token_id` is not empty.
struct RevocationOrder {
  std::string principal;                                         ///< all tokens of this sub that were issued until now
  std::string token_id;                                          ///< the token with this jti
  std::string issuer;                                            ///< only tokens with this iss; empty: of any
  std::chrono::milliseconds lasting = std::chrono::hours(9600);  ///< at least as long as the tokens live
};

/// One row with the revocation's id.
[[nodiscard]] pg::Statement statement_of(const RevocationOrder& order);

/// As auth::Ticket has them; nothing here opens it.
struct TicketOrder {
  std::string digest;
  std::string sealed;
  std::string principal;
  std::chrono::milliseconds lasting{};
};

struct AccessStoreOptions {
  int tickets_per_principal = 32;             ///< that are not used yet
  std::chrono::milliseconds time_max{10000};  ///< for a connection, and for an answer
};

class AccessStore {
 public:
  AccessStore(boost::asio::io_context& io, std::string conninfo, AccessStoreOptions options);
  ~AccessStore();
  AccessStore(const AccessStore&) = delete;
  AccessStore& operator=(const AccessStore&) = delete;

  /// The revocation's id, once it is committed. Errors: unavailable, timeout, rejected (sqlstate 42501: the role may not).
  void revoke(const RevocationOrder& order, std::function<void(Result<std::int64_t>)> done);

  /// False: the principal has as many as it may. Errors: unavailable, timeout, rejected.
  void issue_ticket(const TicketOrder& order, std::function<void(Result<bool>)> done);

  /// What was sealed, and from then on nobody gets it any more; empty: there is no such ticket (any more). Asks `is_wanted`
  /// when a connection to the database is free at last: false leaves the ticket as it is, and `done` is not called.
  void use_ticket(const std::string& digest, std::function<bool()> is_wanted,
                  std::function<void(Result<std::string>)> done);

  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace viewgate::ledger
