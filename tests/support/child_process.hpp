// A program that a test runs: started with its output in a file, signalled, waited for with a bound, and never left
// behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.hpp"

namespace viewgate::testing {

struct ChildOptions {
  std::vector<std::string> arguments;                            ///< the program first
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
  std::optional<std::uint64_t> descriptors = {};                 ///< its hard limit; else ours
  std::string output_file;                                       ///< of stdout and stderr, appended; empty = /dev/null
};

class ChildProcess {
 public:
  /// Throws std::runtime_error naming the program where it cannot be started.
  explicit ChildProcess(const ChildOptions& options);
  /// SIGKILL where it still runs. The kernel does the same when the thread that started it ends.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void signal(int number);
  /// It has ended by a signal that nobody here has sent: it crashed.
  bool has_crashed();
  /// The exit status, or 128 + the signal that ended it; nothing when it still runs after so long.
  std::optional<int> wait(std::chrono::milliseconds time_max);
  /// SIGKILL, and reaped.
  void kill();

 private:
  bool reap(int flags);

  pid_t pid_ = -1;
  std::optional<int> status_;
  std::set<int> sent_;
};

struct Finished {
  std::optional<int> status;  ///< nothing: it had to be killed after the time
  std::string output;         ///< stdout and stderr
};

/// Runs a program to its end.
Finished run(const std::vector<std::string>& arguments,
             std::chrono::milliseconds time_max = patient(std::chrono::seconds(30)));

/// A file name of this process's own in the temporary directory.
std::string temporary_path(const std::string& name);

std::string file_text(const std::string& path);

}  // namespace viewgate::testing
