// `viewgate serve`: from the command line to a running server. Whatever makes the program unfit to serve is found here, before
// the first client, and each has its own exit status.
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <fstream>
#include <iostream>
#include <memory>
#include <system_error>

#include "gateway/commands.hpp"
#include "gateway/identity.hpp"
#include "gateway/listening.hpp"
#include "gateway/log.hpp"
#include "gateway/model_apply.hpp"
#include "gateway/process_files.hpp"
#include "gateway/protocol.hpp"
#include "gateway/server.hpp"
#include "gateway/service_manager.hpp"
#include "gateway/wiring.hpp"
#include "ledger/embedded.hpp"
#include "ledger/migrate.hpp"

namespace viewgate::gateway {
namespace {

/// A socket is a descriptor; the soft limit of most systems is for programs that have few.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

/// Keys, tokens and other people's records are in memory: a core of this process holds none of it (core(5)), whoever collects cores.
/// Not by making the process undumpable, which would also keep its own user from counting its descriptors.
void keep_memory_out_of_cores() {
  std::ofstream filter("/proc/self/coredump_filter");
  filter << "0\n";
}

/// A hangup says that the file is to be read again. Before somebody can, and while a private PostgreSQL is stopped, its default
/// action would end the process and leave that PostgreSQL behind: Asio restores it when nobody listens, so somebody always does, and
/// is never destroyed.
void keep_hangups_from_ending_it() {
  static auto* const nobody = new boost::asio::io_context;
  static const auto* const hangups = new boost::asio::signal_set(*nobody, SIGHUP);
  static_cast<void>(hangups);
}

Endpoint reserve(const Config& config) {
  auto endpoint = *parse_endpoint(config.listen);
  try {
    endpoint.port = reserve_port(endpoint.address, endpoint.port);
  } catch (const std::system_error& error) {
    throw Stop(ExitStatus::port_in_use, error.what());
  }
  return endpoint;
}

std::unique_ptr<ledger::Embedded> start_embedded(const Config& config) {
  ledger::EmbeddedOptions options;
  options.directory = config.embedded;
  options.on_progress = [](std::string_view step) { log::info("postgres", {{"step", step}}); };
  auto started = ledger::Embedded::start(std::move(options));
  if (!started) stop_for(started.error());
  std::cout << "database " << (*started)->conninfo() << std::endl;
  return std::move(*started);
}

void prepare_database(const Config& config, const std::string& conninfo) {
  if (const auto fit = ledger::preflight(conninfo, preflight_options(config)); !fit) stop_for(fit.error());
  if (const auto migrated = ledger::migrate(conninfo); !migrated) stop_start_for(migrated.error());
  if (config.apply.empty()) return;
  CommandDatabase database(conninfo);
  const auto applied = apply_model(database, read_model_file(config.apply), config.apply);
  if (!applied.warnings.empty()) std::cerr << applied.warnings << "\n";
  log::info("model_applied", {{"file", config.apply}, {"version", applied.version}, {"views", applied.views}});
}

void serve(const ConfigFlags& flags) {
  const Config config = flags.read();
  const ServiceManager manager;
  log::start(log::level_of(config.log_level), log::format_of(config.log_format));
  require_database(config);
  check_snapshot_directory(config);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond a limit of file sizes is an error like a full disk
  keep_hangups_from_ending_it();
  raise_descriptor_limit();
  keep_memory_out_of_cores();
  const auto endpoint = reserve(config);
  const auto embedded = config.embedded.empty() ? nullptr : start_embedded(config);
  const auto conninfo = embedded ? embedded->conninfo() : config.database;
  auto identity = read_identity(config);
  prepare_database(config, conninfo);
  Server server(config, conninfo, std::move(identity), endpoint,
                {manager, [&flags] { return flags.read(auth::FileKind::regular); }});
  server.run([&] {
    std::cout << (config.tls_certificate.empty() ? "listening ws://" : "listening wss://") << endpoint_text(endpoint)
              << socket_path << std::endl;
  });
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto* command = app.add_subcommand("serve", "serve live views until SIGTERM");
  const auto flags = std::make_shared<ConfigFlags>(*command, std::vector<std::string_view>{});
  command->callback([flags] { serve(*flags); });
}

}  // namespace viewgate::gateway
