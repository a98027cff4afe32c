#include "ledger/mutator.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <set>

#include "ledger/mutation_plan.hpp"
#include "ledger/mutation_queue.hpp"
#include "ledger/mutation_write.hpp"
#include "ledger/pg/pool.hpp"
#include "ledger/settled.hpp"
#include "ledger/spawn.hpp"

namespace viewgate::ledger {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using Done = std::function<void(Result<MutationAnswer>)>;

constexpr std::chrono::milliseconds kRetryPause{5};
constexpr std::int64_t kBellArmed = 2;

pg::ConnectOptions connect_options(const std::string& conninfo, const MutatorOptions& options) {
  pg::ConnectOptions out = pg::connect_options(conninfo, "viewgate write", options.time_max);
  out.lock_timeout = options.lock_time_max;
  out.idle_in_transaction_timeout = options.idle_time_max;
  out.planner_settings = "set plan_cache_mode = force_generic_plan";
  return out;
}

MutationQueueLimits queue_limits(const MutatorOptions& options) {
  return {options.batch_max, options.batch_bytes_max, options.waiting_max, options.waiting_bytes_max};
}

/// Passes by itself: the same transaction may succeed when it is run again.
bool is_passing(errc code) { return code == errc::retry || code == errc::unavailable || code == errc::timeout; }

/// Somebody has a record that was waited for, not the space.
bool is_record_held(const Error& error) {
  constexpr const char* lock_not_available = "55P03";
  return error.sqlstate == lock_not_available && error.context.find("lock_space") == std::string::npos;
}

/// Records of which it is known that somebody has them.
class HeldRecords {
 public:
  void add(const MutationRequest& request) {
    for (const Mutation& each : request.mutations) records_.emplace(each.collection, each.key);
  }
  [[nodiscard]] bool has_any_of(const MutationRequest& request) const {
    return std::ranges::any_of(request.mutations, [this](const Mutation& each) {
      return records_.contains({each.collection, each.key});
    });
  }

 private:
  std::set<std::pair<std::string, std::string>> records_;
};

/// Data that the database does not take (class 22) is the request's fault, whatever its form looked like.
Error as_answer(Error error) {
  if (error.code == errc::rejected && error.sqlstate.starts_with("22")) error.code = errc::invalid_mutation;
  return error;
}

}  // namespace

class Mutator::Work : public std::enable_shared_from_this<Work> {
 public:
  Work(asio::io_context& io, const std::string& conninfo, MutatorOptions options, std::function<void()> on_committed)
      : executor_(io.get_executor()),
        options_(options),
        bounds_{options.record_bytes_max, options.effect_bytes_max},
        on_committed_(std::move(on_committed)),
        writers_(executor_, connect_options(conninfo, options), options.connections_max),
        bell_(executor_, connect_options(conninfo, options), 1),
        queue_(queue_limits(options)) {}

  void mutate(MutationRequest request, WriteRulesPtr rules, Done done) {
    if (stopped_) return;
    if (std::string fault = request_fault(request); !fault.empty()) {
      return refuse(std::move(done), Error{errc::invalid_mutation, "", std::move(fault)});
    }
    const std::size_t bytes = bytes_of(request);
    if (!queue_.has_room_for(request.space, request.principal, bytes)) {
      ++stats_.queue_full;
      const std::string detail = "too many mutations of space '" + request.space + "', or of this principal, wait";
      return refuse(std::move(done), Error{errc::unavailable, "", detail});
    }
    queue_.add(PendingMutation{std::move(request), std::move(rules), std::move(done), bytes});
    start_lane();
  }

  void receipt(MutationLookup lookup, Done done) {
    if (stopped_) return;
    if (lookups_ >= options_.lookups_max) {
      return refuse(std::move(done), Error{errc::unavailable, "", "too many receipts are being looked up"});
    }
    ++lookups_;
    spawn(executor_, run_lookup(shared_from_this(), std::move(lookup), std::move(done)));
  }

  void stop() {
    stopped_ = true;
    writers_.close();
    bell_.close();
  }

  [[nodiscard]] MutatorStats stats() const {
    MutatorStats out = stats_;
    out.waiting = queue_.waiting();
    out.pool = writers_.stats();
    return out;
  }

 private:
  static asio::awaitable<void> run_lane(std::shared_ptr<Work> self);
  static asio::awaitable<void> run_lookup(std::shared_ptr<Work> self, MutationLookup lookup, Done done);
  pg::Task<MutationAnswer> leased_lookup(const MutationLookup& lookup);
  static asio::awaitable<void> run_bell(std::shared_ptr<Work> self);

