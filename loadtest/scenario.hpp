// A scenario: who is connected, what is written and through which door, and what happens meanwhile. Read from a small
// TOML file; docs/loadtest.md lists the keys.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::loadtest {

/// Of demo/model.sql.
enum class ScenarioView : std::uint8_t {
  watch,      ///< captured; a range of values, so any number of groups
  overdrawn,  ///< captured; all of a branch below zero
  board       ///< managed
};

/// How what is written comes into PostgreSQL.
enum class Door : std::uint8_t {
  captured,   ///< UPDATE of pgbench's accounts
  append,     ///< viewgate.append
  mutations,  ///< over the clients' own protocol
  pgbench  ///< pgbench itself, unmodified, as fast as it can; its commits have no due time, so there are no latencies
};

enum class StormKind : std::uint8_t {
  none,
  resume,    ///< all are cut, so many commits pass, all come back at once with their cursors
  bootstrap  ///< all are cut and come back at once with nothing, while the writes go on
};

struct Scenario {
  std::string name;
  std::string about;
  std::uint64_t seed = 1;

  struct Clients {
    std::size_t count = 100;
    std::size_t subscriptions = 1;  ///< of each, in so many spaces
    std::size_t spaces = 1;
    ScenarioView view = ScenarioView::watch;
    std::size_t groups = 1;   ///< distinct filters of each space
    std::size_t touched = 0;  ///< of them by each commit; 0 = all
    std::size_t sample = 10;  ///< so many fold their sets and are compared; the others count
    double slow = 0;          ///< share of readers at slow_bytes_per_second
    std::size_t slow_bytes_per_second = 20'000;
    double stopped = 0;  ///< share of readers that take nothing before the end
    std::size_t connects_per_second = 2000;
  } clients;

  struct Writes {
    Door door = Door::captured;
    std::vector<double> rates{100};  ///< commits per second, one step after the other; 0 = a quiet step
    std::chrono::milliseconds step{10'000};
    std::size_t connections = 8;
    std::size_t changes = 1;  ///< of each commit
    std::size_t bytes = 0;    ///< of text in each record (board)
  } writes;

  struct Storm {
    StormKind kind = StormKind::none;
    std::size_t rounds = 3;
    std::size_t missed = 100;  ///< commits that a resuming client is behind
  } storm;

  struct Churn {
    std::chrono::milliseconds mean{0};  ///< between two faults of a client; 0 = none
    double anew = 0.2;                  ///< share of returns without a cursor
  } churn;

  struct Bounds {
    /// Of the server's memory from the middle of a step to its end, in MB: what still grows then has no plateau. 0 = not judged.
    double server_growth_mb = 0;
  } bounds;

  /// Everybody stays connected and reads at full speed: then every delivery can be counted.
  bool calm() const { return churn.mean.count() == 0 && clients.slow == 0 && clients.stopped == 0; }
};

struct ScenarioFile {
  Scenario scenario;
  std::vector<std::string> problems;  ///< "file:line: key: what would be right", by line; empty = sound
};

/// `file` is what problems call it.
ScenarioFile parse_scenario(std::string_view text, const std::string& file);
/// Throws std::runtime_error with all problems, a line each.
Scenario read_scenario(const std::string& path);

}  // namespace viewgate::loadtest
