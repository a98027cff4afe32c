// The judge: is a fold what the SQL query of its view gives, key by key and byte by byte?
//
// The query is written by hand beside the view (pgbench_views) and run by libpq; nothing of the server takes part.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loadtest/database.hpp"
#include "loadtest/fold.hpp"

namespace viewgate::loadtest {

/// A query with two text columns: the key as a JSON array and the record as a JSON object (`to_jsonb`), whatever the
/// order of its columns.
struct Question {
  std::string sql;
  std::vector<std::string> parameters;
  friend auto operator<=>(const Question&, const Question&) = default;
};

/// Compares a fold with an answer: the first few differences, each naming the key; empty = equal.
std::vector<std::string> differences(const std::string& name, const Fold::Records& records, const Fold::Records& answer,
                                     std::size_t count_max = 5);

class Checker {
 public:
  explicit Checker(Database& database) : database_(&database) {}

  /// Runs the query once for all folds that ask the same.
  const Fold::Records& answer(const Question& question);

  std::vector<std::string> check(const Fold& fold, const Question& question) {
    return differences(fold.name(), fold.records(), answer(question));
  }

 private:
  Database* database_;
  std::map<Question, Fold::Records> answers_;
};

/// The heads of these spaces once no committed change waits for its number any more.
/// Throws std::runtime_error when that does not come about in about a minute.
std::map<std::string, std::int64_t> settled_heads(Database& database, const std::vector<std::string>& spaces);

}  // namespace viewgate::loadtest
