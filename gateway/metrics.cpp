#include "gateway/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <utility>

#include "gateway/log_sink.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::gateway {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr double microseconds_per_second = 1e6;

class Families {
 public:
  void gauge(const std::string& name, const std::string& help, double value, Labels labels = {}) {
    add(name, help, MetricType::Gauge, std::move(labels)).gauge.value = value;
  }
  void counter(const std::string& name, const std::string& help, double value, Labels labels = {}) {
    add(name, help, MetricType::Counter, std::move(labels)).counter.value = value;
  }
  void histogram(const std::string& name, const std::string& help, const std::vector<const Times*>& parts) {
    auto& out = add(name, help, MetricType::Histogram, {}).histogram;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < Times::bounds_us.size(); ++i) {
      for (const Times* each : parts) below += each->in_bucket(i);
      out.bucket.push_back({below, static_cast<double>(Times::bounds_us[i]) / microseconds_per_second});
    }
    for (const Times* each : parts) {
      out.sample_count += each->count();
      out.sample_sum += static_cast<double>(each->sum_us()) / microseconds_per_second;
    }
  }
  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  /// Metrics of one name come one after the other.
  ClientMetric& add(const std::string& name, const std::string& help, MetricType type, Labels labels) {
    if (families_.empty() || families_.back().name != name) families_.push_back({name, help, type, {}});
    auto& metric = families_.back().metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  std::vector<MetricFamily> families_;
};

double number(auto value) { return static_cast<double>(value); }

class Node {
 public:
  explicit Node(const NodeReading& reading) : reading_(reading) {}

  std::string text() {
    out_.gauge("viewgate_build_info", "The program's version; always 1.", 1, {{"version", reading_.version}});
    sockets();
    told();
    limits();
    times();
    engine();
    tail();
    disk();
    writes();
    pools();
    out_.counter("viewgate_log_lines_lost_total", "Lines of the log that could not be written.",
                 number(log::lines_lost()));
    process();
    return out_.text();
  }

 private:
  void per_reactor(const std::string& name, const std::string& help, std::size_t ReactorCounters::*member) {
    for (std::size_t i = 0; i < reading_.reactors.size(); ++i) {
      out_.gauge(name, help, number(reading_.reactors[i].*member), {{"reactor", std::to_string(i)}});
    }
  }
  [[nodiscard]] double sum(std::uint64_t ReactorCounters::*member) const {
    return std::accumulate(reading_.reactors.begin(), reading_.reactors.end(), 0.0,
                           [&](double so_far, const ReactorCounters& each) { return so_far + number(each.*member); });
  }
  [[nodiscard]] double sum(const std::function<const Count&(const Tally&)>& of) const {
    return std::accumulate(reading_.tallies.begin(), reading_.tallies.end(), 0.0,
                           [&](double so_far, const Tally* each) { return so_far + number(of(*each).value()); });
  }
  [[nodiscard]] double sum(Count Tally::*member) const {
    return sum([member](const Tally& tally) -> const Count& { return tally.*member; });
  }
  [[nodiscard]] std::vector<const Times*> all(Times Tally::*member) const {
    std::vector<const Times*> out;
    for (const Tally* each : reading_.tallies) out.push_back(&(each->*member));
    return out;
  }

