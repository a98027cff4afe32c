// The metrics of a node as Prometheus reads them: their names are a promise, and each figure is where it belongs.
#include "gateway/metrics.hpp"

#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "golden_files.hpp"

namespace viewgate::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

NodeReading some_reading(const Tally& tally) {
  NodeReading out;
  out.version = "1.2.3";
  out.engine.groups = 5;
  out.engine.tail.wakeups = ledger::Wakeups::listen;
  out.engine.lags = {{"slow", 7, std::chrono::milliseconds(2500)},
                     {"slower \"\\\n", 9, std::chrono::milliseconds(500)}};
  out.reactors = {ReactorCounters{.connections = 3, .bytes_written = 100}, ReactorCounters{.bytes_written = 11}};
  out.tallies = {&tally, &tally};
  return out;
}

/// "name type" of each metric, as they come.
std::string names_of(const std::string& text) {
  static const std::regex line("# TYPE ([a-z_]+ [a-z]+)");
  std::string out;
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) out += (*it)[1].str() + "\n";
  return out;
}

TEST(Metrics, their_names_are_those_of_the_golden_file) {
  const Tally tally;
  EXPECT_EQ(names_of(metrics_text(some_reading(tally))),
            test::file_text(VIEWGATE_SOURCE_DIR "/tests/golden/metrics.txt"));
}

TEST(Metrics, every_name_that_rules_and_board_use_exists) {
  const Tally tally;
  const std::string text = metrics_text(some_reading(tally));
  static const std::regex used("(viewgate|process)_[a-z_]+");
  for (const char* path : {"/docs/monitoring/alerts.yml", "/docs/monitoring/board.json"}) {
    const std::string content = test::file_text(std::string(VIEWGATE_SOURCE_DIR) + path);
    std::set<std::string> names;
    for (std::sregex_iterator it(content.begin(), content.end(), used), end; it != end; ++it) names.insert(it->str());
    EXPECT_GT(names.size(), 5U) << path;
    for (const auto& name : names) {
      EXPECT_TRUE(text.find("\n" + name + " ") != std::string::npos ||
                  text.find("\n" + name + "{") != std::string::npos)
          << path << " uses " << name;
    }
  }
}

TEST(Metrics, figures_of_reactors_are_told_apart_or_summed) {
  Tally tally;
  tally.count(Error{"1", ErrorCode::forbidden, "", std::nullopt});
  tally.count(ResetRequired{"1", ResetReason::view_changed});
  tally.count_close(close_code::slow_reader);
  tally.count_limit(Limit::groups);
  tally.count_close(4999);  // a code of the peer's that this protocol does not have
  const std::string text = metrics_text(some_reading(tally));
  EXPECT_THAT(text, HasSubstr("viewgate_build_info{version=\"1.2.3\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_connections{reactor=\"0\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_connections{reactor=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_written_bytes_total 111\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_errors_total{code=\"forbidden\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_resets_total{reason=\"view_changed\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_closes_total{code=\"4008\",name=\"slow_reader\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_limits_reached_total{limit=\"limit.groups\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_limits_reached_total{limit=\"ring.backlog_bytes\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_wakeups_trusted 1\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_groups 5\n"));
}

TEST(Metrics, limits_of_the_whole_node_have_their_names) {
  const Tally tally;
  NodeReading reading = some_reading(tally);
  reading.engine.backlogs = 1;
  reading.engine.bootstraps_over_share = 2;
  reading.engine.bootstrap_queue_full = 3;
  reading.engine.view_answers_over_limit = 4;
  reading.engine.admission = {5, 6, 7, 8};
  reading.engine.writes.queue_full = 9;
  const std::string text = metrics_text(reading);
  for (const char* line : {"ring.backlog_bytes\"} 1", "limit.principal_bootstraps\"} 2", "snapshot.queue\"} 3",
                           "limit.view_answers\"} 4", "limit.address_connections\"} 5", "limit.address_handshakes\"} 6",
                           "limit.principal_connections\"} 7", "limit.principal_requests\"} 8", "write.queue\"} 9"}) {
    EXPECT_THAT(text, HasSubstr("viewgate_limits_reached_total{limit=\"" + std::string(line) + "\n"));
  }
}

