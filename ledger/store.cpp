#include "ledger/store.hpp"

#include <algorithm>
#include <limits>

#include "ledger/part_builder.hpp"

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
    const auto weight = std::max<std::int64_t>(1, static_cast<std::int64_t>(part.changes.size()));
    const bool is_whole = part.first && part.last;
    std::size_t bytes = 0;
    for (const Change& change : part.changes) {
      bytes +=
          change.key.size() + (change.before ? change.before->size() : 0) + (change.after ? change.after->size() : 0);
    }
    is_too_large_ = page_.commits.empty() && (!is_whole || bytes > bytes_max_);
    const bool fits = page_.commits.empty() || (used_ + weight <= limit_ && used_bytes_ + bytes <= bytes_max_);
    if (is_too_large_ || !is_whole || !fits) {
      is_full_ = true;
      return;
    }
    used_ += weight;
    used_bytes_ += bytes;
    Commit& commit = page_.commits.emplace_back(Commit{part.space, part.position, part.provenance, part.changes});
    if (part.by_key) std::ranges::sort(commit.changes, {}, &Change::ordinal);
    page_.next_cursor = part.position.sequence;
  }

  [[nodiscard]] bool is_full() const { return is_full_; }
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }
  [[nodiscard]] PullPage& page() { return page_; }

 private:
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
  if (limit < 1) {
    co_return Error{errc::invalid_limit, "",
                    "limit " + std::to_string(limit) + ": a page has a budget of at least one change"};
  }
  auto lease = co_await pool_.acquire(options_.time_max);
  if (!lease) co_return lease.error();
  pg::Connection& connection = **lease;
  auto window = co_await begin(connection, space);
  if (!window) co_return window.error();
  std::optional<Error> error;
  if (after.value < 0 || after > window->watermark) {
    error = invalid_cursor(space, after, window->watermark);
  } else if (after.next() < window->retained_from) {
    error = Error{errc::history_unavailable, "",
                  "space '" + space + "' is readable after cursor " + std::to_string(window->retained_from.value - 1) +
                      ", and not after " + number(after) + ": what follows was pruned"};
  }
  Result<PullPage> page = PullPage{};
  if (error) {
    page = std::move(*error);
  } else {
    page = co_await read(connection, space, after, limit);
  }
  // Where reading was given up, the connection is closed, and the transaction with it.
  if (connection.is_open()) {
    auto ended = co_await connection.exec_script("commit", options_.time_max);
    if (page && !ended) co_return ended.error();
  }
  if (page) page->has_more = page->next_cursor < window->watermark;
  co_return page;
}

/// Watermark, horizon and log are read in one snapshot, so that a page is never torn by a prune.
pg::Task<Store::Window> Store::begin(pg::Connection& connection, std::string space) {
  std::vector<pg::Statement> statements(2);
  statements[0].sql = "begin isolation level repeatable read read only";
  statements[1].sql = "select viewgate.watermark($1), viewgate.retained_from($1)";
  statements[1].params.emplace_back(std::move(space));
  auto rows = co_await connection.exec_all(std::move(statements), options_.time_max);
  if (!rows) co_return rows.error();
  const pg::Row row = rows->back()[0];
  Window window;
  window.watermark = Sequence{row.integer(0)};
  window.retained_from = Sequence{row.integer(1)};
  co_return window;
}

pg::Task<PullPage> Store::read(pg::Connection& connection, std::string space, Sequence after, std::int64_t limit) {
  PageFiller filler(limit, options_.page_bytes_max);
  filler.page().next_cursor = after;
  PartBuilder builder(options_.page_bytes_max, [&filler](const CommitPartPtr& part) { filler.take(*part); });
  const auto follower = std::make_shared<Follower>(space, Position{after, Stamp{}});
  builder.follow(follower);
  std::string sql = "select * from viewgate.read_log($1::text[], $2::bigint[], $3::int)";
  pg::Params params;
  params.emplace_back(pg::array_text(std::vector<std::string>(1, space)));
  params.emplace_back(pg::array_text(std::vector<std::int64_t>(1, after.value)));
  params.emplace_back(std::to_string(std::min<std::int64_t>(limit, std::numeric_limits<std::int32_t>::max())));
  std::function<bool(const pg::Row&)> on_row = [&](const pg::Row& row) {
    builder.add(row);
    return !filler.is_full();
  };
  auto done = co_await connection.stream(std::move(sql), std::move(params), std::move(on_row), options_.time_max);
  if (!done && !filler.is_full()) co_return done.error();
  if (done) builder.finish();
  if (follower->fault) {
    co_return Error{*follower->fault, "",
                    "space '" + space + "' after sequence " + number(follower->position.sequence) +
                        ": the commits that follow are not contiguous"};
  }
  if (filler.is_too_large()) {
    co_return Error{errc::commit_too_large, "",
                    "commit " + number(after.next()) + " of space '" + space + "' has more than " +
                        std::to_string(options_.page_bytes_max) + " bytes: read it in parts"};
  }
  co_return std::move(filler.page());
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
