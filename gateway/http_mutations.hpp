// The door for mutations over HTTP. It reads and answers the same documents as the socket, through the same door
// (mutation_door).
//
//   POST /v1/spaces/{space}/mutations                              a mutation
//   GET  /v1/spaces/{space}/clients/{client}/receipts/{number}     the receipt of one
//
// Shared by all reactors: requests come on their threads, the ledger's answers on the engine's. The loop, `mutations`
// and `reader` outlive it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "auth/principal.hpp"
#include "gateway/active_model.hpp"
#include "gateway/http_api.hpp"
#include "gateway/mutation_door.hpp"
#include "ledger/ports.hpp"

namespace boost::asio {
class io_context;
}

namespace viewgate::gateway {

struct HttpMutationOptions {
  std::size_t body_bytes = std::size_t{1024} * 1024;
  projection::ValueLimits values;
};

class HttpMutations {
 public:
  HttpMutations(boost::asio::io_context& io, ledger::Mutations& mutations, const auth::TokenVerifier& verifier,
                HttpMutationOptions options);

  /// Thread-safe. Before the first request.
  void set_model(ActiveModelPtr model);

  [[nodiscard]] std::size_t body_bytes_max() const { return options_.body_bytes; }

  /// Whether `what` (the path behind the space, without the slash) is of this door, whatever the method.
  [[nodiscard]] static bool has(std::string_view what);

  /// What the head alone forbids a known caller, where `has(what)`: the whole answer. Thread-safe.
  [[nodiscard]] std::optional<std::string> refusal(const std::string& space, std::string_view what,
                                                   const auth::Principal& principal, const HttpHead& head) const;

  /// There is no refusal. Whose token is revoked before the answer is ready gets 401 instead of it.
  void answer(const std::string& space, std::string_view what, const auth::Principal& principal,
              const std::string& body, std::shared_ptr<HttpReply> reply);

 private:
  void answer_mutation(const std::string& space, const auth::Principal& principal, const std::string& text,
                       std::shared_ptr<HttpReply> reply);
  void answer_receipt(const std::string& space, std::string_view what, const auth::Principal& principal,
                      std::shared_ptr<HttpReply> reply);
  [[nodiscard]] ActiveModelPtr model() const;
  /// Whether that was the answer, since the token is revoked.
  [[nodiscard]] bool turns_away(const auth::Principal& principal, HttpReply& reply) const;

  boost::asio::io_context& io_;
  const HttpMutationOptions options_;
  // On the loop's thread.
  ledger::Mutations& mutations_;
  const auth::TokenVerifier& verifier_;
  mutable std::mutex mutex_;
  ActiveModelPtr model_;
};

}  // namespace viewgate::gateway
