// What happens on one reactor, counted where it happens, for whoever asks for metrics. Written by the reactor's thread only and
// read by any: relaxed atomics without a locked instruction, and nothing of it is touched per delivery.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gateway/handshake.hpp"
#include "gateway/protocol.hpp"

namespace viewgate::gateway {

/// Of one writer and any number of readers.
class Count {
 public:
  void add(std::uint64_t more = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

/// How many times were up to each of the bounds, and their sum. The bounds are in microseconds; what is above the last one is
/// counted in `count` alone.
class Times {
 public:
  static constexpr std::array<std::int64_t, 14> bounds_us{500,       1'000,      2'500,      5'000,      10'000,
                                                          25'000,    50'000,     100'000,    250'000,    1'000'000,
                                                          5'000'000, 15'000'000, 60'000'000, 300'000'000};

  void add(std::chrono::microseconds time) {
    const std::int64_t us = std::max<std::int64_t>(time.count(), 0);
    for (std::size_t i = 0; i < bounds_us.size(); ++i) {
      if (us > bounds_us[i]) continue;
      buckets_[i].add();
      break;
    }
    count_.add();
    sum_us_.add(static_cast<std::uint64_t>(us));
  }

  [[nodiscard]] std::uint64_t in_bucket(std::size_t index) const { return buckets_[index].value(); }
  [[nodiscard]] std::uint64_t count() const { return count_.value(); }
  [[nodiscard]] std::uint64_t sum_us() const { return sum_us_.value(); }

 private:
  std::array<Count, bounds_us.size()> buckets_;
  Count count_;
  Count sum_us_;
};

/// The limits of a reactor and its clients.
enum class Limit : std::uint8_t {
  strangers,
  connections,
  subscriptions,
  groups,
  messages,
  control_frames,
  input_bytes,
  rings,
  memory
};
/// As the configuration calls them.
inline constexpr std::array<std::string_view, 9> limit_names{
    "limit.strangers",      "limit.connections", "limit.subscriptions", "limit.groups", "limit.messages",
    "limit.control_frames", "limit.input_bytes", "ring.total_bytes",    "limit.memory"};

struct Tally {
  static constexpr std::size_t names_max = 32;  ///< of error codes, of reset reasons

  std::array<Count, names_max> errors;           ///< told to clients, by ErrorCode
  std::array<Count, names_max> resets;           ///< by ResetReason
  std::array<Count, close_codes.size()> closes;  ///< begun or answered by this side, in the order of close_codes
  Count accepted;                                ///< sockets
  Count not_accepted;  ///< closed at once: of an address with too many, or no descriptor was left
  std::array<Count, refusal_reasons.size()> handshakes_refused;  ///< by RefusalReason
  Count welcomes;                                                ///< accepted hellos
  Count subscribed;                                              ///< names of views
  Count resumed;                                                 ///< of these, those that went on from a cursor
  std::array<Count, limit_names.size()> limits;                  ///< times that each was reached
  Count bootstraps_refused;  ///< answers of the engine that there is no snapshot now
  Count ring_misses;         ///< times a subscription fell behind its ring and came back through history
  Times commit_to_socket;    ///< from the writer's transaction time to the reactor's write, per commit and view
  Times bootstraps;          ///< from the question to the engine's answer
  Times histories;
  Times spills;  ///< reads of bootstraps' files that had to wait for the disk

  /// What a session tells its client.
  void count(const Error& error) { errors.at(static_cast<std::size_t>(error.code)).add(); }
  void count(const ResetRequired& reset) { resets.at(static_cast<std::size_t>(reset.reason)).add(); }
  void count(RefusalReason reason) { handshakes_refused.at(static_cast<std::size_t>(reason)).add(); }
  void count(const Welcome&) { welcomes.add(); }
  void count(const Subscribed& answer) {
    subscribed.add();
    if (answer.resumed) resumed.add();
  }
  template <class Document>
  void count(const Document&) {}
  void count_limit(Limit limit) { limits.at(static_cast<std::size_t>(limit)).add(); }

  void count_close(std::uint16_t code) {
    for (std::size_t i = 0; i < close_codes.size(); ++i) {
      if (close_codes[i].code == code) return closes[i].add();
    }
  }
};

}  // namespace viewgate::gateway
