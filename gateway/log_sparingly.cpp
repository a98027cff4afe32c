#include "gateway/log_sparingly.hpp"

#include <utility>

namespace viewgate::gateway::log {

std::optional<std::uint64_t> Pace::next(std::string_view event, Time now) {
  const std::scoped_lock lock(mutex_);
  auto found = events_.find(event);
  if (found == events_.end()) found = events_.emplace(event, OfEvent{}).first;
  OfEvent& of_event = found->second;
  if (!of_event.second || now - *of_event.second >= std::chrono::seconds(1)) {
    of_event.second = now;
    of_event.lines = 0;
  }
  if (++of_event.lines > sparing_lines_per_second) {
    ++of_event.left_out;
    return std::nullopt;
  }
  return std::exchange(of_event.left_out, 0);
}

void write_sparingly(Level level, std::string_view event, std::initializer_list<Field> fields) {
  static Pace pace;
  if (!enabled(level)) return;
  const auto left_out = pace.next(event, std::chrono::steady_clock::now());
  if (!left_out) return;
  if (*left_out > 0) write(level, "lines_left_out", {{"of", event}, {"lines", *left_out}});
  write(level, event, fields);
}

}  // namespace viewgate::gateway::log
