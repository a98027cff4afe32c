#include "gateway/mutation_door.hpp"

#include <algorithm>
#include <utility>

#include "gateway/errors.hpp"
#include "gateway/json_text.hpp"
#include "gateway/log_sparingly.hpp"
#include "projection/json_text.hpp"
#include "projection/write_rules.hpp"

namespace viewgate::gateway {
namespace {

using Kind = ledger::MutationAnswer::Kind;

static_assert(limits::mutations <= ledger::kMutationsMax);

constexpr std::string_view not_this_client = "this client id is not this principal's";
constexpr std::string_view no_token_any_more = "the token was revoked";
constexpr std::string_view nothing_writable = "no policy lets this token write anything in this space";

ledger::MutationKind kind_of(MutationKind kind) {
  switch (kind) {
    case MutationKind::create:
      return ledger::MutationKind::create;
    case MutationKind::update:
      return ledger::MutationKind::update;
    case MutationKind::put:
      return ledger::MutationKind::put;
    case MutationKind::remove:
      return ledger::MutationKind::remove;
  }
  return ledger::MutationKind::put;
}

std::vector<ledger::Mutation> ledger_form(std::vector<Mutation>& mutations) {
  std::vector<ledger::Mutation> out;
  for (Mutation& each : mutations) {
    ledger::Mutation mutation{
        kind_of(each.kind), std::move(each.collection), std::move(each.key), std::move(each.values), {}};
    for (MutationBase& base : each.bases)
      mutation.bases.push_back({std::move(base.group), ledger::Sequence{base.version}});
    out.push_back(std::move(mutation));
  }
  return out;
}

/// About a mutation.
Error error_of(ErrorCode code, std::string text, const std::string& space, std::int64_t number) {
  Error out;
  out.code = code;
  out.message = std::move(text);
  out.space = space;
  if (number > 0) out.number = number;
  return out;
}

Error unavailable(const ActiveModel& model, const std::string& space, std::int64_t number) {
  Error out = error_of(ErrorCode::unavailable, std::string(constant_text(ErrorCode::unavailable)), space, number);
  out.retry_after = model.retry_after;
  return out;
}

/// A short text can hold numbers of a hundred thousand digits each. Absent: it is sound.
std::optional<std::string> provenance_fault(const std::string& provenance) {
  constexpr std::size_t expanded_bytes_max = 4 * limits::provenance_bytes;
  const auto json = projection::parse_json(provenance);
  std::string expanded;
  if (json && projection::append_jsonb(expanded, *json, projection::NumberForm::expanded, expanded_bytes_max)) {
    return std::nullopt;
  }
  return "provenance: must be JSON without a name twice, at most " + std::to_string(expanded_bytes_max) +
         " bytes as PostgreSQL prints it";
}

/// The ledger takes it for malformed, since its key is not JSON, but only after it has looked whether the number was used.
std::vector<ledger::Mutation> only_to_be_replayed() {
  return {ledger::Mutation{ledger::MutationKind::remove, "refused", "", "", {}}};
}

/// The rules reject this one when its turn comes; what it would write is nobody's affair, and neither is what follows it.
void keep_until(std::vector<ledger::Mutation>& mutations, std::size_t rejected) {
  mutations.resize(rejected + 1);
  mutations.back() = ledger::Mutation{ledger::MutationKind::remove, mutations.back().collection, "[0]", "", {}};
}

/// The caller's rules for as long as its token is good.
class RevocableRules final : public ledger::WriteRules {
 public:
  RevocableRules(ledger::WriteRulesPtr rules, const auth::TokenVerifier& verifier, auth::Principal principal)
      : rules_(std::move(rules)), verifier_(verifier), principal_(std::move(principal)) {}

  [[nodiscard]] const ledger::ConflictGroups& groups_of(std::string_view collection) const override {
    return rules_->groups_of(collection);
  }
  [[nodiscard]] std::optional<ledger::Rejection> judge(const ledger::Proposal& proposal) const override {
    if (!verifier_.is_revoked(principal_, std::chrono::system_clock::now())) return rules_->judge(proposal);
    return ledger::Rejection{ledger::RejectionReason::forbidden, std::string(no_token_any_more)};
  }

