#include "gateway/admin_revocations.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "gateway/config.hpp"
#include "gateway/json_text.hpp"
#include "gateway/log.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;

constexpr std::string_view json = "application/json";
constexpr JsonBounds bounds{2, 8};

std::string error_text(int status, std::string_view code, std::string_view message) {
  std::string body = "{\"error\":\"";
  body.append(code).append("\",\"message\":");
  append_json_string(body, message);
  return http_text(status, json, body + "}\n");
}

std::string answer_of(const ledger::Result<std::int64_t>& made, const Correlation& who) {
  if (made) return http_text(200, json, "{\"revocation\":" + std::to_string(*made) + "}\n");
  constexpr std::string_view insufficient_privilege = "42501";
  const ledger::Error& error = made.error();
  log::warn("not_revoked", {who.connection_field(), {"error", ledger::name(error.code)}, {"detail", error.detail}});
  if (error.sqlstate == insufficient_privilege) {
    return error_text(
        403, "forbidden",
        "the database role of this node may not revoke: grant it what `viewgate grants --revocations` prints");
  }
  return error_text(503, "unavailable", "the database did not take it; nothing was revoked, or an answer was lost");
}

}  // namespace

std::variant<ledger::RevocationOrder, std::string> parse_revocation(std::string_view text) {
  if (const auto fault = json_fault(text, bounds)) return "the body must be one JSON object: " + std::string(*fault);
  if (!text.substr(text.find_first_not_of(" \t\r\n")).starts_with('{')) return "the body must be one JSON object";
  ledger::RevocationOrder out;
  JsonSlicer members(text);
  while (const auto member = members.next()) {
    const auto value = json_string_value(member->value);
    const std::string name = shown_name(member->name);
    if (!value || value->empty()) return name + ": must be a text that is not empty";
    if (name == "principal") {
      out.principal = *value;
    } else if (name == "token_id") {
      out.token_id = *value;
    } else if (name == "issuer") {
      out.issuer = *value;
    } else if (name == "for") {
      const auto lasting = parse_duration(*value);
      if (!lasting || lasting->count() <= 0) return "for: must be a whole number with s, m or h, for example \"720h\"";
      if (*lasting > revocation_lasting_max) return "for: must be at most \"876000h\" (100 years)";
      out.lasting = *lasting;
    } else {
      return name + ": is not known here; principal or token_id, issuer and for are";
    }
  }
  if (out.principal.empty() == out.token_id.empty()) return "either principal or token_id must be there";
  return out;
}

void add_revocations(AdminDoor& door, asio::io_context& io, ledger::AccessStore& store) {
  door.add("POST", "/v1/revocations", [&io, &store](const HttpRequest& request, std::shared_ptr<HttpReply> reply) {
    auto parsed = parse_revocation(request.body);
    if (const auto* wrong = std::get_if<std::string>(&parsed)) {
      return answer_with(*reply, error_text(400, "bad_request", *wrong));
    }
    auto order = std::get<ledger::RevocationOrder>(std::move(parsed));
    asio::post(io, [&store, order = std::move(order), reply = std::move(reply)] {
      store.revoke(order, [reply](const ledger::Result<std::int64_t>& made) {
        answer_with(*reply, answer_of(made, reply->correlation()));
      });
    });
  });
}

}  // namespace viewgate::gateway