  void refuse(Done done, Error error) {
    ++stats_.failures;
    asio::post(executor_, [self = shared_from_this(), done = std::move(done), error = std::move(error)] {
      if (!self->stopped_) done(error);
    });
  }

  void start_lane();
  asio::awaitable<void> write(PendingBatch& batch);
  asio::awaitable<void> write_singly(PendingBatch& batch);
  pg::Task<MutationPlan> write_again(PendingBatch& batch, int held_attempts_max);
  pg::Task<MutationPlan> write_once(PendingBatch& batch);
  void answer(PendingBatch& batch, MutationPlan plan);
  void fail(PendingBatch& batch, const Error& error);
  void committed(std::int64_t bell);
  asio::awaitable<void> pause(std::chrono::milliseconds time);

  asio::any_io_executor executor_;
  const MutatorOptions options_;
  const MutationBounds bounds_;
  const std::function<void()> on_committed_;
  pg::Pool writers_;
  pg::Pool bell_;  ///< NOTIFY takes a lock over the whole database: on a connection, and in transactions, of its own
  MutationQueue queue_;
  std::size_t lanes_ = 0;  ///< transactions side by side
  std::size_t lookups_ = 0;
  bool is_lane_starting_ = false;
  bool is_ringing_ = false;
  bool stopped_ = false;
  MutatorStats stats_;
};

/// One more transaction side by side with the others, if there may be. It takes all that has become ready when it begins.
void Mutator::Work::start_lane() {
  if (is_lane_starting_ || !queue_.is_ready() || lanes_ >= options_.connections_max) return;
  is_lane_starting_ = true;
  ++lanes_;
  spawn(executor_, run_lane(shared_from_this()));
}

asio::awaitable<void> Mutator::Work::run_lane(std::shared_ptr<Work> self) {
  self->is_lane_starting_ = false;
  while (!self->stopped_ && self->queue_.is_ready()) {
    PendingBatch batch = self->queue_.take();
    self->start_lane();
    co_await self->write(batch);
  }
  --self->lanes_;
}

/// A batch that the database refuses for good is run again in smaller ones, down to single requests: one must not take
/// the others with it. So is one of which an append has a record: who does not ask for that one does not wait for it.
asio::awaitable<void> Mutator::Work::write(PendingBatch& batch) {
  const std::vector<std::string> spaces = batch.content.spaces;
  const bool is_shared = spaces.size() > 1;
  const bool is_one = batch.pending.size() == 1;
  auto plan = co_await write_again(batch, is_one ? options_.attempts_max : 1);
  if (stopped_) co_return;
  if (plan) {
    answer(batch, std::move(*plan));
  } else if (is_shared && plan.error().code != errc::unavailable) {
    // Each space gets a transaction of its own, so that what holds one up, or is wrong with it, is no affair of the others.
    queue_.keep_alone(spaces);
    queue_.give_back(batch, 0);
  } else if (!is_one && (is_record_held(plan.error()) || !is_passing(plan.error().code))) {
    co_await write_singly(batch);
  } else {
    fail(batch, as_answer(plan.error()));
  }
  if (stopped_) co_return;
  queue_.finish(spaces);
  start_lane();
}

/// The space waits for each record once, however many ask for it.
asio::awaitable<void> Mutator::Work::write_singly(PendingBatch& batch) {
  HeldRecords held;
  std::optional<Error> why;
  for (PendingMutation& pending : batch.pending) {
    const bool is_known = why && held.has_any_of(pending.request);
    std::vector<PendingMutation> one;
    one.push_back(std::move(pending));
    PendingBatch single = batch_of(std::move(one));
    if (is_known) {
      fail(single, *why);
      if (stopped_) co_return;
      continue;
    }
    auto plan = co_await write_again(single, 1);
    if (stopped_) co_return;
    if (!plan && is_record_held(plan.error())) {
      why = plan.error();
      held.add(*single.content.requests.front().request);
    }
    if (plan) {
      answer(single, std::move(*plan));
    } else {
      fail(single, as_answer(plan.error()));
    }
  }
}

pg::Task<MutationPlan> Mutator::Work::write_again(PendingBatch& batch, int held_attempts_max) {
  const Clock::time_point end = Clock::now() + options_.time_max;
  for (int attempt = 1;; ++attempt) {
    auto plan = co_await settled(write_once(batch));
    if (plan || stopped_ || attempt >= options_.attempts_max || Clock::now() >= end) co_return plan;
    if (attempt >= held_attempts_max && is_record_held(plan.error())) co_return plan;
    const bool is_shared = batch.content.spaces.size() > 1;
    const errc why = plan.error().code;
    if (is_shared ? why != errc::unavailable : !is_passing(why)) co_return plan;
    ++stats_.retries;
    co_await pause(attempt * kRetryPause);
  }
}

