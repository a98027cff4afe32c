// The files by which whoever started the program finds it: its process id, and where it listens once it does. Written whole or
// not at all; removed at the end.
#pragma once

#include <string>

#include "gateway/config.hpp"

namespace viewgate::gateway {

class ProcessFiles {
 public:
  /// Throws Stop(no_input) where one cannot be written.
  ProcessFiles(const Config& config, const Endpoint& endpoint);
  ~ProcessFiles();
  ProcessFiles(const ProcessFiles&) = delete;
  ProcessFiles& operator=(const ProcessFiles&) = delete;

 private:
  std::string ready_file_;
  std::string pid_file_;
};

/// address:port, an IPv6 address in brackets.
[[nodiscard]] std::string endpoint_text(const Endpoint& endpoint);

}  // namespace viewgate::gateway
