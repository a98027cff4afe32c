#include "system/proof.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>

#include "loadtest/journal.hpp"
#include "loadtest/pgbench_views.hpp"
#include "support/gateway_process.hpp"
#include "support/patience.hpp"
#include "support/raw_socket.hpp"

namespace viewgate::testing {

namespace {

using loadtest::Clock;

constexpr std::size_t subscribers = 40;
constexpr const char* credential = "an-operators-credential-of-the-proof";

/// The file-backed consumer: the built program, killed by SIGKILL after a random while and started again.
class MortalConsumer {
 public:
  MortalConsumer(std::string address, std::uint64_t seed) : address_(std::move(address)), random_(seed) {}
  ~MortalConsumer() {
    child_.reset();
    std::filesystem::remove(file_);
    std::filesystem::remove(file_ + ".new");
  }
  MortalConsumer(const MortalConsumer&) = delete;
  MortalConsumer& operator=(const MortalConsumer&) = delete;

  void tick(bool may_kill) {
    if (child_ && !child_->running()) child_.reset();
    if (!child_) return start();
    if (may_kill && Clock::now() >= kill_at_) {
      child_->kill();
      ++deaths_;
    }
  }
  void stop() { child_.reset(); }
  /// What stands in its file.
  void read(loadtest::Fold& fold) const { loadtest::Journal::read(file_, fold); }
  std::uint64_t deaths() const { return deaths_; }
  loadtest::Question question() const { return loadtest::question_of(watched_); }
  const std::string& space() const { return watched_.space; }

 private:
  void start() {
    const loadtest::Wanted wanted = loadtest::wanted_of(watched_, "consumer");
    ChildOptions options;
    options.arguments = {program("viewgate-loadtest"),
                         "consume",
                         "--address",
                         address_,
                         "--key-file",
                         key_file(),
                         "--file",
                         file_,
                         "--space",
                         wanted.space,
                         "--view",
                         wanted.view,
                         "--params",
                         wanted.params,
                         "--claims",
                         "\"digit\":\"" + std::to_string(watched_.digit) + "\"",
                         "--journal-bytes",
                         "4000000"};
    child_ = std::make_unique<ChildProcess>(options);
    kill_at_ = Clock::now() + std::chrono::milliseconds(std::uniform_int_distribution<int>(100, 3000)(random_));
  }

  std::string address_;
  std::mt19937_64 random_;
  loadtest::Watched watched_{"5", "watch", -2500, 2500, 5};
  std::string file_ = temporary_path("journal");
  std::unique_ptr<ChildProcess> child_;
  Clock::time_point kill_at_;
  std::uint64_t deaths_ = 0;
};

/// What opens the gateway's metrics, as a file that is gone with it.
class CredentialFile {
 public:
  CredentialFile() { std::ofstream(path_) << credential << "\n"; }
  ~CredentialFile() { std::filesystem::remove(path_); }
  CredentialFile(const CredentialFile&) = delete;
  CredentialFile& operator=(const CredentialFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = temporary_path("credential");
};

/// Runs the writers, and what happens to gateway and PostgreSQL at which part of the time.
class Stage {
 public:
  Stage(PgbenchLine& line, const ProofOptions& options)
      : line_(line), options_(options), database_(line.create_database()), gateway_(gateway_options()) {
    pgbench_ = line_.start_pgbench(database_, options_.seed);
  }

  void tick(double part_of_time) {
    if (!pgbench_->running()) pgbench_ = line_.start_pgbench(database_, ++options_.seed);
    if (!options_.restarts) return;
    if (part_of_time > 0.25 && step_ == 0) {
      ++step_;
      gateway_.process().kill();
      gateway_.start_again();
      story_ << "gateway killed with SIGKILL and started again\n";
    } else if (part_of_time > 0.5 && step_ == 1) {
      ++step_;
      gateway_.process().signal(SIGTERM);
    } else if (step_ == 2 && !gateway_.process().running()) {
      ++step_;
      story_ << "gateway ended after SIGTERM with status "
             << gateway_.process().wait(std::chrono::seconds(1)).value_or(-1) << " and started again\n";
      gateway_.start_again();
    } else if (part_of_time > 0.75 && step_ == 3) {
      ++step_;
      line_.cluster().restart(ledger::Shutdown::fast);
      story_ << "PostgreSQL restarted\n";
    }
  }
  /// No more writes: those under way are finished or undone, by PostgreSQL and not by us.
  void stop_writers() {
    pgbench_->kill();
    PgSession session(database_);
    eventually([&] {
      return session.value("select count(*) from pg_stat_activity where application_name = 'pgbench'") == "0";
    });
  }

  /// How often the gateway that runs now has brought a reader back that was slower than its ring. Throws where none answers.
  std::uint64_t ring_misses() const {
    const std::string log = gateway_.log(), listening = "admin_listening", port = "port=";
    const std::size_t line_at = log.rfind(listening), port_at = log.find(port, line_at);
    if (line_at == std::string::npos || port_at == std::string::npos) throw std::runtime_error("no operators' port");
    RawSocket socket(static_cast<std::uint16_t>(std::stoi(log.substr(port_at + port.size()))));
    socket.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + std::string(credential) +
                "\r\n\r\n");
    const std::string text = socket.read_until("process_max_fds "), name = "\nviewgate_ring_misses_total ";
    const std::size_t at = text.find(name);
    if (at == std::string::npos) throw std::runtime_error("no figure of ring misses: " + text);
    return std::stoull(text.substr(at + name.size()));
  }

