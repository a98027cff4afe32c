#include "gateway/log_desk.hpp"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "gateway/log.hpp"
#include "gateway/log_line.hpp"
#include "ledger/spawn.hpp"
#include "ledger/store.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;

constexpr std::size_t chunk_bytes = std::size_t{64} * 1024;
constexpr std::string_view lines = "application/x-ndjson";

/// The lines of one answer on their way to its socket. What the socket has not taken is bounded: above that the database waits.
class Outflow final : public ledger::pg::Pace, public std::enable_shared_from_this<Outflow> {
 public:
  Outflow(asio::io_context& io, std::shared_ptr<HttpReply> reply, std::size_t bytes_max)
      : io_(io), bell_(io), reply_(std::move(reply)), bytes_max_(bytes_max) {}

  [[nodiscard]] bool is_full() const override { return !is_gone_ && unwritten_ >= bytes_max_; }
  asio::awaitable<void> wait_for_room() override {
    while (is_full()) {
      bell_.expires_at(asio::steady_timer::time_point::max());
      boost::system::error_code rung;
      co_await bell_.async_wait(asio::redirect_error(asio::use_awaitable, rung));
    }
  }

  /// False: nobody reads any more.
  bool take(const ledger::CommitPart& part) {
    append_log_line(text_, part);
    if (text_.size() >= chunk_bytes) flush();
    return !is_gone_;
  }

  void end(const ledger::LogPage& page) {
    append_log_end(text_, page);
    flush();
    send(std::string(http_last_chunk));
    reply_->finish();
  }

  [[nodiscard]] bool has_begun() const { return has_begun_; }

 private:
  void flush() {
    std::string bytes = has_begun_ ? std::string() : http_chunked_head(lines);
    has_begun_ = true;
    bytes += http_chunk(text_);
    text_.clear();
    send(std::move(bytes));
  }

  void send(std::string bytes) {
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

  asio::io_context& io_;
  asio::steady_timer bell_;
  const std::shared_ptr<HttpReply> reply_;
  const std::size_t bytes_max_;
  std::string text_;  ///< lines that are not sent yet
  std::size_t unwritten_ = 0;
  bool has_begun_ = false;
  bool is_gone_ = false;
};

ledger::pg::ConnectOptions connect_options(const LogDeskOptions& options) {
  ledger::pg::ConnectOptions out;
  out.conninfo = options.conninfo;
  out.application_name = "viewgate log";
  out.connect_time_max = options.time_max;
  return out;
}

ledger::StoreOptions store_options(const LogDeskOptions& options) {
  ledger::StoreOptions out;
  out.part_bytes_max = options.part_bytes_max;
  out.time_max = options.time_max;
  return out;
}

}  // namespace

class LogDesk::Loop {
 public:
  explicit Loop(const LogDeskOptions& options)
      : options_(options),
        work_(asio::make_work_guard(io_)),
        pool_(io_.get_executor(), connect_options(options), options.concurrent),
        store_(pool_, store_options(options)),
        thread_([this] { io_.run(); }) {}

  ~Loop() {
    asio::post(io_, [this] { pool_.close(); });
    io_.stop();
    thread_.join();
  }

  void answer(LogQuestion question, std::shared_ptr<HttpReply> reply) {
    asio::post(io_, [this, question = std::move(question), reply = std::move(reply)]() mutable {
      ledger::spawn(io_.get_executor(), run(*this, std::move(question), std::move(reply)));
    });
  }

 private:
  static asio::awaitable<void> run(Loop& self, LogQuestion question, std::shared_ptr<HttpReply> reply) {
    const auto outflow = std::make_shared<Outflow>(self.io_, reply, 2 * self.options_.part_bytes_max);
    std::optional<ledger::Error> error;
    std::optional<ledger::Sequence> horizon;
    try {
      std::function<bool(ledger::CommitPartPtr)> take = [outflow](const ledger::CommitPartPtr& part) {
        return outflow->take(*part);
      };
      auto page =
          co_await self.store_.stream(question.space, question.after, question.limit, std::move(take), outflow.get());
      if (page) {
        outflow->end(*page);
        co_return;
      }
      error = page.error();
      if (error->code == ledger::errc::history_unavailable) {
        auto from = co_await self.store_.retained_from(question.space);
        if (from) horizon = *from;
      }
    } catch (const ledger::Failure& failure) {
      error = failure.error();
    }
    self.refuse(*reply, *outflow, *error, horizon);
  }

  /// An answer that has begun cannot be taken back: cut off, it is told from a complete one by its missing last chunk.
  void refuse(HttpReply& reply, const Outflow& outflow, const ledger::Error& error,
              std::optional<ledger::Sequence> horizon) const {
    log::warn("log_refused", {{"error", ledger::name(error.code)}, {"detail", error.detail}});
    if (outflow.has_begun()) return reply.abort();
    constexpr std::string_view json = "application/json";
    const auto ignore = [](bool) {};
    switch (error.code) {
      case ledger::errc::invalid_cursor:
      case ledger::errc::invalid_limit:
        reply.write(http_text(400, json, "{\"error\":\"invalid_cursor\"}\n"), ignore);
        break;
      case ledger::errc::history_unavailable: {
        const auto from = horizon ? ",\"retained_from\":\"" + std::to_string(horizon->value) + "\"" : std::string();
        reply.write(http_text(410, json, "{\"error\":\"history_pruned\"" + from + "}\n"), ignore);
        break;
      }
      default: {
        const auto seconds = std::max<std::int64_t>(1, options_.retry_after / std::chrono::seconds(1));
        reply.write(
            http_text(503, json, "{\"error\":\"unavailable\"}\n", "Retry-After: " + std::to_string(seconds) + "\r\n"),
            ignore);
      }
    }
    reply.finish();
  }

  const LogDeskOptions options_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  ledger::pg::Pool pool_;
  ledger::Store store_;
  std::thread thread_;
};

LogDesk::LogDesk(LogDeskOptions options) : loop_(std::make_unique<Loop>(options)) {}
LogDesk::~LogDesk() = default;

void LogDesk::answer(LogQuestion question, std::shared_ptr<HttpReply> reply) {
  loop_->answer(std::move(question), std::move(reply));
}

}  // namespace viewgate::gateway
