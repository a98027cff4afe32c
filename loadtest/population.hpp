// Who takes part in a scenario: its clients with what they subscribe to, the SQL beside it, and whom a commit reaches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadtest/checker.hpp"
#include "loadtest/scenario.hpp"
#include "loadtest/swarm.hpp"
#include "loadtest/token.hpp"

namespace viewgate::loadtest {

/// Every commit of a scenario has a number, its mark, and writes this plus the mark (below zero for view overdrawn)
/// into a column that the view selects. Far above any balance that pgbench makes.
inline constexpr int mark_base = 1'000'000;
inline constexpr int watched_digit = 3;  ///< of view watch: one account in ten

struct Population {
  std::vector<SwarmMember> members;
  /// By member, by subscription; empty for members that only count.
  std::vector<std::vector<Question>> questions;
  /// By space: how many subscriptions each commit reaches.
  std::vector<std::uint64_t> receivers;
  std::vector<std::string> spaces;
};

Population populate(const Scenario& scenario, const TokenMaker& tokens);

/// Every fold of a stopped swarm against SQL; empty = all equal.
std::vector<std::string> check_population(const std::vector<std::unique_ptr<Client>>& clients,
                                          const Population& population, Checker& checker);

std::string space_of(ScenarioView view, std::size_t index);
/// A lead of the board and a teller of the bank at once.
std::string token_of_reader(const TokenMaker& tokens, const std::string& subject);

/// The mark in a commit's document; nothing where it is no commit, not its final part, or one by which records leave.
std::optional<std::size_t> mark_of(const std::vector<Member>& document);

}  // namespace viewgate::loadtest
