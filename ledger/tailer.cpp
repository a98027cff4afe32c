#include "ledger/tailer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <random>

#include "ledger/housekeeper.hpp"
#include "ledger/inspection.hpp"
#include "ledger/large_reader.hpp"
#include "ledger/listener.hpp"
#include "ledger/pg/connection.hpp"
#include "ledger/spawn.hpp"
#include "ledger/standing.hpp"
#include "ledger/watchlist.hpp"

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

// A commit of a million changes is sorted by the server before its first row comes; a dead server is found by TCP.
constexpr int kSilenceShare = 6;

/// The digits before the first colon of a pg_snapshot (its xmin), or of an xid8.
std::uint64_t first_xid(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

/// The state of a tailer and the coroutine that works on it, which holds it alive. Calls of the sink may watch,
/// unwatch or stop, so nothing is kept across one but shared pointers.
class Tailer::Runner : public std::enable_shared_from_this<Runner> {
 public:
  Runner(asio::any_io_executor executor, std::string conninfo, TailerOptions options, TailSink& sink)
      : executor_(std::move(executor)),
        conninfo_(std::move(conninfo)),
        options_(std::move(options)),
        sink_(sink),
        random_(std::random_device()()),
        canary_(std::string(kCanary) + std::to_string(random_()) + std::to_string(random_())),
        plan_(options_.times, Clock::now()),
        look_(executor_),
        nap_(executor_),
        housekeeper_(
            std::make_shared<Housekeeper>(executor_, conninfo_,
                                          HousekeeperOptions{options_.captures_interval, options_.prune_interval,
                                                             options_.size_interval, options_.time_max})) {
    large_reader_ = make_large_reader();
  }

  void start() {
    spawn(executor_, run(shared_from_this()));
    start_listening();
    housekeeper_->start();
  }

  void stop() {
    stopped_ = true;
    nap_.cancel();
    look_.close();
    if (listener_) listener_->stop();
    housekeeper_->stop();
    large_reader_->stop();
  }

  void watch(const std::string& space) {
    if (watchlist_.watch(space)) nap_.cancel();
  }

  void unwatch(const std::string& space) { watchlist_.unwatch(space); }

  void wake() {
    plan_.on_notified(Clock::now());
    nap_.cancel();
  }

  [[nodiscard]] TailerStats stats() const {
    TailerStats out = stats_;
    out.wakeups = plan_.wakeups(Clock::now());
    out.pruned = housekeeper_->pruned();
    out.housekeeping = housekeeper_->failures();
    out.size = housekeeper_->size();
    return out;
  }

  [[nodiscard]] std::vector<SpaceLag> lags() const { return watchlist_.lags(Clock::now()); }
  [[nodiscard]] SpaceLag lag(const std::string& space) const { return watchlist_.lag(space, Clock::now()); }

 private:
  static asio::awaitable<void> run(std::shared_ptr<Runner> self);
  asio::awaitable<void> nap(Clock::time_point until);
  void failed(const Error& error);

  pg::Task<void> take(Step step);
  pg::Task<void> connect();
  pg::Task<void> recover();
  pg::Task<void> learn();
  pg::Task<void> look();
  pg::Task<void> look_afresh();
  pg::Task<void> read();
  pg::Task<void> arm();
  pg::Task<void> send_canary();

  pg::Task<pg::Rows> look_once();
  void summarize(const pg::Row& row, bool has_moved);
  pg::Task<void> verify(std::vector<FollowerPtr> followers);
  void check(const FollowerPtr& follower, const Standing& standing);
  void note_erased(const std::string& space, Sequence through);
  void hand_on(CommitPartPtr part);
  void end_turn();

  [[nodiscard]] pg::ConnectOptions connect_options(std::string name) const;
  [[nodiscard]] std::shared_ptr<LargeReader> make_large_reader();
  void start_listening();
  void hear(std::string_view payload);

  asio::any_io_executor executor_;
  const std::string conninfo_;
  const TailerOptions options_;
  TailSink& sink_;
  std::mt19937_64 random_;
  const std::string canary_;

  TailerPlan plan_;
  pg::Connection look_;
  asio::steady_timer nap_;
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<Housekeeper> housekeeper_;
  std::shared_ptr<LargeReader> large_reader_;

  Watchlist watchlist_;
  std::optional<std::string> previous_;  ///< what the next look is told: the snapshot up to which all is known
  bool last_look_skipped_ = false;
  std::optional<std::int64_t> registry_mark_;
  std::size_t turn_bytes_ = 0;
  bool has_handed_on_ = false;
  bool degraded_ = false;
  bool stopped_ = false;
  TailerStats stats_;
};

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
  if (error.code == errc::retry && plan_.is_connected()) {
    ++stats_.conflicts;
    plan_.on_conflict(Clock::now());
    return;
  }
  look_.close();
  previous_.reset();
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
  co_return Result<void>();
}

