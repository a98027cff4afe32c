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
  /// Of an enum, or of an array of one: its labels in their declared order; empty for other types.
  std::vector<std::string> labels = {};
  bool not_null = false;  ///< as it is now; of no meaning to views, whose records may be older
  std::string mark =
      {};  ///< another one where its values may read differently now: part of the version of views that use it
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

}  // namespace viewgate::projection
