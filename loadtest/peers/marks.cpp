#include "loadtest/peers/marks.hpp"

#include <array>
#include <cstdio>

namespace viewgate::loadtest {

namespace {

std::uint64_t digits(std::string_view text) {
  std::uint64_t out = 0;
  for (const char c : text) out = out * 10 + static_cast<std::uint64_t>(c - '0');
  return out;
}

}  // namespace

std::string marked_text(const Mark& mark, std::size_t bytes) {
  std::array<char, mark_bytes + 1> text;
  std::snprintf(text.data(), text.size(), "@%020lld%010u", static_cast<long long>(mark.due.time_since_epoch().count()),
                mark.number);
  std::string out(text.data(), mark_bytes);
  out.resize(std::max(bytes, mark_bytes), 'x');
  return out;
}

Mark MarkScanner::read(std::string_view text) {
  const auto due = std::chrono::nanoseconds(static_cast<std::int64_t>(digits(text.substr(1, 20))));
  return {Clock::time_point(due), static_cast<std::uint32_t>(digits(text.substr(21, 10)))};
}

}  // namespace viewgate::loadtest
