#include "gateway/outlet.hpp"

#include "gateway/log.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::size_t frame_overhead = 128;  // a frame without text, and its place in the lists
constexpr std::size_t lost_clients_max = 1000;

/// Counted from when it is posted until the reactor has taken it.
struct Counted {
  Counted(Delivery what, std::size_t size, std::shared_ptr<std::atomic<std::size_t>> total)
      : delivery(std::move(what)), bytes(size), in_flight(std::move(total)) {
    in_flight->fetch_add(bytes, std::memory_order_relaxed);
  }
  ~Counted() { in_flight->fetch_sub(bytes, std::memory_order_relaxed); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  const Delivery delivery;
  const std::size_t bytes;
  const std::shared_ptr<std::atomic<std::size_t>> in_flight;
};

}  // namespace

void Outlet::put(GroupFramePtr frame) {
  if (behind_) return;
  bytes_ += frame->text.size() + frame_overhead;
  frames_.push_back(std::move(frame));
}

void Outlet::put(LoggedReceiptPtr receipt) {
  const std::size_t size = receipt->text.size() + receipt->client_key.size() + frame_overhead;
  if (receipts_bytes_ + size > bytes_max_) {
    lost_.insert(receipt->client_key);
    if (lost_.size() > lost_clients_max) all_lost_ = true;
    if (all_lost_) lost_.clear();
    return;
  }
  receipts_bytes_ += size;
  receipts_.push_back(std::move(receipt));
}

void Outlet::flush(Heads heads) {
  const bool has_receipts = !receipts_.empty() || !lost_.empty() || all_lost_;
  if (behind_ || (frames_.empty() && heads.empty() && !has_receipts)) return;
  const std::size_t waiting = in_flight_->load(std::memory_order_relaxed);
  // One delivery always passes, however large: a bound that nothing fits would stop everything.
  if (waiting > 0 && waiting + bytes_ > bytes_max_) {
    behind_ = true;
    frames_.clear();
    bytes_ = 0;
    log::warn("reactor_behind",
              {{"reactor", static_cast<std::int64_t>(reactor_)}, {"bytes", static_cast<std::int64_t>(waiting)}});
    return;
  }
  const std::size_t bytes = std::exchange(bytes_, 0) + std::exchange(receipts_bytes_, 0);
  Delivery posted{std::exchange(frames_, {}), std::move(heads), std::exchange(receipts_, {}), std::exchange(lost_, {}),
                  std::exchange(all_lost_, false)};
  const auto counted = std::make_shared<const Counted>(std::move(posted), bytes, in_flight_);
  const std::shared_ptr<const Delivery> delivery(counted, &counted->delivery);
  surroundings_.post(reactor_, [delivery](ReactorPort& port) { port.on_delivery(delivery); });
}

bool Outlet::take_caught_up() {
  if (!behind_ || in_flight_->load(std::memory_order_relaxed) > bytes_max_ / 2) return false;
  behind_ = false;
  return true;
}

}  // namespace viewgate::gateway
