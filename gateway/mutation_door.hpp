// What all doors for mutations do alike: from a client's message to a request that the ledger takes, and from the ledger's
// answer to what the client is told. Pure.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "auth/principal.hpp"
#include "auth/token_verifier.hpp"
#include "gateway/active_model.hpp"
#include "gateway/correlation.hpp"
#include "gateway/ports.hpp"
#include "gateway/protocol.hpp"
#include "projection/column_value.hpp"

namespace viewgate::gateway {

/// A mutation that goes to the ledger, and whom to answer. A malformed one goes there, too, as one that can only be
/// replayed: if its number was processed before (under another model, perhaps), the receipt of then is the answer.
struct MutationOffer {
  MutationCall call;
  std::string space;
  std::int64_t number = 0;
  std::string client;            ///< as the request has it, which may be gone when it is answered
  std::string subject;           ///< of its principal
  std::optional<Error> refusal;  ///< what to say where the ledger finds it malformed, as it must
};

/// Refused at once: unavailable (no model in force), forbidden (no policy lets the caller write anything in that space),
/// invalid_value (a provenance that expands too far).
[[nodiscard]] std::variant<MutationOffer, Error> offer_mutation(const ActiveModel& model,
                                                                const auth::Principal& principal,
                                                                const std::string& client, Mutate mutate,
                                                                const projection::ValueLimits& limits);

/// The mutation is judged when its space is locked and it is about to be written: whose token was revoked by then is rejected
/// (`forbidden`), whatever the policies say. The verifier outlives the offer.
void heed_revocations(MutationOffer& offer, const auth::TokenVerifier& verifier, const auth::Principal& principal);

/// Where no policy lets the caller write anything in the space, whatever it would be: forbidden.
[[nodiscard]] std::optional<Error> no_right_to_write(const ActiveModel& model, const auth::Principal& principal,
                                                     const std::string& space);

/// What is told of a mutation: its receipt, or why there is none. `who` sent it.
[[nodiscard]] std::variant<ledger::Receipt, Error> answer_of(const MutationOffer& offer, const ActiveModel& model,
                                                             const MutationReply& reply, const Correlation& who);

/// Of a question for receipts that the ledger could not answer. `number`: of the only one that was asked for; 0 = several.
[[nodiscard]] Error receipts_error(const ActiveModel& model, const std::string& space, std::int64_t number,
                                   const ledger::Error& cause, const Correlation& who);
/// Why a receipt is not there: forbidden, sequence_gap, receipt_pruned.
[[nodiscard]] Error no_receipt(const std::string& space, std::int64_t number, ledger::MutationAnswer::Kind why);

/// The document of some receipts of one commit.
[[nodiscard]] Receipts receipts_document(const std::string& space, ledger::Sequence sequence, std::string_view texts);

/// A principal as the ledger knows it, and what a client's sockets are found by.
[[nodiscard]] std::string principal_text(const auth::Principal& principal);
/// Whose turn it is to wait for bootstraps: the principal's, or empty where the caller is nobody in particular.
[[nodiscard]] std::string turn_of(const auth::Principal& principal);
[[nodiscard]] std::string client_key_of(std::string_view principal_text, std::string_view client);

}  // namespace viewgate::gateway
