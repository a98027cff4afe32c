#include "ledger/mutation.hpp"

namespace viewgate::ledger {

std::string_view name(MutationKind kind) {
  switch (kind) {
    case MutationKind::create:
      return "create";
    case MutationKind::update:
      return "update";
    case MutationKind::put:
      return "put";
    case MutationKind::remove:
      return "delete";
  }
  return "put";
}

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::applied:
      return "applied";
    case Outcome::no_op:
      return "no_op";
    case Outcome::rejected:
      return "rejected";
  }
  return "rejected";
}

std::string_view name(RejectionReason reason) {
  switch (reason) {
    case RejectionReason::conflict:
      return "conflict";
    case RejectionReason::not_found:
      return "not_found";
    case RejectionReason::already_exists:
      return "already_exists";
    case RejectionReason::forbidden:
      return "forbidden";
    case RejectionReason::invalid_value:
      return "invalid_value";
    case RejectionReason::constraint:
      return "constraint";
    case RejectionReason::not_writable:
      return "not_writable";
  }
  return "forbidden";
}

}  // namespace viewgate::ledger
