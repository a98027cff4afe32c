#include "ledger/log_reader.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <vector>

#include "ledger/mutation_form.hpp"
#include "ledger/part_builder.hpp"
#include "ledger/pg/pool.hpp"
#include "ledger/planted.hpp"
#include "ledger/settled.hpp"
#include "ledger/spawn.hpp"
#include "ledger/standing.hpp"

namespace viewgate::ledger {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

Milliseconds time_left(Clock::time_point deadline) {
  return std::max(Milliseconds(1), std::chrono::duration_cast<Milliseconds>(deadline - Clock::now()));
}

/// Of a row (head, stamp).
Position position_of(const pg::Row& row) {
  return {Sequence{row.integer(0)}, Stamp{static_cast<std::uint64_t>(row.integer(1))}};
}

}  // namespace

/// What the coroutines share; outlives the Reader until the last of them has ended.
class Reader::Work : public std::enable_shared_from_this<Work> {
 public:
  /// Readers and lockers are pools of their own: a snapshot holds one of each where something waits, and takes them in this order.
  Work(boost::asio::io_context& io, const std::string& conninfo, ReaderOptions options)
      : executor_(io.get_executor()),
        options_(options),
        readers_(executor_, pg::connect_options(conninfo, "viewgate read", options.time_max), options.connections_max),
        lockers_(executor_, pg::connect_options(conninfo, "viewgate snapshot", options.time_max),
                 options.connections_max) {}

  [[nodiscard]] pg::PoolStats pool() const { return readers_.stats(); }

  void stop() {
    stopped_ = true;
    readers_.close();
    lockers_.close();
  }

  void start_read(std::string space, Position after, std::size_t bytes_max, std::function<void(CommitPartPtr)> on_part,
                  std::function<void(Result<Position>)> done) {
    spawn(executor_,
          run_read(shared_from_this(), std::move(space), after, bytes_max, std::move(on_part), std::move(done)));
  }

  void start_snapshot(SnapshotQuery query, Milliseconds time_max, std::function<bool(std::string_view)> on_row,
                      std::function<void(Result<Position>)> done) {
    spawn(executor_, run_snapshot(shared_from_this(), std::move(query), time_max, std::move(on_row), std::move(done)));
  }

  void start_receipts(ReceiptsQuery query, std::function<void(Result<ReceiptsPage>)> done) {
    spawn(executor_, run_receipts(shared_from_this(), std::move(query), std::move(done)));
  }

 private:
  static boost::asio::awaitable<void> run_receipts(std::shared_ptr<Work> self, ReceiptsQuery query,
                                                   std::function<void(Result<ReceiptsPage>)> done) {
    auto outcome = co_await settled(self->receipts(std::move(query)));
    if (!self->stopped_) done(std::move(outcome));
  }

  static boost::asio::awaitable<void> run_read(std::shared_ptr<Work> self, std::string space, Position after,
                                               std::size_t bytes_max, std::function<void(CommitPartPtr)> on_part,
                                               std::function<void(Result<Position>)> done) {
    auto outcome = co_await settled(self->read(std::move(space), after, bytes_max, std::move(on_part)));
    if (!self->stopped_) done(std::move(outcome));
  }

  static boost::asio::awaitable<void> run_snapshot(std::shared_ptr<Work> self, SnapshotQuery query,
                                                   Milliseconds time_max, std::function<bool(std::string_view)> on_row,
                                                   std::function<void(Result<Position>)> done) {
    auto outcome = co_await settled(self->snapshot(std::move(query), Clock::now() + time_max, std::move(on_row)));
    if (!self->stopped_) done(std::move(outcome));
  }

  pg::Task<Position> read(std::string space, Position after, std::size_t bytes_max,
                          std::function<void(CommitPartPtr)> on_part);
  pg::Task<void> read_some(pg::Connection& connection, PartBuilder& builder, FollowerPtr follower);
  pg::Task<ReceiptsPage> receipts(ReceiptsQuery query);
  pg::Task<Standing> standing(pg::Connection& connection, const std::string& space, Position position);

