// Clients over the views of the items table, writers that change it in every way that a view can notice, and the judge of what the
// clients then hold: for tests of several nodes before one PostgreSQL.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "loadtest/checker.hpp"
#include "loadtest/swarm.hpp"
#include "support/line.hpp"

namespace viewgate::testing {

/// `count` clients over `spaces`, each with one view of one space or with two.
struct ItemCrowd {
  ItemCrowd(std::size_t count, std::vector<std::string> spaces);

  std::vector<std::string> spaces;
  std::vector<loadtest::SwarmMember> members;
  std::vector<std::vector<loadtest::Question>> questions;  ///< by member, by subscription
  [[nodiscard]] std::size_t subscriptions() const;
};

/// Of a stopped swarm: broken promises, and folds that are not what SQL gives; empty where there are none.
std::string judge(const loadtest::Swarm& swarm, const ItemCrowd& crowd, const std::string& database);

/// Writes to the spaces from several connections, a transaction after the other with a pause between, until it is told to
/// stop.
class ItemWriters {
 public:
  ItemWriters(const std::string& database, std::vector<std::string> spaces, std::chrono::milliseconds pause = {});
  ~ItemWriters() { stop(); }
  ItemWriters(const ItemWriters&) = delete;
  ItemWriters& operator=(const ItemWriters&) = delete;

  void stop();
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  void run(const std::string& database, int writer);

  const std::vector<std::string> spaces_;
  const std::chrono::milliseconds pause_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> written_{0};
  std::vector<std::jthread> threads_;
};

/// The heads of all spaces, once nothing waits for its number.
std::map<std::string, std::int64_t> heads_of(const ItemCrowd& crowd, const std::string& database);

}  // namespace viewgate::testing
