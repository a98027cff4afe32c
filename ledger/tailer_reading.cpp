// The tailer's reading: what the log has is handed on, and every position is one that the ledger still has.
#include "ledger/tailer_runner.hpp"

namespace viewgate::ledger {
namespace {

using Clock = PlanClock;

/// Followers that a read was begun for. Those of a read that ends halfway are dirty again, and none of them waits for a
/// reader of large commits that was never told of it.
class Taken {
 public:
  Taken(Watchlist& watchlist, const std::vector<FollowerPtr>& followers)
      : watchlist_(watchlist), followers_(followers) {}
  ~Taken() {
    if (is_settled_) return;
    for (const FollowerPtr& follower : followers_) watchlist_.take_back(follower);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  void settled() { is_settled_ = true; }

 private:
  Watchlist& watchlist_;
  const std::vector<FollowerPtr>& followers_;
  bool is_settled_ = false;
};

}  // namespace

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

/// What is not handed on, whatever way this ends, is to be read again.
pg::Task<void> Tailer::Runner::read() {
  std::vector<FollowerPtr> followers = watchlist_.take_dirty(options_.spaces_per_read);
  if (followers.empty()) co_return Result<void>();
  Taken taken(watchlist_, followers);
  std::vector<Sequence> before;
  before.reserve(followers.size());
  for (const FollowerPtr& follower : followers) before.push_back(follower->position.sequence);
  auto done = co_await read_for(followers);
  if (!done) co_return done.error();
  taken.settled();
  for (const FollowerPtr& follower : followers) {
    if (follower->is_large && watchlist_.is_current(follower)) large_reader_->read(follower);
  }
  auto suspects = watchlist_.settle(followers, before);  // pruned before they were read, another history, or worse
  if (suspects.empty()) co_return Result<void>();
  co_return co_await verify(std::move(suspects));
}

pg::Task<void> Tailer::Runner::read_for(std::vector<FollowerPtr> followers) {
  PartBuilder builder(options_.part_bytes_max, [this](CommitPartPtr part) { hand_on(std::move(part)); });
  for (const FollowerPtr& follower : followers) builder.follow(follower);
  std::string sql = kReadForViewsButLarge;
  pg::Params params = read_log_params(followers, options_.changes_per_read, options_.part_bytes_max);
  params.emplace_back(std::to_string(options_.changes_per_read));
  std::function<bool(const pg::Row&)> on_row = [this, &builder](const pg::Row& row) {
    builder.add(row);
    return !stopped_;
  };
  auto done = co_await look_.stream_prepared(std::move(sql), std::move(params), std::move(on_row),
                                             kReadSilenceShare * options_.time_max);
  if (!done) co_return done.error();
  builder.finish();
  co_return Result<void>();
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

// Stopped by whoever owns this, as the listener is.
std::shared_ptr<LargeReader> Tailer::Runner::make_large_reader() {
  LargeReaderOptions options{connect_options("viewgate large"), options_.part_bytes_max,
                             kReadSilenceShare * options_.time_max, options_.times.reconnect_max};
  LargeReaderEvents events;
  events.on_part = [this](CommitPartPtr part) { hand_on(std::move(part)); };
  events.on_failed = [this](const std::string& space, const Error& error) {
    housekeeper_->note_failure("the reading of a large commit of space " + space, error);
  };
  events.on_done = [this](const FollowerPtr& follower) {
    end_turn();
    watchlist_.take_back(follower);
    nap_.cancel();
  };
  return std::make_shared<LargeReader>(executor_, std::move(options), std::move(events));
}

}  // namespace viewgate::ledger
