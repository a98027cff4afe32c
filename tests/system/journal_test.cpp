// The file of the consumer: a step is in it whole or not at all, wherever the writing stopped.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "loadtest/journal.hpp"

namespace viewgate::loadtest {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
  }
  ~JournalTest() override { std::filesystem::remove_all(directory); }

  static void play(Journal& journal) {
    journal.take("subscribed", R"({"type":"subscribed","context":"ctx","resumed":false})", true);
    journal.take("snapshot", R"({"type":"snapshot","records":[{"key":[1],"record":{"aid":1,"n":1}}]})", true);
    journal.take("ready", R"({"type":"ready","sequence":"5","position":"p5","head":"5"})", true);
    journal.take(
        "commit",
        R"({"type":"commit","sequence":"6","events":[{"kind":"entered","key":[2],"record":{"aid":2,"n":2}}],"last":false})",
        false);
    journal.take("commit",
                 R"({"type":"commit","sequence":"6","position":"p6","events":[{"kind":"deleted","key":[1]}]})", true);
  }
  static std::string describe(const Fold& fold) {
    std::string out = fold.cursor().value_or("none");
    for (const std::string key : {"[1]", "[2]"}) out += fold.records().contains(key) ? " " + key : "";
    return out;
  }

  std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("viewgate_journal_" + std::to_string(getpid()));
  std::string path = directory / "journal";
  Violations violations;
};

TEST_F(JournalTest, set_and_cursor_survive_together_wherever_the_file_was_cut) {
  {
    Fold fold("first", violations);
    Journal journal(path, fold);
    play(journal);
  }
  std::ifstream file(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    Fold fold("again", violations);
    Journal journal(path, fold);
    const std::string have = describe(fold);
    if (size == whole.size()) {
      EXPECT_EQ(have, "ctx.p6 [2]");
    } else {
      EXPECT_TRUE(have == "none" || have == "ctx.p5 [1]") << have << " at " << size;
    }
    EXPECT_LE(std::filesystem::file_size(path), size);
  }
  EXPECT_EQ(violations.count(), 0U);
}

TEST_F(JournalTest, it_goes_on_behind_a_torn_end) {
  {
    Fold fold("first", violations);
    Journal journal(path, fold);
    play(journal);
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  {
    Fold fold("second", violations);
    Journal journal(path, fold);
    journal.take("subscribed", R"({"type":"subscribed","context":"ctx","resumed":true})", true);
    journal.take("ready", R"({"type":"ready","sequence":"5","position":"p5","head":"5"})", true);
    journal.take("commit",
                 R"({"type":"commit","sequence":"7","position":"p7","events":[{"kind":"deleted","key":[1]}]})", true);
  }
  Fold fold("third", violations);
  Journal::read(path, fold);
  EXPECT_EQ(describe(fold), "ctx.p7");
  EXPECT_EQ(violations.count(), 0U);
}

TEST_F(JournalTest, a_file_written_anew_says_the_same) {
  Fold fold("first", violations);
  {
    Journal journal(path, fold);
    play(journal);
  }
  Fold live("live", violations);
  live.subscribed("ctx", false);
  live.snapshot(R"([{"key":[2],"record":{"aid":2,"n":2}}])");
  live.ready(6, "p6", 6);
  {
    Fold stored("stored", violations);
    Journal journal(path, stored);
    journal.shrink(live, 10);
    journal.take("progress", R"({"type":"progress","sequence":"9","position":"p9"})", true);
  }
  Fold again("again", violations);
  Journal::read(path, again);
  EXPECT_EQ(describe(again), "ctx.p9 [2]");
  EXPECT_EQ(again.sequence(), 9);
  EXPECT_EQ(violations.count(), 0U);
}

}  // namespace
}  // namespace viewgate::loadtest
