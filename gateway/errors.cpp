#include "gateway/errors.hpp"

namespace viewgate::gateway {

Refusal refusal_of(ledger::errc code, std::chrono::milliseconds retry_after) {
  using enum ledger::errc;
  switch (code) {
    case history_unavailable:
      return Refusal{ResetReason::history_pruned};
    case history_diverged:
    case invalid_cursor:  // beyond the head of this ledger: it was made by one that had more
      return Refusal{ResetReason::history_diverged};
    case history_erased:
    case log_corrupt:
    case commit_too_large:
      return Refusal{ResetReason::state_unavailable};
    case timeout:
      return Refusal{ErrorCode::bootstrap_timeout, retry_after};
    case invalid_mutation:
      return Refusal{ErrorCode::bad_request};
    case invalid_limit:
    case unavailable:
    case retry:
    case not_capturable:
    case capture_missing:
    case wrong_schema_version:
    case unsuitable_database:
    case programs_missing:
    case rejected:
      return Refusal{ErrorCode::unavailable, retry_after};
  }
  return Refusal{ErrorCode::unavailable, retry_after};
}

ResetReason reset_reason_of(ledger::errc code) {
  const auto refusal = refusal_of(code, {});
  const auto* reason = std::get_if<ResetReason>(&refusal.why);
  return reason != nullptr ? *reason : ResetReason::state_unavailable;
}

ErrorCode error_code_of(projection::errc code) {
  using enum projection::errc;
  switch (code) {
    case unknown_view:
    case invalid_claims:
    case not_admitted:
      return ErrorCode::forbidden;
    case invalid_parameters:
    case unknown_parameter:
    case missing_parameter:
    case invalid_parameter:
      return ErrorCode::invalid_view;
    case malformed_record:
      return ErrorCode::unavailable;
  }
  return ErrorCode::unavailable;
}

ErrorCode mutation_error_of(ledger::errc code) {
  using enum ledger::errc;
  switch (code) {
    case invalid_mutation:
      return ErrorCode::invalid_value;
    case unavailable:
    case timeout:
    case retry:
    case rejected:
    case invalid_cursor:
    case invalid_limit:
    case history_unavailable:
    case history_diverged:
    case history_erased:
    case commit_too_large:
    case log_corrupt:
    case not_capturable:
    case capture_missing:
    case wrong_schema_version:
    case unsuitable_database:
    case programs_missing:
      return ErrorCode::unavailable;
  }
  return ErrorCode::unavailable;
}

std::string_view constant_text(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_request:
      return "the message is not one that this protocol has";
    case ErrorCode::invalid_value:
      return "a value is not of its column's type";
    case ErrorCode::invalid_view:
      return "the parameters are not those of the view";
    case ErrorCode::duplicate_subscription:
      return "this id is in use on this connection";
    case ErrorCode::too_many_subscriptions:
      return "no more subscriptions fit on this connection";
    case ErrorCode::forbidden:
      return "there is no such view and space that this token admits to";
    case ErrorCode::cursor_invalid:
      return "the cursor is not one of this subscription; start without a cursor";
    case ErrorCode::sequence_conflict:
      return "this number was used for another mutation";
    case ErrorCode::sequence_gap:
      return "numbers follow one another; expected is the next one";
    case ErrorCode::not_writable:
      return "the collection is not one that mutations write";
    case ErrorCode::receipt_pruned:
      return "it was processed, and its receipt is not kept any more";
    case ErrorCode::unavailable:
      return "not available now; ask again after retry_after";
    case ErrorCode::bootstrap_timeout:
      return "the snapshot took too long; subscribe again after retry_after";
  }
  return {};
}

ExitStatus exit_status_of(ledger::errc code) {
  using enum ledger::errc;
  switch (code) {
    case unavailable:
    case timeout:
    case retry:
      return ExitStatus::database_unavailable;
    case not_capturable:
    case capture_missing:
      return ExitStatus::not_capturable;
    case wrong_schema_version:
      return ExitStatus::schema_version;
    case unsuitable_database:
      return ExitStatus::unsuitable_database;
    case programs_missing:
      return ExitStatus::programs_missing;
    case invalid_cursor:
    case invalid_limit:
    case invalid_mutation:
      return ExitStatus::usage;
    case history_unavailable:
    case history_diverged:
    case history_erased:
    case commit_too_large:
    case log_corrupt:
    case rejected:
      return ExitStatus::failed;
  }
  return ExitStatus::failed;
}

}  // namespace viewgate::gateway