  pg::Task<Position> snapshot(SnapshotQuery query, Clock::time_point deadline,
                              std::function<bool(std::string_view)> on_row);
  static std::vector<pg::Statement> opening(const SnapshotQuery& query, Clock::time_point deadline);
  pg::Task<std::vector<pg::Rows>> open(pg::Connection& reader, std::vector<pg::Statement> statements,
                                       Clock::time_point deadline);
  pg::Task<std::optional<Position>> open_settled(pg::Connection& reader, const SnapshotQuery& query,
                                                 Clock::time_point deadline);
  pg::Task<void> open_snapshot(pg::Connection& reader, const SnapshotQuery& query, Clock::time_point deadline);
  pg::Task<Position> number_exactly(pg::Connection& reader, const std::string& space, Clock::time_point deadline);
  pg::Task<void> stream_rows(pg::Connection& reader, std::string sql, Clock::time_point deadline,
                             std::function<bool(std::string_view)> on_row);

  boost::asio::any_io_executor executor_;
  const ReaderOptions options_;
  pg::Pool readers_;
  pg::Pool lockers_;
  bool stopped_ = false;
};

pg::Task<Standing> Reader::Work::standing(pg::Connection& connection, const std::string& space, Position position) {
  std::vector<std::string> spaces(1, space);
  std::vector<Position> positions(1, position);
  auto found = co_await standings(connection, std::move(spaces), std::move(positions), options_.time_max);
  if (!found) co_return found.error();
  co_return found->front();
}

pg::Task<Position> Reader::Work::read(std::string space, Position after, std::size_t bytes_max,
                                      std::function<void(CommitPartPtr)> on_part) {
  auto lease = co_await readers_.acquire(options_.time_max);
  if (!lease) co_return lease.error();
  pg::Connection& connection = **lease;
  auto now = co_await standing(connection, space, after);
  if (!now) co_return now.error();
  if (now->broken) co_return broken_error(*now->broken, space, after, now->head);

  const auto follower = std::make_shared<Follower>(space, after);
  PartBuilder* counted = nullptr;
  const auto take = [&](CommitPartPtr part) {
    if (stopped_) follower->is_watched = false;
    if (!follower->is_watched) return;
    // Enough is known only here; what the server has sent beyond is read and dropped.
    if (part->last && counted->bytes() >= bytes_max) follower->is_watched = false;
    on_part(std::move(part));
  };
  PartBuilder builder(options_.part_bytes_max, take);
  counted = &builder;
  builder.follow(follower);

  while (follower->is_watched && follower->position.sequence < now->head.sequence) {
    const Sequence before = follower->position.sequence;
    auto done = co_await read_some(connection, builder, follower);
    if (!done) co_return done.error();
    if (!follower->fault && follower->position.sequence > before) continue;
    // Not what should follow: pruned under us, or worse.
    auto again = co_await standing(connection, space, follower->position);
    if (!again) co_return again.error();
    const errc why = again->broken.value_or(follower->fault.value_or(errc::log_corrupt));
    co_return broken_error(why, space, follower->position, again->head);
  }
  co_return follower->position;
}

pg::Task<void> Reader::Work::read_some(pg::Connection& connection, PartBuilder& builder, FollowerPtr follower) {
  std::string sql = kReadForViews;
  pg::Params params = read_log_params(std::span(&follower, 1), options_.changes_per_read, options_.part_bytes_max);
  const auto add = [&](const pg::Row& row) {
    builder.add(row);
    return !stopped_;
  };
  std::function<bool(const pg::Row&)> on_row = add;
  auto done = co_await connection.stream_prepared(std::move(sql), std::move(params), std::move(on_row),
                                                  kReadSilenceShare * options_.time_max);
  if (!done) co_return done.error();
  builder.finish();
  co_return done;
}

