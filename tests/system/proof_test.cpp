// The proof on the built programs and a durable PostgreSQL; VIEWGATE_PROOF_SECONDS and VIEWGATE_PROOF_SEED choose its length
// and its randomness. And the proof of the proof: with a bug planted in the gateway it must fail.
#include <gmock/gmock.h>

#include <iostream>

#include "support/seed.hpp"
#include "system/proof.hpp"

namespace viewgate::testing {
namespace {

PgbenchLine& shared_line() {
  static PgbenchLine line;
  return line;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(Proof, every_fold_equals_its_query_after_cuts_kills_and_restarts) {
  ProofOptions options;
  options.duration = std::chrono::seconds(number_from_environment("VIEWGATE_PROOF_SECONDS", 60));
  options.seed = seed_from_environment();
  std::cout << options.duration.count() << " s\n" << std::flush;
  const ProofResult result = run_proof(shared_line(), options);
  std::cout << result.story;
  EXPECT_TRUE(result.wrong.empty()) << joined(result.wrong) << result.story;
  // A run in which nothing happened proves nothing.
  EXPECT_GT(result.commits, 1000U);
  EXPECT_GT(result.resumptions, 40U);
  EXPECT_GT(result.bootstraps, 40U);
  EXPECT_GT(result.consumer_deaths, 3U);
  // Before that, what is kept for a socket may hold all that the slow reader has not read yet.
  constexpr std::chrono::minutes beyond_buffers{5};
  if (options.duration >= beyond_buffers) {
    EXPECT_GT(result.ring_misses, 0U) << "the slow reader was not slow";
  }
}

class PlantedBug : public ::testing::TestWithParam<const char*> {};

TEST_P(PlantedBug, is_found) {
  ProofOptions options;
  options.duration = std::chrono::seconds(number_from_environment("VIEWGATE_PLANTED_SECONDS", 12));
  options.seed = seed_from_environment();
  options.planted_bug = GetParam();
  options.restarts = false;
  const ProofResult result = run_proof(shared_line(), options);
  const auto told = std::count_if(result.wrong.begin(), result.wrong.end(), [](const std::string& what) {
    return what.starts_with("unequal: ") || what.starts_with("violation: ");
  });
  EXPECT_GT(told, 0) << "the proof did not find the planted bug\n" << joined(result.wrong) << result.story;
  if (!result.wrong.empty()) std::cout << GetParam() << " was found, first by: " << result.wrong.front() << "\n";
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedBug, ::testing::Values("skip_lock", "early_cursor", "ignore_before"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace viewgate::testing
