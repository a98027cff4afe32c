// Which variables of the process's environment are settings.
#include <unistd.h>

#include <algorithm>

#include "gateway/config.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::string_view prefix = "VIEWGATE_";

/// …_PORT_8081_TCP, …_PORT_8081_TCP_ADDR.
bool names_a_port(std::string_view name) {
  constexpr std::string_view before = "_PORT_";
  const auto port = name.find(before);
  if (port == std::string_view::npos) return false;
  const auto rest = name.substr(port + before.size());
  const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  return digits > 0 && digits < rest.size() && rest[digits] == '_';
}

/// What Kubernetes puts into every container of a namespace for a service whose name begins with ours, be it viewgate or
/// viewgate-admin: …_SERVICE_HOST, …_SERVICE_PORT, …_SERVICE_PORT_<name>, …_PORT=tcp://…, and those of each port.
bool is_of_a_service(std::string_view name, std::string_view value) {
  return name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT") ||
         name.find("_SERVICE_PORT_") != std::string_view::npos || names_a_port(name) ||
         (name.ends_with("_PORT") && value.find("://") != std::string_view::npos);
}

/// Two that the ledger reads itself, the one that names the file, and what others put there.
bool is_foreign(std::string_view name, std::string_view value) {
  return name == "VIEWGATE_POSTGRES_BIN" || name == "VIEWGATE_PLANT" || name == config_file_variable ||
         is_of_a_service(name, value);
}

}  // namespace

std::map<std::string, std::string, std::less<>> process_environment() {
  std::map<std::string, std::string, std::less<>> out;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry(*each);
    const auto equals = entry.find('=');
    if (!entry.starts_with(prefix) || equals == std::string_view::npos) continue;
    const auto name = entry.substr(0, equals);
    const auto value = entry.substr(equals + 1);
    if (!is_foreign(name, value)) out.emplace(name, value);
  }
  return out;
}

}  // namespace viewgate::gateway
