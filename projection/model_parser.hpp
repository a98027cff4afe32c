// Reads the model file with PostgreSQL's own parser (libpg_query) and checks everything that can be checked before a
// caller comes: names, types, primary keys, determinism. docs/views.md is the language.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "projection/catalog.hpp"
#include "projection/model.hpp"

namespace viewgate::projection {

/// `line` and `column` count from 1; columns in characters, not bytes. `message` says what was found and what is
/// allowed.
struct Problem {
  int line = 1;
  int column = 1;
  std::string message;

  /// "file:line:column: message"
  [[nodiscard]] std::string text(std::string_view file) const;
};

/// `model` is null where there are problems. Warnings (a view that no policy opens) stop nothing.
struct ParsedModel {
  ModelPtr model;
  std::vector<Problem> problems;
  std::vector<Problem> warnings;
};

inline constexpr std::size_t model_bytes_max = std::size_t{1024} * 1024;
/// Of one statement, constants and commas not counted: the parser and its printer recurse on the C stack, 32,000 levels were
/// measured to fit it, and each level costs a word, an operator or a bracket. A long list of constants has none.
inline constexpr std::size_t statement_words_max = 32'000;
inline constexpr int expression_depth_max = 100;

/// All problems of the text at once, in order of place.
[[nodiscard]] ParsedModel parse_model(std::string_view text, const Catalog& catalog);

/// A model whose tables changed under it, as far as it still holds.
struct PartialModel {
  ModelPtr model;  ///< null where nothing holds: a text that does not parse
  std::vector<Problem> problems;
  std::set<std::string, std::less<>> left_out;  ///< the views that do not hold
};

/// Leaves out the statements that have problems and what depends on them, so that a column dropped from one table does not
/// stop the views over others. A view or table whose policy has a problem is left out with it.
[[nodiscard]] PartialModel parse_what_holds(std::string_view text, const Catalog& catalog);

struct TableName {
  std::string schema;
  std::string name;
  std::string space_column;  ///< of with (space = '…'); empty = not given
  int line = 1;              ///< where it is named
  int column = 1;
  friend bool operator==(const TableName&, const TableName&) = default;
};

/// The tables that `create table … (like schema.table)` names: what the catalog must hold before parse_model.
/// Statements that do not parse are left out here; parse_model says what is wrong with them.
[[nodiscard]] std::vector<TableName> referenced_tables(std::string_view text);

}  // namespace viewgate::projection
