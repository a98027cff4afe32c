// Loaded into a program under test before the C library's own: its wall clock is the real one plus what a file says,
// its steady clock is the real one.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

/// Seconds, written by the test while the program runs.
const std::atomic<std::int64_t>* mapped_offset() {
  const char* const path = std::getenv("CLOCK_SHIM_FILE");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) std::abort();
  void* const memory = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<const std::atomic<std::int64_t>*>(memory);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, out);
  if (result == 0 && clock == CLOCK_REALTIME) {
    static const auto* const offset = mapped_offset();
    out->tv_sec += offset->load();
  }
  return result;
}