  void sockets() {
    per_reactor("viewgate_connections", "Sockets, also those that are not upgraded yet.",
                &ReactorCounters::connections);
    per_reactor("viewgate_sessions", "Sockets that were upgraded.", &ReactorCounters::sessions);
    per_reactor("viewgate_subscriptions", "Open subscriptions; those of one socket to one group are one.",
                &ReactorCounters::subscriptions);
    per_reactor("viewgate_blocked_sockets", "Sockets that take nothing of what there is for them: slow readers.",
                &ReactorCounters::blocked);
    per_reactor("viewgate_reactor_groups", "Different views that the reactor's sockets follow.",
                &ReactorCounters::groups);
    per_reactor("viewgate_ring_bytes", "Recent documents kept for the sockets.", &ReactorCounters::ring_bytes);
    out_.counter("viewgate_sockets_accepted_total", "Sockets that were accepted.", sum(&Tally::accepted));
    out_.counter("viewgate_sockets_refused_total",
                 "Sockets closed at once: their address had too many, or no descriptor was left.",
                 sum(&Tally::not_accepted));
    for (std::size_t i = 0; i < refusal_reasons.size(); ++i) {
      out_.counter(
          "viewgate_handshakes_refused_total",
          "Sockets that were refused before the upgrade: a page of an origin that is not listed, no upgrade (a "
          "proxy that does not pass it on), or what no client of ours sends.",
          sum([i](const Tally& tally) -> const Count& { return tally.handshakes_refused.at(i); }),
          {{"reason", std::string(refusal_reasons.at(i))}});
    }
    out_.counter("viewgate_hellos_accepted_total", "Clients that were let in.", sum(&Tally::welcomes));
    out_.counter("viewgate_written_messages_total", "Messages given to sockets.",
                 sum(&ReactorCounters::messages_written));
    out_.counter("viewgate_written_bytes_total", "Bytes given to sockets.", sum(&ReactorCounters::bytes_written));
  }

  void told() {
    out_.counter("viewgate_subscriptions_opened_total", "Answers subscribed.", sum(&Tally::subscribed));
    out_.counter("viewgate_subscriptions_resumed_total", "Of these, those that went on from a cursor.",
                 sum(&Tally::resumed));
    out_.counter(
        "viewgate_ring_misses_total",
        "Times a reader was slower than its ring, or a commit too large for it, and it came back through the history.",
        sum(&Tally::ring_misses));
    for (std::size_t i = 0; i < Tally::names_max && !name(static_cast<ErrorCode>(i)).empty(); ++i) {
      out_.counter("viewgate_errors_total", "Errors told to clients.",
                   sum([i](const Tally& tally) -> const Count& { return tally.errors.at(i); }),
                   {{"code", std::string(name(static_cast<ErrorCode>(i)))}});
    }
    for (std::size_t i = 0; i < Tally::names_max && !name(static_cast<ResetReason>(i)).empty(); ++i) {
      out_.counter("viewgate_resets_total", "Views that had to start anew.",
                   sum([i](const Tally& tally) -> const Count& { return tally.resets.at(i); }),
                   {{"reason", std::string(name(static_cast<ResetReason>(i)))}});
    }
    for (std::size_t i = 0; i < close_codes.size(); ++i) {
      out_.counter("viewgate_closes_total", "Sockets closed by the server, by code.",
                   sum([i](const Tally& tally) -> const Count& { return tally.closes.at(i); }),
                   {{"code", std::to_string(close_codes.at(i).code)}, {"name", std::string(close_codes.at(i).name)}});
    }
  }

  void limits() {
    for (std::size_t i = 0; i < limit_names.size(); ++i) {
      out_.counter("viewgate_limits_reached_total", "Times that a limit of the configuration was reached, by its name.",
                   sum([i](const Tally& tally) -> const Count& { return tally.limits.at(i); }),
                   {{"limit", std::string(limit_names.at(i))}});
    }
    const EngineReading& engine = reading_.engine;
    const std::pair<const char*, std::uint64_t> of_the_node[] = {
        {"limit.address_connections", engine.admission.address_connections},
        {"limit.address_handshakes", engine.admission.address_handshakes},
        {"limit.principal_connections", engine.admission.principal_connections},
        {"limit.principal_requests", engine.admission.principal_requests},
        {"limit.principal_bootstraps", engine.bootstraps_over_share},
        {"limit.view_answers", engine.view_answers_over_limit},
        {"ring.backlog_bytes", engine.backlogs},
        {"snapshot.queue", engine.bootstrap_queue_full},
        {"write.queue", engine.writes.queue_full}};
    for (const auto& [limit, times] : of_the_node) {
      out_.counter("viewgate_limits_reached_total", "", number(times), {{"limit", limit}});
    }
    out_.counter("viewgate_bootstraps_refused_total",
                 "Questions for a snapshot that were told to come back: no room, or no database.",
                 sum(&Tally::bootstraps_refused));
  }

