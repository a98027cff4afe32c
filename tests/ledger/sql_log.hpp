// What the ledger's SQL tests have in common: a database of their own, its log as values, and the check that folding the log
// gives the table.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/pg_session.hpp"

namespace viewgate::testing {

struct LoggedChange {
  std::int64_t sequence = 0;
  std::int64_t ordinal = 0;
  std::string kind;
  std::string collection;
  std::string key;
  std::string before;  ///< empty = null
  std::string after;   ///< empty = null
  bool operator==(const LoggedChange&) const = default;
};

/// collection and key -> text of the record.
using Records = std::map<std::pair<std::string, std::string>, std::string>;

/// A database with the ledger, and sessions in it.
class SqlLedger {
 public:
  explicit SqlLedger(std::string conninfo) : conninfo_(std::move(conninfo)), session_(conninfo_) {}
  /// In the test program's own cluster.
  SqlLedger();

  PgSession& session() { return session_; }
  [[nodiscard]] PgSession connect() const { return PgSession(conninfo_); }
  [[nodiscard]] const std::string& conninfo() const { return conninfo_; }

  /// create table public.t (id int primary key, space text, v text), captured.
  void make_table();
  /// One look that numbers everything; how many commits.
  std::int64_t number_all();
  std::vector<LoggedChange> log(const std::string& space, std::int64_t after = 0);
  /// The log as "kind key before>after" per change, commits separated by "|": short enough to be an expectation.
  std::string told(const std::string& space, std::int64_t after = 0);
  std::int64_t head(const std::string& space);
  /// The rows of a captured table in one space, as its records.
  Records table(const std::string& name, const std::string& space, const std::string& space_column = "space");

 private:
  std::string conninfo_;
  PgSession session_;
};

/// Folds changes over `state`. Fails the test where sequences are not contiguous from `after`, ordinals not 0..n-1, or a
/// `before` is not what the fold holds.
void fold(std::vector<LoggedChange> log, Records& state, std::int64_t after = 0);

/// Numbers all, folds the log of the space and compares it with the table.
void expect_fold_is_table(SqlLedger& ledger, const std::string& table, const std::string& space,
                          const std::string& space_column = "space");

/// A captured table t, and an application that writes it under the isolation level that is the parameter, whose name is for the
/// name of the test, too.
class LedgerUnderIsolation : public ::testing::TestWithParam<const char*> {
 public:
  static std::string name(const ::testing::TestParamInfo<const char*>& level);

 protected:
  LedgerUnderIsolation();
  /// Runs it as the application, then compares each space of the table with the fold of its log.
  void write(const std::string& sql);
  void check();

  SqlLedger ledger_;
  PgSession writer_ = ledger_.connect();
};

}  // namespace viewgate::testing
