// Every error of every layer, turned into what it means outside: the wire form for a client, and the exit status for an
// operator. Each is one switch without default, so that a new error does not compile until its meaning is decided here.
//
// Database text may hold user data: it is logged and never sent. A client gets the constant texts of this file.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/ports.hpp"
#include "gateway/protocol.hpp"
#include "ledger/error.hpp"
#include "projection/error.hpp"

namespace viewgate::gateway {

/// What a client is told when the ledger could not give a history or a bootstrap. `retry_after` is used where asking
/// again can help.
[[nodiscard]] Refusal refusal_of(ledger::errc code, std::chrono::milliseconds retry_after);

/// Why the followed history of a space is void.
[[nodiscard]] ResetReason reset_reason_of(ledger::errc code);

/// What a client is told when its subscription does not bind. An unknown view is answered like one that nobody admits
/// it to.
[[nodiscard]] ErrorCode error_code_of(projection::errc code);

/// What a client is told when its mutation could not be processed.
[[nodiscard]] ErrorCode mutation_error_of(ledger::errc code);

/// The text that goes with a code where the cause itself must not be told.
[[nodiscard]] std::string_view constant_text(ErrorCode code);

/// Exit statuses, as sysexits.h has them where it has them.
enum class ExitStatus : std::uint8_t {
  ok = 0,
  failed = 1,
  usage = 64,
  model = 65,
  no_input = 66,
  database_unavailable = 69,
  port_in_use = 71,
  programs_missing = 72,
  not_capturable = 73,
  schema_version = 75,
  unsuitable_database = 76,
  config = 78
};

struct ExitMeaning {
  ExitStatus status;
  std::string_view meaning;
};

inline constexpr std::array exit_meanings{
    ExitMeaning{ExitStatus::ok, "done, or stopped as asked"},
    ExitMeaning{ExitStatus::failed, "anything that has no status of its own; stderr says what"},
    ExitMeaning{ExitStatus::usage, "an unknown command, flag or argument"},
    ExitMeaning{ExitStatus::model, "the model is wrong; stderr has a line for each place: file:line:column"},
    ExitMeaning{ExitStatus::no_input, "a file that was named cannot be read or written"},
    ExitMeaning{ExitStatus::database_unavailable, "PostgreSQL cannot be reached, or refused the login"},
    ExitMeaning{ExitStatus::port_in_use, "the address to listen on is taken, or not this machine's"},
    ExitMeaning{ExitStatus::programs_missing, "PostgreSQL's programs were not found (--embedded)"},
    ExitMeaning{ExitStatus::not_capturable, "a table cannot be captured, or is not captured; stderr says why"},
    ExitMeaning{ExitStatus::schema_version, "the schema in the database belongs to another version of viewgate"},
    ExitMeaning{ExitStatus::unsuitable_database,
                "a standby, fsync off, a transaction-mode pooler, or too old; or a directory of --embedded that "
                "another process uses"},
    ExitMeaning{ExitStatus::config,
                "the configuration is wrong, or its file cannot be read, or the database role lacks what serving "
                "needs; stderr has a line for "
                "each problem"},
};

[[nodiscard]] ExitStatus exit_status_of(ledger::errc code);

/// Something that ends the program: one clear line, and the status that goes with it.
class Stop : public std::exception {
 public:
  Stop(ExitStatus status, std::string line) : status_(status), line_(std::move(line)) {}
  [[nodiscard]] const char* what() const noexcept override { return line_.c_str(); }
  [[nodiscard]] ExitStatus status() const { return status_; }

 private:
  ExitStatus status_;
  std::string line_;
};

}  // namespace viewgate::gateway
