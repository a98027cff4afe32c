// A disk that fills up under PostgreSQL, and has room again.
#include "support/full_disk.hpp"

#include <random>

#include "ledger/mutation_fixture.hpp"

namespace viewgate::testing {
namespace {

const FullDisk& disk() {
  static const FullDisk made([] { static_cast<void>(PostgresCluster::shared()); });
  return made;
}

class DiskFull : public MutationTest {
 protected:
  /// About 8 kB that do not compress.
  std::string record_text() {
    std::string out = "{\"x\": \"";
    for (int i = 0; i < 8000; ++i) out += static_cast<char>('!' + 2 + random_() % 56);
    return out + "\"}";
  }
  std::mt19937 random_{59};
};

/// Before the first fixture asks for a database.
class Environment : public ::testing::Environment {
 public:
  void SetUp() override { disk(); }
};
const ::testing::Environment* const environment = ::testing::AddGlobalTestEnvironment(new Environment);

TEST_F(DiskFull, row_59_mutations_are_unavailable_and_after_space_is_freed_the_head_is_what_was_acknowledged) {
  std::int64_t acknowledged = 0;
  const auto next = [&] {
    std::vector<ledger::MutationRequest> one;
    one.push_back(request(acknowledged + 1, {put("[" + std::to_string(acknowledged) + "]", record_text())}));
    return std::move(ask(std::move(one)).front());
  };
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(value_of(next()).kind, Kind::receipt);
    ++acknowledged;
  }
  disk().fill();
  // What tables have allocated is used up first.
  Answer answer = next();
  for (int i = 0; i < 500 && answer; ++i) {
    ++acknowledged;
    answer = next();
  }
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ledger::errc::unavailable) << answer.error().detail;
  EXPECT_EQ(answer.error().sqlstate, "53100");
  EXPECT_FALSE(next()) << "and stays so";
  EXPECT_EQ(head(), acknowledged);
  EXPECT_EQ(pull().commits.size(), static_cast<std::size_t>(acknowledged)) << "reading goes on";
  disk().make_room();
  EXPECT_EQ(head(), acknowledged) << "nothing half-written appears";
  const auto after = value_of(next());
  EXPECT_EQ(after.kind, Kind::receipt);
  EXPECT_EQ(after.receipt.sequence.value, acknowledged + 1) << "the number that was refused was not used";
}

}  // namespace
}  // namespace viewgate::testing
