#include "ledger/error.hpp"

namespace viewgate::ledger {

const char* name(errc code) {
  switch (code) {
    case errc::invalid_cursor: return "invalid_cursor";
    case errc::invalid_limit: return "invalid_limit";
    case errc::history_unavailable: return "history_unavailable";
    case errc::history_diverged: return "history_diverged";
    case errc::commit_too_large: return "commit_too_large";
    case errc::log_corrupt: return "log_corrupt";
    case errc::unavailable: return "unavailable";
    case errc::timeout: return "timeout";
    case errc::retry: return "retry";
    case errc::not_capturable: return "not_capturable";
    case errc::capture_missing: return "capture_missing";
    case errc::wrong_schema_version: return "wrong_schema_version";
    case errc::unsuitable_database: return "unsuitable_database";
    case errc::programs_missing: return "programs_missing";
    case errc::rejected: return "rejected";
  }
  return "rejected";
}

}  // namespace viewgate::ledger
