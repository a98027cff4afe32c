// The proof on the built programs and a durable PostgreSQL; VIEWGATE_PROOF_SECONDS chooses its length and VIEWGATE_SEED its
// randomness. And the proof of the proof: with a bug planted in the gateway it must fail.
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

/// Whether enough happens in one run depends on the machine: a slow one gets two more.
TEST_P(PlantedBug, is_found) {
  ProofOptions options;
  options.duration = std::chrono::seconds(number_from_environment("VIEWGATE_PLANTED_SECONDS", 12));
  options.seed = seed_from_environment();
  options.planted_bug = GetParam();
  options.restarts = false;
  const auto tells = [](const std::string& what) {
    return what.starts_with("unequal: ") || what.starts_with("violation: ");
  };
  ProofResult result;
  for (int run = 0; run < 3 && std::ranges::none_of(result.wrong, tells); ++run, ++options.seed)
    result = run_proof(shared_line(), options);
  EXPECT_TRUE(std::ranges::any_of(result.wrong, tells)) << "the proof did not find the planted bug\n"
                                                        << joined(result.wrong) << result.story;
  if (!result.wrong.empty()) std::cout << GetParam() << " was found, first by: " << result.wrong.front() << "\n";
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedBug, ::testing::Values("skip_lock", "early_cursor", "ignore_before"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace viewgate::testing
