#include "ledger/housekeeper.hpp"

#include <algorithm>

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;

constexpr int kPruneBatch = 1000;   // commits deleted in one transaction
constexpr int kSpacesPerAsk = 500;  // to be pruned
constexpr std::chrono::seconds kRestMin{1};
constexpr int kPatience =
    6;  // a round over many spaces, or the deletion of many rows, takes longer than others' questions

// Every role may ask. A table that somebody rewrites meanwhile is waited for.
constexpr const char* kSizes = R"(
select coalesce(sum(t.bytes) filter (where t.name = 'changes'), 0), coalesce(sum(t.bytes) filter (where t.name = 'commits'), 0),
       coalesce(sum(t.bytes) filter (where t.name = 'records'), 0),
       coalesce(sum(t.bytes) filter (where t.name not in ('changes', 'commits', 'records')), 0), coalesce(sum(t.dead), 0)
from (select c.relname as name, pg_catalog.pg_total_relation_size(c.oid) as bytes, pg_catalog.pg_stat_get_dead_tuples(c.oid) as dead
      from pg_catalog.pg_class c where c.relnamespace = pg_catalog.to_regnamespace('viewgate') and c.relkind = 'r') t)";

LedgerSize read_sizes(const pg::Row& row, std::uint64_t looks) {
  const auto at = [&row](int column) { return static_cast<std::uint64_t>(row.integer(column)); };
  return {looks, at(0), at(1), at(2), at(3), at(4)};
}

}  // namespace

Housekeeper::Housekeeper(asio::any_io_executor executor, std::string conninfo, HousekeeperOptions options)
    : Rounds(std::move(executor), pg::connect_options(std::move(conninfo), "viewgate housekeeping", options.time_max)),
      options_(options) {}

/// What failed is tried again next time; that the database cannot be reached is the tailer's to tell.
Housekeeper::Clock::time_point Housekeeper::next_turn(const Result<void>& done) {
  if (!done) {
    if (done.error().code != errc::unavailable) note_failure("housekeeping", done.error());
    const Clock::time_point later = Clock::now() + options_.captures_interval;
    for (Clock::time_point* each : {&captures_at_, &prune_at_, &size_at_}) *each = std::max(*each, later);
  }
  return std::min({captures_at_, prune_at_, size_at_});
}

void Housekeeper::note_failure(std::string doing, const Error& error) {
  ++failures_.count;
  failures_.doing = std::move(doing);
  failures_.error = error;
}

pg::Task<void> Housekeeper::turn() {
  const Clock::time_point now = Clock::now();
  const bool prune_due = now >= prune_at_;
  if (prune_due) prune_at_ = now + options_.prune_interval;
  auto watched = co_await check_and_measure();
  if (!watched) co_return watched.error();
  if (!prune_due) co_return Result<void>();
  const std::uint64_t before = pruned_;
  auto done = co_await prune();
  if (!done) co_return done.error();
  // Where much was deleted, much is being written: the rest is as long as the work then. So what waits to be deleted is what is
  // written in two rounds, and not in the interval.
  if (pruned_ - before >= kPruneBatch) {
    const Clock::time_point end = Clock::now();
    prune_at_ = std::min(prune_at_, end + std::max<Clock::duration>(end - now, kRestMin));
  }
  co_return Result<void>();
}

pg::Task<pg::Rows> Housekeeper::ask(std::string sql, pg::Params params) {
  return connection().exec(std::move(sql), std::move(params), kPatience * options_.time_max);
}

/// When they are due. What fails is noted, and an error only where the connection is gone.
pg::Task<void> Housekeeper::check_and_measure() {
  auto checked = co_await check_captures();
  if (!checked) {
    if (!connection().is_idle()) co_return checked.error();
    note_failure("check_captures", checked.error());
  }
  auto measured = co_await measure();
  if (!measured) {
    if (!connection().is_idle()) co_return measured.error();
    note_failure("measure", measured.error());
  }
  co_return Result<void>();
}

pg::Task<void> Housekeeper::check_captures() {
  const Clock::time_point now = Clock::now();
  if (now < captures_at_) co_return Result<void>();
  captures_at_ = now + options_.captures_interval;
  auto checked = co_await ask("select count(*) from viewgate.check_captures()");
  if (!checked) co_return checked.error();
  co_return Result<void>();
}

/// The sizes of files: nothing is read of the tables.
pg::Task<void> Housekeeper::measure() {
  const Clock::time_point now = Clock::now();
  if (now < size_at_) co_return Result<void>();
  size_at_ = now + options_.size_interval;
  auto sizes = co_await ask(kSizes);
  if (!sizes) co_return sizes.error();
  size_ = read_sizes((*sizes)[0], size_.looks + 1);
  co_return Result<void>();
}

/// A session that ends gives the lock back, so a node that dies in here stops nobody.
pg::Task<void> Housekeeper::prune() {
  auto locked = co_await ask("select pg_try_advisory_lock(viewgate.pruner_lock())");
  if (!locked) co_return locked.error();
  if (!(*locked)[0].boolean(0)) co_return Result<void>();
  auto done = co_await prune_spaces();
  if (!done) co_return done.error();
  auto unlocked = co_await ask("select pg_advisory_unlock(viewgate.pruner_lock())");
  if (!unlocked) co_return unlocked.error();
  co_return Result<void>();
}

/// A space that cannot be pruned is noted and passed over. Where it takes the connection with it, the next round goes on behind it.
pg::Task<void> Housekeeper::prune_spaces() {
  for (;;) {
    pg::Params params;
    params.emplace_back(pruned_through_);
    params.emplace_back(std::to_string(kSpacesPerAsk));
    auto due = co_await ask("select space, name, kept from viewgate.prunable($1, $2::int)", std::move(params));
    if (!due) co_return due.error();
    for (int i = 0; i < due->size(); ++i) {
      pruned_through_ = (*due)[i].string(0);
      auto pruned = co_await prune_space((*due)[i].string(1), (*due)[i].string(2));
      if (pruned) continue;
      if (!connection().is_idle()) co_return pruned.error();
      note_failure("prune space '" + (*due)[i].string(1) + "'", pruned.error());
    }
    if (due->size() < kSpacesPerAsk) break;
  }
  pruned_through_.clear();
  co_return Result<void>();
}

/// The horizon first, in a transaction of its own; what is below it is deleted in later ones, so that a reader that
/// misses a commit also sees the horizon that explains it.
pg::Task<void> Housekeeper::prune_space(std::string space, std::string kept) {
  pg::Params horizon;
  horizon.emplace_back(space);
  horizon.emplace_back(std::move(kept));
  auto raised = co_await ask("select viewgate.prune_before($1, $2::bigint)", std::move(horizon));
  if (!raised) co_return raised.error();
  for (;;) {
    pg::Params params;
    params.emplace_back(space);
    params.emplace_back(std::to_string(kPruneBatch));
    auto deleted = co_await ask("select viewgate.prune_batch($1, $2::int)", std::move(params));
    if (!deleted) co_return deleted.error();
    // A first rule may let go of millions of commits. Holes are looked for all the while, and how much is left.
    auto watched = co_await check_and_measure();
    if (!watched) co_return watched.error();
    const std::int64_t count = (*deleted)[0].integer(0);
    pruned_ += static_cast<std::uint64_t>(count);
    if (count == 0) co_return Result<void>();
  }
}

}  // namespace viewgate::ledger
