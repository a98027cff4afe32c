// Scenario files: those that come with the program are sound, and what is wrong with another is told all at once, by line.
#include "loadtest/scenario.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "viewgate_paths.hpp"

namespace viewgate::loadtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> problems(std::string_view text) { return parse_scenario(text, "a.toml").problems; }

TEST(Scenario, every_one_that_comes_with_the_program_is_sound_and_named_like_its_file) {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(VIEWGATE_SOURCE_DIR) + "/loadtest/scenarios")) {
    const Scenario scenario = read_scenario(entry.path());
    EXPECT_EQ(scenario.name, entry.path().stem());
    EXPECT_FALSE(scenario.about.empty()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 10U);
}

TEST(Scenario, what_a_file_says_is_what_is_read_and_the_rest_has_defaults) {
  const ScenarioFile file = parse_scenario(R"(
name = "x"
seed = 7
[clients]
count = 50
view = "board"
slow = 0.25
[writes]
door = "append"
rates = [10, 0.5]
seconds = 1.5
[storm]
kind = "resume"
[churn]
mean_seconds = 3
)",
                                           "a.toml");
  EXPECT_THAT(file.problems, IsEmpty());
  const Scenario& scenario = file.scenario;
  EXPECT_EQ(scenario.seed, 7U);
  EXPECT_EQ(scenario.clients.count, 50U);
  EXPECT_EQ(scenario.clients.sample, 10U);
  EXPECT_EQ(scenario.clients.view, ScenarioView::board);
  EXPECT_EQ(scenario.clients.slow, 0.25);
  EXPECT_EQ(scenario.writes.door, Door::append);
  EXPECT_THAT(scenario.writes.rates, ElementsAre(10, 0.5));
  EXPECT_EQ(scenario.writes.step, std::chrono::milliseconds(1500));
  EXPECT_EQ(scenario.storm.kind, StormKind::resume);
  EXPECT_EQ(scenario.churn.mean, std::chrono::seconds(3));
  EXPECT_FALSE(scenario.calm());
}

TEST(Scenario, all_that_is_wrong_is_told_at_once_with_line_and_key) {
  EXPECT_THAT(
      problems(R"(name = 5
[clients]
count = 0
colour = "red"
view = "none"
[writes]
rates = []
seconds = "long"
[storms]
kind = "resume"
)"),
      ElementsAre("a.toml:1: name: must be a text in quotes",
                  "a.toml:3: clients.count: must be a whole number from 1 to 1e+06",
                  StartsWith("a.toml:4: clients.colour: is not known; known are connects_per_second, count, "),
                  "a.toml:5: clients.view: must be one of watch, overdrawn, board",
                  "a.toml:7: writes.rates: must be a list of numbers, [100, 200]",
                  "a.toml:8: writes.seconds: must be a number from 0.1 to 1e+06",
                  "a.toml:9: storms: is not known; known are about, name, seed, [bounds], [churn], [clients], [storm], "
                  "[writes]"));
}

TEST(Scenario, a_number_that_is_not_whole_and_a_section_that_is_none) {
  EXPECT_THAT(problems("name = \"x\"\nclients = 3\n"), ElementsAre("a.toml:2: clients: must be a section, [clients]"));
  EXPECT_THAT(problems("name = \"x\"\n[clients]\ncount = 2.5\n"),
              ElementsAre("a.toml:3: clients.count: must be a whole number from 1 to 1e+06"));
  EXPECT_THAT(problems("name = \"x\"\n[writes]\nrates = [10, \"fast\"]\n"),
              ElementsAre("a.toml:3: writes.rates: must be a number from 0 to 1e+06"));
}

TEST(Scenario, values_that_do_not_fit_together_are_told_by_the_key_to_be_changed) {
  const auto told = [](const std::string& body) { return problems("name = \"x\"\n" + body); };
  EXPECT_THAT(told("[clients]\nview = \"board\"\n"),
              ElementsAre(HasSubstr("writes.door: view board is written through append or mutations")));
  EXPECT_THAT(told("[writes]\ndoor = \"append\"\n"),
              ElementsAre("a.toml:3: writes.door: this view is written through captured or pgbench"));
  EXPECT_THAT(told("[clients]\nspaces = 11\n"), ElementsAre(StartsWith("a.toml:3: clients.spaces: ")));
  EXPECT_THAT(told("[clients]\nsample = 101\n"), ElementsAre(StartsWith("a.toml:3: clients.sample: ")));
  EXPECT_THAT(told("[clients]\nsubscriptions = 2\n"), ElementsAre(StartsWith("a.toml:3: clients.subscriptions: ")));
  EXPECT_THAT(told("[clients]\ntouched = 2\n"), ElementsAre(StartsWith("a.toml:3: clients.touched: ")));
  EXPECT_THAT(told("[clients]\nview = \"overdrawn\"\ngroups = 2\n"),
              ElementsAre(StartsWith("a.toml:4: clients.groups: ")));
  EXPECT_THAT(told("[clients]\nslow = 0.6\nstopped = 0.6\n"), ElementsAre(StartsWith("a.toml:4: clients.stopped: ")));
  EXPECT_THAT(told("[writes]\nchanges = 50000\n"), ElementsAre(StartsWith("a.toml:3: writes.changes: ")));
  EXPECT_THAT(told("[writes]\ndoor = \"mutations\"\nchanges = 400\n[clients]\nview = \"board\"\n"),
              ElementsAre(StartsWith("a.toml:4: writes.changes: ")));
  EXPECT_THAT(told("[writes]\ndoor = \"pgbench\"\n[storm]\nkind = \"resume\"\n"),
              ElementsAre(StartsWith("a.toml:5: storm.kind: ")));
  EXPECT_THAT(problems("seed = 1\n"), ElementsAre("a.toml:1: name: is missing; the report is called by it"));
}

TEST(Scenario, what_is_not_toml_is_told_with_its_line) {
  EXPECT_THAT(problems("name = \"x\"\n[clients\n"), ElementsAre(StartsWith("a.toml:2: ")));
}

TEST(Scenario, a_file_that_is_not_there_is_named) {
  try {
    read_scenario("no-such.toml");
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), StartsWith("no-such.toml: cannot be read"));
  }
}

}  // namespace
}  // namespace viewgate::loadtest
