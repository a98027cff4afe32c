#include "gateway/log_sparingly.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

namespace viewgate::gateway::log {
namespace {

/// What one second may still have.
class Pace {
 public:
  /// Absent: not now. Else how many were left out since the last one.
  std::optional<std::uint64_t> next() {
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(mutex_);
    if (now - second_ >= std::chrono::seconds(1)) {
      second_ = now;
      lines_ = 0;
    }
    if (++lines_ > sparing_lines_per_second) {
      ++left_out_;
      return std::nullopt;
    }
    return std::exchange(left_out_, 0);
  }

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point second_{};
  int lines_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace

void write_sparingly(Level level, std::string_view event, std::initializer_list<Field> fields) {
  static Pace pace;
  if (!enabled(level)) return;
  const auto left_out = pace.next();
  if (!left_out) return;
  if (*left_out > 0) write(level, "lines_left_out", {{"lines", *left_out}});
  write(level, event, fields);
}

}  // namespace viewgate::gateway::log
