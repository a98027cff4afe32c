// Preloaded into PostgreSQL: every flush of the log takes so many microseconds longer (VIEWGATE_FLUSH_US), as on a disk
// that is further away. commit_delay would not do: it waits only where others are about to commit, and before the flush.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

extern "C" int fdatasync(int file) {
  using Flush = int (*)(int);
  static const auto next = reinterpret_cast<Flush>(dlsym(RTLD_NEXT, "fdatasync"));
  static const char* const longer = std::getenv("VIEWGATE_FLUSH_US");
  if (longer != nullptr) usleep(static_cast<useconds_t>(std::atoi(longer)));
  return next(file);
}
