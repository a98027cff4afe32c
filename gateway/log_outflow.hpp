// The lines of one answer of the raw log on their way to its socket. What the socket has not taken is bounded by whoever
// writes: it asks `is_full` and waits. Private to the log desk; on its thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "gateway/http_api.hpp"
#include "ledger/pg/connection.hpp"
#include "ledger/store.hpp"

namespace viewgate::gateway {

class LogOutflow final : public ledger::pg::Pace, public std::enable_shared_from_this<LogOutflow> {
 public:
  using Clock = std::chrono::steady_clock;

  struct Bounds {
    std::size_t unwritten_bytes = 0;
    std::size_t page_bytes = 0;
    std::chrono::milliseconds patience{};  ///< of one sitting, see below
    Clock::time_point page_end;
  };

  LogOutflow(boost::asio::io_context& io, std::shared_ptr<HttpReply> reply, Bounds bounds);

  // A sitting is one read of the database. The database waits for the socket while the sitting's patience lasts, counted from
  // its first part: what comes before that (a large commit is read again up to where it was left) is not the reader's fault.

  void begin_sitting() { patient_until_ = {}; }
  [[nodiscard]] bool is_full() const override { return is_patient() && !has_room(); }
  boost::asio::awaitable<void> wait_for_room() override;
  /// False: this is the end of the sitting.
  bool take(const ledger::CommitPart& part);

  /// Nothing more is wanted: the page has what a page may have, or nobody reads any more.
  [[nodiscard]] bool is_complete() const { return is_complete_ || is_gone_; }
  [[nodiscard]] bool is_gone() const { return is_gone_; }
  [[nodiscard]] bool has_begun() const { return has_begun_; }

  /// Between two sittings: until the socket has taken what waits for it, or is gone.
  boost::asio::awaitable<void> drained();
  boost::asio::awaitable<void> end(ledger::LogPage page);
  /// At once: what the socket has not taken is dropped.
  void cut();

 private:
  [[nodiscard]] bool has_room() const { return is_gone_ || unwritten_ < bounds_.unwritten_bytes; }
  [[nodiscard]] bool is_patient() const { return !patient_until_ || Clock::now() < *patient_until_; }
  void flush();
  void send(std::string bytes);

  boost::asio::io_context& io_;
  boost::asio::steady_timer bell_;
  const std::shared_ptr<HttpReply> reply_;
  const Bounds bounds_;
  std::string text_;  ///< lines that are not sent yet
  std::size_t unwritten_ = 0;
  std::size_t taken_ = 0;  ///< bytes of lines
  std::optional<Clock::time_point> patient_until_;
  bool is_complete_ = false;
  bool has_begun_ = false;
  bool is_gone_ = false;
};

}  // namespace viewgate::gateway
