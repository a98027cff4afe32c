#include "gateway/process_files.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gateway/errors.hpp"

namespace viewgate::gateway {
namespace {

void write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  const std::string draft = path + ".new";
  std::ofstream file(draft);
  file << text << "\n";
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(draft, path, error);
  if (!file || error) throw Stop(ExitStatus::no_input, path + " cannot be written");
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove(path, ignored);
}

}  // namespace

std::string endpoint_text(const Endpoint& endpoint) {
  const bool is_v6 = endpoint.address.find(':') != std::string::npos;
  return (is_v6 ? "[" + endpoint.address + "]" : endpoint.address) + ":" + std::to_string(endpoint.port);
}

ProcessFiles::ProcessFiles(const Config& config, const Endpoint& endpoint)
    : ready_file_(config.ready_file), pid_file_(config.pid_file) {
  write_file(pid_file_, std::to_string(::getpid()));
  write_file(ready_file_, endpoint_text(endpoint));
}

ProcessFiles::~ProcessFiles() {
  remove_file(ready_file_);
  remove_file(pid_file_);
}

}  // namespace viewgate::gateway