  void times() {
    out_.histogram("viewgate_commit_to_socket_seconds",
                   "From the writer's transaction time to the write to the sockets, per commit and view.",
                   all(&Tally::commit_to_socket));
    out_.histogram("viewgate_bootstrap_seconds", "From a view's question for a snapshot to the snapshot.",
                   all(&Tally::bootstraps));
    out_.histogram("viewgate_history_seconds", "From a returning view's question for what it missed to the answer.",
                   all(&Tally::histories));
    out_.histogram("viewgate_bootstrap_file_read_seconds",
                   "Reads of bootstraps' and catch-ups' files that were not in the page cache and waited for the disk.",
                   all(&Tally::spills));
  }

  void engine() {
    const EngineReading& engine = reading_.engine;
    out_.gauge("viewgate_database_available", "1: PostgreSQL answers; 0: clients were told degraded.",
               engine.degraded ? 0 : 1);
    out_.gauge(
        "viewgate_captures_broken",
        "Captured tables of the model that have a hole: their views are unavailable until they are captured again.",
        number(engine.captures_broken));
    out_.gauge("viewgate_issuers_without_fresh_keys", "Issuers whose keys could not be fetched when it was last tried.",
               number(engine.keys_missing));
    out_.gauge(
        "viewgate_tls_stale",
        "1: the files of tls.certificate and tls.key could not be used when last read; those of before are shown.",
        engine.tls_is_stale ? 1 : 0);
    out_.gauge("viewgate_spaces", "Spaces that are followed.", number(engine.spaces));
    out_.gauge("viewgate_groups", "Different views that are followed, of all reactors.", number(engine.groups));
    out_.gauge("viewgate_recent_bytes", "Recent commits kept for those who return.", number(engine.recent_bytes));
    out_.gauge("viewgate_snapshot_memory_bytes", "Bootstraps in memory.", number(engine.snapshot_memory_bytes));
    out_.gauge("viewgate_snapshot_disk_bytes", "Bootstraps and catch-ups in files.",
               number(engine.snapshot_disk_bytes));
    out_.counter("viewgate_commits_projected_total", "Commits of followed spaces.", number(engine.commits));
    out_.counter("viewgate_frames_encoded_total", "Documents encoded: one per commit and view that it touched.",
                 number(engine.frames));
  }

  void tail() {
    const ledger::TailerStats& tail = reading_.engine.tail;
    auto lags = reading_.engine.lags;
    std::ranges::sort(lags, std::greater(), &ledger::SpaceLag::commits);
    out_.gauge("viewgate_lag_commits_max", "Commits of the space furthest behind that this node has not handed on.",
               lags.empty() ? 0 : number(lags.front().commits));
    std::chrono::duration<double> longest{};
    for (const auto& each : lags) longest = std::max<std::chrono::duration<double>>(longest, each.time);
    out_.gauge("viewgate_lag_seconds_max", "How long the space that waits longest has waited.", longest.count());
    if (lags.size() > lagging_spaces_max) lags.resize(lagging_spaces_max);
    for (const auto& each : lags) {
      out_.gauge("viewgate_space_lag_commits", "Commits not handed on, of the spaces furthest behind.",
                 number(each.commits), {{"space", each.space}});
    }
    for (const auto& each : lags) {
      out_.gauge("viewgate_space_lag_seconds", "How long they have waited.",
                 std::chrono::duration<double>(each.time).count(), {{"space", each.space}});
    }
    out_.gauge("viewgate_wakeups_trusted", "1: notifications of PostgreSQL arrive; 0: the node polls.",
               tail.wakeups == ledger::Wakeups::listen ? 1 : 0);
    out_.counter("viewgate_looks_total", "Looks into the database for new commits.", number(tail.looks));
    out_.counter("viewgate_notifications_total", "Notifications that arrived.", number(tail.notified));
    out_.counter("viewgate_canaries_sent_total", "Notifications to itself, by which the node proves that they arrive.",
                 number(tail.canaries));
    out_.counter("viewgate_canaries_heard_total", "Of these, those that arrived.", number(tail.canaries_heard));
    out_.counter("viewgate_commits_numbered_total", "Commits that this node gave a number.", number(tail.numbered));
    out_.counter("viewgate_changes_read_total", "Changes read from the log.", number(tail.changes));
    out_.counter("viewgate_database_connects_total", "Times the log's connection was made.", number(tail.connects));
    out_.counter("viewgate_pruned_commits_total", "Commits that this node pruned.", number(tail.pruned));
    out_.counter("viewgate_housekeeping_failures_total",
                 "Checks of captured tables, looks at sizes, prunings and readings of large commits that failed.",
                 number(tail.housekeeping.count));
  }

