// Answers GET /v1/spaces/{space}/log: a page of the raw log, streamed at its reader's pace. On a thread and database
// connections of its own, so that who reads the whole history never delays a commit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gateway/http_api.hpp"
#include "ledger/commit.hpp"

namespace viewgate::gateway {

struct LogDeskOptions {
  std::string conninfo;
  std::size_t concurrent = 2;  ///< pages at a time; more wait, for at most time_max, and are then told to come back
  std::size_t part_bytes_max = std::size_t{1024} * 1024;
  std::chrono::milliseconds time_max{10000};  ///< of one database round trip
  std::chrono::milliseconds retry_after{1000};
};

struct LogQuestion {
  std::string space;
  ledger::Sequence after;
  std::int64_t limit = 1000;
};

class LogDesk {
 public:
  explicit LogDesk(LogDeskOptions options);
  /// Stops; connections whose answers are not complete are closed.
  ~LogDesk();
  LogDesk(const LogDesk&) = delete;
  LogDesk& operator=(const LogDesk&) = delete;

  /// Thread-safe. The caller has checked that the log may be read.
  void answer(LogQuestion question, std::shared_ptr<HttpReply> reply);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace viewgate::gateway
