#include "loadtest/process_use.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace viewgate::loadtest {

ProcessUse process_use(pid_t pid) {
  const std::string directory = "/proc/" + std::to_string(pid);
  std::ifstream file(directory + "/stat");
  std::string text;
  if (!std::getline(file, text)) throw std::runtime_error("no process " + std::to_string(pid));
  // The name in parentheses may hold blanks; what follows it is numbers: utime is field 14, stime 15, rss 24 (proc(5)).
  std::istringstream rest(text.substr(text.rfind(')') + 2));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  const auto field = [&](std::size_t number) { return std::stod(fields.at(number - 3)); };
  ProcessUse out;
  out.cpu_seconds = (field(14) + field(15)) / static_cast<double>(sysconf(_SC_CLK_TCK));
  out.rss_bytes = static_cast<std::uint64_t>(field(24)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::filesystem::directory_iterator descriptors(directory + "/fd");
  out.descriptors = static_cast<std::uint64_t>(std::distance(begin(descriptors), end(descriptors)));
  return out;
}

}  // namespace viewgate::loadtest
