// The views of demo/model.sql, as subscriptions and, written by hand once more, as SQL: two over pgbench's accounts, and
// the board as its leads see it.
#pragma once

#include <string>
#include <vector>

#include "loadtest/checker.hpp"
#include "loadtest/swarm.hpp"
#include "loadtest/token.hpp"

namespace viewgate::loadtest {

inline constexpr int pgbench_spaces = 10;  ///< branches at scale 10

/// A view that somebody watches: what is asked of the gateway and, with the caller's digit, of SQL.
struct Watched {
  std::string space;
  std::string view;  ///< overdrawn, watch or board
  int low = 0;
  int high = 0;
  int digit = 0;
};

Wanted wanted_of(const Watched& watched, const std::string& id);
Question question_of(const Watched& watched);
std::string token_of(const TokenMaker& maker, const std::string& subject, int digit);

/// `count` clients over both views and all spaces: every second one watches both views of its space, the first reads
/// slowly.
struct Crowd {
  std::vector<SwarmMember> members;
  std::vector<std::vector<Watched>> watched;  ///< by member, by subscription
};
Crowd pgbench_crowd(std::size_t count, const TokenMaker& maker);

/// Every fold of a stopped swarm against SQL; empty = all equal.
std::vector<std::string> check_crowd(const Swarm& swarm, const Crowd& crowd, Checker& checker);

std::vector<std::string> pgbench_space_names();

}  // namespace viewgate::loadtest
