// PostgreSQL, for a simulation in one thread: spaces with a log and the state it amounts to, a tail and a reader over it.
// Nothing happens by itself: whoever simulates asks for one step at a time. History can be pruned, and it can be cut and
// continued differently, as a failover does that lost commits.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ledger/ports.hpp"

namespace viewgate::simulator {

using Random = std::mt19937;

/// True once in `count` times.
inline bool one_in(Random& random, unsigned count) { return random() % count == 0; }

class FakeLedger {
 public:
  using Log = std::vector<ledger::Commit>;
  using Rows = std::map<int, std::string>;  ///< by id, as to_jsonb would print them

  explicit FakeLedger(std::vector<std::string> spaces);

  void commit(const std::string& space, Random& random);
  void prune(const std::string& space, Random& random);
  /// The newest commits are lost and their numbers will be used again.
  void restore(const std::string& space, Random& random);

  [[nodiscard]] const std::vector<std::string>& spaces() const { return names_; }
  [[nodiscard]] ledger::Position head(const std::string& space) const;
  [[nodiscard]] const Rows& rows(const std::string& space) const { return spaces_.at(space).rows; }

  /// ledger::errc where the log cannot be followed from this position.
  [[nodiscard]] std::optional<ledger::errc> fault_at(const std::string& space, ledger::Position position) const;
  [[nodiscard]] const ledger::Commit& commit_after(const std::string& space, ledger::Sequence sequence) const;

  /// The rows after so many commits, in every line of history in which there were that many.
  [[nodiscard]] std::vector<Rows> states_at(const std::string& space, std::int64_t sequence) const;

 private:
  struct Space {
    Log log;
    std::int64_t pruned = 0;
    Rows rows;
    std::vector<Log> lost_lines;
  };
  static Rows replay(const Log& log, std::int64_t sequence);

  std::vector<std::string> names_;
  std::map<std::string, Space> spaces_;
};

/// A commit as it travels, cut at random where it may be cut.
[[nodiscard]] std::vector<ledger::CommitPartPtr> parts_of(const ledger::Commit& commit, Random& random,
                                                          std::size_t changes_per_part);

class FakeTail final : public ledger::Tail {
 public:
  FakeTail(const FakeLedger& ledger, ledger::TailSink& sink) : ledger_(ledger), sink_(sink) {}

  void watch(std::string space) override { followed_.emplace(std::move(space), Followed{}); }
  void unwatch(const std::string& space) override { followed_.erase(space); }

  /// The database is away, until the next look; with what was begun.
  void disconnect();
  [[nodiscard]] bool connected() const { return connected_; }

  /// Looks at one space and hands on some of what is new, then ends the turn. Where the connection was lost, it first
  /// compares each position that it follows with the ledger's.
  void look(const std::string& space, Random& random, std::size_t changes_per_part);

 private:
  struct Followed {
    bool told = false;
    ledger::Position position;
    std::deque<ledger::CommitPartPtr> open;  ///< the rest of a commit that was begun
  };
  void reconnect();
  [[nodiscard]] bool begin_or_break(const std::string& space, Followed& followed);
  void hand_on(Followed& followed, const std::string& space, Random& random, std::size_t changes_per_part);

  const FakeLedger& ledger_;
  ledger::TailSink& sink_;
  std::map<std::string, Followed> followed_;
  bool connected_ = true;
};

class FakeReader final : public ledger::LogReader {
 public:
  FakeReader(const FakeLedger& ledger, Random& random) : ledger_(ledger), random_(random) {}

  void read(std::string space, ledger::Position after, std::size_t bytes_max,
            std::function<void(ledger::CommitPartPtr)> on_part,
            std::function<void(ledger::Result<ledger::Position>)> done) override;
  void snapshot(ledger::SnapshotQuery query, std::chrono::milliseconds time_max,
                std::function<bool(std::string_view)> on_row,
                std::function<void(ledger::Result<ledger::Position>)> done) override;

  /// Nobody writes mutations here.
  void receipts(ledger::ReceiptsQuery, std::function<void(ledger::Result<ledger::ReceiptsPage>)> done) override {
    done(ledger::ReceiptsPage{});
  }

  /// One step of one question, if there is any.
  void step();
  [[nodiscard]] bool idle() const { return jobs_.empty(); }

  unsigned failures_one_in = 0;  ///< 0 = never
  std::function<bool()> database_is_there = [] { return true; };
  /// What is under way will fail.
  void disconnect() { ++connection_; }
  std::size_t changes_per_part = 4;

 private:
  using Job = std::function<bool()>;  ///< true: it is done
  [[nodiscard]] bool fails(unsigned connection) {
    return connection != connection_ || !database_is_there() ||
           (failures_one_in > 0 && one_in(random_, failures_one_in));
  }

  const FakeLedger& ledger_;
  Random& random_;
  std::deque<Job> jobs_;
  unsigned connection_ = 0;
};

}  // namespace viewgate::simulator
