// Where the lines of the log go: stderr, and a count of those that could not be written.
#pragma once

#include <cstdint>
#include <memory>

namespace spdlog::sinks {
class sink;
}

namespace viewgate::gateway::log {

/// Writes each line at once. A line that cannot be written whole (the disk is full, nobody reads the pipe any more) is dropped and
/// counted; whoever logs never learns of it. Thread-safe.
[[nodiscard]] std::shared_ptr<spdlog::sinks::sink> stderr_sink();

/// Lines dropped since the process began.
[[nodiscard]] std::uint64_t lines_lost();

}  // namespace viewgate::gateway::log
