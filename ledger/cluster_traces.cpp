#include "ledger/cluster_traces.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

namespace viewgate::ledger {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string first_line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string complaint_in(const fs::path& log) {
  std::ifstream in(log);
  std::string line;
  std::string last;
  std::string complaint;
  while (std::getline(in, line)) {
    if (line.find("FATAL") != std::string::npos || line.find("error:") != std::string::npos) complaint = line;
    if (!line.empty()) last = line;
  }
  return complaint.empty() ? last : complaint;
}

pid_t server_named_in(const fs::path& data) {
  const std::string line = first_line_of(data / "postmaster.pid");
  return line.empty() ? 0 : std::atoi(line.c_str());
}

std::vector<pid_t> processes_in(const fs::path& data) {
  std::vector<pid_t> found;
  std::error_code ignored;
  const fs::path wanted = fs::canonical(data, ignored);
  const pid_t named = server_named_in(data);
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    const pid_t pid = std::stoi(name);
    std::error_code unreadable;
    const fs::path stands = fs::read_symlink(entry.path() / "cwd", unreadable);
    // Where even root may not read that (a container without CAP_SYS_PTRACE), the pid file's word counts.
    if (unreadable ? pid != named : stands != wanted) continue;
    // The program's name, which everybody may read; replaced programs keep it.
    if (first_line_of(entry.path() / "comm").starts_with("postgres")) found.push_back(pid);
  }
  return found;
}

bool wait_until_gone(const fs::path& data, std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (!processes_in(data).empty()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

}  // namespace viewgate::ledger
