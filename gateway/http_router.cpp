#include "gateway/http_router.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "gateway/errors.hpp"
#include "gateway/http_errors.hpp"
#include "gateway/json_text.hpp"
#include "gateway/log_sparingly.hpp"
#include "gateway/utf8.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::string_view json = "application/json";

std::string refused(int status, std::string_view error) {
  return http_text(status, json, "{\"error\":\"" + std::string(error) + "\"}\n");
}

void refuse(HttpReply& reply, int status, std::string_view error) {
  reply.write(refused(status, error), [](bool) {});
  reply.finish();
}

constexpr std::string_view views_path = "views/";

/// The view's name behind `views_path`. Absent: it is not one segment.
std::optional<std::string> view_in(std::string_view what) {
  const auto segment = what.substr(views_path.size());
  if (segment.empty() || segment.find('/') != std::string_view::npos) return std::nullopt;
  return percent_decoded(segment);
}

std::optional<std::int64_t> digits(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || text.starts_with('-')) return std::nullopt;
  return out;
}

/// Holds its principal's places until the answer is ready and the socket has taken all of it, or nobody wants it any more.
class PlacedReply final : public HttpReply {
 public:
  using Places = std::array<Admission::Place, 2>;

  PlacedReply(std::shared_ptr<HttpReply> reply, Places places)
      : reply_(std::move(reply)), places_(std::make_shared<const Places>(std::move(places))) {}
  void write(std::string bytes, std::function<void(bool)> written) override {
    reply_->write(std::move(bytes), [places = places_, written = std::move(written)](bool alive) { written(alive); });
  }
  void finish() override { reply_->finish(); }
  void abort() override { reply_->abort(); }
  [[nodiscard]] const Correlation& correlation() const override { return reply_->correlation(); }

 private:
  const std::shared_ptr<HttpReply> reply_;
  const std::shared_ptr<const Places> places_;
};

Error too_many_requests() {
  Error out;
  out.code = ErrorCode::unavailable;
  out.message = constant_text(out.code);
  out.retry_after = std::chrono::seconds(1);
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

std::optional<HttpRouter::Door> HttpRouter::door_of(const HttpHead& head,
                                                    const std::optional<SpaceTarget>& target) const {
  if (head.target == tickets_path) return Door::tickets;
  if (!target) return std::nullopt;
  const bool has_log = log_ != nullptr && !log_claim_.empty();
  if (has_log && target->what == "log" && head.method == "GET") return Door::log;
  if (target->query.empty() && HttpMutations::has(target->what)) return Door::mutations;
  if (target->what.starts_with(views_path) && view_in(target->what)) return Door::view;
  return std::nullopt;
}

std::variant<HttpRouter::Admitted, std::string> HttpRouter::admit(const HttpHead& head, const Correlation& who) const {
  auto target = parse_space_target(head.target);
  const auto door = door_of(head, target);
  if (!door) return refused(404, "not_found");
  // As on a socket: who brings no token at all is nobody in particular, where that is somebody.
  const bool is_nobody = *door == Door::view && head.count("authorization") == 0;
  auto verified = is_nobody ? verifier_.anonymous() : verifier_.verify(head.bearer(), std::chrono::system_clock::now());
  if (!verified) {
    log::write_sparingly(log::Level::info, "http_refused",
                         {who.connection_field(), who.trace_field(), {"reason", verified.error().reason}});
    // Nobody waits here, but the next try may find the key.
    const bool may_come = verifier_.may_become_known(verified.error());
    return http_unauthorized(may_come ? "Retry-After: 1\r\n" : "");
  }
  Admitted out;
  out.door = *door;
  if (target) out.target = *std::move(target);
  out.principal = *std::move(verified);
  if (auto text = refusal(out, head)) return *std::move(text);
  return out;
}

std::optional<std::string> HttpRouter::refusal(const Admitted& admitted, const HttpHead& head) const {
  const auto& target = admitted.target;
  switch (admitted.door) {
    case Door::log:
      if (!may_read_log(admitted.principal.claims, log_claim_, target.space)) return refused(403, "forbidden");
      break;
    case Door::tickets:
      break;
    case Door::mutations:
      return mutations_->refusal(target.space, target.what, admitted.principal, head);
    case Door::view:
      if (head.method != "GET") return refused(405, "bad_request");
      // A page uses the socket, where it is looked at which one it is.
      if (head.count("origin") > 0) return refused(403, "forbidden");
      break;
  }
  if (head.has_body()) return refused(413, "bad_request");
  if (admitted.door != Door::tickets) return std::nullopt;
  if (head.method != "POST") return refused(405, "bad_request");
  // A page has its token already; who sends a ticket to a page is its server.
  if (head.count("origin") > 0) return refused(403, "forbidden");
  return std::nullopt;
}

std::optional<std::string> HttpRouter::refusal(const HttpHead& head, const Correlation& who) const {
  auto admitted = admit(head, who);
  if (auto* text = std::get_if<std::string>(&admitted)) return std::move(*text);
  return std::nullopt;
}

void HttpRouter::answer(HttpRequest request, std::shared_ptr<HttpReply> reply) {
  auto admitted = admit(request.head, reply->correlation());
  if (auto* text = std::get_if<std::string>(&admitted)) {
    reply->write(std::move(*text), [](bool) {});
    return reply->finish();
  }
  auto& [door, target, principal] = std::get<Admitted>(admitted);
  auto connection = admission_->enter_principal(principal.issuer, principal.subject);
  auto place = admission_->enter_request(principal.issuer, principal.subject);
  if (!connection || !place) return say(*reply, 429, too_many_requests());
  reply =
      std::make_shared<PlacedReply>(std::move(reply), PlacedReply::Places{std::move(*connection), std::move(*place)});
  switch (door) {
    case Door::log:
      return answer_log(target, principal, std::move(reply));
    case Door::mutations:
      return mutations_->answer(target.space, target.what, principal, request.body, std::move(reply));
    case Door::tickets:
      return tickets_->issue(std::string(request.head.bearer()), principal, std::move(reply));
    case Door::view:
      return answer_view(std::move(target), std::move(principal), std::move(reply));
  }
}

void HttpRouter::answer_view(SpaceTarget target, auth::Principal principal, std::shared_ptr<HttpReply> reply) {
  ViewQuestion question;
  question.view = view_in(target.what).value_or("");
  question.space = std::move(target.space);
  question.parameters = std::move(target.query);
  question.principal = std::move(principal);
  views_->answer(std::move(question), std::move(reply));
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
  const auto& who = reply->correlation();
  log::info("log_read", {who.connection_field(),
                         who.trace_field(),
                         {"space", target.space},
                         {"after", question.after.value},
                         {"subject", principal.subject}});
  log_->answer(std::move(question), std::move(reply));
}

}  // namespace viewgate::gateway
