// Values that clients write, as PostgreSQL prints them: what a mutation brings is checked against its column's type and
// becomes the very text that to_jsonb of that type gives, so that a record looks the same in the receipt of its writer, in
// every snapshot and in every event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "projection/jsonb.hpp"
#include "projection/model.hpp"

namespace viewgate::projection {

struct ValueLimits {
  std::size_t record_bytes = std::size_t{1024} * 1024;  ///< as PostgreSQL prints it: 1e1000 has a thousand digits
  std::size_t depth = 16;                               ///< of arrays and objects in one value
};

/// For messages: the types of columns that mutations can write.
inline constexpr std::string_view writable_types =
    "boolean, smallint, integer, bigint, numeric, real, double precision, text, varchar, uuid, date, timestamp, "
    "timestamptz "
    "and jsonb";

/// Whether this program makes the text of that column exactly as PostgreSQL does.
[[nodiscard]] bool is_writable(const Table& table, std::size_t column);

/// Whether values of a writable column that are equal have one text, so that a key is one record.
[[nodiscard]] bool is_key(const Table& table, std::size_t column);

/// Appends the value as jsonb prints it. Absent: done; else what it must be, to stand behind the column's name.
[[nodiscard]] std::optional<std::string> append_column_value(std::string& out, const Table& table, std::size_t column,
                                                             const Json& value, const ValueLimits& limits);

}  // namespace viewgate::projection