pg::Task<MutationPlan> Mutator::Work::write_once(PendingBatch& batch) {
  auto lease = co_await writers_.acquire(options_.time_max);
  if (!lease) co_return lease.error();
  pg::Connection& connection = **lease;
  ++stats_.transactions;

  const LockTimes times{options_.shared_lock_time_max, std::min(options_.record_lock_time_max, options_.lock_time_max)};
  std::vector<pg::Statement> opening = opening_of(batch.content, bounds_, times);
  auto opened = co_await connection.exec_all_prepared(std::move(opening), options_.time_max);
  if (!opened) {
    if (connection.is_open()) co_await connection.exec_script("rollback", options_.time_max);
    co_return opened.error();
  }
  const MutationState state = state_of(opened->back(), batch.content);
  MutationPlan plan = plan_mutations(batch.content.requests, state, bounds_);
  std::vector<pg::Statement> closing = closing_of(batch.content, plan);
  auto closed = co_await connection.exec_all_prepared(std::move(closing), options_.time_max);
  if (!closed) {
    if (connection.is_open()) co_await connection.exec_script("rollback", options_.time_max);
    co_return closed.error();
  }
  if (!plan.commits.empty()) committed(closed->front()[0].integer(0));
  co_return plan;
}

/// Callbacks may stop the work, or ask for more.
void Mutator::Work::answer(PendingBatch& batch, MutationPlan plan) {
  queue_.give_back(batch, plan.answers.size());
  for (std::size_t i = 0; i < batch.pending.size() && !stopped_; ++i) {
    Result<MutationAnswer>& answer = plan.answers[i];
    if (!answer) {
      ++stats_.failures;
    } else if (answer->kind == MutationAnswer::Kind::receipt) {
      ++stats_.receipts;
    } else if (answer->kind == MutationAnswer::Kind::replay) {
      ++stats_.replays;
    }
    batch.pending[i].done(std::move(answer));
  }
}

void Mutator::Work::fail(PendingBatch& batch, const Error& error) {
  for (PendingMutation& pending : batch.pending) {
    if (stopped_) return;
    ++stats_.failures;
    pending.done(error);
  }
}

void Mutator::Work::committed(std::int64_t bell) {
  if (stopped_) return;
  if (on_committed_) on_committed_();
  if (bell != kBellArmed || is_ringing_) return;
  is_ringing_ = true;
  spawn(executor_, run_bell(shared_from_this()));
}

/// Wakes nodes that sleep. A hint: where it fails, they look by themselves a little later.
asio::awaitable<void> Mutator::Work::run_bell(std::shared_ptr<Work> self) {
  auto lease = co_await self->bell_.acquire(self->options_.time_max);
  if (lease) {
    std::string sql = "select viewgate.ring()";
    co_await (*lease)->exec(std::move(sql), pg::Params(), self->options_.time_max);
  }
  self->is_ringing_ = false;
}

asio::awaitable<void> Mutator::Work::run_lookup(std::shared_ptr<Work> self, MutationLookup lookup, Done done) {
  auto answer = co_await settled(self->leased_lookup(lookup));
  --self->lookups_;
  if (!self->stopped_) done(std::move(answer));
}

pg::Task<MutationAnswer> Mutator::Work::leased_lookup(const MutationLookup& lookup) {
  auto lease = co_await writers_.acquire(options_.time_max);
  if (!lease) co_return lease.error();
  co_return co_await look_up(**lease, lookup, options_.time_max);
}

asio::awaitable<void> Mutator::Work::pause(std::chrono::milliseconds time) {
  asio::steady_timer timer(executor_, time);
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Mutator::Mutator(asio::io_context& io, const std::string& conninfo, MutatorOptions options,
                 std::function<void()> on_committed)
    : work_(std::make_shared<Work>(io, conninfo, options, std::move(on_committed))) {}

Mutator::~Mutator() { stop(); }

void Mutator::stop() { work_->stop(); }

void Mutator::mutate(MutationRequest request, WriteRulesPtr rules, Done done) {
  work_->mutate(std::move(request), std::move(rules), std::move(done));
}

void Mutator::receipt(std::string space, std::string client, std::string principal, std::int64_t number, Done done) {
  MutationLookup lookup;
  lookup.space = std::move(space);
  lookup.client = std::move(client);
  lookup.principal = std::move(principal);
  lookup.number = number;
  work_->receipt(std::move(lookup), std::move(done));
}

MutatorStats Mutator::stats() const { return work_->stats(); }

}  // namespace viewgate::ledger
