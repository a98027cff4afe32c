// `viewgate doctor`: one line per finding, ok, warn or fail; status 1 where something fails.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>

#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"
#include "gateway/wiring.hpp"
#include "ledger/doctor.hpp"

namespace viewgate::gateway {
namespace {

using ledger::Finding;

/// For the database, listeners, files of bootstraps and the operators' port.
constexpr std::uint64_t descriptors_beside_sockets = 100;

/// A node raises its soft limit to the hard one, so that is the one that counts.
Finding descriptors(const Config& config) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return Finding{Finding::Level::warn, "descriptors", "their limit is unknown"};
  const std::uint64_t reactors = reactor_count(config);
  const auto sockets = reactors * static_cast<std::uint64_t>(config.limit_connections);
  const bool enough = limit.rlim_max >= sockets + descriptors_beside_sockets;
  std::string text = "a process may have " + std::to_string(limit.rlim_max) +
                     " open here (ulimit -Hn), and limit.connections lets " + std::to_string(sockets) +
                     " sockets in, on " + std::to_string(reactors) + " reactors";
  if (!enough) text += ": raise the limit of descriptors (LimitNOFILE), or lower limit.connections";
  return Finding{enough ? Finding::Level::ok : Finding::Level::warn, "descriptors", text};
}

std::string_view name(Finding::Level level) {
  switch (level) {
    case Finding::Level::ok:
      return "ok   ";
    case Finding::Level::warn:
      return "warn ";
    case Finding::Level::fail:
      return "fail ";
  }
  return {};
}

void examine(const Config& config) {
  if (config.database.empty()) {
    throw Stop(ExitStatus::config, "--database must say which PostgreSQL, for example postgresql://user@host/name");
  }
  auto found = ledger::examine(config.database,
                               {CommandDatabase::time_max, static_cast<std::uint64_t>(config.ledger_disk_bytes)});
  if (!found) stop_for(found.error());
  found->push_back(descriptors(config));
  for (const auto& finding : *found) {
    std::cout << name(finding.level) << finding.check << ": " << finding.text << "\n";
  }
  const auto fails = std::ranges::count(*found, Finding::Level::fail, &Finding::level);
  if (fails > 0)
    throw Stop(ExitStatus::failed, std::to_string(fails) + " of " + std::to_string(found->size()) + " findings fail");
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  auto* command = app.add_subcommand("doctor", "examine the database and the ledger in it; changes nothing");
  const auto flags = std::make_shared<ConfigFlags>(
      *command, std::vector<std::string_view>{"database", "ledger.disk_bytes", "limit.connections", "threads"});
  command->callback([flags] { examine(flags->read()); });
}

}  // namespace viewgate::gateway
