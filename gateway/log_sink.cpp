#include "gateway/log_sink.hpp"

#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <string_view>

namespace viewgate::gateway::log {
namespace {

std::atomic<std::uint64_t> lost{0};

bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// spdlog's own does not look at whether a line could be written.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (!write_whole(STDERR_FILENO, {line.data(), line.size()})) ++lost;
  }
  void flush_() override {}
};

}  // namespace

std::shared_ptr<spdlog::sinks::sink> stderr_sink() { return std::make_shared<StderrSink>(); }

std::uint64_t lines_lost() { return lost; }

}  // namespace viewgate::gateway::log
