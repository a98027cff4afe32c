// Goal: every error of every layer has one meaning outside, no text of the database reaches a client, and a log line
// cannot be forged. Method: all enumerators, one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gateway/errors.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::milliseconds retry{1234};

TEST(ErrorsSwitch, lost_history_is_a_reset_and_a_database_that_is_away_is_a_time_to_return) {
  EXPECT_EQ(std::get<ResetReason>(refusal_of(ledger::errc::history_unavailable, retry).why),
            ResetReason::history_pruned);
  EXPECT_EQ(std::get<ResetReason>(refusal_of(ledger::errc::history_diverged, retry).why),
            ResetReason::history_diverged);
  for (const auto code : {ledger::errc::unavailable, ledger::errc::retry, ledger::errc::rejected}) {
    const auto refusal = refusal_of(code, retry);
    EXPECT_EQ(std::get<ErrorCode>(refusal.why), ErrorCode::unavailable);
    EXPECT_EQ(refusal.retry_after, retry);
  }
  EXPECT_EQ(std::get<ErrorCode>(refusal_of(ledger::errc::timeout, retry).why), ErrorCode::bootstrap_timeout);
}

TEST(ErrorsSwitch, every_code_has_a_text) {
  for (const auto code : {ErrorCode::bad_request, ErrorCode::invalid_value, ErrorCode::invalid_view,
                          ErrorCode::duplicate_subscription, ErrorCode::too_many_subscriptions, ErrorCode::forbidden,
                          ErrorCode::cursor_invalid, ErrorCode::unavailable, ErrorCode::bootstrap_timeout}) {
    EXPECT_FALSE(constant_text(code).empty());
  }
}

TEST(ErrorsSwitch, an_unsuitable_start_has_a_status_of_its_own) {
  std::set<ExitStatus> statuses;
  for (const auto code : {ledger::errc::unavailable, ledger::errc::not_capturable, ledger::errc::wrong_schema_version,
                          ledger::errc::unsuitable_database, ledger::errc::programs_missing}) {
    EXPECT_TRUE(statuses.insert(exit_status_of(code)).second) << ledger::name(code);
  }
  EXPECT_FALSE(statuses.contains(ExitStatus::failed));
}

}  // namespace
}  // namespace viewgate::gateway::testing
