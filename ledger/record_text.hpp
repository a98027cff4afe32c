// Takes records apart and puts them together as text, the way PostgreSQL prints jsonb: {"a": 1, "bb": [1, 2]}, names
// ordered by length, then by bytes, each once. Values are carried as they are: nothing is parsed and printed again, so
// what comes out is what PostgreSQL would print if what goes in was printed by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace viewgate::ledger {

/// A column of a record. Both views point into the record's text.
struct RecordColumn {
  std::string_view quoted_name;  ///< as in the text, for example "a\"b" with its quotes
  std::string_view value;
};

/// The columns of a record, which is jsonb text of an object; of anything else: none.
[[nodiscard]] std::vector<RecordColumn> columns_of(std::string_view record);

/// Whether jsonb text is that of an object.
[[nodiscard]] bool is_object(std::string_view json);

/// What is wrong with jsonb text as a record's key; empty: nothing.
[[nodiscard]] std::string key_fault(std::string_view key);

/// The name of a column without quotes and escapes.
[[nodiscard]] std::string unquoted(std::string_view quoted_name);

/// A string as JSON, escaped as PostgreSQL does it.
[[nodiscard]] std::string quoted(std::string_view text);

/// PostgreSQL's `record || changes`: the columns of both, those of `changes` where both have one.
[[nodiscard]] std::string merged(std::string_view record, std::string_view changes);

}  // namespace viewgate::ledger
