// What is on the public port beside the socket: who asks (a bearer token, verified as for sockets), for which space, and what.
// Stateless; shared by all reactors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "auth/token_verifier.hpp"
#include "gateway/admission.hpp"
#include "gateway/http_api.hpp"
#include "gateway/http_mutations.hpp"
#include "gateway/log_desk.hpp"
#include "gateway/ticket_desk.hpp"
#include "gateway/view_desk.hpp"

namespace viewgate::gateway {

/// A target such as /v1/spaces/a%2Fb/log?after=7: its parts, decoded (RFC 3986), each once. Absent: not of that form, or not
/// UTF-8.
struct SpaceTarget {
  std::string space;
  std::string what;  ///< what stands behind the space, without the slash
  QueryItems query;
};
[[nodiscard]] std::optional<SpaceTarget> parse_space_target(std::string_view target);

/// Whether the claim (of a token's claims, a JSON object) is an array that has the space's name, or "*".
[[nodiscard]] bool may_read_log(std::string_view claims, std::string_view claim, std::string_view space);

class HttpRouter final : public HttpApi {
 public:
  /// `log` null, or an empty claim: the raw log is not there. All outlive the router.
  HttpRouter(const auth::TokenVerifier& verifier, std::shared_ptr<Admission> admission, LogDesk* log,
             std::string log_claim, HttpMutations* mutations, TicketDesk* tickets, ViewDesk* views)
      : verifier_(verifier),
        admission_(std::move(admission)),
        log_(log),
        log_claim_(std::move(log_claim)),
        mutations_(mutations),
        tickets_(tickets),
        views_(views) {}

  [[nodiscard]] std::optional<std::string> refusal(const HttpHead& head, const Correlation& who) const override;
  void answer(HttpRequest request, std::shared_ptr<HttpReply> reply) override;
  [[nodiscard]] std::size_t body_bytes_max() const override { return mutations_->body_bytes_max(); }

 private:
  enum class Door : std::uint8_t { log, mutations, tickets, view };
  struct Admitted {
    Door door = Door::mutations;
    SpaceTarget target;  ///< not of tickets
    auth::Principal principal;
  };
  /// What is asked for and by whom; or the whole answer.
  [[nodiscard]] std::variant<Admitted, std::string> admit(const HttpHead& head, const Correlation& who) const;
  [[nodiscard]] std::optional<Door> door_of(const HttpHead& head, const std::optional<SpaceTarget>& target) const;
  [[nodiscard]] std::optional<std::string> refusal(const Admitted& admitted, const HttpHead& head) const;
  void answer_log(const SpaceTarget& target, const auth::Principal& principal, std::shared_ptr<HttpReply> reply);
  void answer_view(SpaceTarget target, auth::Principal principal, std::shared_ptr<HttpReply> reply);

  const auth::TokenVerifier& verifier_;
  const std::shared_ptr<Admission> admission_;
  LogDesk* const log_;
  const std::string log_claim_;
  HttpMutations* const mutations_;
  TicketDesk* const tickets_;
  ViewDesk* const views_;
};

}  // namespace viewgate::gateway
