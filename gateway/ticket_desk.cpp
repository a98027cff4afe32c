#include "gateway/ticket_desk.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "auth/ticket.hpp"
#include "gateway/log_sparingly.hpp"
#include "gateway/mutation_door.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;

constexpr std::string_view json = "application/json";

void send(HttpReply& reply, std::string text) {
  reply.write(std::move(text), [](bool) {});
  reply.finish();
}

std::string answer_of(const ledger::Result<bool>& made, const std::string& ticket, std::chrono::seconds lasting,
                      const Correlation& who) {
  if (!made) {
    log::write_sparingly(log::Level::warn, "no_ticket",
                         {who.connection_field(),
                          who.trace_field(),
                          {"error", ledger::name(made.error().code)},
                          {"detail", made.error().detail}});
    return http_text(503, json, "{\"error\":\"unavailable\"}\n", "Retry-After: 1\r\n");
  }
  if (!*made) return http_text(429, json, "{\"error\":\"rate_limited\"}\n", "Retry-After: 1\r\n");
  return http_text(200, json,
                   "{\"ticket\":\"" + ticket + "\",\"expires_in\":" + std::to_string(lasting.count()) + "}\n");
}

}  // namespace

void TicketDesk::issue(const std::string& token, const auth::Principal& principal, std::shared_ptr<HttpReply> reply) {
  auto ticket = auth::make_ticket(token);
  ledger::TicketOrder order{std::move(ticket.digest), std::move(ticket.sealed), principal_text(principal), lasting_};
  asio::post(io_, [this, principal, order = std::move(order), text = std::move(ticket.text), reply = std::move(reply)] {
    store_.issue_ticket(order, [this, principal, text, reply](const ledger::Result<bool>& made) {
      if (verifier_.is_revoked(principal, std::chrono::system_clock::now())) return send(*reply, http_unauthorized());
      const auto lasting = std::chrono::floor<std::chrono::seconds>(lasting_);
      send(*reply, answer_of(made, text, lasting, reply->correlation()));
    });
  });
}

void TicketDesk::use(const std::string& ticket, Correlation who, std::weak_ptr<const void> asker,
                     std::function<void(UsedTicket)> done) {
  asio::post(io_, [this, ticket, who = std::move(who), asker = std::move(asker), done = std::move(done)]() mutable {
    const auto digest = auth::ticket_digest(ticket);
    const auto is_wanted = [asker = std::move(asker)] { return !asker.expired(); };
    store_.use_ticket(
        digest.value_or(""), is_wanted,
        [ticket, who = std::move(who), done = std::move(done)](const ledger::Result<std::string>& sealed) {
          if (!sealed) {
            log::write_sparingly(log::Level::warn, "ticket_not_looked_at",
                                 {who.connection_field(),
                                  who.trace_field(),
                                  {"error", ledger::name(sealed.error().code)},
                                  {"detail", sealed.error().detail}});
            return done(UsedTicket{{}, true});
          }
          const auto token = sealed->empty() ? std::nullopt : auth::open_ticket(ticket, *sealed);
          if (!token) {
            log::write_sparingly(log::Level::info, "ticket_refused", {who.connection_field(), who.trace_field()});
          }
          done(UsedTicket{token.value_or(""), false});
        });
  });
}

}  // namespace viewgate::gateway
