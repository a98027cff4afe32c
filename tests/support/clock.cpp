#include "support/clock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>

#include "viewgate_paths.hpp"

namespace viewgate::testing {

SteppedClock::~SteppedClock() { std::filesystem::remove(file_); }

void SteppedClock::rule(GatewayOptions& options) const {
  options.environment.emplace_back("LD_PRELOAD", VIEWGATE_BINARY_DIR "/bin/viewgate_clock_shim.so");
  options.environment.emplace_back("CLOCK_SHIM_FILE", file_);
  // The sanitizer wants to be the first library; it may be the second, since the shim overrides nothing that it needs.
  options.tell_sanitizer("verify_asan_link_order=0");
}

void SteppedClock::step(std::chrono::seconds from_real) {
  // Written in place: the program has the file mapped.
  const std::int64_t seconds = from_real.count();
  const int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const bool written = file >= 0 && ::pwrite(file, &seconds, sizeof(seconds), 0) == sizeof(seconds);
  if (file >= 0) ::close(file);
  if (!written) throw std::runtime_error(file_ + " cannot be written");
}

}  // namespace viewgate::testing
