// `viewgate doctor`: one line per finding, ok, warn or fail; status 1 where something fails.
#include <sys/resource.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"
#include "ledger/doctor.hpp"

namespace viewgate::gateway {
namespace {

using ledger::Finding;

constexpr rlim_t descriptors_wanted = 10'000;

/// A node raises its soft limit to the hard one, so that is the one that counts.
Finding descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return Finding{Finding::Level::warn, "descriptors", "their limit is unknown"};
  const bool enough = limit.rlim_max >= descriptors_wanted;
  return Finding{enough ? Finding::Level::ok : Finding::Level::warn, "descriptors",
                 "a process may have " + std::to_string(limit.rlim_max) + " open (ulimit -Hn): a socket takes one"};
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
  found->push_back(descriptors());
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
  const auto flags =
      std::make_shared<ConfigFlags>(*command, std::vector<std::string_view>{"database", "ledger.disk_bytes"});
  command->callback([flags] { examine(flags->read()); });
}

}  // namespace viewgate::gateway
