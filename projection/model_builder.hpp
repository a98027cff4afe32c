// Collects the statements of a model: tables first, then views, then policies, so that their order in the text does not
// matter. What a statement says beyond what the language has is refused by name. Internal to the layer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "projection/catalog.hpp"
#include "projection/model.hpp"
#include "projection/syntax.hpp"

namespace viewgate::projection {

class ModelBuilder {
 public:
  ModelBuilder(std::string_view text, const Catalog& catalog, Problems& problems)
      : text_(text), catalog_(catalog), problems_(problems) {}

  void add_table(const Statement& statement);
  void add_view(const Statement& statement);
  void add_policy(const Statement& statement);

  /// After all statements: policies joined to views, versions computed.
  [[nodiscard]] ModelPtr finish(std::vector<Problem>& warnings);

 private:
  /// A view as far as its own statement says.
  struct Draft {
    View view;
    std::size_t place = 0;
  };

  // model_tables.cpp
  void captured_table(const Statement& statement, const Node& create, const Node& like, Table& table);
  void managed_table(const Statement& statement, const Node& create, Table& table);
  void managed_column(const Statement& statement, const Node& column, Table& table,
                      std::vector<RecordLayout::Column>& columns, std::vector<std::string>& key);
  void conflict_group(const Statement& statement, const Node& option, Table& table);
  void set_primary_key(std::size_t place, const std::vector<std::string>& names, Table& table);

  // model_views.cpp
  void select_columns(const Statement& statement, const Node& select, View& view);
  std::optional<SelectedColumn> select_column(const Statement& statement, const Node& target, const Table& table);
  void refuse_clauses(const Statement& statement, const Node& select);

  // model_policies.cpp
  bool has_policy_form(const Statement& statement, const Node& create);
  void view_policy(const Statement& statement, const Node& create, View& view);
  void table_policy(const Statement& statement, const Node& create, Table& table);
  void refuse_unwritable_columns(const Statement& statement, const Table& table);

  bool claim_name(std::size_t place, const std::string& name);
  /// The bare name of a table or view; empty where it is more than that.
  std::string bare_name(const Statement& statement, const Node& range, std::string_view what);
  /// Every member of the node that is not among `allowed` is a problem: what the language does not know is never
  /// ignored.
  void refuse_others(const Statement& statement, const Node& node, std::initializer_list<std::string_view> allowed,
                     std::string_view what);

  std::string_view text_;
  const Catalog& catalog_;
  Problems& problems_;
  std::map<std::string, std::shared_ptr<Table>, std::less<>> tables_;
  std::map<std::string, Draft, std::less<>> views_;
  std::set<std::string, std::less<>> names_;  ///< of tables and views, broken ones too: those are not reported again
};

/// The relation of a `(like schema.table)`; no node where the statement is not of that form.
[[nodiscard]] Node like_clause(const Node& create);

}  // namespace viewgate::projection
