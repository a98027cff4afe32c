#include "gateway/memory_watch.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace viewgate::gateway {
namespace {

constexpr std::chrono::milliseconds look_interval{200};
constexpr std::chrono::seconds tell_interval{1};

bool is_near(std::uint64_t use, std::uint64_t max) { return max > 0 && use > max - max / 10; }

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

bool MemoryBounds::nearly_reached_by(const MemoryUse& use) const {
  return is_near(use.resident, resident) || is_near(use.address_space, address_space);
}

std::uint64_t group_memory_max(const std::string& membership, const std::string& root) {
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view unified = "0::";
    if (!line.starts_with(unified)) continue;
    // A number, or "max"; the root of all groups has no such file.
    std::uint64_t out = 0;
    std::istringstream(text_of(root + line.substr(unified.size()) + "/memory.max")) >> out;
    return out;
  }
  return 0;
}

MemoryBounds memory_bounds(std::uint64_t configured) {
  MemoryBounds out;
  out.resident = configured > 0 ? configured : group_memory_max(text_of("/proc/self/cgroup"), "/sys/fs/cgroup");
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) out.address_space = limit.rlim_cur;
  return out;
}

MemoryUse read_memory_use() {
  std::uint64_t pages = 0;
  std::uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident_pages;
  const auto page_bytes = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
  return {resident_pages * page_bytes, pages * page_bytes};
}

bool MemoryWatch::is_short(Time now) {
  if (bounds_.resident == 0 && bounds_.address_space == 0) return false;
  bool tells = false;
  bool out = false;
  {
    const std::scoped_lock lock(mutex_);
    if (now - looked_at_ >= look_interval) {
      looked_at_ = now;
      is_short_ = bounds_.nearly_reached_by(read_());
    }
    out = is_short_;
    tells = out && now - told_at_ >= tell_interval;
    if (tells) told_at_ = now;
  }
  if (tells) on_short_();
  return out;
}

}  // namespace viewgate::gateway
