// What a cluster in a directory says of itself and of who serves it: its files, its log, and the table of processes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace viewgate::ledger {

/// Empty where there is no such file.
[[nodiscard]] std::string first_line_of(const std::filesystem::path& file);

/// The last line in the log that says what went wrong, else the last line.
[[nodiscard]] std::string complaint_in(const std::filesystem::path& log);

/// The process that the cluster's own file names as its server; 0: none. It may be long gone.
[[nodiscard]] pid_t server_named_in(const std::filesystem::path& data);

/// PostgreSQL's processes whose working directory is the cluster: its server and whatever a killed one left behind. Only
/// PostgreSQL's: somebody's shell may stand there, too.
[[nodiscard]] std::vector<pid_t> processes_in(const std::filesystem::path& data);

/// False: some are still there after that time.
[[nodiscard]] bool wait_until_gone(const std::filesystem::path& data, std::chrono::milliseconds time_max);

}  // namespace viewgate::ledger
