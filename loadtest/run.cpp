#include "loadtest/run.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "loadtest/checker.hpp"
#include "loadtest/population.hpp"
#include "loadtest/process_use.hpp"
#include "loadtest/timeline.hpp"
#include "loadtest/writers.hpp"

namespace viewgate::loadtest {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds live_max{600};
constexpr std::size_t memory_clients_min = 100;  // below that, the growth of a process says nothing about a connection

double seconds_of(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

class Run {
 public:
  Run(const Scenario& scenario, const RunOptions& options, const std::atomic<bool>& stop)
      : scenario_(scenario),
        options_(options),
        stop_(stop),
        population_(populate(scenario, options.reach.tokens)),
        database_(options.reach.database),
        first_(swarm_options({lone_reader()})),
        swarm_(swarm_options(population_.members)),
        writers_(scenario, options.reach, population_.receivers, recorder_),
        timeline_({&recorder_, &swarm_, options.server, options.reach.database, scenario.calm(), options.progress},
                  std::clamp(scenario.writes.step / 20, milliseconds(100), milliseconds(1000))) {
    for (std::size_t i = 0; i < scenario.clients.sample; ++i) {
      swarm_.observe(i, [this](std::string_view, const std::vector<Member>& document) {
        if (const auto mark = mark_of(document)) recorder_.arrived(*mark, Clock::now());
      });
    }
  }

  RunReport run() {
    report_.name = scenario_.name;
    report_.about = scenario_.about;
    connect();
    if (!scenario_.calm()) swarm_.stir();
    timeline_.start();
    for (std::size_t i = 0; i < scenario_.writes.rates.size() && !stop_; ++i) step(i);
    if (scenario_.storm.kind == StormKind::resume) resume_storm();
    judge_end();
    report_.points = timeline_.stop();
    swarm_.stop();
    first_.stop();
    for (const Swarm* swarm : {&first_, &swarm_}) {
      for (const std::string& what : swarm->violations().kept()) report_.wrong.push_back(what);
    }
    if (!report_.wrong.empty()) say(swarm_.summary());
    return std::move(report_);
  }

 private:
  struct Use {
    Clock::time_point at = Clock::now();
    ProcessUse server;
    std::chrono::nanoseconds client{0};
  };

  SwarmOptions swarm_options(std::vector<SwarmMember> members) const {
    SwarmOptions out;
    out.address = options_.reach.address;
    out.members = std::move(members);
    out.seed = scenario_.seed;
    out.calm = true;  // until everybody is there
    const bool churns = scenario_.churn.mean.count() > 0;
    out.mean_between_faults = churns ? scenario_.churn.mean : std::chrono::hours(1000);
    out.anew = churns ? scenario_.churn.anew : 0;
    out.connects_per_second = scenario_.clients.connects_per_second;
    return out;
  }

  /// Connected before all others: what a group itself costs is not a connection's, and during a storm somebody is there.
  SwarmMember lone_reader() const {
    SwarmMember out = population_.members.front();
    out.name = "first";
    out.keep = Client::Keep::count;
    return out;
  }

  void say(const std::string& line) const {
    if (options_.progress) options_.progress(line);
  }

  Use use() {
    Use out;
    if (options_.server != 0) out.server = process_use(options_.server);
    out.client = swarm_.cpu();
    return out;
  }

  void connect() {
    const bool memory = options_.server != 0 && scenario_.clients.count >= memory_clients_min;
    const auto settle = [&] {
      if (memory) std::this_thread::sleep_for(seconds(3));
    };
    first_.start();
    if (!first_.wait_until_live(live_max))
      throw std::runtime_error("the first reader did not become live\n" + first_.summary());
    settle();
    const Use before = use();
    swarm_.start();
    if (!swarm_.wait_until_live(live_max))
      throw std::runtime_error("the readers did not become live\n" + swarm_.summary());
    const double took = seconds_of(Clock::now() - before.at);
    settle();
    const Use after = use();
    add(report_.figures, "connections", static_cast<double>(scenario_.clients.count));
    add(report_.figures, "until_live_seconds", took);
    if (memory) {
      add(report_.figures, "bytes_per_connection",
          (static_cast<double>(after.server.rss_bytes) - static_cast<double>(before.server.rss_bytes)) /
              static_cast<double>(scenario_.clients.count));
    }
    say("all " + std::to_string(scenario_.clients.count) + " clients are live");
  }

  static void add(Figures& figures, const std::string& name, double value) { figures.emplace_back(name, value); }

  std::string step_name(double rate) const {
    if (scenario_.writes.door == Door::pgbench) return "pgbench";
    std::ostringstream out;
    out << rate << " commits/s";
    return rate == 0 ? "quiet" : out.str();
  }

  void step(std::size_t index) {
    const double rate = scenario_.writes.rates[index];
    RunReport::Step out{step_name(rate), {}};
    const Schedule schedule(Clock::now() + milliseconds(20), rate, scenario_.writes.step);
    timeline_.begin_step(index, out.name);
    const Use before = use();
    const std::uint64_t delivered_before = swarm_.deliveries();
    writers_.start(schedule);
    if (scenario_.storm.kind == StormKind::bootstrap) bootstrap_storm(out.figures);
    const Clock::time_point end = before.at + scenario_.writes.step;
    std::optional<Use> middle;
    while (!stop_ && (Clock::now() < end || !writers_.done())) {
      std::this_thread::sleep_for(milliseconds(5));
      if (!middle && Clock::now() >= before.at + scenario_.writes.step / 2) middle = use();
    }
    if (stop_) writers_.stop();
    const Use written = use();
    const double writing = seconds_of(written.at - before.at);
    if (middle && !stop_) judge_memory(out, *middle, written);
    writers_.finish();
    const bool arrived = await_deliveries(delivered_before);
    const Use after = use();
    add_step_figures(out.figures, before, after, swarm_.deliveries() - delivered_before, writing);
    report_.steps.push_back(std::move(out));
    if (!arrived) {
      report_.wrong.push_back(step_name(rate) + ": " + std::to_string(swarm_.deliveries() - delivered_before) + " of " +
                              std::to_string(recorder_.expected()) + " deliveries arrived");
    }
    if (scenario_.calm()) judge("after " + step_name(rate));
  }

  void judge_memory(RunReport::Step& out, const Use& middle, const Use& end) {
    const double bound = scenario_.bounds.server_growth_mb;
    if (options_.server == 0 || bound == 0) return;
    const double growth =
        (static_cast<double>(end.server.rss_bytes) - static_cast<double>(middle.server.rss_bytes)) / 1e6;
    add(out.figures, "server_growth_mb", growth);
    if (growth <= bound) return;
    std::ostringstream what;
    what << out.name << ": the server's memory grew by " << growth
         << " MB in the second half, bounds.server_growth_mb is " << bound;
    report_.wrong.push_back(what.str());
  }

  /// True where every delivery came, or they cannot be counted.
  bool await_deliveries(std::uint64_t before) {
    if (!scenario_.calm() || scenario_.storm.kind == StormKind::bootstrap || scenario_.writes.door == Door::pgbench)
      return true;
    const std::uint64_t wanted = before + recorder_.expected();
    const Clock::time_point patient_until = Clock::now() + seconds(2);
    while (swarm_.deliveries() < wanted && Clock::now() < patient_until) std::this_thread::sleep_for(milliseconds(1));
    // Who is at the head of the space has been told everything before it: what is missing then does not come any more.
    if (swarm_.deliveries() < wanted) swarm_.wait_until_at(settled_heads(database_, population_.spaces), live_max);
    return swarm_.deliveries() == wanted;
  }

  void add_step_figures(Figures& out, const Use& before, const Use& after, std::uint64_t deliveries, double writing) {
    const Recorder::Figures found = recorder_.figures();
    const double took = seconds_of(after.at - before.at), delivered = static_cast<double>(deliveries);
    const double client = std::chrono::duration<double>(after.client - before.client).count();
    if (scenario_.writes.door != Door::pgbench) {
      add(out, "commits", static_cast<double>(found.committed));
      add(out, "commits_per_second", static_cast<double>(found.committed) / writing);
    }
    add(out, "deliveries", delivered);
    add(out, "deliveries_per_second", delivered / took);
    if (found.from_due.count() > 0) {
      add_latency(out, "from_due", found.from_due);
      add_latency(out, "from_commit", found.from_commit);
      add(out, "sent_late_p99_ms", found.lateness.percentile(0.99));
    }
    if (options_.server != 0) {
      const double server = after.server.cpu_seconds - before.server.cpu_seconds;
      add(out, "server_cpu_percent", server / took * 100);
      if (deliveries > 0) add(out, "server_cpu_seconds_per_million", server / delivered * 1e6);
      add(out, "server_rss_mb", static_cast<double>(after.server.rss_bytes) / 1e6);
    }
    add(out, "client_cpu_percent", client / took * 100);
    if (deliveries > 0) add(out, "client_cpu_seconds_per_million", client / delivered * 1e6);
    refuse_if_busy(client / took);
  }

  static void add_latency(Figures& out, const std::string& name, const Histogram& latency) {
    add(out, name + "_p50_ms", latency.percentile(0.5));
    add(out, name + "_p90_ms", latency.percentile(0.9));
    add(out, name + "_p99_ms", latency.percentile(0.99));
    add(out, name + "_p999_ms", latency.percentile(0.999));
    add(out, name + "_max_ms", latency.max());
  }

  void refuse_if_busy(double share) {
    if (share <= client_busy_max) return;
    std::ostringstream why;
    why.precision(3);
    why << "the client's own thread was busy for " << share * 100 << " % of the time (at most " << client_busy_max * 100
        << " %): they would be its figures and not the server's";
    report_.refused = why.str();
  }

  void bootstrap_storm(Figures& out) {
    Histogram rounds;
    for (std::size_t i = 0; i < scenario_.storm.rounds && !stop_; ++i) {
      swarm_.send_away(Swarm::Away::with_nothing);
      const Use before = use();
      swarm_.let_return();
      if (!swarm_.wait_until_live(live_max)) return storm_failed(i);
      storm_round(rounds, before);
    }
    add_storm(out, rounds);
  }

  void resume_storm() {
    RunReport::Step out{"resume storm", {}};
    Histogram rounds;
    const double rate = std::max(1.0, scenario_.writes.rates.front());
    timeline_.begin_step(scenario_.writes.rates.size(), out.name);
    for (std::size_t i = 0; i < scenario_.storm.rounds && !stop_; ++i) {
      swarm_.send_away(Swarm::Away::with_cursor);
      const double missed = static_cast<double>(scenario_.storm.missed) + 0.5;
      writers_.start(Schedule(Clock::now(), rate, std::chrono::duration<double>(missed / rate)));
      writers_.finish();
      const auto heads = settled_heads(database_, population_.spaces);
      const Use before = use();
      swarm_.let_return();
      if (!swarm_.wait_until_at(heads, live_max)) return storm_failed(i);
      storm_round(rounds, before);
    }
    add_storm(out.figures, rounds);
    report_.steps.push_back(std::move(out));
  }

  void storm_failed(std::size_t round) {
    report_.wrong.push_back("storm, round " + std::to_string(round + 1) + ": not everybody came back in time");
  }

  void storm_round(Histogram& rounds, const Use& before) {
    const Use after = use();
    rounds.add(after.at - before.at);
    refuse_if_busy(std::chrono::duration<double>(after.client - before.client).count() /
                   seconds_of(after.at - before.at));
    say("storm: all back after " + std::to_string(seconds_of(after.at - before.at) * 1000) + " ms");
  }

  static void add_storm(Figures& out, const Histogram& rounds) {
    add(out, "storm_rounds", static_cast<double>(rounds.count()));
    add(out, "storm_all_back_median_ms", rounds.percentile(0.5));
    add(out, "storm_all_back_max_ms", rounds.max());
  }

  /// Nobody writes: everybody comes to the head, and each set is put beside its query.
  void judge(const std::string& when) {
    if (!swarm_.wait_until_at(settled_heads(database_, population_.spaces), live_max))
      report_.wrong.push_back(when + ": not everybody reached the head");
    swarm_.between_turns([&] {
      Checker checker(database_);
      for (const std::string& what : check_population(swarm_.clients(), population_, checker))
        report_.wrong.emplace_back(when).append(": ").append(what);
      for (std::size_t i = 0; i < swarm_.clients().size(); ++i) {
        for (std::size_t k = 0; k < population_.questions[i].size(); ++k) {
          ++report_.sets_compared;
          report_.records_compared += swarm_.clients()[i]->fold_of(k).records().size();
        }
      }
    });
  }

  void judge_end() {
    swarm_.calm();
    judge("at the end");
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  const std::atomic<bool>& stop_;
  Population population_;
  Database database_;
  Recorder recorder_;
  Swarm first_;
  Swarm swarm_;
  Writers writers_;
  Timeline timeline_;
  RunReport report_;
};

}  // namespace

RunReport run_scenario(const Scenario& scenario, const RunOptions& options, const std::atomic<bool>& stop) {
  return Run(scenario, options, stop).run();
}

}  // namespace viewgate::loadtest
