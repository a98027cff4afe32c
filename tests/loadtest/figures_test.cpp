// How figures come about: percentiles beside sorted values, due times of a schedule, latencies that a stall cannot hide.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "loadtest/histogram.hpp"
#include "loadtest/peers/marks.hpp"
#include "loadtest/population.hpp"
#include "loadtest/recorder.hpp"
#include "loadtest/schedule.hpp"

namespace viewgate::loadtest {
namespace {

using namespace std::chrono_literals;
using ::testing::DoubleEq;
using ::testing::DoubleNear;

TEST(Histogram, percentiles_are_within_two_per_cent_of_the_sorted_values) {
  std::mt19937_64 random(7);
  // From a microsecond to minutes.
  std::lognormal_distribution<double> spread(std::log(2e6), 2.5);
  Histogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<std::int64_t>(spread(random));
    histogram.add(std::chrono::nanoseconds(value));
    values.push_back(static_cast<double>(value) / 1e6);
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.0001, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double truth = values[static_cast<std::size_t>(std::ceil(share * 20'000)) - 1];
    EXPECT_THAT(histogram.percentile(share), DoubleNear(truth, truth * 0.02)) << share;
  }
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(Histogram, small_numbers_are_exact_and_what_is_before_its_time_counts_as_zero) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile(0.5), 0);
  histogram.add(-5ms);
  EXPECT_EQ(histogram.count(), 1U);
  EXPECT_EQ(histogram.percentile(1), 0);
  histogram.add(std::chrono::nanoseconds(40));
  EXPECT_THAT(histogram.percentile(1), DoubleEq(40e-6));
}

TEST(Histogram, the_largest_value_of_all_has_a_class) {
  Histogram histogram;
  histogram.add(std::chrono::nanoseconds::max());
  EXPECT_THAT(histogram.percentile(0.5), DoubleNear(histogram.max(), histogram.max() * 0.02));
}

TEST(Histogram, two_are_added_as_if_all_had_been_counted_in_one) {
  Histogram one, other, both;
  for (int i = 0; i < 100; ++i) {
    (i % 3 == 0 ? one : other).add(std::chrono::microseconds(i * i));
    both.add(std::chrono::microseconds(i * i));
  }
  one.add(other);
  EXPECT_EQ(one.count(), both.count());
  for (const double share : {0.1, 0.5, 0.99, 1.0}) EXPECT_EQ(one.percentile(share), both.percentile(share));
}

TEST(Schedule, all_commits_of_a_step_are_due_within_it_at_an_even_pace) {
  const Clock::time_point begin{1h};
  const Schedule schedule(begin, 1000, 2s);
  ASSERT_EQ(schedule.count(), 2000U);
  EXPECT_EQ(schedule.due(0), begin + 500us);
  EXPECT_EQ(schedule.due(1) - schedule.due(0), 1ms);
  EXPECT_LT(schedule.due(1999), begin + 2s);
}

TEST(Schedule, a_rate_of_less_than_one_a_second_and_none_at_all) {
  EXPECT_EQ(Schedule({}, 0.1, 50s).count(), 5U);
  EXPECT_EQ(Schedule({}, 0.1, 5s).count(), 0U);
  EXPECT_EQ(Schedule({}, 0, 10s).count(), 0U);
}

TEST(Recorder, a_stall_makes_every_commit_late_that_was_due_in_it) {
  Recorder recorder;
  const Clock::time_point begin = Clock::now();
  const Schedule schedule(begin, 100, 1s);
  recorder.begin(schedule, 0);
  // The one that was sent first hangs for a second; the writer sends the 99 others after it, and each takes a millisecond.
  Clock::time_point now = begin + 1s;
  for (std::size_t mark = 0; mark < schedule.count(); ++mark) {
    recorder.sent(mark, now);
    now += 1ms;
    recorder.committed(mark, now, 10);
    recorder.arrived(mark, now);
  }
  const Recorder::Figures found = recorder.figures();
  EXPECT_EQ(found.committed, 100U);
  EXPECT_EQ(found.expected, 1000U);
  // Counted from when they were sent, all would have taken a millisecond.
  EXPECT_GT(found.from_due.percentile(0.5), 500);
  EXPECT_GT(found.from_due.percentile(0.99), 980);
  EXPECT_GT(found.lateness.percentile(0.5), 500);
  EXPECT_EQ(found.from_commit.percentile(0.99), 0);
}

TEST(Recorder, what_belongs_to_another_step_is_not_counted) {
  Recorder recorder;
  const Clock::time_point begin = Clock::now();
  recorder.begin(Schedule(begin, 10, 1s), 0);
  recorder.begin(Schedule(begin + 1s, 10, 1s), 10);
  recorder.arrived(9, begin + 2s);
  recorder.arrived(20, begin + 2s);
  EXPECT_EQ(recorder.figures().from_due.count(), 0U);
  recorder.arrived(10, begin + 2s);
  EXPECT_EQ(recorder.figures().from_due.count(), 1U);
  EXPECT_EQ(recorder.take_recent().count(), 1U);
  EXPECT_EQ(recorder.take_recent().count(), 0U);
}

TEST(Recorder, an_event_that_came_before_commit_had_returned_took_no_time_from_there) {
  Recorder recorder;
  const Clock::time_point begin = Clock::now();
  recorder.begin(Schedule(begin, 1, 1s), 0);
  recorder.arrived(0, begin + 700ms);
  recorder.committed(0, begin + 800ms, 1);
  EXPECT_EQ(recorder.figures().from_commit.max(), 0);
  EXPECT_NEAR(recorder.figures().from_due.max(), 200, 1e-6);
}

std::optional<std::size_t> mark_in(std::string_view text) {
  std::vector<Member> document;
  if (!members(text, document)) return std::nullopt;
  return mark_of(document);
}

TEST(Mark, is_read_from_what_entered_and_what_changed_in_whole_commits_only) {
  EXPECT_EQ(mark_in(R"({"type":"commit","events":[{"kind":"updated","key":[3],"changed":{"abalance": 1000007}}]})"),
            7U);
  EXPECT_EQ(
      mark_in(R"({"type":"commit","events":[{"kind":"entered","key":[3],"record":{"aid": 3, "abalance": -1000007}}]})"),
      7U);
  EXPECT_EQ(mark_in(R"({"type":"commit","events":[{"kind":"updated","key":["x"],"changed":{"priority": 1000000}}]})"),
            0U);
  EXPECT_EQ(
      mark_in(
          R"({"type":"commit","last":false,"events":[{"kind":"updated","key":[3],"changed":{"abalance": 1000007}}]})"),
      std::nullopt);
  EXPECT_EQ(mark_in(R"({"type":"commit","events":[{"kind":"removed_from_scope","key":[3]}]})"), std::nullopt);
  EXPECT_EQ(mark_in(R"({"type":"commit","events":[{"kind":"updated","key":[3],"changed":{"abalance": 17}}]})"),
            std::nullopt);
  EXPECT_EQ(mark_in(R"({"type":"progress","sequence":"4"})"), std::nullopt);
}

TEST(Population, each_commit_reaches_the_groups_that_it_touches) {
  Scenario scenario;
  scenario.clients.count = 100;
  scenario.clients.groups = 50;
  scenario.clients.touched = 5;
  scenario.clients.sample = 7;
  scenario.clients.stopped = 0.1;
  const Population population = populate(scenario, TokenMaker{"secret"});
  EXPECT_EQ(population.receivers, std::vector<std::uint64_t>{10});
  std::vector<std::string> filters;
  std::size_t folding = 0, stopped = 0;
  for (std::size_t i = 0; i < population.members.size(); ++i) {
    filters.push_back(population.members[i].wanted.front().params);
    if (population.members[i].keep == Client::Keep::set) ++folding;
    if (population.members[i].bytes_per_second > 0) ++stopped;
    EXPECT_EQ(population.questions[i].empty(), population.members[i].keep == Client::Keep::count);
  }
  std::sort(filters.begin(), filters.end());
  EXPECT_EQ(std::unique(filters.begin(), filters.end()) - filters.begin(), 50);
  EXPECT_EQ(stopped, 10U);
  EXPECT_EQ(folding, 17U);
}

TEST(MarkScanner, finds_each_mark_once_wherever_the_bytes_are_cut) {
  const std::string bytes = "frame" + marked_text({Clock::time_point(123456789ns), 41}, 60) + "{}" +
                            marked_text({Clock::time_point(2ns), 42}, 10) +
                            marked_text({Clock::time_point(3ns), 43}, 40);
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (const std::size_t second : {first, (first + bytes.size()) / 2}) {
      MarkScanner scanner;
      std::vector<std::uint32_t> numbers;
      Clock::time_point due;
      const auto found = [&](const Mark& mark) {
        numbers.push_back(mark.number);
        if (mark.number == 41) due = mark.due;
      };
      const std::string_view all = bytes;
      scanner.scan(all.substr(0, first), found);
      scanner.scan(all.substr(first, second - first), found);
      scanner.scan(all.substr(second), found);
      ASSERT_EQ(numbers, (std::vector<std::uint32_t>{41, 42, 43})) << first << " " << second;
      ASSERT_EQ(due, Clock::time_point(123456789ns));
    }
  }
}

}  // namespace
}  // namespace viewgate::loadtest
