// One blocking connection to PostgreSQL, for the checker and the writers of the load test.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn;
struct pg_result;

namespace viewgate::loadtest {

/// The rows of one answer, as text.
class Rows {
 public:
  explicit Rows(pg_result* result);
  int size() const;
  bool null(int row, int column) const;
  std::string_view at(int row, int column) const;

 private:
  std::shared_ptr<pg_result> result_;
};

/// Everything that fails throws std::runtime_error with PostgreSQL's own words.
class Database {
 public:
  explicit Database(const std::string& url);
  Rows query(const std::string& sql, const std::vector<std::string>& parameters = {});

 private:
  std::shared_ptr<pg_conn> connection_;
};

}  // namespace viewgate::loadtest
