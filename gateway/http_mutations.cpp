#include "gateway/http_mutations.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "gateway/http_errors.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;

using Kind = ledger::MutationAnswer::Kind;

constexpr std::string_view json = "application/json";
constexpr std::string_view mutations_path = "mutations";
constexpr std::string_view clients_path = "clients/";
constexpr std::string_view receipts_path = "/receipts/";

void say(HttpReply& reply, const Receipts& receipts) {
  std::string document;
  append_document(document, receipts);
  document += '\n';
  send(reply, http_text(200, json, document));
}

bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return std::ranges::equal(type, json, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

struct ReceiptName {
  std::string client;
  std::int64_t number = 0;
};

/// Absent: malformed.
std::optional<ReceiptName> receipt_name(std::string_view what) {
  what.remove_prefix(clients_path.size());
  const std::size_t middle = what.find(receipts_path);
  auto client = percent_decoded(what.substr(0, middle));
  if (!client || client->empty() || client->size() > limits::client_id_bytes) return std::nullopt;
  const std::string_view digits = what.substr(middle + receipts_path.size());
  ReceiptName out{*std::move(client), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.number);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size() && digits.front() != '0';
  return is_number && out.number > 0 ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

HttpMutations::HttpMutations(asio::io_context& io, ledger::Mutations& mutations, const auth::TokenVerifier& verifier,
                             HttpMutationOptions options)
    : io_(io), options_(options), mutations_(mutations), verifier_(verifier) {}

void HttpMutations::set_model(ActiveModelPtr model) {
  const std::lock_guard lock(mutex_);
  model_ = std::move(model);
}

ActiveModelPtr HttpMutations::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

bool HttpMutations::has(std::string_view what) {
  if (what == mutations_path) return true;
  const std::size_t middle = what.find(receipts_path);
  return what.starts_with(clients_path) && middle != std::string_view::npos && middle >= clients_path.size() &&
         what.find('/', middle + receipts_path.size()) == std::string_view::npos;
}

std::optional<std::string> HttpMutations::refusal(const std::string& space, std::string_view what,
                                                  const auth::Principal& principal, const HttpHead& head) const {
  const bool is_mutation = what == mutations_path;
  // A page says where it comes from; it uses the socket, where that is looked at.
  if (head.count("origin") > 0) {
    Error error;
    error.code = ErrorCode::forbidden;
    error.message = "this door is not for pages; they use the socket";
    return error_text(status_of(error.code), error);
  }
  if (head.method != (is_mutation ? "POST" : "GET")) {
    return error_text(405, bad_request(is_mutation ? "mutations are sent by POST" : "a receipt is asked for by GET"));
  }
  if (space.size() > limits::space_bytes) {
    return error_text(400, bad_request("space: must be at most " + std::to_string(limits::space_bytes) + " bytes"));
  }
  if (!is_mutation) {
    if (head.has_body()) return error_text(413, bad_request("a question for a receipt has no body"));
    return std::nullopt;
  }
  if (!is_json(head.only("content-type"))) {
    return error_text(415, bad_request("Content-Type must be application/json"));
  }
  if (const auto error = no_right_to_write(*model(), principal, space)) {
    return error_text(status_of(error->code), *error);
  }
  return std::nullopt;
}

bool HttpMutations::turns_away(const auth::Principal& principal, HttpReply& reply) const {
  if (!verifier_.is_revoked(principal, std::chrono::system_clock::now())) return false;
  send(reply, http_unauthorized());
  return true;
}

void HttpMutations::answer(const std::string& space, std::string_view what, const auth::Principal& principal,
                           const std::string& body, std::shared_ptr<HttpReply> reply) {
  if (what == mutations_path) return answer_mutation(space, principal, body, std::move(reply));
  answer_receipt(space, what, principal, std::move(reply));
}

void HttpMutations::answer_mutation(const std::string& space, const auth::Principal& principal, const std::string& text,
                                    std::shared_ptr<HttpReply> reply) {
  auto parsed = parse_mutation_body(text);
  if (auto* bad = std::get_if<BadRequest>(&parsed)) return say(*reply, bad_request(std::move(bad->message)));
  auto& body = std::get<MutationBody>(parsed);
  body.mutate.space = space;
  body.mutate.provenance = with_trace(body.mutate.provenance, reply->correlation());
  const auto model = this->model();
  auto offered = offer_mutation(*model, principal, body.client, std::move(body.mutate), options_.values);
  if (const auto* error = std::get_if<Error>(&offered)) return say(*reply, *error);
  heed_revocations(std::get<MutationOffer>(offered), verifier_, principal);
  asio::post(io_, [this, model, principal = principal, offer = std::get<MutationOffer>(std::move(offered)),
                   reply = std::move(reply)]() mutable {
    MutationCall call = std::move(offer.call);
    mutations_.mutate(
        std::move(call.request), std::move(call.rules),
        [this, model, principal = std::move(principal), offer = std::move(offer), reply](const MutationReply& answer) {
          if (turns_away(principal, *reply)) return;
          const auto result = answer_of(offer, *model, answer, reply->correlation());
          if (const auto* error = std::get_if<Error>(&result)) return say(*reply, *error);
          const auto& receipt = std::get<ledger::Receipt>(result);
          say(*reply, receipts_document(offer.space, receipt.sequence, receipt.text));
        });
  });
}

void HttpMutations::answer_receipt(const std::string& space, std::string_view what, const auth::Principal& principal,
                                   std::shared_ptr<HttpReply> reply) {
  const auto name = receipt_name(what);
  if (!name) return say(*reply, bad_request("the path must be clients/{client}/receipts/{number}"));
  asio::post(io_, [this, model = this->model(), space, name = *name, principal, reply = std::move(reply)]() mutable {
    mutations_.receipt(space, name.client, principal_text(principal), name.number,
                       [this, model, space, principal, number = name.number, reply](const MutationReply& found) {
                         if (turns_away(principal, *reply)) return;
                         if (!found) {
                           return say(*reply,
                                      receipts_error(*model, space, number, found.error(), reply->correlation()));
                         }
                         if (found->kind == Kind::replay) {
                           return say(*reply, receipts_document(space, found->receipt.sequence, found->receipt.text));
                         }
                         if (found->kind == Kind::receipt_pruned)
                           return say(*reply, no_receipt(space, number, found->kind));
                         // Nobody is told that another principal uses a client id.
                         say(*reply, 404, no_receipt(space, number, Kind::sequence_gap));
                       });
  });
}

}  // namespace viewgate::gateway
