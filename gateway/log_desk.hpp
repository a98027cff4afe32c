// Answers GET /v1/spaces/{space}/log: a page of the raw log, streamed at its reader's pace. On a thread and database
// connections of its own, so that who reads the whole history never delays a commit.
//
// The reader's pace is never the database's: a transaction lasts as long as the database needs for what is read in it, and
// at most `patience` longer. What a slower reader has not got by then is read in a later one, from where it was left, inside
// a large commit, too. And the right to read is looked at for as long as bytes are sent, not only when it is asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "auth/token_verifier.hpp"
#include "gateway/http_api.hpp"
#include "ledger/commit.hpp"

namespace viewgate::gateway {

struct LogDeskOptions {
  std::string conninfo;
  std::size_t concurrent = 2;  ///< transactions at a time; more wait, for at most time_max
  std::size_t part_bytes_max = std::size_t{1024} * 1024;
  std::size_t page_bytes_max = std::size_t{16} * 1024 * 1024;  ///< a page ends with the commit that reaches it
  std::size_t answers_max = 32;                                ///< at a time; one more is told to come back
  std::chrono::milliseconds time_max{10000};                   ///< of one database round trip
  std::chrono::milliseconds retry_after{1000};
  std::chrono::milliseconds patience{1000};     ///< with a reader, in one transaction
  std::chrono::milliseconds page_time{30000};   ///< a page ends with the commit that is being sent then
  std::chrono::milliseconds cut_after{600000};  ///< the answer is cut off, complete or not
};

struct LogQuestion {
  static constexpr std::int64_t limit_max = 10000;  ///< changes; a larger limit counts as this

  std::string space;
  ledger::Sequence after;
  std::int64_t limit = 1000;
  auth::Principal principal;
};

class LogDesk {
 public:
  /// `verifier` outlives the desk.
  LogDesk(const LogDeskOptions& options, const auth::TokenVerifier& verifier);
  /// Stops; connections whose answers are not complete are closed.
  ~LogDesk();
  LogDesk(const LogDesk&) = delete;
  LogDesk& operator=(const LogDesk&) = delete;

  /// Thread-safe. The caller has checked that the log may be read; an answer whose reader's token is revoked or expires is
  /// cut off within a quarter of a second.
  void answer(LogQuestion question, std::shared_ptr<HttpReply> reply);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace viewgate::gateway