  void disk() {
    const ledger::LedgerSize& size = reading_.engine.tail.size;
    const std::pair<const char*, std::uint64_t> tables[] = {
        {"changes", size.changes}, {"commits", size.commits}, {"records", size.records}, {"others", size.others}};
    for (const auto& [table, bytes] : tables) {
      out_.gauge("viewgate_ledger_bytes", "What the ledger takes of the database's disk, by table, with indexes.",
                 number(bytes), {{"table", table}});
    }
    out_.gauge("viewgate_ledger_budget_bytes", "What it may take (ledger.disk_bytes); 0: unknown.",
               number(reading_.engine.disk_budget_bytes));
    out_.gauge("viewgate_ledger_dead_rows",
               "Deleted rows whose place no vacuum has taken back, as PostgreSQL estimates.", number(size.dead_rows));
  }

  void writes() {
    const ledger::MutatorStats& writes = reading_.engine.writes;
    out_.counter("viewgate_mutation_transactions_total", "Transactions that wrote mutations.",
                 number(writes.transactions));
    out_.counter("viewgate_mutations_total", "Mutations that got a receipt.", number(writes.receipts));
    out_.counter("viewgate_mutation_replays_total", "Mutations that were answered with the receipt they had.",
                 number(writes.replays));
    out_.counter("viewgate_mutation_retries_total", "Transactions that were tried again.", number(writes.retries));
    out_.counter("viewgate_mutation_failures_total", "Mutations that were answered by an error.",
                 number(writes.failures));
    out_.gauge("viewgate_mutations_waiting", "Mutations that wait for their space.", number(writes.waiting));
  }

  void pools() {
    const std::array<std::pair<std::string, ledger::pg::PoolStats>, 3> pools{{{"read", reading_.engine.reads},
                                                                              {"bootstrap", reading_.engine.bootstraps},
                                                                              {"write", reading_.engine.writes.pool}}};
    const auto each = [&](const std::string& name, const std::string& help,
                          std::size_t ledger::pg::PoolStats::*member) {
      for (const auto& [pool, stats] : pools) out_.gauge(name, help, number(stats.*member), {{"pool", pool}});
    };
    each("viewgate_pool_connections_max",
         "Connections to PostgreSQL that the pool may have: read (those who return), bootstrap, write (mutations).",
         &ledger::pg::PoolStats::connections_max);
    each("viewgate_pool_connections_used", "Of these, those in use.", &ledger::pg::PoolStats::used);
    each("viewgate_pool_connections_idle", "Of these, those open and not in use.", &ledger::pg::PoolStats::idle);
    each("viewgate_pool_waiting", "Questions to PostgreSQL that wait for one of them.",
         &ledger::pg::PoolStats::waiting);
  }

  void process() {
    const ProcessReading& process = reading_.process;
    out_.counter("process_cpu_seconds_total", "User and system time.", process.cpu_seconds);
    out_.gauge("process_resident_memory_bytes", "Resident memory.", number(process.resident_bytes));
    out_.gauge("process_open_fds", "Open descriptors.", number(process.open_descriptors));
    out_.gauge("process_max_fds", "The limit of descriptors.", number(process.max_descriptors));
  }

  const NodeReading& reading_;
  Families out_;
};

}  // namespace

ProcessReading read_process() {
  ProcessReading out;
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) {
    const auto seconds = [](const timeval& time) { return number(time.tv_sec) + number(time.tv_usec) / 1e6; };
    out.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  }
  std::uint64_t pages = 0;
  std::uint64_t resident_pages = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> resident_pages) {
    out.resident_bytes = resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  std::error_code unreadable;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", unreadable);
  out.open_descriptors = static_cast<std::uint64_t>(std::distance(begin(descriptors), end(descriptors)));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) out.max_descriptors = limit.rlim_cur;
  return out;
}

std::string metrics_text(const NodeReading& reading) { return Node(reading).text(); }

}  // namespace viewgate::gateway
