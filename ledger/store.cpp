#include "ledger/store.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "ledger/planted.hpp"

namespace viewgate::ledger {
namespace {

std::string number(Sequence sequence) { return std::to_string(sequence.value); }

Error invalid_cursor(const std::string& space, Sequence after, Sequence watermark) {
  return Error{errc::invalid_cursor, "",
               "cursor " + number(after) + " of space '" + space + "': a cursor is 0 to the watermark, which is " +
                   number(watermark)};
}

/// Parts of commits become the page's commits, in the order of their ordinals, while they fit.
class PageFiller {
 public:
  PageFiller(std::int64_t limit, std::size_t bytes_max) : limit_(limit), bytes_max_(bytes_max) {}

  void take(const CommitPart& part) {
    if (is_full_) return;
    const std::int64_t weight = weight_of(static_cast<std::int64_t>(part.changes.size()));
    const bool is_whole = part.first && part.last;
    const std::size_t bytes = bytes_of(part);
    is_too_large_ = page_.commits.empty() && (!is_whole || bytes > bytes_max_);
    const bool is_welcome = page_.commits.empty() || (fits(weight) && used_bytes_ + bytes <= bytes_max_);
    if (is_too_large_ || !is_whole || !is_welcome) {
      is_full_ = true;
      return;
    }
    used_ += weight;
    used_bytes_ += bytes;
    Commit& commit =
        page_.commits.emplace_back(Commit{part.space, part.position, part.provenance, part.changes, part.receipt});
    if (part.by_key) std::ranges::sort(commit.changes, {}, &Change::ordinal);
    if (page_.commits.size() > 1 && is_planted("cursor_of_first_commit")) return;
    page_.next_cursor = part.position.sequence;
  }

  [[nodiscard]] bool is_full() const { return is_full_; }
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }
  [[nodiscard]] PullPage& page() { return page_; }

 private:
  /// What a commit takes of the budget.
  static std::int64_t weight_of(std::int64_t changes) {
    if (is_planted("count_commits")) return 1;
    return is_planted("count_nothing_for_none") ? changes : std::max<std::int64_t>(1, changes);
  }
  [[nodiscard]] bool fits(std::int64_t weight) const {
    return is_planted("overfill") ? used_ < limit_ : used_ + weight <= limit_;
  }

  const std::int64_t limit_;
  const std::size_t bytes_max_;
  PullPage page_;
  std::int64_t used_ = 0;
  std::size_t used_bytes_ = 0;
  bool is_full_ = false;
  bool is_too_large_ = false;
};

}  // namespace

pg::Task<PullPage> Store::pull(std::string space, Sequence after, std::int64_t limit) {
  auto lease = co_await pool_.acquire(options_.time_max);
  if (!lease) co_return lease.error();
  auto window = co_await begin(**lease, space, after, limit);
  if (!window) co_return window.error();

  PageFiller filler(limit, options_.page_bytes_max);
  const auto take = [&filler](const CommitPartPtr& part) { filler.take(*part); };
  PartBuilder builder(options_.page_bytes_max, take, ReadFor::raw_log);
  const auto follower = std::make_shared<Follower>(space, Position{after, Stamp{}});
  builder.follow(follower);
  std::function<bool()> goes_on = [&filler] { return !filler.is_full(); };
  auto done = co_await read(**lease, builder, follower, limit, options_.page_bytes_max, std::move(goes_on), nullptr);
  if (!done && !filler.is_full()) co_return done.error();
  auto ended = co_await end(**lease);
  if (!ended) co_return ended.error();
  if (filler.is_too_large()) {
    co_return Error{errc::commit_too_large, "",
                    "commit " + number(after.next()) + " of space '" + space + "' has more than " +
                        std::to_string(options_.page_bytes_max) + " bytes: read it in parts"};
  }
  PullPage page = std::move(filler.page());
  if (page.commits.empty() && !is_planted("forget_cursor")) page.next_cursor = after;
  page.has_more = page.next_cursor < window->watermark || is_planted("always_more");
  co_return page;
}

pg::Task<LogPage> Store::stream(FollowerPtr follower, std::int64_t limit, std::function<bool(CommitPartPtr)> on_part,
                                pg::Pace* pace) {
  auto lease = co_await pool_.acquire(options_.time_max);
  if (!lease) co_return lease.error();
  auto page = co_await begin(**lease, follower->space, follower->position.sequence, limit);
  if (!page) co_return page.error();

  bool is_enough = false;
  const auto take = [&](CommitPartPtr part) {
    is_enough = !on_part(std::move(part));
    follower->is_watched = !is_enough;
  };
  follower->is_watched = true;
  PartBuilder builder(options_.part_bytes_max, take, ReadFor::raw_log);
  builder.follow(follower);
  std::function<bool()> goes_on = [&is_enough] { return !is_enough; };
  auto done = co_await read(**lease, builder, follower, limit, options_.part_bytes_max, std::move(goes_on), pace);
  if (!done && !is_enough) co_return done.error();
  auto ended = co_await end(**lease);
  if (!ended) co_return ended.error();
  page->next_cursor = follower->position.sequence;
  page->stamp = follower->position.stamp;
  co_return page;
}

