// Goal: docs/views.md says what is so. Its sql blocks are one model and load without a problem; each line of its refused block is
// refused with the words behind it; each row of its table of records is decided as it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "projection/fixture.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {
namespace {

using namespace projection;
using ::testing::HasSubstr;

/// All lines of the fenced blocks of that kind.
std::vector<std::string> block_lines(const std::string& kind) {
  std::ifstream file(std::string(VIEWGATE_SOURCE_DIR) + "/docs/views.md");
  std::vector<std::string> out;
  std::string open;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      open = open.empty() ? line.substr(3) : "";
    } else if (open == kind) {
      out.push_back(line);
    }
  }
  return out;
}

std::string model_of_the_page() {
  std::string out;
  for (const std::string& line : block_lines("sql")) out += line + "\n";
  return out;
}

TEST(ViewsPage, its_model_loads) {
  ASSERT_FALSE(model_of_the_page().empty());
  EXPECT_EQ(problems_of(model_of_the_page()), "");
  const ModelPtr model = parse_or_throw(model_of_the_page());
  EXPECT_EQ(model->views.size(), 4U);
  EXPECT_EQ(model->view("urgent")->parameters.size(), 3U);
}

TEST(ViewsPage, what_it_calls_refused_is_refused) {
  const std::vector<std::string> lines = block_lines("refused");
  ASSERT_GE(lines.size(), 5U);
  for (const std::string& line : lines) {
    const std::size_t comment = line.find("  -- ");
    ASSERT_NE(comment, std::string::npos) << line;
    EXPECT_THAT(problems_of(model_of_the_page() + line.substr(0, comment)), HasSubstr(line.substr(comment + 5)))
        << line;
  }
}

TEST(ViewsPage, its_records_are_decided_as_it_says) {
  std::ifstream file(std::string(VIEWGATE_SOURCE_DIR) + "/docs/views.md");
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `{")) continue;
    std::vector<std::string> cells;
    std::stringstream in(line);
    for (std::string cell; std::getline(in, cell, '`');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 5U) << line;
    const GroupPtr group = group_where(
        "id int primary key, title text, priority int4, amount numeric, ratio float8, due date, seen timestamptz, tags "
        "text[], doc jsonb",
        "id", cells[3]);
    const auto inside = decide(*group, cells[1]);
    EXPECT_EQ(!inside ? " | error |" : *inside ? " | inside |" : " | outside |", cells[4]) << line;
    ++rows;
  }
  EXPECT_GE(rows, 10);
}

}  // namespace
}  // namespace viewgate::testing
