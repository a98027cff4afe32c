// Inside tailer.cpp, tailer_reading.cpp and tailer_waiting.cpp only: what they share.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/housekeeper.hpp"
#include "ledger/large_reader.hpp"
#include "ledger/listener.hpp"
#include "ledger/pg/connection.hpp"
#include "ledger/standing.hpp"
#include "ledger/tailer.hpp"
#include "ledger/tailer_plan.hpp"
#include "ledger/watchlist.hpp"

namespace viewgate::ledger {

/// The state of a tailer and the coroutine that works on it, which holds it alive. Calls of the sink may watch,
/// unwatch or stop, so nothing is kept across one but shared pointers.
class Tailer::Runner : public std::enable_shared_from_this<Runner> {
 public:
  Runner(boost::asio::any_io_executor executor, std::string conninfo, TailerOptions options, TailSink& sink);

  void start();

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
    plan_.on_notified(PlanClock::now());
    nap_.cancel();
  }

  [[nodiscard]] TailerStats stats() const {
    TailerStats out = stats_;
    out.wakeups = plan_.wakeups(PlanClock::now());
    out.pruned = housekeeper_->pruned();
    out.housekeeping = housekeeper_->failures();
    out.size = housekeeper_->size();
    return out;
  }

  [[nodiscard]] std::vector<SpaceLag> lags() const { return watchlist_.lags(PlanClock::now()); }
  [[nodiscard]] SpaceLag lag(const std::string& space) const { return watchlist_.lag(space, PlanClock::now()); }

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<Runner> self);
  boost::asio::awaitable<void> nap(PlanClock::time_point until);
  void failed(const Error& error);

  pg::Task<void> take(TailerPlan::Step step);
  pg::Task<void> connect();
  pg::Task<void> recover();
  pg::Task<void> learn();
  pg::Task<void> look();
  pg::Task<void> look_afresh();
  pg::Task<void> read();
  pg::Task<void> read_for(std::vector<FollowerPtr> followers);
  pg::Task<void> arm();
  pg::Task<void> send_canary();

  pg::Task<pg::Rows> look_once();
  void summarize(const pg::Row& row, bool has_moved);
  pg::Task<void> see_waiting();
  pg::Task<void> verify(std::vector<FollowerPtr> followers);
  void check(const FollowerPtr& follower, const Standing& standing);
  void note_erased(const std::string& space, Sequence through);
  void hand_on(CommitPartPtr part);
  void end_turn();

  [[nodiscard]] pg::ConnectOptions connect_options(std::string name) const;
  [[nodiscard]] std::shared_ptr<LargeReader> make_large_reader();
  void start_listening();
  void hear(std::string_view payload);

  boost::asio::any_io_executor executor_;
  const std::string conninfo_;
  const TailerOptions options_;
  TailSink& sink_;
  std::mt19937_64 random_;
  const std::string canary_;

  TailerPlan plan_;
  pg::Connection look_;
  boost::asio::steady_timer nap_;
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<Housekeeper> housekeeper_;
  std::shared_ptr<LargeReader> large_reader_;

  Watchlist watchlist_;
  std::optional<std::string> previous_;  ///< what the next look is told: the snapshot up to which all is known
  bool last_look_skipped_ = false;
  PlanClock::time_point see_waiting_at_;
  std::optional<std::int64_t> registry_mark_;
  std::size_t turn_bytes_ = 0;
  bool has_handed_on_ = false;
  bool degraded_ = false;
  bool stopped_ = false;
  TailerStats stats_;
};

}  // namespace viewgate::ledger
