// Row 68, cursors: what a frozen version handed out is taken by this one, and what this one hands out is the same text, so that version
// takes it, too. Over a whole model: how a view's version, its parameters, claims and group become numbers is part of the promise.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "gateway/engine_world.hpp"
#include "gateway/golden_files.hpp"

namespace viewgate::gateway::testing {
namespace {

TEST(FrozenCursor, row_68_cursors_of_the_frozen_version_resume_and_the_same_ones_are_made) {
  const std::string folder = VIEWGATE_SOURCE_DIR "/tests/golden/frozen/";
  const auto model = active_model(test::file_text(folder + "model.sql"));
  const auto ann = principal("ann", R"({"sub":"ann","spaces":["s","t"]})");
  std::istringstream lines(test::file_text(folder + "cursors.txt"));
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string view, space, parameters, frozen;
    words >> view >> space >> parameters >> frozen;
    const auto bound = std::get<Bound>(bind_subscription(*model, ann, subscribe_to(view, parameters, space)));
    EXPECT_EQ(join_cursor(bound.context_token, bound.spec->sealer.seal(at(6))), frozen) << line;
    const auto check = check_cursor(*model, bound, frozen);
    ASSERT_TRUE(std::holds_alternative<Resume>(check)) << line;
    EXPECT_EQ(std::get<Resume>(check).after, at(6));
    ++count;
  }
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace viewgate::gateway::testing
