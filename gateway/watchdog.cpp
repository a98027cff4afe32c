#include "gateway/watchdog.hpp"

#include "gateway/log.hpp"

namespace viewgate::gateway {
namespace {

/// Four looks in the time that the service manager grants: one that comes late costs nothing.
constexpr int looks_per_grant = 4;
constexpr std::chrono::seconds unwatched_interval{10};

}  // namespace

Watchdog::Watchdog(boost::asio::io_context& io, const ServiceManager& manager,
                   const std::vector<std::unique_ptr<Reactor>>& reactors)
    : manager_(manager),
      reactors_(reactors),
      interval_(manager.watchdog().value_or(looks_per_grant * unwatched_interval) / looks_per_grant),
      timer_(io) {}

void Watchdog::start() {
  seen_.resize(reactors_.size());
  if (manager_.watchdog()) manager_.alive();
  look_later();
}

void Watchdog::look_later() {
  timer_.expires_after(interval_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    look();
    look_later();
  });
}

void Watchdog::look() {
  bool all_turn = true;
  for (std::size_t i = 0; i < reactors_.size(); ++i) {
    const auto turns = reactors_[i]->turns();
    const bool stands_still = turns == seen_[i].turns;
    if (stands_still != seen_[i].stands_still) {
      if (stands_still) {
        log::error("reactor_stands_still", {{"reactor", i}});
      } else {
        log::warn("reactor_turns_again", {{"reactor", i}});
      }
    }
    seen_[i] = {turns, stands_still};
    all_turn = all_turn && !stands_still;
  }
  if (all_turn && manager_.watchdog()) manager_.alive();
}

}  // namespace viewgate::gateway
