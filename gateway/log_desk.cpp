#include "gateway/log_desk.hpp"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "gateway/log_outflow.hpp"
#include "gateway/log_sparingly.hpp"
#include "ledger/spawn.hpp"
#include "ledger/store.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds watch_interval{200};

ledger::StoreOptions store_options(const LogDeskOptions& options) {
  ledger::StoreOptions out;
  out.part_bytes_max = options.part_bytes_max;
  out.time_max = options.time_max;
  return out;
}

}  // namespace

class LogDesk::Loop {
 public:
  Loop(const LogDeskOptions& options, const auth::TokenVerifier& verifier)
      : options_(options),
        verifier_(verifier),
        watch_(io_),
        work_(asio::make_work_guard(io_)),
        pool_(io_.get_executor(), ledger::pg::connect_options(options.conninfo, "viewgate log", options.time_max),
              options.concurrent),
        store_(pool_, store_options(options)),
        thread_([this] { io_.run(); }) {}

  ~Loop() {
    asio::post(io_, [this] { pool_.close(); });
    io_.stop();
    thread_.join();
  }

  void answer(LogQuestion question, std::shared_ptr<HttpReply> reply) {
    asio::post(io_, [this, question = std::move(question), reply = std::move(reply)]() mutable {
      const auto begun = Answer::Clock::now();
      LogOutflow::Bounds bounds;
      bounds.unwritten_bytes = 2 * options_.part_bytes_max;
      bounds.page_bytes = options_.page_bytes_max;
      bounds.patience = options_.patience;
      bounds.page_end = begun + options_.page_time;
      const auto answer = std::make_shared<Answer>();
      answer->outflow = std::make_shared<LogOutflow>(io_, reply, bounds);
      answer->reply = std::move(reply);
      answer->question = std::move(question);
      answer->cut_at = begun + options_.cut_after;
      if (answers_.size() >= options_.answers_max) {
        return refuse(*answer, {ledger::errc::unavailable, "", "too many read the log at a time"}, {});
      }
      answers_.push_back(answer);
      if (answers_.size() == 1) watch();
      ledger::spawn(io_.get_executor(), run(*this, answer));
    });
  }

 private:
  struct Answer {
    using Clock = LogOutflow::Clock;
    std::shared_ptr<LogOutflow> outflow;
    std::shared_ptr<HttpReply> reply;
    LogQuestion question;
    Clock::time_point cut_at;
  };
  using AnswerPtr = std::shared_ptr<Answer>;

  /// While there are answers: whether their readers still may read, and how long they have taken.
  void watch() {
    watch_.expires_after(watch_interval);
    watch_.async_wait([this](const boost::system::error_code& stopped) {
      if (stopped) return;
      const auto now = Answer::Clock::now();
      const auto wall = std::chrono::system_clock::now();
      for (const auto& answer : answers_) {
        if (answer->outflow->is_gone()) continue;
        const auto& principal = answer->question.principal;
        std::string_view why;
        if (wall >= principal.expires_at) why = "auth_expired";
        if (verifier_.is_revoked(principal, wall)) why = "revoked";
        if (now >= answer->cut_at) why = "too_slow";
        if (why.empty()) continue;
        const auto& who = answer->reply->correlation();
        log::warn("log_cut_off", {who.connection_field(),
                                  who.trace_field(),
                                  {"space", answer->question.space},
                                  {"subject", principal.subject},
                                  {"reason", why}});
        answer->outflow->cut();
      }
      if (!answers_.empty()) watch();
    });
  }

  static asio::awaitable<void> run(Loop& self, AnswerPtr answer) {
    std::optional<ledger::Error> error;
    std::optional<ledger::Sequence> horizon;
    try {
      auto page = co_await self.read(answer);
      if (page) {
        co_await answer->outflow->end(*page);
      } else {
        error = page.error();
        if (error->code == ledger::errc::history_unavailable) {
          auto from = co_await self.store_.retained_from(answer->question.space);
          if (from) horizon = *from;
        }
      }
    } catch (const ledger::Failure& failure) {
      error = failure.error();
    }
    if (error && !answer->outflow->is_gone()) self.refuse(*answer, *error, horizon);
    std::erase(self.answers_, answer);
  }

  /// Sitting after sitting, until the page is complete.
  ledger::pg::Task<ledger::LogPage> read(AnswerPtr answer) {
    const auto outflow = answer->outflow;
    const LogQuestion& question = answer->question;
    const ledger::Position after{question.after, {}};
    const auto follower = std::make_shared<ledger::Follower>(question.space, after);
    std::int64_t left = question.limit;
    for (;;) {
      std::int64_t of_commit = follower->begun_changes;
      bool is_over = false;
      std::function<bool(ledger::CommitPartPtr)> take = [&](const ledger::CommitPartPtr& part) {
        of_commit += static_cast<std::int64_t>(part->changes.size());
        if (part->last) left -= std::max<std::int64_t>(1, std::exchange(of_commit, 0));
        is_over = !outflow->take(*part);
        return !is_over;
      };
      outflow->begin_sitting();
      auto page = co_await store_.stream(follower, left, std::move(take), outflow.get());
      if (!page || !is_over || outflow->is_complete()) co_return page;
      if (left <= 0 && !follower->begun) co_return page;
      co_await outflow->drained();
      if (outflow->is_complete()) co_return page;
    }
  }

  /// An answer that has begun cannot be taken back: cut off, it is told from a complete one by its missing last chunk.
  void refuse(const Answer& answer, const ledger::Error& error, std::optional<ledger::Sequence> horizon) const {
    HttpReply& reply = *answer.reply;
    const auto& who = reply.correlation();
    log::write_sparingly(
        log::Level::warn, "log_refused",
        {who.connection_field(), who.trace_field(), {"error", ledger::name(error.code)}, {"detail", error.detail}});
    if (answer.outflow->has_begun()) return reply.abort();
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
  const auth::TokenVerifier& verifier_;
  asio::io_context io_{1};
  std::vector<AnswerPtr> answers_;
  asio::steady_timer watch_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  ledger::pg::Pool pool_;
  ledger::Store store_;
  std::thread thread_;
};

LogDesk::LogDesk(const LogDeskOptions& options, const auth::TokenVerifier& verifier)
    : loop_(std::make_unique<Loop>(options, verifier)) {}
LogDesk::~LogDesk() = default;

void LogDesk::answer(LogQuestion question, std::shared_ptr<HttpReply> reply) {
  loop_->answer(std::move(question), std::move(reply));
}

}  // namespace viewgate::gateway
