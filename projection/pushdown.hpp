// The question that a bootstrap asks PostgreSQL: a superset of the group's records that can never raise. Every row that
// comes back is decided again by Group::snapshot_record.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "projection/group.hpp"

namespace viewgate::projection {

/// Pieces of SQL, literals quoted, no parameters: safe under any search_path, standard_conforming_strings and
/// DateStyle. `relation`: what to lock before the snapshot is taken; empty for managed collections (viewgate.records
/// does not change). The row alias is `t`. One column comes back: the record's text.
struct ReadPlan {
  std::string relation;
  std::string select;                    ///< "to_jsonb(t)::text" or "t.value::text"
  std::string from;                      ///< "\"public\".\"orders\" as t"
  std::string where;                     ///< never empty; "true" where nothing can be pushed down
  std::string order_by;                  ///< the primary key's columns
  std::vector<std::string> key_columns;  ///< quoted, with the alias
  std::vector<std::string> key_types;    ///< for casting a key's literals

  /// The whole group: select … from … where …
  [[nodiscard]] std::string query() const;
  /// One page in key order (not where key_columns is empty), `after` = the key (JSON array text) of the last row of the
  /// page before, empty = the first page.
  [[nodiscard]] std::string page(std::string_view after, std::size_t rows) const;
};

[[nodiscard]] ReadPlan read_plan(const Group& group);

/// The same for one record, whether it is in the view or not: the whole statement. `key` is of the form that the group's
/// keys have.
[[nodiscard]] std::string record_query(const Group& group, std::string_view key);

/// 'text' as a literal that means the same whatever standard_conforming_strings says.
[[nodiscard]] std::string quote_literal(std::string_view text);
[[nodiscard]] std::string quote_identifier(std::string_view name);

}  // namespace viewgate::projection
