// A record's JSON object text, cut into the slices of its columns. The slices are the bytes that PostgreSQL produced
// and are what reaches the client; values are decoded from them one by one, only where an expression asks (I11).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "projection/type.hpp"
#include "projection/value.hpp"

namespace viewgate::projection {

/// How to find the columns of one table in a record's text. Immutable.
class RecordLayout {
 public:
  struct Column {
    std::string name;
    FullType type;
  };

  RecordLayout() = default;
  explicit RecordLayout(std::vector<Column> columns);

  [[nodiscard]] std::size_t size() const { return columns_.size(); }
  [[nodiscard]] const Column& column(std::size_t index) const { return columns_[index]; }
  /// The column's name as a JSON string with its quotes, as jsonb prints it.
  [[nodiscard]] const std::string& json_name(std::size_t index) const { return json_names_[index]; }
  /// Column indexes in the order in which jsonb prints the names (by length, then bytes).
  [[nodiscard]] const std::vector<std::size_t>& jsonb_order() const { return order_; }

 private:
  friend class Record;
  std::vector<Column> columns_;
  std::vector<std::string> json_names_;
  std::vector<std::size_t> order_;
};

/// One record during one projection. Not shared between threads; `text` and `layout` must outlive it.
class Record {
 public:
  /// Nothing: the text is not one JSON object as PostgreSQL prints it.
  static std::optional<Record> parse(const RecordLayout& layout, std::string_view text);

  /// The raw JSON of a column; a column that the text does not have is null.
  [[nodiscard]] std::string_view slice(std::size_t column) const { return slices_[column]; }

  /// Decoded once, by the column's type.
  [[nodiscard]] const Value& value(std::size_t column) const;

 private:
  const RecordLayout* layout_ = nullptr;
  std::vector<std::string_view> slices_;
  mutable std::vector<std::optional<Value>> values_;
};

}  // namespace viewgate::projection
