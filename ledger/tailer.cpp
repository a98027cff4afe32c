#include "ledger/tailer.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <deque>
#include <map>
#include <random>

#include "ledger/housekeeper.hpp"
#include "ledger/part_builder.hpp"
#include "ledger/pg/connection.hpp"
#include "ledger/spawn.hpp"
#include "ledger/standing.hpp"

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;
using Clock = PlanClock;
using Step = TailerPlan::Step;

constexpr std::string_view kCanary = "canary ";  // a notification that is no hint: some node testing its own ears

/// The digits before the first colon of a pg_snapshot (its xmin), or of an xid8.
std::uint64_t first_xid(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

/// The state of a tailer and the two coroutines that work on it; both hold it alive. Calls of the sink may watch,
/// unwatch or stop, so nothing is kept across one but shared pointers.
class Tailer::Runner : public std::enable_shared_from_this<Runner> {
 public:
  Runner(asio::any_io_executor executor, std::string conninfo, TailerOptions options, TailSink& sink)
      : executor_(std::move(executor)),
        conninfo_(std::move(conninfo)),
        options_(options),
        sink_(sink),
        random_(std::random_device()()),
        canary_(std::string(kCanary) + std::to_string(random_()) + std::to_string(random_())),
        plan_(options.times, Clock::now()),
        look_(executor_),
        ears_(executor_),
        nap_(executor_),
        ears_nap_(executor_),
        housekeeper_(std::make_shared<Housekeeper>(executor_, conninfo_,
                                                   HousekeeperOptions{options.captures_interval, options.prune_interval,
                                                                      options.prune_keep, options.time_max})) {}

  void start() {
    spawn(executor_, run(shared_from_this()));
    spawn(executor_, listen(shared_from_this()));
    housekeeper_->start();
  }

  void stop() {
    stopped_ = true;
    nap_.cancel();
    ears_nap_.cancel();
    look_.close();
    ears_.close();
    housekeeper_->stop();
  }

  void watch(std::string space) {
    if (!watched_.try_emplace(space).second) return;
    newly_watched_.push_back(std::move(space));
    nap_.cancel();
  }

  void unwatch(const std::string& space) {
    const auto found = watched_.find(space);
    if (found == watched_.end()) return;
    if (found->second.follower) found->second.follower->is_watched = false;
    watched_.erase(found);
  }

  [[nodiscard]] TailerStats stats() const {
    TailerStats out = stats_;
    out.wakeups = plan_.wakeups(Clock::now());
    out.pruned = housekeeper_->pruned();
    return out;
  }

 private:
  struct Watched {
    FollowerPtr follower;   ///< null until its head is known
    Sequence head;          ///< as far as a look has told
    bool is_dirty = false;  ///< in dirty_
  };

  static asio::awaitable<void> run(std::shared_ptr<Runner> self);
  asio::awaitable<void> nap(Clock::time_point until);
  void failed(const Error& error);
  pg::ConnectOptions connect_options(const char* name) const;

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
  void note_head(const std::string& space, Sequence head);
  void summarize(const pg::Row& row, bool has_moved);
  std::vector<FollowerPtr> take_dirty();
  std::vector<FollowerPtr> settle(const std::vector<FollowerPtr>& read, const std::vector<Sequence>& before);
  pg::Task<void> verify(std::vector<FollowerPtr> followers);
  void check(const FollowerPtr& follower, const Standing& standing);
  void mark_dirty(const std::string& space, Watched& watched);
  void hand_on(CommitPartPtr part);
  void end_turn();

  static asio::awaitable<void> listen(std::shared_ptr<Runner> self);
  pg::Task<void> listen_once();

  asio::any_io_executor executor_;
  const std::string conninfo_;
  const TailerOptions options_;
  TailSink& sink_;
  std::mt19937_64 random_;
  const std::string canary_;

  TailerPlan plan_;
  pg::Connection look_;
  pg::Connection ears_;
  asio::steady_timer nap_;
  asio::steady_timer ears_nap_;
  std::shared_ptr<Housekeeper> housekeeper_;

  std::map<std::string, Watched> watched_;
  std::vector<std::string> newly_watched_;
  std::deque<std::string> dirty_;
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
    self->plan_.set_has_newly_watched(!self->newly_watched_.empty());
    self->plan_.set_has_dirty(!self->dirty_.empty());
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

pg::ConnectOptions Tailer::Runner::connect_options(const char* name) const {
  pg::ConnectOptions out;
  out.conninfo = conninfo_;
  out.application_name = name;
  out.connect_time_max = options_.time_max;
  return out;
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
  auto options = connect_options("viewgate tail");
  auto connected = co_await look_.connect(std::move(options));
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
  std::vector<FollowerPtr> followers;
  for (const auto& [space, watched] : watched_) {
    if (watched.follower) followers.push_back(watched.follower);
  }
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
  const auto found = watched_.find(follower->space);
  if (stopped_ || found == watched_.end() || found->second.follower != follower) return;
  const std::optional<errc> broken = standing.broken ? standing.broken : follower->fault;
  if (!broken) {
    note_head(follower->space, standing.head.sequence);
    return;
  }
  follower->is_watched = false;
  found->second.follower = std::make_shared<Follower>(follower->space, standing.head);
  found->second.head = standing.head.sequence;
  has_handed_on_ = true;
  sink_.on_broken(follower->space, *broken, standing.head);
}

pg::Task<void> Tailer::Runner::learn() {
  std::vector<std::string> spaces = newly_watched_;
  std::vector<Position> starts(spaces.size());
  const std::size_t asked = spaces.size();
  auto found = co_await standings(look_, spaces, std::move(starts), options_.time_max);
  if (!found) co_return found.error();
  newly_watched_.erase(newly_watched_.begin(), newly_watched_.begin() + static_cast<std::ptrdiff_t>(asked));
  for (std::size_t i = 0; i < asked && !stopped_; ++i) {
    const auto watched = watched_.find(spaces[i]);
    if (watched == watched_.end() || watched->second.follower) continue;  // unwatched meanwhile, or asked for twice
    const Position head = (*found)[i].head;
    watched->second.follower = std::make_shared<Follower>(spaces[i], head);
    watched->second.head = head.sequence;
    has_handed_on_ = true;
    sink_.on_watched(spaces[i], head);
  }
  co_return Result<void>();
}

pg::Task<pg::Rows> Tailer::Runner::look_once() {
  ++stats_.looks;
  std::string sql =
      "select name, head, snapshot::text, numbered, skipped, bell, mark from viewgate.look($1::pg_snapshot)";
  pg::Params params(1, previous_);
  return look_.exec(std::move(sql), std::move(params), options_.time_max);
}

pg::Task<void> Tailer::Runner::look() {
  if (!previous_) co_return co_await look_afresh();
  auto rows = co_await look_once();
  if (!rows) co_return rows.error();
  const int last = rows->size() - 1;
  for (int i = 0; i < last; ++i) {
    const pg::Row row = (*rows)[i];
    note_head(row.string(0), Sequence{row.integer(1)});
  }
  // After a look that had to skip something, the next one tells the same moves again: they are no news.
  if (last >= 0) summarize((*rows)[last], last > 0 && !last_look_skipped_);
  co_return Result<void>();
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

void Tailer::Runner::note_head(const std::string& space, Sequence head) {
  const auto found = watched_.find(space);
  if (found == watched_.end() || !found->second.follower) return;
  Watched& watched = found->second;
  watched.head = std::max(watched.head, head);
  if (watched.head > watched.follower->position.sequence) mark_dirty(space, watched);
}

void Tailer::Runner::mark_dirty(const std::string& space, Watched& watched) {
  if (watched.is_dirty) return;
  watched.is_dirty = true;
  dirty_.push_back(space);
}

/// The next spaces to read, each with what is known of it; those that are not watched any more are forgotten.
std::vector<FollowerPtr> Tailer::Runner::take_dirty() {
  std::vector<FollowerPtr> out;
  while (!dirty_.empty() && out.size() < options_.spaces_per_read) {
    const auto found = watched_.find(dirty_.front());
    dirty_.pop_front();
    if (found == watched_.end() || !found->second.is_dirty) continue;
    found->second.is_dirty = false;
    out.push_back(found->second.follower);
  }
  return out;
}

pg::Task<void> Tailer::Runner::read() {
  const std::vector<FollowerPtr> followers = take_dirty();
  if (followers.empty()) co_return Result<void>();
  PartBuilder builder(options_.part_bytes_max, [this](CommitPartPtr part) { hand_on(std::move(part)); });
  std::vector<std::string> spaces;
  std::vector<std::int64_t> afters;
  std::vector<Sequence> before;
  for (const FollowerPtr& follower : followers) {
    builder.follow(follower);
    spaces.push_back(follower->space);
    afters.push_back(follower->position.sequence.value);
    before.push_back(follower->position.sequence);
  }
  std::string sql = "select * from viewgate.read_log($1::text[], $2::bigint[], $3::int)";
  pg::Params params;
  params.emplace_back(pg::array_text(spaces));
  params.emplace_back(pg::array_text(afters));
  params.emplace_back(std::to_string(options_.changes_per_read));
  std::function<bool(const pg::Row&)> on_row = [this, &builder](const pg::Row& row) {
    builder.add(row);
    return !stopped_;
  };
  auto done = co_await look_.stream(std::move(sql), std::move(params), std::move(on_row), options_.time_max);
  if (!done) co_return done.error();
  builder.finish();
  auto suspects = settle(followers, before);
  if (suspects.empty()) co_return Result<void>();
  co_return co_await verify(std::move(suspects));
}

/// After a read: what is not at its head yet is dirty again. Returns those that did not get what should follow.
std::vector<FollowerPtr> Tailer::Runner::settle(const std::vector<FollowerPtr>& read,
                                                const std::vector<Sequence>& before) {
  std::vector<FollowerPtr> suspects;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const auto found = watched_.find(read[i]->space);
    if (found == watched_.end() || found->second.follower != read[i]) continue;
    const Sequence reached = read[i]->position.sequence;
    const bool is_behind = reached < found->second.head;
    if (is_behind && reached == before[i] && !read[i]->fault) read[i]->fault = errc::log_corrupt;
    if (read[i]->fault) {
      suspects.push_back(read[i]);  // unless it was pruned: verify finds out
    } else if (is_behind) {
      mark_dirty(read[i]->space, found->second);
    }
  }
  return suspects;
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
  for (const Change& change : part->changes) {
    turn_bytes_ +=
        change.key.size() + (change.before ? change.before->size() : 0) + (change.after ? change.after->size() : 0);
  }
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
  std::string sql = "select viewgate.arm_bell()::text";
  auto armed = co_await look_.exec(std::move(sql), pg::Params(), options_.time_max);
  if (!armed) co_return armed.error();
  plan_.on_armed(first_xid((*armed)[0].text(0)));
  co_return Result<void>();
}

pg::Task<void> Tailer::Runner::send_canary() {
  plan_.on_canary_sent(Clock::now());  // before it is sent: it may be heard before this connection has its answer
  std::string sql = "select pg_notify('viewgate', $1)";
  pg::Params params(1, canary_);
  auto sent = co_await look_.exec(std::move(sql), std::move(params), options_.time_max);
  if (!sent) co_return sent.error();
  co_return Result<void>();
}

/// The listening connection: whatever happens to it costs promptness, never a commit.
asio::awaitable<void> Tailer::Runner::listen(std::shared_ptr<Runner> self) {
  std::chrono::milliseconds pause = self->options_.times.reconnect_first;
  while (!self->stopped_) {
    const std::uint64_t listens = self->stats_.listens;
    auto ended = co_await self->listen_once();  // always with an error
    self->ears_.close();
    self->plan_.on_deaf();
    const bool had_listened = self->stats_.listens != listens;
    pause =
        had_listened ? self->options_.times.reconnect_first : std::min(pause * 2, self->options_.times.reconnect_max);
    if (self->stopped_) co_return;
    self->ears_nap_.expires_after(pause);
    boost::system::error_code ignored;
    co_await self->ears_nap_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

pg::Task<void> Tailer::Runner::listen_once() {
  auto options = connect_options("viewgate listen");
  auto connected = co_await ears_.connect(std::move(options));
  if (!connected) co_return connected.error();
  std::string command = "listen viewgate";
  auto listening = co_await ears_.exec_script(std::move(command), options_.time_max);
  if (!listening) co_return listening.error();
  ++stats_.listens;
  plan_.on_listening(Clock::now());
  nap_.cancel();
  const std::chrono::milliseconds silence_max = 2 * (options_.times.canary_interval + options_.times.canary_time_max);
  for (;;) {
    auto heard = co_await ears_.wait_notification(silence_max);
    if (!heard) co_return heard.error();
    if (!*heard) co_return Error{errc::timeout, "", "not even our own notifications arrive"};
    if (options_.ignore_notifications) continue;
    if (**heard == canary_) {
      plan_.on_canary_heard();
    } else if (!(*heard)->starts_with(kCanary)) {
      ++stats_.notified;
      plan_.on_notified(Clock::now());
      nap_.cancel();
    }
  }
}

Tailer::Tailer(asio::io_context& io, std::string conninfo, TailerOptions options, TailSink& sink)
    : runner_(std::make_shared<Runner>(io.get_executor(), std::move(conninfo), options, sink)) {}

Tailer::~Tailer() { stop(); }

void Tailer::start() { runner_->start(); }

void Tailer::stop() { runner_->stop(); }

void Tailer::watch(std::string space) { runner_->watch(std::move(space)); }

void Tailer::unwatch(const std::string& space) { runner_->unwatch(space); }

TailerStats Tailer::stats() const { return runner_->stats(); }

}  // namespace viewgate::ledger