pg::Task<ReceiptsPage> Reader::Work::receipts(ReceiptsQuery query) {
  auto lease = co_await readers_.acquire(options_.time_max);
  if (!lease) co_return lease.error();
  std::string sql =
      "select last, number, sequence, receipt from viewgate.receipts($1, $2, $3, $4::bigint, $5::int, $6::bigint)";
  pg::Params params;
  params.emplace_back(std::move(query.space));
  params.emplace_back(query.client);
  params.emplace_back(std::move(query.principal));
  params.emplace_back(std::to_string(query.after));
  params.emplace_back(std::to_string(query.count_max));
  params.emplace_back(std::to_string(query.bytes_max));
  auto rows = co_await (*lease)->exec(std::move(sql), std::move(params), options_.time_max);
  if (!rows) co_return rows.error();
  ReceiptsPage page;
  for (int i = 0; i < rows->size(); ++i) {
    const pg::Row row = (*rows)[i];
    page.last = row.integer(0);
    if (row.is_null(1)) continue;  // a client without receipts that could be read
    const Sequence sequence{row.integer(2)};
    page.receipts.push_back(Receipt{query.client, row.integer(1), sequence, outcome_of(row.text(3)), row.string(3)});
  }
  co_return page;
}

pg::Task<Position> Reader::Work::snapshot(SnapshotQuery query, Clock::time_point deadline,
                                          std::function<bool(std::string_view)> on_row) {
  auto reader = co_await readers_.acquire(time_left(deadline));
  if (!reader) co_return reader.error();
  auto settled = co_await open_settled(**reader, query, deadline);
  if (!settled) co_return settled.error();
  std::optional<Position> position = *settled;
  if (!position) {
    auto opened = co_await open_snapshot(**reader, query, deadline);
    if (!opened) co_return opened.error();
    auto numbered = co_await number_exactly(**reader, query.space, deadline);
    if (!numbered) co_return numbered.error();
    position = *numbered;
  }
  auto streamed = co_await stream_rows(**reader, query.sql, deadline, std::move(on_row));
  if (!streamed) co_return streamed.error();
  auto ended = co_await (*reader)->exec_script("commit", options_.time_max);
  if (!ended) co_return ended.error();
  co_return *position;
}

/// The reader's transaction, before its snapshot. The tables are locked first, and before the space is: TRUNCATE and
/// rewriting ALTERs are not MVCC-safe, and waiting for one must not keep the space locked.
std::vector<pg::Statement> Reader::Work::opening(const SnapshotQuery& query, Clock::time_point deadline) {
  std::vector<pg::Statement> out(2);
  out[0].sql = "begin isolation level repeatable read read only";
  out[1].sql = "set local statement_timeout = " + std::to_string(time_left(deadline).count());
  for (const std::string& table : query.tables)
    out.emplace_back().sql = "lock table " + table + " in access share mode";
  return out;
}

/// Tables are waited for no longer than our sessions wait for any lock, since meanwhile other bootstraps want the place; what
/// is over then is a time, and is told as that.
pg::Task<std::vector<pg::Rows>> Reader::Work::open(pg::Connection& reader, std::vector<pg::Statement> statements,
                                                   Clock::time_point deadline) {
  constexpr std::string_view lock_not_available = "55P03";
  auto opened = co_await reader.exec_all(std::move(statements), time_left(deadline));
  if (opened) co_return opened;
  Error error = opened.error();
  if (error.sqlstate == lock_not_available) error.code = errc::timeout;
  co_return error;
}

/// Where nothing of the space waits in the reader's snapshot, that is exactly the state at the head which it shows: no lock,
/// no number, nothing that is written. Absent: something waits, and no transaction is open.
pg::Task<std::optional<Position>> Reader::Work::open_settled(pg::Connection& reader, const SnapshotQuery& query,
                                                             Clock::time_point deadline) {
  if (is_planted("skip_lock")) co_return std::optional<Position>();  // it is about the other way
  auto statements = opening(query, deadline);
  auto& ask = statements.emplace_back();
  ask.sql = "select head, stamp from viewgate.settled_head($1)";
  ask.params.emplace_back(query.space);
  auto opened = co_await open(reader, std::move(statements), deadline);
  if (!opened) co_return opened.error();
  if (!opened->back().empty()) co_return std::optional<Position>(position_of(opened->back()[0]));
  auto ended = co_await reader.exec_script("commit", time_left(deadline));
  if (!ended) co_return ended.error();
  co_return std::optional<Position>();
}

