// The application's model: tables, views over them, and policies. Made by parse_model, immutable, shared between
// threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/conflict_group.hpp"
#include "projection/digest.hpp"
#include "projection/expression.hpp"
#include "projection/record.hpp"
#include "projection/shape.hpp"

namespace viewgate::projection {

/// `create policy … on t|v for select using (…)`. Several on one thing are joined by OR. On a table it may use columns and limits
/// the records of every view over it; on a view it decides about the caller alone.
struct Policy {
  std::string name;
  Expression predicate;
};

/// Who may write the records of a managed table, as PostgreSQL's row security has it: the policies of a command are joined
/// by OR, none = nobody. `using` looks at the record as it is, `check` at the record as it would be.
struct WriteConditions {
  std::vector<Expression> insert_check;
  std::vector<Expression> update_using;
  std::vector<Expression> update_check;
  std::vector<Expression> delete_using;

  [[nodiscard]] bool empty() const { return insert_check.empty() && update_using.empty() && delete_using.empty(); }
};

/// What text or catalog say about a column beyond name and type.
struct ColumnRule {
  bool not_null = false;
  bool has_modifier = false;  ///< managed: varchar(20), numeric(10,2): what mutations do not enforce
};

/// `managed`: records live in viewgate.records under `collection`. `captured`: `schema`.`relation` is the current
/// state.
enum class TableKind : std::uint8_t { managed, captured };

struct Table {
  TableKind kind = TableKind::managed;
  std::string name;        ///< in the model
  std::string collection;  ///< ledger::Change::collection: "schema.relation" of a captured table, else the name
  std::string schema;
  std::string relation;
  std::vector<std::string> type_names;  ///< of each column, as the catalog or the text spells them
  std::vector<std::string> marks;       ///< of each column (CatalogColumn::mark); managed: empty
  RecordLayout layout;                  ///< all columns
  std::vector<std::size_t> primary_key;
  std::optional<std::size_t> space_column;  ///< captured tables
  std::int64_t capture = 0;                 ///< captured tables: part of each view's version
  std::vector<ColumnRule> column_rules;     ///< of each column
  ledger::ConflictGroups conflict_groups;   ///< managed: each conflict_group_… option
  std::vector<Policy> policies;             ///< for select
  WriteConditions writes;                   ///< managed: for insert, update and delete

  [[nodiscard]] std::optional<std::size_t> find_column(std::string_view column) const;
  /// The conflict group that holds the column.
  [[nodiscard]] std::string_view group_of(std::size_t column) const;
};

struct Parameter {
  std::string name;
  FullType type = Type::text;
};

/// An entry of a select list: a column, perhaps under another name, or something computed from columns and constants.
struct SelectedColumn {
  std::string name;
  std::string json_name;              ///< as a JSON string
  std::optional<std::size_t> column;  ///< of the table; nothing: `expression` is computed
  Expression expression;
  std::vector<std::size_t> sources;  ///< all columns that it is made of
};

/// A view: the columns that the client may see (the whole primary key among them) and the predicate that decides
/// membership, the table's policies already joined to it by AND.
struct View {
  std::string name;
  std::shared_ptr<const Table> table;
  std::vector<SelectedColumn> columns;
  Expression predicate;
  std::vector<Parameter> parameters;  ///< by name; all are needed
  std::vector<Policy> policies;       ///< none = nobody is admitted
  std::vector<std::string> claims;    ///< names of all claims that predicate and policies use, sorted
  Digest version;                     ///< of definition, policies, columns, types and capture
  std::shared_ptr<ShapeTable> shapes = std::make_shared<ShapeTable>();  ///< of its groups' predicates
};
using ViewPtr = std::shared_ptr<const View>;

struct Model {
  std::map<std::string, std::shared_ptr<const Table>, std::less<>> tables;
  std::map<std::string, ViewPtr, std::less<>> views;

  /// Null: no such view.
  [[nodiscard]] ViewPtr view(std::string_view name) const;
};
using ModelPtr = std::shared_ptr<const Model>;

}  // namespace viewgate::projection