TEST(Metrics, what_a_node_goes_on_without_is_told) {
  const Tally tally;
  NodeReading reading = some_reading(tally);
  EXPECT_THAT(metrics_text(reading), HasSubstr("viewgate_tls_stale 0\n"));
  reading.engine.captures_broken = 2;
  reading.engine.keys_missing = 3;
  reading.engine.tls_is_stale = true;
  const std::string text = metrics_text(reading);
  for (const char* line :
       {"viewgate_captures_broken 2", "viewgate_issuers_without_fresh_keys 3", "viewgate_tls_stale 1"}) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
}

TEST(Metrics, each_pool_is_told_apart_also_that_of_bootstraps) {
  const Tally tally;
  NodeReading reading = some_reading(tally);
  reading.engine.reads = {2, 1, 1, 0};
  reading.engine.bootstraps = {4, 3, 0, 5};
  reading.engine.writes.pool = {8, 7, 0, 6};
  const std::string text = metrics_text(reading);
  for (const char* line :
       {"viewgate_pool_connections_max{pool=\"read\"} 2", "viewgate_pool_connections_used{pool=\"read\"} 1",
        "viewgate_pool_connections_max{pool=\"bootstrap\"} 4", "viewgate_pool_connections_used{pool=\"bootstrap\"} 3",
        "viewgate_pool_waiting{pool=\"bootstrap\"} 5", "viewgate_pool_connections_idle{pool=\"read\"} 1",
        "viewgate_pool_connections_used{pool=\"write\"} 7", "viewgate_pool_waiting{pool=\"write\"} 6"}) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
}

TEST(Metrics, a_space_that_is_behind_is_named_whatever_it_is_called) {
  const Tally tally;
  const std::string text = metrics_text(some_reading(tally));
  EXPECT_THAT(text, HasSubstr("viewgate_lag_commits_max 9\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_lag_seconds_max 2.5\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_space_lag_commits{space=\"slow\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_space_lag_commits{space=\"slower \\\"\\\\\\n\"} 9\n"));
}

TEST(Metrics, a_hundred_thousand_spaces_behind_are_a_bounded_text) {
  const Tally tally;
  NodeReading reading = some_reading(tally);
  reading.engine.lags.clear();
  for (int i = 1; i <= 100'000; ++i)
    reading.engine.lags.push_back({"s" + std::to_string(i), i, std::chrono::seconds(1)});
  const std::string text = metrics_text(reading);
  EXPECT_LT(text.size(), 32U * 1024);
  EXPECT_THAT(text, HasSubstr("viewgate_space_lag_commits{space=\"s100000\"} 100000\n"));
  EXPECT_THAT(text, Not(HasSubstr("{space=\"s1\"}")));
}

TEST(Metrics, times_lie_in_buckets_that_hold_those_below_them) {
  Tally tally;
  for (const std::int64_t us : {-5, 500, 501, 900'000, 400'000'000}) {
    tally.commit_to_socket.add(std::chrono::microseconds(us));
  }
  NodeReading reading = some_reading(tally);
  reading.tallies = {&tally};
  const std::string text = metrics_text(reading);
  EXPECT_THAT(text, HasSubstr("viewgate_commit_to_socket_seconds_bucket{le=\"0.0005\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_commit_to_socket_seconds_bucket{le=\"0.001\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_commit_to_socket_seconds_bucket{le=\"0.25\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_commit_to_socket_seconds_bucket{le=\"1\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_commit_to_socket_seconds_bucket{le=\"300\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_commit_to_socket_seconds_bucket{le=\"+Inf\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("viewgate_commit_to_socket_seconds_count 5\n"));
}

TEST(Metrics, the_process_tells_of_itself) {
  const ProcessReading process = read_process();
  EXPECT_GT(process.cpu_seconds, 0);
  EXPECT_GT(process.resident_bytes, 1024U * 1024);
  EXPECT_GT(process.open_descriptors, 2U);
  EXPECT_GE(process.max_descriptors, process.open_descriptors);
}

}  // namespace
}  // namespace viewgate::gateway
