// `viewgate healthcheck`: status 0 where the node of this configuration takes clients, for a container's health check.
#include <iostream>
#include <memory>

#include "gateway/commands.hpp"
#include "gateway/health_probe.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::chrono::seconds answer_time_max{3};

void check_health(const Config& config) {
  const auto endpoint = *parse_endpoint(config.listen);
  if (endpoint.port == 0) throw Stop(ExitStatus::config, "listen must name the port to ask: 0 is any");
  const auto over = config.tls_certificate.empty() ? ProbeOver::plain : ProbeOver::tls;
  const auto line = probe_readiness(endpoint, over, answer_time_max);
  if (line.find(" 200 ") == std::string::npos) throw Stop(ExitStatus::failed, "it takes no clients: " + line);
  std::cout << "it takes clients\n";
}

}  // namespace

void add_health_command(CLI::App& app) {
  auto* command = app.add_subcommand("healthcheck", "status 0 where the node of this configuration takes clients");
  const auto flags = std::make_shared<ConfigFlags>(*command, std::vector<std::string_view>{});
  command->callback([flags] { check_health(flags->read()); });
}

}  // namespace viewgate::gateway
