#include "support/child_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace viewgate::testing {

namespace {

/// What steers the tests is no setting of the program: it refuses a VIEWGATE_… that it does not know.
void forget_our_environment() {
  std::vector<std::string> ours;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("VIEWGATE_")) ours.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : ours) ::unsetenv(name.c_str());
}

}  // namespace

ChildProcess::ChildProcess(const ChildOptions& options) {
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const std::string output = options.output_file.empty() ? "/dev/null" : options.output_file;
  if (::access(arguments.front(), X_OK) != 0) throw std::runtime_error(options.arguments.front() + " is not a program");
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int fd = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
  if (options.descriptors) {
    const rlimit limit{*options.descriptors, *options.descriptors};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  forget_our_environment();
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

ChildProcess::~ChildProcess() { kill(); }

bool ChildProcess::reap(int flags) {
  if (status_) return true;
  int status = 0;
  if (::waitpid(pid_, &status, flags) != pid_) return false;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

bool ChildProcess::running() { return !reap(WNOHANG); }

void ChildProcess::signal(int number) {
  if (!running()) return;
  sent_.insert(number);
  ::kill(pid_, number);
}

bool ChildProcess::has_crashed() {
  constexpr int by_a_signal = 128;
  return !running() && *status_ > by_a_signal && !sent_.contains(*status_ - by_a_signal);
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds time_max) {
  eventually([this] { return !running(); }, time_max);
  return status_;
}

void ChildProcess::kill() {
  signal(SIGKILL);
  reap(0);
}

Finished run(const std::vector<std::string>& arguments, std::chrono::milliseconds time_max) {
  ChildOptions options;
  options.arguments = arguments;
  options.output_file = temporary_path("output");
  Finished out;
  {
    ChildProcess child(options);
    out.status = child.wait(time_max);
  }
  out.output = file_text(options.output_file);
  std::filesystem::remove(options.output_file);
  return out;
}

std::string temporary_path(const std::string& name) {
  static std::atomic<int> count{0};
  return (std::filesystem::temp_directory_path() /
          ("viewgate_" + std::to_string(::getpid()) + "_" + std::to_string(++count) + "_" + name))
      .string();
}

std::string file_text(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

}  // namespace viewgate::testing
