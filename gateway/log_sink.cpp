#include "gateway/log_sink.hpp"

#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <mutex>

#include "gateway/log.hpp"
#include "gateway/log_writer.hpp"

namespace viewgate::gateway::log {
namespace {

/// Some thousand lines: a reader that rests for a moment costs none.
constexpr std::size_t waiting_bytes_max = std::size_t{1} << 20;

std::string account(std::uint64_t lost) { return whole_line(Level::warn, "log_lines_lost", {{"lines", lost}}); }

LogWriter& writer() {
  static LogWriter instance(STDERR_FILENO, waiting_bytes_max, account);
  return instance;
}

/// spdlog's own do not look at whether a line could be written, and wait for whoever reads.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    writer().write({line.data(), line.size()});
  }
  void flush_() override {}
};

}  // namespace

std::shared_ptr<spdlog::sinks::sink> stderr_sink() {
  writer();  // before the sink, so that it goes after it
  return std::make_shared<StderrSink>();
}

std::uint64_t lines_lost() { return writer().lost(); }

bool flush(std::chrono::milliseconds within) { return writer().flush(within); }

}  // namespace viewgate::gateway::log
