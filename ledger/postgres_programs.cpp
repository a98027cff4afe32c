#include "ledger/postgres_programs.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace viewgate::ledger {
namespace fs = std::filesystem;

namespace {

bool has_programs(const fs::path& folder) {
  return access((folder / "postgres").c_str(), X_OK) == 0 && access((folder / "initdb").c_str(), X_OK) == 0;
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return text;
  std::array<char, 256> buffer{};
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  pclose(pipe);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  return text;
}

std::vector<fs::path> candidate_folders() {
  std::vector<std::pair<int, fs::path>> debian;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    debian.emplace_back(std::atoi(entry.path().filename().c_str()), entry.path() / "bin");
  }
  std::sort(debian.rbegin(), debian.rend());
  std::vector<fs::path> folders;
  std::transform(debian.begin(), debian.end(), std::back_inserter(folders),
                 [](auto& found) { return std::move(found.second); });
  const std::string configured = output_of("pg_config --bindir 2>/dev/null");
  if (!configured.empty()) folders.emplace_back(configured);
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return folders;
}

}  // namespace

int major_version(const fs::path& folder) {
  // "postgres (PostgreSQL) 15.8 (Debian …)"
  const std::string text = output_of("'" + (folder / "postgres").string() + "' --version 2>/dev/null");
  const auto at = text.find(") ");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 2);
}

Result<fs::path> find_postgres_programs(const std::string& wanted, int major) {
  const char* variable = std::getenv("VIEWGATE_POSTGRES_BIN");
  const std::string named = !wanted.empty() ? wanted : variable == nullptr ? "" : variable;
  if (!named.empty()) {
    if (has_programs(named)) return fs::path(named);
    return Error{errc::programs_missing, "", named + " does not hold PostgreSQL's postgres and initdb"};
  }
  for (const fs::path& folder : candidate_folders()) {
    if (has_programs(folder) && (major == 0 || major_version(folder) == major)) return folder;
  }
  const std::string version = major == 0 ? "" : " " + std::to_string(major);
  return Error{errc::programs_missing, "",
               "PostgreSQL" + version +
                   "'s programs were not found in /usr/lib/postgresql/*/bin, pg_config --bindir or PATH: " +
                   "install postgresql, or name their folder in VIEWGATE_POSTGRES_BIN"};
}

}  // namespace viewgate::ledger
