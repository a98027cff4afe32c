#include "loadtest/measure.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "loadtest/database.hpp"
#include "loadtest/pgbench_views.hpp"
#include "loadtest/report.hpp"
#include "loadtest/swarm.hpp"

namespace viewgate::loadtest {

namespace {

constexpr int accounts_per_space = 100'000;
constexpr int measured_digit = 3;
constexpr int value_base = 1'000'000;  ///< far above any balance that pgbench makes
constexpr std::size_t writers_max = 8;

std::int64_t now_ns() { return Clock::now().time_since_epoch().count(); }

/// One commit per value, from several connections at an even pace; remembers when each COMMIT had returned.
class Writers {
 public:
  Writers(const std::string& database, std::size_t commits, int spaces) : committed_(commits), spaces_(spaces) {
    for (std::size_t i = 0; i < std::min(writers_max, commits); ++i) {
      connections_.push_back(std::make_unique<Database>(database));
      connections_.back()->query(
          "prepare write(int, int) as update public.pgbench_accounts set abalance = $1 where aid = $2");
      // The accounts may hold what an earlier run wrote.
      connections_.back()->query("update public.pgbench_accounts set abalance = 0 where aid = " +
                                 std::to_string(account(i)));
    }
  }
  /// Each writer has an account of its own, so that they do not wait for each other's row.
  int account(std::size_t writer) const {
    const int space = static_cast<int>(writer) % spaces_;
    return space * accounts_per_space + 10 * (static_cast<int>(writer) + 1) + measured_digit;
  }
  void run(std::size_t rate) {
    const Clock::time_point begin = Clock::now();
    std::vector<std::thread> threads;
    for (std::size_t writer = 0; writer < connections_.size(); ++writer) {
      threads.emplace_back([this, writer, begin, rate] {
        for (std::size_t i = writer; i < committed_.size(); i += connections_.size()) {
          if (rate > 0) std::this_thread::sleep_until(begin + std::chrono::nanoseconds(1'000'000'000 / rate * i));
          commit(writer, i);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    per_second_ = static_cast<double>(committed_.size()) / std::chrono::duration<double>(Clock::now() - begin).count();
  }
  void commit(std::size_t writer, std::size_t i) {
    connections_[writer]->query("execute write(" + std::to_string(value_base + static_cast<int>(i)) + ", " +
                                std::to_string(account(writer)) + ")");
    committed_[i] = now_ns();
  }
  std::size_t size() const { return committed_.size(); }
  /// What run reached; below the rate that was asked for when PostgreSQL could not keep up.
  double per_second() const { return per_second_; }
  std::int64_t committed(std::size_t i) const { return committed_[i]; }

 private:
  std::vector<std::unique_ptr<Database>> connections_;
  std::vector<std::int64_t> committed_;
  double per_second_ = 0;
  int spaces_;
};

/// When a reader saw each value first.
class Arrivals {
 public:
  explicit Arrivals(std::size_t count) : seen_(count) {}

  void on_document(const std::vector<Member>& document) {
    if (unquoted(member(document, "type")) != "commit") return;
    const std::int64_t now = now_ns();
    std::vector<std::string_view> events;
    std::vector<Member> event, columns;
    if (!elements(member(document, "events"), events)) return;
    for (const std::string_view one : events) {
      if (!members(one, event)) continue;
      const std::string_view body =
          member(event, "changed").empty() ? member(event, "record") : member(event, "changed");
      if (body.empty() || !members(body, columns)) continue;
      const std::int64_t value = integer(member(columns, "abalance")).value_or(0) - value_base;
      if (value < 0 || static_cast<std::size_t>(value) >= seen_.size()) continue;
      std::int64_t none = 0;
      if (seen_[static_cast<std::size_t>(value)].compare_exchange_strong(none, now)) ++count_;
    }
  }
  bool wait_for(std::size_t count, std::chrono::seconds time_max) const {
    const Clock::time_point end = Clock::now() + time_max;
    while (count_ < count && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return count_ >= count;
  }
  std::int64_t seen(std::size_t i) const { return seen_[i]; }
  std::size_t count() const { return count_; }

 private:
  std::vector<std::atomic<std::int64_t>> seen_;
  std::atomic<std::size_t> count_{0};
};

/// Subscribers of `watch` in a range where only this program's values lie: the set is small, the group one per space.
SwarmOptions readers(const MeasureOptions& options, std::size_t count, int spaces) {
  SwarmOptions out;
  out.address = options.address;
  out.calm = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Watched watched{std::to_string(static_cast<int>(i) % spaces + 1), "watch", value_base, 2'000'000'000,
                          measured_digit};
    out.members.push_back({"reader-" + std::to_string(i),
                           token_of(options.tokens, "reader-" + std::to_string(i), measured_digit),
                           {wanted_of(watched, "s")}});
  }
  return out;
}

/// Milliseconds from COMMIT's return to the reader; an event that came before COMMIT had returned took no time.
std::vector<double> latencies(const Writers& writers, const Arrivals& arrivals) {
  std::vector<double> out;
  for (std::size_t i = 0; i < writers.size(); ++i) {
    if (arrivals.seen(i) == 0) continue;
    out.push_back(std::max(0.0, static_cast<double>(arrivals.seen(i) - writers.committed(i)) / 1e6));
  }
  return out;
}

int not_live(const Swarm& swarm) {
  std::fprintf(stderr, "the readers did not become live\n%s", swarm.summary().c_str());
  return 1;
}

double own_cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

}  // namespace

int measure_latency(const MeasureOptions& options) {
  Report report("latency_" + std::to_string(options.rate));
  const auto measure = [&](std::size_t commits, std::size_t rate, const std::string& name) {
    const int spaces = rate == 0 ? 1 : pgbench_spaces;
    Swarm swarm(readers(options, static_cast<std::size_t>(spaces), spaces));
    Arrivals arrivals(commits);
    for (std::size_t i = 0; i < swarm.clients().size(); ++i) {
      swarm.observe(i, [&](std::string_view, const std::vector<Member>& document) { arrivals.on_document(document); });
    }
    Writers writers(options.database, commits, spaces);
    swarm.start();
    if (!swarm.wait_until_live(std::chrono::seconds(60))) return not_live(swarm);
    if (rate > 0) {
      writers.run(rate);
    } else {
      for (std::size_t i = 0; i < commits; ++i) {
        std::this_thread::sleep_for(std::chrono::seconds(10));
        writers.commit(i % std::min(writers_max, commits), i);
      }
    }
    arrivals.wait_for(commits, std::chrono::seconds(10));
    swarm.stop();
    std::vector<double> values = latencies(writers, arrivals);
    report.add(name + "_p50_ms", percentile(values, 0.5));
    report.add(name + "_p99_ms", percentile(values, 0.99));
    report.add(name + "_max_ms", percentile(values, 1));
    report.add(name + "_commits", static_cast<double>(commits));
    if (rate > 0) report.add(name + "_commits_per_second", writers.per_second());
    report.add(name + "_lost", static_cast<double>(commits - arrivals.count()));
    return arrivals.count() == commits && swarm.violations().count() == 0 ? 0 : 1;
  };
  int status = 0;
  if (options.rate > 0)
    status = measure(options.rate * static_cast<std::size_t>(options.duration.count()), options.rate, "busy");
  if (options.lone_commits > 0) status |= measure(options.lone_commits, 0, "lone");
  report.print();
  return status;
}

int measure_fanout(const MeasureOptions& options) {
  SwarmOptions crowd = readers(options, options.clients, 1);
  crowd.keep = Client::Keep::count;
  Swarm swarm(std::move(crowd));
  Writers writers(options.database, options.rate * static_cast<std::size_t>(options.duration.count()), 1);
  Arrivals arrivals(writers.size());
  swarm.observe(0, [&](std::string_view, const std::vector<Member>& document) { arrivals.on_document(document); });
  swarm.start();
  if (!swarm.wait_until_live(std::chrono::seconds(120))) return not_live(swarm);
  const double own_before = own_cpu_seconds();
  const ProcessUse before = options.server == 0 ? ProcessUse{} : process_use(options.server);
  const std::uint64_t delivered_before = swarm.deliveries();
  const Clock::time_point begin = Clock::now();
  writers.run(options.rate);
  const std::uint64_t expected = delivered_before + writers.size() * options.clients;
  const Clock::time_point give_up = Clock::now() + std::chrono::seconds(60);
  while (swarm.deliveries() < expected && Clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const ProcessUse after = options.server == 0 ? ProcessUse{} : process_use(options.server);
  const double own_after = own_cpu_seconds();
  const auto delivered = static_cast<double>(swarm.deliveries() - delivered_before);
  swarm.stop();
  std::vector<double> values = latencies(writers, arrivals);
  Report report("fanout");
  report.add("clients", static_cast<double>(options.clients));
  report.add("commits", static_cast<double>(writers.size()));
  report.add("commits_per_second", writers.per_second());
  report.add("deliveries", delivered);
  report.add("deliveries_per_second", delivered / seconds);
  report.add("server_cpu_seconds_per_million", (after.cpu_seconds - before.cpu_seconds) / delivered * 1e6);
  report.add("client_cpu_seconds_per_million", (own_after - own_before) / delivered * 1e6);
  report.add("first_client_p50_ms", percentile(values, 0.5));
  report.add("first_client_p99_ms", percentile(values, 0.99));
  report.print();
  return swarm.deliveries() >= expected ? 0 : 1;
}

int measure_idle(const MeasureOptions& options) {
  constexpr std::chrono::seconds settle{3};
  if (options.server == 0) {
    std::fprintf(stderr, "idle needs the server's --pid\n");
    return 2;
  }
  // One reader first: what the group itself costs is not a connection's.
  Swarm first(readers(options, 1, 1));
  first.start();
  if (!first.wait_until_live(std::chrono::seconds(60))) return not_live(first);
  std::this_thread::sleep_for(settle);
  const ProcessUse before = process_use(options.server);
  Swarm swarm(readers(options, options.clients, 1));
  swarm.start();
  if (!swarm.wait_until_live(std::chrono::seconds(120))) return not_live(swarm);
  std::this_thread::sleep_for(settle);
  const ProcessUse after = process_use(options.server);
  const double cpu_before = after.cpu_seconds;
  std::this_thread::sleep_for(options.duration);
  const ProcessUse later = process_use(options.server);
  swarm.stop();
  first.stop();
  Report report("idle");
  report.add("connections", static_cast<double>(options.clients));
  report.add("bytes_per_connection", (static_cast<double>(after.rss_bytes) - static_cast<double>(before.rss_bytes)) /
                                         static_cast<double>(options.clients));
  report.add("rss_mb", static_cast<double>(after.rss_bytes) / 1e6);
  report.add("cpu_percent", (later.cpu_seconds - cpu_before) / static_cast<double>(options.duration.count()) * 100);
  report.print();
  return 0;
}

}  // namespace viewgate::loadtest
