// viewgate-loadtest: scenarios that load and judge, the swarm with its judge, and the file-backed consumer.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "loadtest/consumer.hpp"
#include "loadtest/pgbench_views.hpp"
#include "loadtest/run.hpp"
#include "loadtest/swarm.hpp"

namespace {

using namespace viewgate::loadtest;

std::atomic<bool> stopped{false};

/// The secret as the server reads it: without the newline that an editor leaves.
std::string secret_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read; it should hold the secret of HS256 tokens");
  std::ostringstream text;
  text << file.rdbuf();
  std::string out = text.str();
  while (!out.empty() && (out.back() == '\n' || out.back() == '\r')) out.pop_back();
  return out;
}

struct Arguments {
  std::string address;
  std::string database;
  std::string key_file;
  std::string claims;
  std::string subject = "consumer";
  std::uint64_t seed = 1;
  std::size_t seconds = 10;
  std::size_t clients = 40;
  bool calm = false;
  ConsumerOptions consumer;
  std::string scenario;
  std::string report;
  double step_seconds = 0;
  pid_t server = 0;
};

int run_swarm(const Arguments& arguments, const TokenMaker& tokens) {
  Crowd crowd = pgbench_crowd(arguments.clients, tokens);
  SwarmOptions options;
  options.address = parse_address(arguments.address);
  options.members = crowd.members;
  options.seed = arguments.seed;
  options.calm = arguments.calm;
  Swarm swarm(std::move(options));
  std::printf("swarm of %zu clients, seed %llu, %zu s; the writer is yours\n", arguments.clients,
              static_cast<unsigned long long>(arguments.seed), arguments.seconds);
  swarm.start();
  const Clock::time_point end = Clock::now() + std::chrono::seconds(arguments.seconds);
  while (!stopped && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  swarm.calm();
  Database database(arguments.database);
  const bool there = swarm.wait_until_at(settled_heads(database, pgbench_space_names()), std::chrono::seconds(60));
  swarm.stop();
  std::printf("%s", swarm.summary().c_str());
  Checker checker(database);
  const std::vector<std::string> unequal = check_crowd(swarm, crowd, checker);
  for (const std::string& what : unequal) std::printf("unequal: %s\n", what.c_str());
  for (const std::string& what : swarm.violations().kept()) std::printf("violation: %s\n", what.c_str());
  const bool good = there && unequal.empty() && swarm.violations().count() == 0;
  std::printf("{\"bench\":\"swarm\",\"reached_head\":%s,\"unequal\":%zu,\"violations\":%zu}\n",
              there ? "true" : "false", unequal.size(), swarm.violations().count());
  return good ? 0 : 1;
}

int run_consumer(Arguments& arguments, const TokenMaker& tokens) {
  arguments.consumer.address = parse_address(arguments.address);
  arguments.consumer.token = tokens.make(arguments.subject, arguments.claims);
  arguments.consumer.wanted.id = "consumer";
  return consume(arguments.consumer, stopped) == 0 ? 0 : 1;
}

int run_one_scenario(const Arguments& arguments, const TokenMaker& tokens) {
  Scenario scenario = read_scenario(arguments.scenario);
  if (arguments.step_seconds > 0)
    scenario.writes.step = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.step_seconds * 1000));
  RunOptions options;
  options.reach = {parse_address(arguments.address), arguments.database, tokens};
  options.server = arguments.server;
  options.progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const RunReport report = run_scenario(scenario, options, stopped);
  if (!arguments.report.empty()) write_report(report, arguments.report);
  std::printf("%s%s\n", text_of(report).c_str(), json_of(report).c_str());
  return report.status();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Clients of a viewgate: scenarios that load and judge, a swarm that is cut at random, one with a memory.");
  app.require_subcommand(1);
  const auto common = [&](CLI::App* verb, bool database) {
    verb->add_option("--address", arguments.address, "host:port of the gateway")->required();
    verb->add_option("--key-file", arguments.key_file, "the secret of HS256 tokens")->required();
    CLI::Option* option = verb->add_option("--database", arguments.database, "connection string of PostgreSQL");
    if (database) option->required();
  };
  CLI::App* run = app.add_subcommand("run", "a scenario: load, figures, and every compared set beside its query");
  run->add_option("scenario", arguments.scenario, "a file of loadtest/scenarios, or one of yours")->required();
  common(run, true);
  run->add_option("--pid", arguments.server, "the gateway's process, for its CPU and memory");
  run->add_option("--report", arguments.report, "directory for report.txt, report.json and report.html");
  run->add_option("--seconds", arguments.step_seconds, "of each step, instead of the scenario's")
      ->check(CLI::PositiveNumber);
  CLI::App* swarm =
      app.add_subcommand("swarm", "clients that are cut at random; at the end every fold is compared with SQL");
  common(swarm, true);
  swarm->add_option("--clients", arguments.clients, "connections")->capture_default_str();
  swarm->add_option("--seconds", arguments.seconds, "duration")->capture_default_str();
  swarm->add_option("--seed", arguments.seed, "of all that is random");
  swarm->add_flag("--calm", arguments.calm, "nobody is cut");
  CLI::App* consumer = app.add_subcommand("consume", "follow one view into a file, whatever happens");
  common(consumer, false);
  consumer->add_option("--file", arguments.consumer.file, "records and cursor")->required();
  consumer->add_option("--space", arguments.consumer.wanted.space)->required();
  consumer->add_option("--view", arguments.consumer.wanted.view)->required();
  consumer->add_option("--params", arguments.consumer.wanted.params, "JSON object");
  consumer->add_option("--subject", arguments.subject, "sub of the token");
  consumer->add_option("--claims", arguments.claims, "further claims as JSON members: '\"digit\":\"3\"'");
  consumer->add_option("--journal-bytes", arguments.consumer.journal_bytes_max,
                       "size above which the file is written anew");
  CLI11_PARSE(app, argc, argv);

  std::signal(SIGTERM, [](int) { stopped = true; });
  std::signal(SIGINT, [](int) { stopped = true; });
  try {
    TokenMaker tokens;
    tokens.secret = secret_of(arguments.key_file);
    if (consumer->parsed()) return run_consumer(arguments, tokens);
    if (swarm->parsed()) return run_swarm(arguments, tokens);
    return run_one_scenario(arguments, tokens);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "viewgate-loadtest: %s\n", error.what());
    return 2;
  }
}
