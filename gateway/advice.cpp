#include "gateway/advice.hpp"

namespace viewgate::gateway {

std::string_view advice_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_request:
      return "a client that is not the SDK, or is newer than the node: the message names the member";
    case ErrorCode::invalid_value:
      return "compare the application with the model in force (`viewgate model show`): one of them is older";
    case ErrorCode::invalid_view:
      return "compare the application with the model in force (`viewgate model show`); `viewgate types` makes its "
             "types";
    case ErrorCode::duplicate_subscription:
      return "nothing; a mistake of the client's program";
    case ErrorCode::too_many_subscriptions:
      return "raise `limit.subscriptions` where the application means it; else it forgets to unsubscribe";
    case ErrorCode::forbidden:
      return "`viewgate explain` with the caller's claims says which part of a policy refuses; a misspelt view looks "
             "the "
             "same";
    case ErrorCode::cursor_invalid:
      return "nothing where it is rare; many after a restore: another database has other keys for cursors";
    case ErrorCode::sequence_conflict:
      return "nothing on the node; two programs use one client id";
    case ErrorCode::sequence_gap:
      return "nothing on the node; the client lost what it had stored";
    case ErrorCode::not_writable:
      return "nothing on the node; the name is no collection's";
    case ErrorCode::receipt_pruned:
      return "nothing; where clients are away for longer, keep more (`viewgate retention set`)";
    case ErrorCode::unavailable:
      return "look at `viewgate_database_available` and run `viewgate doctor`: the database, a hole in a capture, or a "
             "queue that is full";
    case ErrorCode::bootstrap_timeout:
      return "an index for the view's conditions (`viewgate check` shows what is asked of PostgreSQL), or a longer "
             "`snapshot.time`";
  }
  return {};
}

std::string_view client_does(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_request:
    case ErrorCode::invalid_value:
    case ErrorCode::invalid_view:
    case ErrorCode::duplicate_subscription:
    case ErrorCode::too_many_subscriptions:
    case ErrorCode::forbidden:
    case ErrorCode::sequence_conflict:
    case ErrorCode::not_writable:
      return "tells the application; asking again would not help";
    case ErrorCode::cursor_invalid:
      return "subscribes without a cursor";
    case ErrorCode::sequence_gap:
      return "goes on with `expected`";
    case ErrorCode::receipt_pruned:
      return "takes it as done, and reads what became of it from a view";
    case ErrorCode::unavailable:
    case ErrorCode::bootstrap_timeout:
      return "asks again after `retry_after`";
  }
  return {};
}

std::string_view client_does(Retry retry) {
  switch (retry) {
    case Retry::at_once:
      return "reconnects at once";
    case Retry::later:
      return "reconnects later";
    case Retry::after_refresh:
      return "gets a new token first";
    case Retry::never:
      return "stays away";
  }
  return {};
}

std::string_view meaning_of(ResetReason reason) {
  switch (reason) {
    case ResetReason::history_pruned:
      return "the client was away for longer than commits are kept";
    case ResetReason::history_diverged:
      return "the log is not the one that the cursor was made from: a restore, or a failover that lost commits";
    case ResetReason::view_changed:
      return "the view, a policy or the captured table is another than it was";
    case ResetReason::authorization_changed:
      return "the caller's claims are others than they were, and the view depends on them";
    case ResetReason::state_unavailable:
      return "the node lost what it needed to go on, or a value of that time was erased";
  }
  return {};
}

std::string_view advice_for(ResetReason reason) {
  switch (reason) {
    case ResetReason::history_pruned:
      return "keep more where too many come back too late: `viewgate retention set --age`";
    case ResetReason::history_diverged:
      return "nothing after a restore; without one, find out which commits were lost: synchronous replicas prevent it";
    case ResetReason::view_changed:
      return "nothing after `model apply`; without one, `viewgate doctor` says which capture had a hole";
    case ResetReason::authorization_changed:
      return "nothing; where it is frequent, the issuer puts something into a claim that changes with every token";
    case ResetReason::state_unavailable:
      return "look for warnings in the log at that time; a catch-up that the disk does not take does it, too";
  }
  return {};
}

std::string_view advice_for(ExitStatus status) {
  switch (status) {
    case ExitStatus::ok:
      return "nothing";
    case ExitStatus::failed:
      return "read the last line on stderr";
    case ExitStatus::usage:
      return "`viewgate --help`, and `--help` behind any command";
    case ExitStatus::model:
      return "mend the model; `viewgate check FILE` tells all its places at once";
    case ExitStatus::no_input:
      return "look at the path, and whether the program's user may read it";
    case ExitStatus::database_unavailable:
      return "try the same connection string with psql; a service manager tries again by itself";
    case ExitStatus::port_in_use:
      return "`ss -ltnp` shows who listens there; another `listen`";
    case ExitStatus::programs_missing:
      return "install postgresql-15, or use --database";
    case ExitStatus::not_capturable:
      return "mend what stderr names: a primary key, a partitioned table, rights";
    case ExitStatus::schema_version:
      return "older: `viewgate migrate` by the owner; newer: install that version of the program";
    case ExitStatus::unsuitable_database:
      return "connect to the primary, directly; `viewgate doctor` tells all that is wrong with it; for --embedded "
             "another directory";
    case ExitStatus::config:
      return "mend the lines that stderr names; `viewgate check --config FILE` looks before the next start, `viewgate "
             "grants` prints "
             "what the role needs";
  }
  return {};
}

std::string_view advice_for_close(std::uint16_t code) {
  switch (code) {
    case close_code::going_away:
      return "nothing; where there are many, something on the way cuts idle connections (docs/proxies)";
    case close_code::protocol_error:
    case close_code::unsupported_data:
    case close_code::invalid_payload:
      return "a client that is none, or something on the way that changes bytes";
    case close_code::policy_violation:
      return "a client that sends very slowly: a bad link, or an attack (`time.message`)";
    case close_code::message_too_big:
      return "raise `limit.message_bytes` where the application sends such mutations";
    case close_code::internal_error:
      return "report what the log says at that time";
    case close_code::service_restart:
      return "nothing; a longer `time.drain` spreads the clients' return";
    case close_code::try_again_later:
      return "`limit.connections` and descriptors: more nodes, or higher limits";
    case close_code::bad_message:
      return "a client that is not the SDK: an `error` before it names what was wrong";
    case close_code::auth_required:
      return "the log names the reason (token_refused); clocks, issuer, audience and keys in that order";
    case close_code::forbidden:
      return "nothing; the application must open a new socket for another user";
    case close_code::auth_expired:
      return "nothing; where there are many, the application does not refresh its tokens in time";
    case close_code::revoked:
      return "nothing; that is what `viewgate revoke`, or an issuer taken out of the table, is for";
    case close_code::slow_reader:
      return "nothing for a few; for many, `time.no_progress` and `limit.snapshot_rate` against the clients' links";
    case close_code::version_unsupported:
      return "update the node before the clients";
    case close_code::rate_limited:
      return "`limit.messages`, `limit.input_bytes`, `limit.principal_connections` where honest clients meet them";
    default:
      return {};
  }
}

}  // namespace viewgate::gateway
