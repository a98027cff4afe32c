// What the model parser must know about captured tables: their columns stand in the database and not in the text.
// Projection has no SQL connection; whoever has one asks `referenced_tables` which tables the text names and fills
// this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::projection {

struct CatalogColumn {
  std::string name;
  /// pg_type.typname for types of pg_catalog ("int4", "timestamptz"), anything else (format_type) for other types.
  std::string type;
  /// pg_collation.collisdeterministic; true for columns without a collation. A column of a nondeterministic collation
  /// is carried, since equality of texts is then not equality of bytes.
  bool deterministic_collation = true;
};

struct CatalogTable {
  std::string schema;
  std::string name;
  std::vector<CatalogColumn> columns;    ///< in attnum order, dropped ones left out
  std::vector<std::string> primary_key;  ///< in the key's order; empty = none
  std::int64_t capture = 0;              ///< the capture's random id; 0 = not captured
  std::string space_column;              ///< of the capture; empty = not known
};

struct Catalog {
  std::vector<CatalogTable> tables;

  [[nodiscard]] const CatalogTable* find(std::string_view schema, std::string_view name) const;
};

/// The question whose rows fill a CatalogTable but for `capture` and `space_column`: one row per column, in order:
/// name, type, deterministic collation ('t' or 'f'), place in the primary key (1, 2 …; 0 = not in it).
/// $1 = schema, $2 = table. No rows: there is no such table.
inline constexpr const char* catalog_query =
    "select a.attname,"
    " case when t.typnamespace = 'pg_catalog'::regnamespace then t.typname::text"
    " else pg_catalog.format_type(a.atttypid, null) end,"
    " coalesce(l.collisdeterministic, true),"
    " coalesce(pg_catalog.array_position(i.indkey::int2[], a.attnum) + 1"
    "  - pg_catalog.array_lower(i.indkey::int2[], 1), 0)"
    " from pg_catalog.pg_attribute a"
    " join pg_catalog.pg_class c on c.oid = a.attrelid"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " join pg_catalog.pg_type t on t.oid = a.atttypid"
    " left join pg_catalog.pg_collation l on l.oid = a.attcollation"
    " left join pg_catalog.pg_index i on i.indrelid = c.oid and i.indisprimary"
    " where n.nspname = $1 and c.relname = $2 and a.attnum > 0 and not a.attisdropped"
    " order by a.attnum";

}  // namespace viewgate::projection