pg::Task<void> Reader::Work::open_snapshot(pg::Connection& reader, const SnapshotQuery& query,
                                           Clock::time_point deadline) {
  auto opened = co_await open(reader, opening(query, deadline), deadline);
  if (!opened) co_return opened.error();
  co_return Result<void>();
}

/// Under the space's lock: the reader's snapshot is taken, then exactly the transactions that it sees are numbered.
/// What the reader sees is then the state at the head just reached: whatever had a number before had committed before
/// the snapshot, and whatever gets one later was not visible in it.
pg::Task<Position> Reader::Work::number_exactly(pg::Connection& reader, const std::string& space,
                                                Clock::time_point deadline) {
  auto locker = co_await lockers_.acquire(time_left(deadline));
  if (!locker) co_return locker.error();
  const bool locked = !is_planted("skip_lock");
  if (locked) {
    std::vector<pg::Statement> lock(2);
    lock[0].sql = "begin isolation level read committed";
    lock[1].sql = "select viewgate.lock_space($1)";
    lock[1].params.emplace_back(space);
    auto taken = co_await (*locker)->exec_all(std::move(lock), time_left(deadline));
    if (!taken) co_return taken.error();
  }
  std::string current = "select pg_current_snapshot()::text";
  auto seen = co_await reader.exec(std::move(current), pg::Params(), time_left(deadline));
  if (!seen) co_return seen.error();
  if (!locked) {  // what is committed in this time is numbered and not seen
    auto slept = co_await (*locker)->exec("select pg_sleep(0.05)", pg::Params(), time_left(deadline));
    if (!slept) co_return slept.error();
  }

  std::vector<pg::Statement> number(locked ? 2 : 1);
  number[0].sql = "select head, stamp from viewgate.number($1, $2::pg_snapshot)";
  number[0].params.emplace_back(space);
  number[0].params.emplace_back(std::nullopt);
  if (locked) {
    number[0].params[1] = (*seen)[0].string(0);
    number[1].sql = "commit";
  }
  auto numbered = co_await (*locker)->exec_all(std::move(number), time_left(deadline));
  if (!numbered) co_return numbered.error();
  co_return position_of(numbered->front()[0]);
}

pg::Task<void> Reader::Work::stream_rows(pg::Connection& reader, std::string sql, Clock::time_point deadline,
                                         std::function<bool(std::string_view)> on_row) {
  bool is_late = false;
  const auto take = [&](const pg::Row& row) {
    is_late = Clock::now() > deadline;
    return !is_late && !stopped_ && on_row(row.text(0));
  };
  std::function<bool(const pg::Row&)> each = take;
  auto done = co_await reader.stream(std::move(sql), pg::Params(), std::move(each), time_left(deadline));
  if (!is_late) co_return done;
  co_return Error{errc::timeout, "", "a snapshot took longer than its time limit"};
}

void Reader::receipts(ReceiptsQuery query, std::function<void(Result<ReceiptsPage>)> done) {
  work_->start_receipts(std::move(query), std::move(done));
}

Reader::Reader(boost::asio::io_context& io, const std::string& conninfo, ReaderOptions options)
    : work_(std::make_shared<Work>(io, conninfo, options)) {}

Reader::~Reader() { stop(); }

pg::PoolStats Reader::pool() const { return work_->pool(); }
void Reader::stop() { work_->stop(); }

void Reader::read(std::string space, Position after, std::size_t bytes_max, std::function<void(CommitPartPtr)> on_part,
                  std::function<void(Result<Position>)> done) {
  work_->start_read(std::move(space), after, bytes_max, std::move(on_part), std::move(done));
}

void Reader::snapshot(SnapshotQuery query, std::chrono::milliseconds time_max,
                      std::function<bool(std::string_view)> on_row, std::function<void(Result<Position>)> done) {
  work_->start_snapshot(std::move(query), time_max, std::move(on_row), std::move(done));
}

}  // namespace viewgate::ledger