/// Goes on from where the follower is, or, where that is not in the ledger's history any more, from its head.
void Tailer::Runner::check(const FollowerPtr& follower, const Standing& standing) {
  if (stopped_ || !watchlist_.is_current(follower)) return;
  note_erased(follower->space, standing.erased_through);
  if (stopped_ || !watchlist_.is_current(follower)) return;
  const std::optional<errc> broken = standing.broken ? standing.broken : follower->fault;
  if (!broken) return watchlist_.note_head(follower->space, standing.head.sequence, Clock::now());
  watchlist_.begin_anew(follower, standing.head);
  has_handed_on_ = true;
  sink_.on_broken(follower->space, *broken, standing.head);
}

void Tailer::Runner::note_erased(const std::string& space, Sequence through) {
  if (!stopped_ && watchlist_.note_erased(space, through)) sink_.on_erased(space, through);
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

pg::Task<void> Tailer::Runner::read() {
  const std::vector<FollowerPtr> followers = watchlist_.take_dirty(options_.spaces_per_read);
  if (followers.empty()) co_return Result<void>();
  PartBuilder builder(options_.part_bytes_max, [this](CommitPartPtr part) { hand_on(std::move(part)); });
  std::vector<std::string> spaces;
  std::vector<std::int64_t> afters;
  std::vector<std::int64_t> stamps;
  std::vector<Sequence> before;
  for (const FollowerPtr& follower : followers) {
    builder.follow(follower);
    spaces.push_back(follower->space);
    afters.push_back(follower->position.sequence.value);
    stamps.push_back(static_cast<std::int64_t>(follower->position.stamp.value));
    before.push_back(follower->position.sequence);
  }
  std::string sql = kReadForViewsButLarge;
  pg::Params params;
  params.emplace_back(pg::array_text(spaces));
  params.emplace_back(pg::array_text(afters));
  params.emplace_back(std::to_string(options_.changes_per_read));
  params.emplace_back(pg::array_text(stamps));
  params.emplace_back(std::to_string(options_.part_bytes_max));
  params.emplace_back(std::to_string(options_.changes_per_read));
  std::function<bool(const pg::Row&)> on_row = [this, &builder](const pg::Row& row) {
    builder.add(row);
    return !stopped_;
  };
  auto done = co_await look_.stream_prepared(std::move(sql), std::move(params), std::move(on_row),
                                             kSilenceShare * options_.time_max);
  if (!done) co_return done.error();
  builder.finish();
  for (const FollowerPtr& follower : followers) {
    if (follower->is_large && watchlist_.is_current(follower)) large_reader_->read(follower);
  }
  auto suspects = watchlist_.settle(followers, before);  // pruned before they were read, another history, or worse
  if (suspects.empty()) co_return Result<void>();
  co_return co_await verify(std::move(suspects));
}

/// Holds positions against the ledger.
pg::Task<void> Tailer::Runner::verify(std::vector<FollowerPtr> followers) {
  std::vector<std::string> spaces;
  std::vector<Position> positions;
  for (const FollowerPtr& follower : followers) {
    spaces.push_back(follower->space);
    positions.push_back(follower->position);
  }
  auto found = co_await standings(look_, std::move(spaces), std::move(positions), options_.time_max);
  if (!found) co_return found.error();
  for (std::size_t i = 0; i < followers.size(); ++i) check(followers[i], (*found)[i]);
  co_return Result<void>();
}

void Tailer::Runner::hand_on(CommitPartPtr part) {
  if (stopped_) return;
  ++stats_.parts;
  stats_.changes += part->changes.size();
  has_handed_on_ = true;
  turn_bytes_ += bytes_of(*part);
  sink_.on_part(std::move(part));
  if (turn_bytes_ >= options_.turn_bytes_max) end_turn();
}

void Tailer::Runner::end_turn() {
  if (!has_handed_on_ || stopped_) return;
  has_handed_on_ = false;
  turn_bytes_ = 0;
  sink_.on_turn();
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

// Stopped by whoever owns this, as the listener is.
std::shared_ptr<LargeReader> Tailer::Runner::make_large_reader() {
  LargeReaderOptions options{connect_options("viewgate large"), options_.part_bytes_max,
                             kSilenceShare * options_.time_max, options_.times.reconnect_max};
  LargeReaderEvents events;
  events.on_part = [this](CommitPartPtr part) { hand_on(std::move(part)); };
  events.on_done = [this](const FollowerPtr& follower) {
    end_turn();
    watchlist_.take_back(follower);
    nap_.cancel();
  };
  return std::make_shared<LargeReader>(executor_, std::move(options), std::move(events));
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
