// Typed views of what a statement returned, as PostgreSQL's text. Values stay in libpq's memory: a Row is valid while
// its Rows is (in a stream: during the callback).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_result;  // libpq's PGresult

namespace viewgate::ledger::pg {

struct ResultDeleter {
  void operator()(pg_result* result) const noexcept;
};
using ResultPtr = std::unique_ptr<pg_result, ResultDeleter>;

/// One row. A column that does not have the asked type is a bug in our SQL: throws Failure.
class Row {
 public:
  Row(const pg_result* result, int row) : result_(result), row_(row) {}

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::string_view text(int column) const;  ///< empty for null
  [[nodiscard]] std::string string(int column) const { return std::string(text(column)); }
  [[nodiscard]] std::optional<std::string> optional_string(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::optional<std::int64_t> optional_integer(int column) const;
  [[nodiscard]] bool boolean(int column) const;  ///< false for null

 private:
  const pg_result* result_;
  int row_;
};

/// All rows of one statement.
class Rows {
 public:
  Rows() = default;
  explicit Rows(ResultPtr result) : result_(std::move(result)) {}

  [[nodiscard]] int size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] Row operator[](int row) const { return Row(result_.get(), row); }

 private:
  ResultPtr result_;
};

/// One parameter per $1, $2 …; nullopt is NULL. PostgreSQL infers the types.
using Params = std::vector<std::optional<std::string>>;

/// A one-dimensional array as PostgreSQL's text: {"a","b"}.
[[nodiscard]] std::string array_text(const std::vector<std::string>& values);
[[nodiscard]] std::string array_text(const std::vector<std::int64_t>& values);
[[nodiscard]] std::string array_text(const std::vector<std::optional<std::string>>& values);  ///< nullopt is NULL

/// The values of a one-dimensional text array, as PostgreSQL prints it; NULL reads as an empty text.
[[nodiscard]] std::vector<std::string> texts_of(std::string_view array);

}  // namespace viewgate::ledger::pg
