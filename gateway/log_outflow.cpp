#include "gateway/log_outflow.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gateway/log_line.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;

constexpr std::size_t chunk_bytes = std::size_t{64} * 1024;
constexpr std::string_view lines = "application/x-ndjson";

}  // namespace

LogOutflow::LogOutflow(asio::io_context& io, std::shared_ptr<HttpReply> reply, Bounds bounds)
    : io_(io), bell_(io), reply_(std::move(reply)), bounds_(bounds) {}

asio::awaitable<void> LogOutflow::wait_for_room() {
  while (is_full()) {
    bell_.expires_at(patient_until_.value_or(Clock::time_point::max()));
    boost::system::error_code rung;
    co_await bell_.async_wait(asio::redirect_error(asio::use_awaitable, rung));
  }
}

bool LogOutflow::take(const ledger::CommitPart& part) {
  if (!patient_until_) patient_until_ = Clock::now() + bounds_.patience;
  const std::size_t before = text_.size();
  append_log_line(text_, part);
  taken_ += text_.size() - before;
  if (text_.size() >= chunk_bytes) flush();
  // A page ends between two commits.
  is_complete_ = part.last && (taken_ >= bounds_.page_bytes || Clock::now() >= bounds_.page_end);
  return !is_complete() && (has_room() || is_patient());
}

asio::awaitable<void> LogOutflow::drained() {
  while (!is_gone_ && unwritten_ > 0) {
    bell_.expires_at(Clock::time_point::max());
    boost::system::error_code rung;
    co_await bell_.async_wait(asio::redirect_error(asio::use_awaitable, rung));
  }
}

/// The response is complete when its last byte has left: until then it can be cut.
asio::awaitable<void> LogOutflow::end(ledger::LogPage page) {
  append_log_end(text_, page);
  flush();
  send(std::string(http_last_chunk));
  co_await drained();
  reply_->finish();
}

void LogOutflow::cut() {
  is_gone_ = true;
  reply_->abort();
  bell_.cancel();
}

void LogOutflow::flush() {
  std::string bytes = has_begun_ ? std::string() : http_chunked_head(lines);
  has_begun_ = true;
  bytes += http_chunk(text_);
  text_.clear();
  send(std::move(bytes));
}

void LogOutflow::send(std::string bytes) {
  if (is_gone_) return;
  const std::size_t size = bytes.size();
  unwritten_ += size;
  reply_->write(std::move(bytes), [self = shared_from_this(), size](bool alive) {
    asio::post(self->io_, [self, size, alive] {
      self->unwritten_ -= size;
      self->is_gone_ = self->is_gone_ || !alive;
      self->bell_.cancel();
    });
  });
}

}  // namespace viewgate::gateway
