#include "gateway/http_router.hpp"

#include <algorithm>
#include <charconv>

#include "gateway/json_text.hpp"
#include "gateway/log.hpp"
#include "gateway/utf8.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::string_view json = "application/json";

std::string refused(int status, std::string_view error, std::string_view fields = {}) {
  return http_text(status, json, "{\"error\":\"" + std::string(error) + "\"}\n", fields);
}

void refuse(HttpReply& reply, int status, std::string_view error) {
  reply.write(refused(status, error), [](bool) {});
  reply.finish();
}

std::optional<std::int64_t> digits(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || text.starts_with('-')) return std::nullopt;
  return out;
}

}  // namespace

std::optional<SpaceTarget> parse_space_target(std::string_view target) {
  if (!target.starts_with(HttpApi::prefix)) return std::nullopt;
  target.remove_prefix(HttpApi::prefix.size());
  const auto question = target.find('?');
  const auto path = target.substr(0, question);
  const auto slash = path.find('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  SpaceTarget out;
  auto space = percent_decoded(path.substr(0, slash));
  if (!space) return std::nullopt;
  out.space = std::move(*space);
  out.what = path.substr(slash + 1);
  auto query = parse_query(question == std::string_view::npos ? std::string_view{} : target.substr(question + 1));
  if (!query) return std::nullopt;
  out.query = std::move(*query);
  return out;
}

bool may_read_log(std::string_view claims, std::string_view claim, std::string_view space) {
  if (claim.empty()) return false;
  JsonSlicer members(claims);
  while (const auto member = members.next()) {
    if (json_unescape_lossless(member->name) != claim || member->kind != JsonKind::array) continue;
    JsonSlicer names(member->value);
    while (const auto name = names.next()) {
      const auto text = json_string_value(name->value);
      if (text && (*text == "*" || *text == space)) return true;
    }
  }
  return false;
}

std::variant<HttpRouter::Admitted, std::string> HttpRouter::admit(const HttpHead& head) const {
  Admitted out;
  out.is_of_tickets = head.target == tickets_path;
  const auto target = parse_space_target(head.target);
  const bool is_log = log_ != nullptr && !log_claim_.empty() && target && target->what == "log";
  out.is_of_log = is_log && head.method == "GET";
  const bool is_of_mutations = target && target->query.empty() && HttpMutations::has(target->what);
  if (!out.is_of_log && !is_of_mutations && !out.is_of_tickets) return refused(404, "not_found");
  auto verified = verifier_.verify(head.bearer(), std::chrono::system_clock::now());
  if (!verified) {
    log::info("http_refused", {{"reason", verified.error().reason}});
    return refused(401, "auth_required", "WWW-Authenticate: Bearer\r\n");
  }
  if (out.is_of_log && !may_read_log(verified->claims, log_claim_, target->space)) return refused(403, "forbidden");
  if ((out.is_of_log || out.is_of_tickets) && head.has_body()) return refused(413, "bad_request");
  if (out.is_of_tickets) {
    if (head.method != "POST") return refused(405, "bad_request");
    // A page has its token already; who sends a ticket to a page is its server.
    if (head.count("origin") > 0) return refused(403, "forbidden");
    out.principal = *std::move(verified);
    return out;
  }
  if (is_of_mutations) {
    if (auto refusal = mutations_->refusal(target->space, target->what, *verified, head)) return *std::move(refusal);
  }
  out.target = *target;
  out.principal = *std::move(verified);
  return out;
}

std::optional<std::string> HttpRouter::refusal(const HttpHead& head) const {
  auto admitted = admit(head);
  if (auto* text = std::get_if<std::string>(&admitted)) return std::move(*text);
  return std::nullopt;
}

void HttpRouter::answer(HttpRequest request, std::shared_ptr<HttpReply> reply) {
  auto admitted = admit(request.head);
  if (auto* text = std::get_if<std::string>(&admitted)) {
    reply->write(std::move(*text), [](bool) {});
    return reply->finish();
  }
  const auto& [target, principal, is_of_log, is_of_tickets] = std::get<Admitted>(admitted);
  if (is_of_tickets) return tickets_->issue(std::string(request.head.bearer()), principal, std::move(reply));
  if (is_of_log) return answer_log(target, principal, std::move(reply));
  mutations_->answer(target.space, target.what, principal, request.body, std::move(reply));
}

/// The right is the claim's and no policy's: a view shows what its policies admit, the log holds everything ever proposed.
void HttpRouter::answer_log(const SpaceTarget& target, const auth::Principal& principal,
                            std::shared_ptr<HttpReply> reply) {
  LogQuestion question;
  question.space = target.space;
  question.principal = principal;
  for (const auto& [name, value] : target.query) {
    const auto number = digits(value);
    if (!number || (name != "after" && name != "limit")) return refuse(*reply, 400, "bad_request");
    if (name == "after") question.after = ledger::Sequence{*number};
    if (name == "limit") question.limit = std::min(*number, LogQuestion::limit_max);
  }
  log::info("log_read", {{"space", target.space}, {"after", question.after.value}, {"subject", principal.subject}});
  log_->answer(std::move(question), std::move(reply));
}

}  // namespace viewgate::gateway