 private:
  const ledger::WriteRulesPtr rules_;
  const auth::TokenVerifier& verifier_;
  const auth::Principal principal_;
};

Error ledger_error(const ActiveModel& model, const std::string& space, std::int64_t number, const ledger::Error& cause,
                   const Correlation& who) {
  const auto code = mutation_error_of(cause.code);
  const bool is_ours = code == ErrorCode::unavailable;
  log::write_sparingly(log::Level::warn, is_ours ? "mutation_failed" : "mutation_malformed",
                       {who.connection_field(),
                        who.trace_field(),
                        {"space", space},
                        {"number", number},
                        {"error", ledger::name(cause.code)},
                        {"detail", cause.detail}});
  Error out =
      is_ours ? unavailable(model, space, number) : error_of(code, std::string(constant_text(code)), space, number);
  out.connection = who.id;
  return out;
}

}  // namespace

std::variant<MutationOffer, Error> offer_mutation(const ActiveModel& model, const auth::Principal& principal,
                                                  const std::string& client, Mutate mutate,
                                                  const projection::ValueLimits& limits) {
  if (!model.model) return unavailable(model, mutate.space, mutate.number);
  if (auto fault = provenance_fault(mutate.provenance)) {
    return error_of(ErrorCode::invalid_value, *std::move(fault), mutate.space, mutate.number);
  }
  MutationOffer out;
  out.space = mutate.space;
  out.number = mutate.number;
  out.client = client;
  out.subject = principal.subject;
  ledger::MutationRequest& request = out.call.request;
  request.space = mutate.space;
  request.client = client;
  request.principal = principal_text(principal);
  request.number = mutate.number;
  request.request_id = mutate.request_id.value_or("");
  if (mutate.provenance != "{}") request.fields = mutate.provenance;
  request.mutations = ledger_form(mutate.mutations);
  request.body = projection::canonical_text(request.mutations);
  auto rules =
      std::make_shared<const projection::CallerRules>(model.model, principal.claims, mutate.space, request.mutations);
  const bool may_hear =
      std::ranges::all_of(request.mutations, [&](const ledger::Mutation& each) { return rules->may_write(each); });
  if (!may_hear && !projection::may_write_anything(*model.model, principal.claims, mutate.space)) {
    return error_of(ErrorCode::forbidden, std::string(nothing_writable), mutate.space, mutate.number);
  }
  if (const auto refusal = projection::make_canonical(*model.model, request.mutations, limits)) {
    const bool is_rejected = refusal->kind == projection::DoorRefusal::Kind::not_writable;
    const auto code = is_rejected ? ErrorCode::not_writable : ErrorCode::invalid_value;
    // What the model holds is told to those who may write there.
    std::string text = may_hear ? refusal->text : std::string(constant_text(code));
    out.refusal = error_of(code, std::move(text), mutate.space, mutate.number);
    if (is_rejected) {
      keep_until(request.mutations, refusal->mutation);
    } else {
      request.mutations = only_to_be_replayed();
    }
  }
  out.call.rules = std::move(rules);
  return out;
}

void heed_revocations(MutationOffer& offer, const auth::TokenVerifier& verifier, const auth::Principal& principal) {
  offer.call.rules = std::make_shared<const RevocableRules>(std::move(offer.call.rules), verifier, principal);
}

std::optional<Error> no_right_to_write(const ActiveModel& model, const auth::Principal& principal,
                                       const std::string& space) {
  if (!model.model || projection::may_write_anything(*model.model, principal.claims, space)) return std::nullopt;
  return error_of(ErrorCode::forbidden, std::string(nothing_writable), space, 0);
}

std::variant<ledger::Receipt, Error> answer_of(const MutationOffer& offer, const ActiveModel& model,
                                               const MutationReply& reply, const Correlation& who) {
  if (!reply) {
    if (offer.refusal && reply.error().code == ledger::errc::invalid_mutation) return *offer.refusal;
    return ledger_error(model, offer.space, offer.number, reply.error(), who);
  }
  switch (reply->kind) {
    case Kind::receipt:
    case Kind::replay:
      return reply->receipt;
    case Kind::sequence_gap: {
      Error out = no_receipt(offer.space, offer.number, reply->kind);
      out.expected = reply->expected;
      return out;
    }
    case Kind::forbidden:
      log::write_sparingly(log::Level::info, "client_refused",
                           {who.connection_field(),
                            who.trace_field(),
                            {"subject", offer.subject},
                            {"space", offer.space},
                            {"client", offer.client},
                            {"cause", "another principal used this client id first in this space"}});
      break;
    case Kind::sequence_conflict:
    case Kind::receipt_pruned:
      break;
  }
  return no_receipt(offer.space, offer.number, reply->kind);
}

Error receipts_error(const ActiveModel& model, const std::string& space, std::int64_t number,
                     const ledger::Error& cause, const Correlation& who) {
  return ledger_error(model, space, number, cause, who);
}

Error no_receipt(const std::string& space, std::int64_t number, Kind why) {
  const auto of = [&](ErrorCode code, std::string_view text) {
    return error_of(code, std::string(text), space, number);
  };
  switch (why) {
    case Kind::sequence_conflict:
      return of(ErrorCode::sequence_conflict, constant_text(ErrorCode::sequence_conflict));
    case Kind::forbidden:
      return of(ErrorCode::forbidden, not_this_client);
    case Kind::receipt_pruned:
      return of(ErrorCode::receipt_pruned, constant_text(ErrorCode::receipt_pruned));
    case Kind::receipt:
    case Kind::replay:
    case Kind::sequence_gap:
      break;
  }
  return of(ErrorCode::sequence_gap, constant_text(ErrorCode::sequence_gap));
}

Receipts receipts_document(const std::string& space, ledger::Sequence sequence, std::string_view texts) {
  return Receipts{space, sequence.value, "[" + std::string(texts) + "]"};
}

std::string principal_text(const auth::Principal& principal) {
  std::string out = "[";
  append_json_string(out, principal.issuer);
  out += ',';
  append_json_string(out, principal.subject);
  return out + ']';
}

std::string turn_of(const auth::Principal& principal) {
  return principal.subject.empty() ? std::string() : principal_text(principal);
}

std::string client_key_of(std::string_view principal_text, std::string_view client) {
  return std::string(principal_text) + '\n' + std::string(client);
}

}  // namespace viewgate::gateway