  GatewayProcess& gateway() { return gateway_; }
  const std::string& database() const { return database_; }
  std::string story() const { return story_.str(); }
  bool everything_happened() const { return !options_.restarts || step_ == 4; }

 private:
  GatewayOptions gateway_options() const {
    GatewayOptions out;
    out.database = database_;
    out.listen = "127.0.0.1:" + std::to_string(free_port());
    out.set("--time-drain", "1s");
    // Small enough that the slow reader falls out of it: it is brought back through the history.
    out.set("--ring-group-bytes", "64KiB");
    out.set("--admin-listen", "127.0.0.1:0");
    out.set("--admin-key-file", credential_file_.path());
    if (!options_.planted_bug.empty()) out.environment = {{"VIEWGATE_PLANT", options_.planted_bug}};
    return out;
  }

  PgbenchLine& line_;
  ProofOptions options_;
  std::string database_;
  CredentialFile credential_file_;
  GatewayProcess gateway_;
  std::unique_ptr<ChildProcess> pgbench_;
  std::ostringstream story_;
  int step_ = 0;
};

std::string secret() { return file_text(key_file()); }

void append(std::vector<std::string>& to, const std::string& label, const std::vector<std::string>& lines) {
  constexpr std::size_t shown = 20;
  for (std::size_t i = 0; i < lines.size() && i < shown; ++i) to.push_back(label + lines[i]);
  if (lines.size() > shown) to.push_back(label + std::to_string(lines.size()) + " such lines in all");
}

}  // namespace

ProofResult run_proof(PgbenchLine& line, const ProofOptions& options) {
  constexpr auto settle_max = std::chrono::duration_cast<std::chrono::seconds>(patient(std::chrono::seconds(90)));
  Stage stage(line, options);
  loadtest::TokenMaker tokens;
  tokens.secret = secret();
  const loadtest::Crowd crowd = loadtest::pgbench_crowd(subscribers, tokens);
  loadtest::SwarmOptions swarm_options;
  swarm_options.address = {"127.0.0.1", stage.gateway().port()};
  swarm_options.members = crowd.members;
  swarm_options.seed = options.seed;
  loadtest::Swarm swarm(std::move(swarm_options));
  MortalConsumer consumer(stage.gateway().address(), options.seed);
  swarm.start();
  const Clock::time_point begin = Clock::now();
  while (Clock::now() < begin + options.duration || !stage.everything_happened()) {
    const double part = std::chrono::duration<double>(Clock::now() - begin) / options.duration;
    stage.tick(part);
    consumer.tick(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (part > 3) break;
  }
  ProofResult result;
  if (!stage.everything_happened()) result.wrong.emplace_back("the restarts did not all come about");
  if (options.restarts) {
    try {
      result.ring_misses = stage.ring_misses();
    } catch (const std::exception& problem) {
      result.wrong.push_back("the gateway gives no figures: " + std::string(problem.what()));
    }
  }
  stage.stop_writers();
  swarm.calm();
  loadtest::Database database(stage.database());
  const auto heads = loadtest::settled_heads(database, loadtest::pgbench_space_names());
  if (!swarm.wait_until_at(heads, settle_max))
    result.wrong.emplace_back("not every subscriber reached the head of its space");
  loadtest::Violations consumed;
  const bool consumer_there = eventually(
      [&] {
        consumer.tick(false);
        loadtest::Fold fold("consumer", consumed);
        consumer.read(fold);
        return fold.sequence() >= heads.at(consumer.space());
      },
      settle_max);
  if (!consumer_there) result.wrong.emplace_back("the consumer's file did not reach the head of its space");
  consumer.stop();
  swarm.stop();

  loadtest::Checker checker(database);
  append(result.wrong, "unequal: ", loadtest::check_crowd(swarm, crowd, checker));
  append(result.wrong, "violation: ", swarm.violations().kept());
  loadtest::Violations replayed;
  loadtest::Fold fold("consumer", replayed);
  consumer.read(fold);
  append(result.wrong, "unequal: ", checker.check(fold, consumer.question()));
  append(result.wrong, "violation: ", replayed.kept());
  for (const auto& [space, head] : heads) result.commits += static_cast<std::uint64_t>(head);
  result.resumptions = swarm.totals().resumptions;
  result.bootstraps = swarm.totals().bootstraps;
  result.consumer_deaths = consumer.deaths();
  result.story = stage.story() + swarm.summary() + "consumer deaths " + std::to_string(consumer.deaths()) +
                 ", commits " + std::to_string(result.commits) + ", ring misses of the last gateway " +
                 std::to_string(result.ring_misses) + "\n";
  if (!result.wrong.empty())
    result.story += "gateway's log ends with:\n" +
                    stage.gateway().log().substr(std::max<std::size_t>(stage.gateway().log().size(), 4000) - 4000);
  return result;
}

}  // namespace viewgate::testing
