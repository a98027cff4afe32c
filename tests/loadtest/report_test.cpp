// The three forms of a report: that they say what is in it, that figures are withheld where they would be the client's, and
// that the page needs nothing beside it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "loadtest/run_report.hpp"
#include "loadtest/slices.hpp"

namespace viewgate::loadtest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunReport sample() {
  RunReport out;
  out.name = "fan-out";
  out.about = "a < b & \"c\"";
  out.figures = {{"connections", 1000}};
  out.steps = {{"100 commits/s", {{"deliveries", 12345}, {"from_due_p99_ms", 4.25}}}};
  for (int i = 1; i <= 3; ++i) {
    TimelinePoint point;
    point.at = i;
    point.deliveries = 100.0 * i;
    point.p99 = 0.5 * i;
    point.client_cpu = 10;
    out.points.push_back(point);
  }
  out.sets_compared = 10;
  out.records_compared = 80;
  return out;
}

std::vector<Member> parsed(const std::string& text) {
  std::vector<Member> out;
  EXPECT_TRUE(members(text, out)) << text;
  return out;
}

TEST(RunReport, json_is_one_line_and_holds_every_figure) {
  const std::string text = json_of(sample());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const std::vector<Member> all = parsed(text);
  EXPECT_EQ(member(all, "bench"), "\"fan-out\"");
  EXPECT_EQ(member(all, "right"), "true");
  EXPECT_EQ(member(all, "connections"), "1000.000");
  std::vector<std::string_view> steps;
  ASSERT_TRUE(elements(member(all, "steps"), steps));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(member(parsed(std::string(steps[0])), "from_due_p99_ms"), "4.250");
}

TEST(RunReport, what_is_wrong_stands_in_all_forms_and_in_the_status) {
  RunReport report = sample();
  EXPECT_EQ(report.status(), 0);
  report.wrong = {"client-3/s0: [13] is missing, the query has {\"aid\": 13}"};
  EXPECT_EQ(report.status(), 1);
  EXPECT_THAT(text_of(report), HasSubstr("WRONG: client-3/s0: [13] is missing"));
  EXPECT_EQ(member(parsed(json_of(report)), "right"), "false");
  EXPECT_THAT(html_of(report), HasSubstr("<li class=\"wrong\">client-3/s0: [13] is missing, the query has {&quot;aid"));
}

TEST(RunReport, a_client_that_was_the_bottleneck_reports_no_figures_but_what_was_wrong) {
  RunReport report = sample();
  report.refused = "the client's own thread was busy for 97 % of the time";
  EXPECT_EQ(report.status(), 3);
  for (const std::string& form : {text_of(report), json_of(report), html_of(report)}) {
    EXPECT_THAT(form, HasSubstr("busy for 97 %"));
    EXPECT_THAT(form, Not(HasSubstr("12345")));
    EXPECT_THAT(form, Not(HasSubstr("4.25")));
  }
  report.wrong = {"lost"};
  EXPECT_EQ(report.status(), 1);
}

TEST(RunReport, the_page_stands_alone_and_plots_what_was_seen) {
  const std::string page = html_of(sample());
  EXPECT_THAT(page, HasSubstr("<p>a &lt; b &amp; &quot;c&quot;</p>"));
  for (const std::string title : {"Latency", "Deliveries", "Memory", "Queue", "CPU"})
    EXPECT_THAT(page, HasSubstr("<h2>" + title));
  for (const std::string foreign : {"http:", "https:", "<script", "<link", "src=", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(foreign)));
  EXPECT_THAT(page, HasSubstr("<polyline"));
  // Deliveries rise to 300 of an axis to 500: three fifths of the way up, at the right end of the plot.
  EXPECT_THAT(page, HasSubstr("730,74 \"/>"));
}

TEST(RunReport, a_run_without_points_still_has_a_page) {
  RunReport report = sample();
  report.points.clear();
  EXPECT_THAT(html_of(report), HasSubstr("</html>"));
}

TEST(RunReport, three_files_are_written) {
  const std::filesystem::path directory = std::filesystem::temp_directory_path() / "viewgate-report-test" / "deep";
  write_report(sample(), directory);
  const auto content = [&](const char* name) {
    std::ostringstream out;
    out << std::ifstream(directory / name).rdbuf();
    return out.str();
  };
  EXPECT_EQ(content("report.txt"), text_of(sample()));
  EXPECT_EQ(content("report.html"), html_of(sample()));
  std::vector<std::string_view> points;
  const std::string json = content("report.json");
  const std::vector<Member> all = parsed(json);
  ASSERT_TRUE(elements(member(all, "timeline"), points));
  EXPECT_EQ(points.size(), 3U);
  std::filesystem::remove_all(directory.parent_path());
  EXPECT_THROW(write_report(sample(), "/proc/nowhere"), std::runtime_error);
}

}  // namespace
}  // namespace viewgate::loadtest