/// Watermark, horizon and log are read in one snapshot, so that a page is never torn by a prune. Refuses what cannot be read.
pg::Task<LogPage> Store::begin(pg::Connection& connection, std::string space, Sequence after, std::int64_t limit) {
  if (limit < 1) {
    co_return Error{errc::invalid_limit, "",
                    "limit " + std::to_string(limit) + ": a page has a budget of at least one change"};
  }
  std::vector<pg::Statement> statements(2);
  statements[0].sql = "begin isolation level repeatable read read only";
  statements[1].sql = "select viewgate.watermark($1), viewgate.retained_from($1)";
  statements[1].params.emplace_back(space);
  auto rows = co_await connection.exec_all(std::move(statements), options_.time_max);
  if (!rows) co_return rows.error();
  const pg::Row row = rows->back()[0];
  LogPage page;
  page.next_cursor = after;
  page.watermark = Sequence{row.integer(0)};
  page.retained_from = Sequence{row.integer(1)};
  std::optional<Error> refused;
  if (after.value < 0 || (after > page.watermark && !is_planted("future_cursor"))) {
    refused = invalid_cursor(space, after, page.watermark);
  } else if (after.next() < page.retained_from && !is_planted("ignore_horizon")) {
    refused = Error{errc::history_unavailable, "",
                    "space '" + space + "' is readable after cursor " + std::to_string(page.retained_from.value - 1) +
                        ", and not after " + number(after) + ": what follows was pruned"};
  }
  if (!refused) co_return page;
  auto ended = co_await end(connection);
  if (!ended) co_return ended.error();
  co_return std::move(*refused);
}

/// Where reading was given up, the connection is closed, and the transaction with it.
pg::Task<void> Store::end(pg::Connection& connection) {
  if (!connection.is_open()) co_return Result<void>();
  co_return co_await connection.exec_script("commit", options_.time_max);
}

/// One page's rows become parts. Errors: those of the connection (`rejected` where goes_on said no), log_corrupt.
pg::Task<void> Store::read(pg::Connection& connection, PartBuilder& builder, const FollowerPtr& follower,
                           std::int64_t limit, std::size_t part_bytes, std::function<bool()> goes_on, pg::Pace* pace) {
  std::string sql = "select * from viewgate.read_log($1::text[], $2::bigint[], $3::int, null, $4::bigint)";
  pg::Params params;
  params.emplace_back(pg::array_text(std::vector<std::string>(1, follower->space)));
  params.emplace_back(pg::array_text(std::vector<std::int64_t>(1, follower->position.sequence.value)));
  params.emplace_back(std::to_string(std::min<std::int64_t>(limit, std::numeric_limits<std::int32_t>::max())));
  params.emplace_back(std::to_string(part_bytes));
  std::function<bool(const pg::Row&)> on_row = [&](const pg::Row& row) {
    builder.add(row);
    return goes_on();
  };
  // A commit of a million changes is sorted by the server before its first row comes; a dead server is found by TCP.
  constexpr int silence_share = 6;
  auto done = co_await connection.stream(std::move(sql), std::move(params), std::move(on_row),
                                         silence_share * options_.time_max, pace);
  if (!done) co_return done.error();
  builder.finish();
  if (!follower->fault) co_return Result<void>();
  co_return Error{*follower->fault, "",
                  "space '" + follower->space + "' after sequence " + number(follower->position.sequence) +
                      ": the commits that follow are not contiguous"};
}

pg::Task<Sequence> Store::watermark(std::string space) {
  return ask("select viewgate.watermark($1)", std::move(space));
}

pg::Task<Sequence> Store::retained_from(std::string space) {
  return ask("select viewgate.retained_from($1)", std::move(space));
}

pg::Task<Sequence> Store::ask(std::string sql, std::string space) {
  auto lease = co_await pool_.acquire(options_.time_max);
  if (!lease) co_return lease.error();
  pg::Params params;
  params.emplace_back(std::move(space));
  auto rows = co_await (*lease)->exec(std::move(sql), std::move(params), options_.time_max);
  if (!rows) co_return rows.error();
  co_return Sequence{(*rows)[0].integer(0)};
}

}  // namespace viewgate::ledger
