// Session, third part: what its client writes, and the receipts that it is told.
#include <algorithm>

#include "gateway/errors.hpp"
#include "gateway/session.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::size_t told_receipts_max = 64;
constexpr std::size_t questions_max = 256;
constexpr std::string_view no_client = "hello named no client: mutations are numbered under one";
constexpr std::string_view too_many_questions = "too many questions for receipts are not answered yet";

}  // namespace

void Session::handle(const Mutate& mutate, Now) {
  if (client_.empty()) return strike({std::nullopt, std::string(no_client), mutate.space, mutate.number});
  auto offer = offer_mutation(fanout_.model(), principal_, client_, mutate, fanout_.options().values);
  if (const auto* error = std::get_if<Error>(&offer)) return tell(*error);
  auto& sound = std::get<MutationOffer>(offer);
  heed_revocations(sound, fanout_.verifier(), principal_);
  fanout_.mutate(std::move(sound), *this);
}

void Session::handle(const AskReceipts& ask, Now) {
  if (client_.empty()) return strike({std::nullopt, std::string(no_client), ask.space, std::nullopt});
  if (questions_.size() >= questions_max) {
    return strike({std::nullopt, std::string(too_many_questions), ask.space, std::nullopt});
  }
  questions_.push_back({ask.space, ask.after});
  ask_receipts();
}

/// One look-up at a time, and none while what was found before is not written.
void Session::ask_receipts() {
  if (is_asking_ || questions_.empty() || closing() || answers_.size() >= limits::server_message_bytes) return;
  is_asking_ = true;
  const ReceiptsQuestion& first = questions_.front();
  ledger::ReceiptsQuery query{first.space, client_,    principal_text(principal_),
                              first.after, first.left, limits::server_message_bytes};
  fanout_.ask_receipts(std::move(query), *this);
}

void Session::on_mutation(const MutationOffer& offer, const MutationReply& reply) {
  if (closing()) return;
  auto answer = answer_of(offer, fanout_.model(), reply, correlation());
  if (const auto* error = std::get_if<Error>(&answer)) return tell(*error);
  auto& receipt = std::get<ledger::Receipt>(answer);
  // A replay is answered each time. A new one may have come through the log already.
  const bool is_new = reply->kind == ledger::MutationAnswer::Kind::receipt;
  if (is_new && was_told(offer.space, receipt.sequence)) return;
  wait_with({offer.space, receipt.sequence, std::move(receipt.text)});
}

void Session::on_receipts(const ReceiptsReply& reply) {
  is_asking_ = false;
  if (closing()) return;
  ReceiptsQuestion& question = questions_.front();
  if (!reply) {
    tell(receipts_error(fanout_.model(), question.space, 0, reply.error(), correlation()));
    questions_.pop_front();
    return ask_receipts();
  }
  for (const ledger::Receipt& each : reply->receipts) {
    tell(receipts_document(question.space, each.sequence, each.text));
    question.after = each.number;
    question.sequence = each.sequence;
  }
  question.left -= std::min(question.left, reply->receipts.size());
  // An empty one: there are no more.
  if (!reply->has_more()) tell(receipts_document(question.space, question.sequence, {}));
  if (!reply->has_more() || question.left == 0) questions_.pop_front();
  ask_receipts();
}

/// Only to those who have a view of the space: the others would not know what it came with.
void Session::on_logged_receipt(const LoggedReceipt& receipt) {
  const bool has_view =
      std::ranges::any_of(streams_, [&](const auto& stream) { return stream->spec().space == receipt.space; });
  if (phase_ != Phase::open || !has_view || was_told(receipt.space, receipt.sequence)) return;
  wait_with({receipt.space, receipt.sequence, receipt.text});
}

/// Coming back it asks for them; until then it would wait for what does not come.
void Session::on_lost_receipts() {
  if (phase_ != Phase::open || streams_.empty()) return;  // such are not told receipts by the log
  close(close_code::slow_reader, "receipts could not be kept; resume with the stored cursor and ask for them");
}

void Session::wait_with(WaitingReceipt receipt) {
  const bool waits_already = std::ranges::any_of(receipts_, [&](const WaitingReceipt& each) {
    return each.sequence == receipt.sequence && each.space == receipt.space;
  });
  if (waits_already) return;
  receipts_bytes_ += receipt.text.size();
  receipts_.push_back(std::move(receipt));
  if (receipts_bytes_ > fanout_.options().waiting_receipts_bytes) {
    return close(close_code::slow_reader, "too many receipts wait; resume with the stored cursor");
  }
  mark_due();
}

bool Session::was_told(std::string_view space, ledger::Sequence sequence) const {
  return std::ranges::any_of(told_receipts_,
                             [&](const auto& told) { return told.second == sequence && told.first == space; });
}

bool Session::may_be_told(const WaitingReceipt& receipt) const {
  return std::ranges::all_of(streams_, [&](const auto& stream) {
    if (!stream->ready() || stream->spec().space != receipt.space) return true;
    return stream->between_commits() && stream->through() >= receipt.sequence;
  });
}

/// After the streams: what they have just written may be what a receipt waits for.
void Session::write_receipts(Message& message) {
  std::vector<WaitingReceipt> waiting;
  for (auto& receipt : receipts_) {
    if (!may_be_told(receipt)) {
      waiting.push_back(std::move(receipt));
      continue;
    }
    std::string document;
    append_document(document, receipts_document(receipt.space, receipt.sequence, receipt.text));
    message.own(document + '\n');
    receipts_bytes_ -= receipt.text.size();
    told_receipts_.emplace_back(std::move(receipt.space), receipt.sequence);
    if (told_receipts_.size() > told_receipts_max) told_receipts_.pop_front();
  }
  receipts_ = std::move(waiting);
  if (!receipts_.empty()) fanout_.await_space(*this);
}

}  // namespace viewgate::gateway
