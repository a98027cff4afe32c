// How many bytes of one kind there are, and may be: counted by whoever holds some, for as long as it does. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace viewgate::gateway {

class ByteBudget {
 public:
  explicit ByteBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  /// False: it would be too many, and nothing was counted.
  [[nodiscard]] bool take(std::size_t bytes) {
    const std::size_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= bytes_max_) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_{0};
};

/// What one holder has taken, given back when it goes. Used by one thread at a time.
class ByteCharge {
 public:
  ByteCharge() = default;
  explicit ByteCharge(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  ByteCharge(ByteCharge&& other) noexcept : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  ByteCharge& operator=(ByteCharge&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    budget_ = std::move(other.budget_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ByteCharge(const ByteCharge&) = delete;
  ByteCharge& operator=(const ByteCharge&) = delete;
  ~ByteCharge() { give_back(); }

  /// False: nothing more is there to be had.
  [[nodiscard]] bool grow(std::size_t bytes) {
    if (!budget_->take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }

 private:
  void give_back() {
    if (budget_) budget_->give_back(bytes_);
  }

  std::shared_ptr<ByteBudget> budget_;
  std::size_t bytes_ = 0;
};

}  // namespace viewgate::gateway
