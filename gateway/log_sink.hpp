// Where the lines of the log go: stderr, and a count of those that could not be written.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

namespace spdlog::sinks {
class sink;
}

namespace viewgate::gateway::log {

/// Writes each line at once, or lets it wait a while where stderr does not take it (LogWriter). A line that cannot be written (the
/// disk is full, nobody reads the pipe any more) or for which there is no room is dropped and counted; whoever logs never learns of
/// it, and never waits. Thread-safe.
[[nodiscard]] std::shared_ptr<spdlog::sinks::sink> stderr_sink();

/// Lines dropped since the process began.
[[nodiscard]] std::uint64_t lines_lost();

/// At the end of the process: until all lines are written, or so long. False: some still wait.
bool flush(std::chrono::milliseconds within);

}  // namespace viewgate::gateway::log
