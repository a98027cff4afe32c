// One libpq connection for tests: blocking, throwing, values as text.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.hpp"

struct pg_conn;

namespace viewgate::testing {

/// What PostgreSQL refused. what() is its message.
class PgError : public std::runtime_error {
 public:
  PgError(std::string state, const std::string& message) : std::runtime_error(message), sqlstate(std::move(state)) {}
  const std::string sqlstate;
};

using PgValue = std::optional<std::string>;
using PgRow = std::vector<PgValue>;
using PgRows = std::vector<PgRow>;

class PgSession {
 public:
  /// Connects or throws.
  explicit PgSession(const std::string& conninfo);
  ~PgSession();
  PgSession(PgSession&&) noexcept;
  PgSession& operator=(PgSession&&) noexcept;

  /// One or more statements without parameters; the rows of the last one.
  PgRows run(const std::string& sql);
  /// One statement with parameters.
  PgRows query(const std::string& sql, const std::vector<PgValue>& parameters);
  /// The only value of the only row; NULL reads as "NULL".
  std::string value(const std::string& sql, const std::vector<PgValue>& parameters = {});

  /// Sends statements and returns at once; finish() waits for their end, gives the last one's rows or throws.
  void start(const std::string& sql);
  PgRows finish();
  /// Whether what was started still runs.
  bool is_busy();

  /// The payload of the next notification, waiting for it at most so long.
  std::optional<std::string> notification(std::chrono::milliseconds time_max);

  /// SQLSTATE of what the statement is refused with; empty where it is not.
  std::string refusal(const std::string& sql);

  [[nodiscard]] int backend_pid() const;
  [[nodiscard]] pg_conn* raw() const { return connection_.get(); }

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  std::unique_ptr<pg_conn, Close> connection_;
};

}  // namespace viewgate::testing
