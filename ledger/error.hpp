// What can go wrong in the ledger, and the Result that carries it. The one place that reads a database error is
// error.cpp.
#pragma once

#include <boost/system/result.hpp>
#include <exception>
#include <string>
#include <utility>

struct pg_conn;    // libpq's PGconn
struct pg_result;  // libpq's PGresult

namespace viewgate::ledger {

/// Every outcome a caller can act on. gateway/errors turns each into its wire form, in one switch without default.
enum class errc {
  invalid_cursor,        ///< negative, or beyond the head
  invalid_limit,         ///< below one
  history_unavailable,   ///< below the horizon (the seed's HistoryUnavailable)
  history_diverged,      ///< the stamp at that sequence is another: the database lost commits (restore, failover)
  history_erased,        ///< values of commits after that position were erased: no view can be told from there on
  commit_too_large,      ///< pull would exceed its byte limit
  log_corrupt,           ///< sequences read are not contiguous: never delivered
  unavailable,           ///< the database cannot be reached, or the connection broke
  timeout,               ///< a deadline passed
  retry,                 ///< serialization failure, deadlock, lock timeout
  not_capturable,        ///< a table that cannot be captured; detail says why
  capture_missing,       ///< a captured table that the model names is not captured
  wrong_schema_version,  ///< the schema in the database is another version's
  unsuitable_database,   ///< standby, fsync off, transaction-mode pooler, too old; detail says which
  programs_missing,      ///< PostgreSQL's programs were not found (embedded cluster)
  invalid_mutation,      ///< malformed: not processed, its number stays free; detail says what is wrong
  rejected               ///< any other database error; sqlstate says which
};

/// `detail` may hold user data: it is logged, never sent to a client.
struct Error {
  errc code = errc::rejected;
  std::string sqlstate;  ///< five characters, or empty
  std::string detail;    ///< one line, names the thing and what would be right
  std::string
      context;  ///< the statements and functions that PostgreSQL was in, innermost first; empty where it says none
};

[[nodiscard]] const char* name(errc code);

/// What a failed statement means. `result` must be an error result.
[[nodiscard]] Error error_of(const pg_result* result);
/// Why a connection is not (or no longer) usable.
[[nodiscard]] Error error_of(const pg_conn* connection);

/// What a Result without a value throws when it is asked for one. `E` has a `detail`.
template <class E>
class FailureOf : public std::exception {
 public:
  explicit FailureOf(E error) : error_(std::move(error)) {}
  [[nodiscard]] const char* what() const noexcept override { return error_.detail.c_str(); }
  [[nodiscard]] const E& error() const { return error_; }

 private:
  E error_;
};

using Failure = FailureOf<Error>;

[[noreturn]] inline void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw Failure(error);
}

template <class T>
using Result = boost::system::result<T, Error>;

}  // namespace viewgate::ledger
