#include "ledger/tailer.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>

#include "ledger/inspection.hpp"
#include "ledger/spawn.hpp"
#include "ledger/tailer_runner.hpp"

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;
using Clock = PlanClock;
using Step = TailerPlan::Step;

constexpr std::string_view kCanary = "canary ";  // a notification that is no hint: some node testing its own ears

// Every statement of this connection finds its rows by an index, however large the log is and whatever its statistics say;
// and it is planned once: planning a read of the log anew takes four times as long as reading a few commits.
constexpr const char* kPlannerSettings =
    "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_bitmapscan = off;";

/// The digits before the first colon of a pg_snapshot (its xmin), or of an xid8.
std::uint64_t first_xid(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Tailer::Runner::Runner(asio::any_io_executor executor, std::string conninfo, TailerOptions options, TailSink& sink)
    : executor_(std::move(executor)),
      conninfo_(std::move(conninfo)),
      options_(std::move(options)),
      sink_(sink),
      random_(std::random_device()()),
      canary_(std::string(kCanary) + std::to_string(random_()) + std::to_string(random_())),
      plan_(options_.times, Clock::now()),
      look_(executor_),
      nap_(executor_),
      housekeeper_(std::make_shared<Housekeeper>(executor_, conninfo_,
                                                 HousekeeperOptions{options_.captures_interval, options_.prune_interval,
                                                                    options_.size_interval, options_.time_max})) {
  large_reader_ = make_large_reader();
}

void Tailer::Runner::start() {
  spawn(executor_, run(shared_from_this()));
  start_listening();
  housekeeper_->start();
}

asio::awaitable<void> Tailer::Runner::run(std::shared_ptr<Runner> self) {
  while (!self->stopped_) {
    self->plan_.set_has_newly_watched(!self->watchlist_.newly_watched().empty());
    self->plan_.set_has_dirty(self->watchlist_.has_dirty());
    const TailerPlan::Next next = self->plan_.next(Clock::now());
    if (next.step == Step::sleep) {
      co_await self->nap(next.until);
      continue;
    }
    std::optional<Error> error;
    try {
      auto done = co_await self->take(next.step);
      if (!done) error = done.error();
    } catch (const Failure& failure) {
      error = failure.error();
    }
    self->end_turn();
    if (error && !self->stopped_) self->failed(*error);
  }
}

asio::awaitable<void> Tailer::Runner::nap(Clock::time_point until) {
  nap_.expires_at(until);
  boost::system::error_code ignored;
  co_await nap_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void Tailer::Runner::failed(const Error& error) {
  // What the step that failed was told is told by no look again: the next one asks about everything.
  previous_.reset();
  if (error.code == errc::retry && plan_.is_connected()) {
    ++stats_.conflicts;
    plan_.on_conflict(Clock::now());
    return;
  }
  look_.close();
  plan_.on_lost(Clock::now(), std::uniform_real_distribution<double>(0, 1)(random_));
  if (degraded_) return;
  degraded_ = true;
  sink_.on_degraded(error);
}

pg::Task<void> Tailer::Runner::take(Step step) {
  switch (step) {
    case Step::connect:
      return connect();
    case Step::recover:
      return recover();
    case Step::learn:
      return learn();
    case Step::look:
      return look();
    case Step::read:
      return read();
    case Step::arm:
      return arm();
    case Step::canary:
      return send_canary();
    case Step::sleep:
      break;
  }
  throw Failure(Error{errc::rejected, "", "a tailer does not sleep through a step"});
}

pg::Task<void> Tailer::Runner::connect() {
  ++stats_.connects;
  auto connected = co_await look_.connect(connect_options(tail_name(options_.node)));
  if (!connected) co_return connected.error();
  plan_.on_connected();
  co_return Result<void>();
}

/// On a new connection nothing is known, also not whether it leads to the same history.
pg::Task<void> Tailer::Runner::recover() {
  previous_.reset();
  registry_mark_.reset();
  co_return co_await look_afresh();
}

/// The first look numbers what waits and gives the snapshot from which on looks tell what moved; then every position is
/// held against the ledger. Again and again until a look did not have to skip a space: only then is everything up to
/// its snapshot known.
pg::Task<void> Tailer::Runner::look_afresh() {
  auto rows = co_await look_once();
  if (!rows) co_return rows.error();
  std::vector<FollowerPtr> followers = watchlist_.followers();
  auto verified = co_await verify(std::move(followers));
  if (!verified) co_return verified.error();
  if (!plan_.is_connected()) plan_.on_recovered(Clock::now());
  if (degraded_ && !stopped_) {
    degraded_ = false;
    sink_.on_restored();
  }
  if (!rows->empty()) summarize((*rows)[rows->size() - 1], false);
  co_return co_await see_waiting();
}

pg::Task<void> Tailer::Runner::learn() {
  const std::vector<std::string> spaces = watchlist_.newly_watched();
  std::vector<Position> starts(spaces.size());
  auto found = co_await standings(look_, spaces, std::move(starts), options_.time_max);
  if (!found) co_return found.error();
  watchlist_.drop_new(spaces.size());
  for (std::size_t i = 0; i < spaces.size() && !stopped_; ++i) {
    const Position head = (*found)[i].head;
    if (!watchlist_.begin(spaces[i], head, (*found)[i].erased_through))
      continue;  // unwatched meanwhile, or asked for twice
    has_handed_on_ = true;
    sink_.on_watched(spaces[i], head);
  }
  co_return Result<void>();
}

pg::Task<pg::Rows> Tailer::Runner::look_once() {
  ++stats_.looks;
  std::string sql =
      "select name, head, snapshot::text, numbered, skipped, bell, mark, erased_through from "
      "viewgate.look($1::pg_snapshot)";
  pg::Params params(1, previous_);
  return look_.exec_prepared(std::move(sql), std::move(params), options_.time_max);
}

pg::Task<void> Tailer::Runner::look() {
  if (!previous_) co_return co_await look_afresh();
  auto rows = co_await look_once();
  if (!rows) co_return rows.error();
  const int last = rows->size() - 1;
  std::vector<FollowerPtr> suspects;
  for (int i = 0; i < last; ++i) {
    const pg::Row row = (*rows)[i];
    const std::string space = row.string(0);
    const Sequence head{row.integer(1)};
    if (FollowerPtr follower = watchlist_.gone_back(space, head)) {
      suspects.push_back(std::move(follower));
    } else {
      note_erased(space, Sequence{row.integer(7)});
      watchlist_.note_head(space, head, Clock::now());
    }
  }
  // After a look that had to skip something, the next one tells the same moves again: they are no news.
  if (last >= 0) summarize((*rows)[last], last > 0 && !last_look_skipped_);
  auto seen = co_await see_waiting();
  if (!seen) co_return seen.error();
  if (suspects.empty()) co_return Result<void>();
  co_return co_await verify(std::move(suspects));  // before anything is read
}

void Tailer::Runner::summarize(const pg::Row& row, bool has_moved) {
  const std::string snapshot = row.string(2);
  const std::int64_t numbered = row.integer(3);
  stats_.numbered += static_cast<std::uint64_t>(numbered);
  last_look_skipped_ = row.boolean(4);
  if (!last_look_skipped_) previous_ = snapshot;
  TailerPlan::Look look;
  look.moved = numbered > 0 || has_moved;
  look.skipped = last_look_skipped_;
  look.bell_armed = row.integer(5) == 2;
  look.xmin = first_xid(snapshot);
  plan_.on_look(Clock::now(), look);
  const std::int64_t mark = row.integer(6);
  if (registry_mark_ == mark || stopped_) return;
  registry_mark_ = mark;
  sink_.on_registry_moved();
}

pg::Task<void> Tailer::Runner::arm() {
  // Where transactions may be prepared viewgate.ring() does not notify.
  std::string sql = "select viewgate.arm_bell()::text, current_setting('max_prepared_transactions') = '0'";
  auto armed = co_await look_.exec_prepared(std::move(sql), pg::Params(), options_.time_max);
  if (!armed) co_return armed.error();
  const pg::Row row = (*armed)[0];
  plan_.on_armed(first_xid(row.text(0)), row.text(1) == "t");
  co_return Result<void>();
}

pg::Task<void> Tailer::Runner::send_canary() {
  plan_.on_canary_sent(Clock::now());  // before it is sent: it may be heard before this connection has its answer
  std::string sql = "select pg_notify('viewgate', $1)";
  pg::Params params(1, canary_);
  auto sent = co_await look_.exec(std::move(sql), std::move(params), options_.time_max);
  if (!sent) co_return sent.error();
  ++stats_.canaries;
  co_return Result<void>();
}

void Tailer::Runner::hear(std::string_view payload) {
  if (options_.ignore_notifications) return;
  if (payload == canary_) {
    ++stats_.canaries_heard;
    return plan_.on_canary_heard();
  }
  if (payload.starts_with(kCanary)) return;
  ++stats_.notified;
  wake();
}

pg::ConnectOptions Tailer::Runner::connect_options(std::string name) const {
  pg::ConnectOptions out;
  out.conninfo = conninfo_;
  out.application_name = std::move(name);
  out.planner_settings = kPlannerSettings;
  out.connect_time_max = options_.time_max;
  return out;
}

void Tailer::Runner::start_listening() {
  ListenerOptions listening;
  listening.conninfo = conninfo_;
  listening.time_max = options_.time_max;
  listening.silence_max = 2 * (options_.times.canary_interval + options_.times.canary_time_max);
  listening.reconnect_first = options_.times.reconnect_first;
  listening.reconnect_max = options_.times.reconnect_max;
  // The listener is stopped by whoever owns this, and calls nothing after that.
  ListenerEvents events;
  events.on_listening = [this] {
    ++stats_.listens;
    plan_.on_listening(Clock::now());
    nap_.cancel();
  };
  events.on_deaf = [this] { plan_.on_deaf(); };
  events.on_notification = [this](std::string_view payload) { hear(payload); };
  listener_ = std::make_shared<Listener>(executor_, std::move(listening), std::move(events));
  listener_->start();
}

Tailer::Tailer(asio::io_context& io, std::string conninfo, TailerOptions options, TailSink& sink)
    : runner_(std::make_shared<Runner>(io.get_executor(), std::move(conninfo), std::move(options), sink)) {}

Tailer::~Tailer() { stop(); }

void Tailer::start() { runner_->start(); }

void Tailer::stop() { runner_->stop(); }

void Tailer::watch(std::string space) { runner_->watch(space); }

void Tailer::unwatch(const std::string& space) { runner_->unwatch(space); }

void Tailer::wake() { runner_->wake(); }

TailerStats Tailer::stats() const { return runner_->stats(); }
std::vector<SpaceLag> Tailer::lags() const { return runner_->lags(); }
SpaceLag Tailer::lag(const std::string& space) const { return runner_->lag(space); }

}  // namespace viewgate::ledger
