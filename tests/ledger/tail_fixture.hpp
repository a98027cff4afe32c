// A tailer on a fresh database of the shared cluster, with a sink that checks what it is told. Times are a twentieth of the
// defaults or less, so that idle and resting are reached.
#pragma once

#include <gtest/gtest.h>

#include "ledger/loop.hpp"
#include "ledger/recording_sink.hpp"
#include "ledger/tailer.hpp"
#include "ledger/writers.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {

using ledger::Tailer;
using ledger::TailerOptions;

inline TailerOptions quick() {
  using std::chrono_literals::operator""ms;
  using std::chrono_literals::operator""min;
  TailerOptions out;
  out.times.busy_interval = 1ms;
  out.times.idle_interval = 5ms;
  out.times.idle_after = 100ms;
  out.times.resting_interval = 50ms;
  out.times.resting_after = 3min;
  out.times.arm_after = 25ms;
  out.times.canary_interval = 1500ms;
  out.times.canary_time_max = 250ms;
  out.times.reconnect_first = 3ms;
  out.times.reconnect_max = 100ms;
  out.captures_interval = 100ms;
  out.prune_interval = 100ms;
  return out;
}

inline std::string append(const std::string& space, int n) {
  return "select viewgate.append('" + space + R"(', '[{"collection": "notes", "key": [)" + std::to_string(n) +
         R"(], "put": {"n": )" + std::to_string(n) + "}}]')";
}

class TailerTest : public ::testing::Test {
 protected:
  TailerTest() : conninfo_(PostgresCluster::shared().create_database()), session_(conninfo_) {}

  void start(TailerOptions options = quick()) {
    tailer_ = std::make_unique<Tailer>(loop_.io(), conninfo_, options, sink_);
    tailer_->start();
  }

  void watch(const std::string& space) {
    tailer_->watch(space);
    ASSERT_TRUE(loop_.until([&] { return sink_.spaces.contains(space); }));
  }

  bool reaches(const std::string& space, std::int64_t sequence) {
    return loop_.until([&] { return sink_.head(space) >= sequence; });
  }

  std::int64_t watermark(const std::string& space) {
    return std::stoll(session_.value("select viewgate.watermark($1)", {space}));
  }

  /// Ends the sessions whose application_name matches.
  void terminate(const std::string& name) {
    session_.query(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = $1 and datname = "
        "current_database()",
        {name});
  }

  /// What was handed on of a space is, change by change, what the log says.
  void expect_exact(const std::string& space) {
    std::string told;
    for (const ledger::Commit& commit : sink_.spaces[space].commits) {
      for (const ledger::Change& change : commit.changes) {
        static constexpr const char* kinds = "cudm";
        told += (told.empty() ? "" : "\n") + std::to_string(commit.position.sequence.value) + "|" +
                std::to_string(change.ordinal) + "|" + kinds[static_cast<int>(change.kind)] + "|" + change.collection +
                "|" + change.key + "|" + change.before.value_or("-") + "|" + change.after.value_or("-");
      }
    }
    EXPECT_EQ(told, raw_log(session_, space)) << space;
  }

  /// All that was written has arrived in these spaces, each commit once.
  void expect_caught_up(const std::vector<std::string>& spaces) {
    number_all(session_);
    for (const std::string& space : spaces) {
      const std::int64_t head = watermark(space);
      EXPECT_TRUE(reaches(space, head)) << space << " at " << sink_.head(space) << " of " << head;
      EXPECT_EQ(sink_.spaces[space].commits.size(), static_cast<std::size_t>(head));
      EXPECT_TRUE(sink_.spaces[space].broken.empty());
      expect_exact(space);
    }
    EXPECT_FALSE(sink_.is_in_turn);
  }

  const std::string conninfo_;
  PgSession session_;
  Loop loop_;
  RecordingSink sink_;
  std::unique_ptr<Tailer> tailer_;
};

}  // namespace viewgate::testing
