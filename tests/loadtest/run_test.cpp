// Scenarios end to end: the built viewgate-loadtest against the built gateway and a durable PostgreSQL. What is right passes
// with figures; a gateway that is fast and wrong fails.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "support/line.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// pgbench's accounts as far as the scenarios here write them: the first hundred of each branch.
constexpr const char* accounts = R"(
create table public.pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));
insert into public.pgbench_accounts
  select branch * 100000 + i, branch + 1, i % 7 - 3, '' from generate_series(0, 9) branch, generate_series(1, 100) i;
)";

LineOptions bank() {
  LineOptions out;
  out.tables = accounts;
  out.model = file_text(std::string(VIEWGATE_SOURCE_DIR) + "/demo/model.sql");
  // Only what the tests would wait for: everything else as in service.
  out.flags = {"--time-progress", "100ms", "--time-retry", "100ms", "--time-drain", "500ms"};
  return out;
}

Line& line() {
  static Line shared(durable_cluster(), bank());
  return shared;
}

Finished run_scenario(const std::string& text, GatewayProcess& gateway, const std::string& report = {}) {
  const std::string file = temporary_path("scenario.toml");
  std::ofstream(file) << "name = \"short\"\n" << text;
  std::vector<std::string> arguments{program("viewgate-loadtest"),
                                     "run",
                                     file,
                                     "--address",
                                     gateway.address(),
                                     "--database",
                                     line().database(),
                                     "--key-file",
                                     key_file(),
                                     "--pid",
                                     std::to_string(gateway.process().pid())};
  if (!report.empty()) arguments.insert(arguments.end(), {"--report", report});
  Finished out = run(arguments, std::chrono::seconds(240));
  std::filesystem::remove(file);
  return out;
}

Finished run_scenario(const std::string& text) { return run_scenario(text, line().gateway()); }

TEST(LoadtestRun, captured_tables_up_a_ladder_with_a_report_in_three_forms) {
  const std::string report = temporary_path("report");
  const Finished finished = run_scenario(R"(
[clients]
count = 40
spaces = 2
groups = 4
sample = 8
[writes]
rates = [20, 60]
seconds = 1
)",
                                         line().gateway(), report);
  ASSERT_EQ(finished.status, 0) << finished.output;
  EXPECT_THAT(finished.output, AllOf(HasSubstr("\"right\":true"), HasSubstr("\"step\":\"20 commits/s\""),
                                     HasSubstr("\"step\":\"60 commits/s\""), HasSubstr("\"deliveries\":400.000"),
                                     HasSubstr("\"deliveries\":1200.000"), HasSubstr("\"from_due_p99_ms\""),
                                     HasSubstr("\"server_cpu_seconds_per_million\"")));
  for (const std::string name : {"report.txt", "report.json", "report.html"})
    EXPECT_THAT(file_text(report + "/" + name), HasSubstr("from_due_p99_ms")) << name;
  std::filesystem::remove_all(report);
}

TEST(LoadtestRun, managed_records_by_append_and_by_mutations_with_many_spaces_on_a_socket) {
  for (const std::string door : {"append", "mutations"}) {
    const Finished finished = run_scenario(
        "[clients]\ncount = 4\nsubscriptions = 5\nspaces = 20\nview = \"board\"\nsample = 2\n"
        "[writes]\ndoor = \"" +
        door + "\"\nrates = [40]\nseconds = 1\nchanges = 3\nbytes = 50\n");
    EXPECT_EQ(finished.status, 0) << door << "\n" << finished.output;
    EXPECT_THAT(finished.output, AllOf(HasSubstr("\"right\":true"), HasSubstr("\"deliveries\":40.000")));
  }
}

TEST(LoadtestRun, a_resume_storm_and_a_bootstrap_storm_bring_everybody_back) {
  const std::string clients =
      "[clients]\ncount = 30\nsample = 5\nconnects_per_second = 100000\n[writes]\nrates = [50]\nseconds = 1\n";
  for (const std::string kind : {"resume", "bootstrap"}) {
    const Finished finished = run_scenario(clients + "[storm]\nkind = \"" + kind + "\"\nmissed = 20\nrounds = 2\n");
    EXPECT_EQ(finished.status, 0) << kind << "\n" << finished.output;
    EXPECT_THAT(finished.output, HasSubstr("\"storm_rounds\":2.000"));
  }
}

TEST(LoadtestRun, slow_and_churning_clients_end_up_right) {
  const Finished finished = run_scenario(R"(
[clients]
count = 30
spaces = 3
sample = 20
slow = 0.1
slow_bytes_per_second = 1000
stopped = 0.1
[writes]
rates = [100]
seconds = 2
[churn]
mean_seconds = 0.3
)");
  EXPECT_EQ(finished.status, 0) << finished.output;
  EXPECT_THAT(finished.output, HasSubstr("\"right\":true"));
}

TEST(LoadtestRun, a_gateway_that_is_fast_and_wrong_fails) {
  GatewayOptions options = line().gateway_options();
  options.environment = {{"VIEWGATE_PLANT", "ignore_before"}};
  GatewayProcess wrong(options);
  const Finished finished =
      run_scenario("[clients]\ncount = 5\nsample = 2\n[writes]\nrates = [100]\nseconds = 1\nconnections = 2\n", wrong);
  EXPECT_EQ(finished.status, 1) << finished.output;
  EXPECT_THAT(finished.output, AllOf(HasSubstr("WRONG: "), HasSubstr("\"right\":false")));
}

TEST(LoadtestRun, a_scenario_that_is_not_sound_runs_nothing_and_says_all_that_is_wrong) {
  const Finished finished = run_scenario("[clients]\ncount = 0\nsampel = 3\n");
  EXPECT_EQ(finished.status, 2);
  EXPECT_THAT(finished.output,
              AllOf(HasSubstr(":3: clients.count: must be"), HasSubstr(":4: clients.sampel: is not known")));
}

}  // namespace
}  // namespace viewgate::testing
