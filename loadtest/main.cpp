// viewgate-loadtest: the swarm with its judge, the file-backed consumer, and what is measured.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "loadtest/consumer.hpp"
#include "loadtest/measure.hpp"
#include "loadtest/pgbench_views.hpp"
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
  bool calm = false;
  ConsumerOptions consumer;
  MeasureOptions measure;
};

int run_swarm(const Arguments& arguments, const TokenMaker& tokens) {
  Crowd crowd = pgbench_crowd(arguments.measure.clients, tokens);
  SwarmOptions options;
  options.address = parse_address(arguments.address);
  options.members = crowd.members;
  options.seed = arguments.seed;
  options.calm = arguments.calm;
  Swarm swarm(std::move(options));
  std::printf("swarm of %zu clients, seed %llu, %zu s; the writer is yours\n", arguments.measure.clients,
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

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Clients of a viewgate: many at once with their judge, one with a memory, and measurements.");
  app.require_subcommand(1);
  const auto common = [&](CLI::App* verb, bool database) {
    verb->add_option("--address", arguments.address, "host:port of the gateway")->required();
    verb->add_option("--key-file", arguments.key_file, "the secret of HS256 tokens")->required();
    CLI::Option* option = verb->add_option("--database", arguments.database, "connection string of PostgreSQL");
    if (database) option->required();
  };
  const auto measured = [&](CLI::App* verb, std::size_t clients) {
    common(verb, true);
    verb->add_option("--pid", arguments.measure.server, "the gateway's process, for its CPU and memory");
    verb->add_option("--clients", arguments.measure.clients, "connections")->default_val(clients);
    verb->add_option("--rate", arguments.measure.rate, "commits per second")->default_val(100);
    verb->add_option("--seconds", arguments.seconds, "duration")->default_val(10);
  };
  CLI::App* swarm =
      app.add_subcommand("swarm", "clients that are cut at random; at the end every fold is compared with SQL");
  measured(swarm, 40);
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
  CLI::App* latency = app.add_subcommand("latency", "commit to client");
  measured(latency, 10);
  latency->add_option("--lone", arguments.measure.lone_commits, "commits after ten quiet seconds each");
  CLI::App* fanout = app.add_subcommand("fanout", "many subscribers in one group");
  measured(fanout, 1000);
  CLI::App* idle = app.add_subcommand("idle", "memory of idle subscribers");
  measured(idle, 1000);
  CLI11_PARSE(app, argc, argv);

  std::signal(SIGTERM, [](int) { stopped = true; });
  std::signal(SIGINT, [](int) { stopped = true; });
  try {
    TokenMaker tokens;
    tokens.secret = secret_of(arguments.key_file);
    if (consumer->parsed()) return run_consumer(arguments, tokens);
    if (swarm->parsed()) return run_swarm(arguments, tokens);
    arguments.measure.address = parse_address(arguments.address);
    arguments.measure.database = arguments.database;
    arguments.measure.tokens = tokens;
    arguments.measure.duration = std::chrono::seconds(arguments.seconds);
    if (latency->parsed()) return measure_latency(arguments.measure);
    if (fanout->parsed()) return measure_fanout(arguments.measure);
    return measure_idle(arguments.measure);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "viewgate-loadtest: %s\n", error.what());
    return 2;
  }
}
