// `viewgate log`: the raw log of a space as lines of JSON, straight from the database.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <limits>
#include <memory>

#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"
#include "gateway/log_line.hpp"
#include "ledger/standing.hpp"
#include "ledger/store.hpp"

namespace viewgate::gateway {
namespace {

namespace pg = ledger::pg;

constexpr std::int64_t changes_per_page = 100'000;
constexpr std::chrono::milliseconds follow_interval{200};

struct LogArguments {
  std::string space;
  std::int64_t after = 0;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  bool follow = false;
};

/// Prints page after page. A reader that is slower than the database makes it wait, as any pipe does.
class LogPrinter {
 public:
  LogPrinter(const boost::asio::any_io_executor& executor, pg::ConnectOptions options, LogArguments wanted)
      : pool_(executor, std::move(options), 1), store_(pool_, {}), timer_(executor), wanted_(std::move(wanted)) {
    at_.sequence = ledger::Sequence{wanted_.after};
  }

  pg::Task<void> run() {
    for (;;) {
      auto numbered = co_await number_and_check();
      if (!numbered) co_return numbered.error();
      auto has_more = co_await page();
      if (!has_more) co_return has_more.error();
      if (!*has_more && !wanted_.follow) co_return ledger::Result<void>();
      if (*has_more) continue;
      timer_.expires_after(follow_interval);
      co_await timer_.async_wait(boost::asio::use_awaitable);
    }
  }

 private:
  /// What has been committed is numbered first, also where no node runs. And the log that is followed must be the one that
  /// was read so far: after a restore its numbers may be used again.
  pg::Task<void> number_and_check() {
    auto lease = co_await pool_.acquire(CommandDatabase::time_max);
    if (!lease) co_return lease.error();
    std::string number =
        "select viewgate.number($1) where exists (select from viewgate.waiting w where w.space = "
        "viewgate.space_key($1))";
    pg::Params params(1, wanted_.space);
    auto numbered = co_await (*lease)->exec(std::move(number), std::move(params), CommandDatabase::time_max);
    if (!numbered) co_return numbered.error();
    if (at_.stamp == ledger::Stamp{}) co_return ledger::Result<void>();
    std::vector<std::string> spaces(1, wanted_.space);
    std::vector<ledger::Position> positions(1, at_);
    auto found =
        co_await ledger::standings(**lease, std::move(spaces), std::move(positions), CommandDatabase::time_max);
    if (!found) co_return found.error();
    const auto& standing = found->front();
    if (standing.broken != ledger::errc::history_diverged) co_return ledger::Result<void>();
    co_return ledger::broken_error(*standing.broken, wanted_.space, at_, standing.head);
  }

  /// Whether more is there, and wanted.
  pg::Task<bool> page() {
    std::int64_t changes = 0;
    std::function<bool(ledger::CommitPartPtr)> print = [&changes](const ledger::CommitPartPtr& part) {
      changes += static_cast<std::int64_t>(part->changes.size());
      if (part->first && part->changes.empty()) ++changes;
      std::string line;
      append_log_line(line, *part);
      return std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
    };
    const auto limit = std::min(wanted_.limit, changes_per_page);
    auto follower = std::make_shared<ledger::Follower>(wanted_.space, at_);
    auto page = co_await store_.stream(std::move(follower), limit, std::move(print));
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) co_return closed_output();
    if (!page) co_return page.error();
    if (page->next_cursor > at_.sequence) at_ = ledger::Position{page->next_cursor, page->stamp};
    wanted_.limit -= std::min(wanted_.limit, changes);
    if (wanted_.limit == 0) wanted_.follow = false;
    co_return page->has_more() && wanted_.limit > 0;
  }

  static ledger::Error closed_output() {
    return ledger::Error{ledger::errc::rejected, "", "the output takes no more lines"};
  }

  pg::Pool pool_;
  ledger::Store store_;
  boost::asio::steady_timer timer_;
  LogArguments wanted_;
  ledger::Position at_;
};

void print_log(const Config& config, const LogArguments& wanted) {
  CommandDatabase checked(config.database);
  // Who follows may well wait for the first commit.
  if (!wanted.follow) checked.need_space(wanted.space);
  pg::ConnectOptions options;
  options.conninfo = config.database;
  options.application_name = "viewgate log";
  boost::asio::io_context io(1);
  LogPrinter printer(io.get_executor(), options, wanted);
  std::optional<ledger::Error> failed;
  boost::asio::co_spawn(io, printer.run(), [&](const std::exception_ptr& problem, const ledger::Result<void>& done) {
    if (problem) std::rethrow_exception(problem);
    if (!done) failed = done.error();
  });
  io.run();
  if (failed) stop_for(*failed);
}

}  // namespace

void add_log_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("log", "print the raw log of a space as lines of JSON: all values, no policy asked");
  const auto flags = std::make_shared<ConfigFlags>(*command, std::vector<std::string_view>{"database"});
  const auto wanted = std::make_shared<LogArguments>();
  command->add_option("--space", wanted->space, "the space")->required();
  command->add_option("--after", wanted->after, "begin behind this sequence [0]");
  command->add_option("--limit", wanted->limit, "changes, soft: a commit is never cut; else all");
  command->add_flag("--follow", wanted->follow, "go on with what is committed from now on");
  command->callback([flags, wanted] { print_log(flags->read(), *wanted); });
}

}  // namespace viewgate::gateway
