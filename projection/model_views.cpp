#include <algorithm>
#include <set>

#include "projection/expression_builder.hpp"
#include "projection/json_text.hpp"
#include "projection/model_builder.hpp"

namespace viewgate::projection {
namespace {

using Kind = Expression::Kind;

/// Raised whenever the meaning of a definition changes although its text does not.
constexpr std::string_view version_of_meaning = "viewgate view 1";

constexpr std::string_view select_form = "; a view is select column, … from table where condition";

/// The first place in a part of the tree whose own node has none, such as a clause; -1: nothing in it has one.
std::int64_t first_location(const boost::json::value* part) {
  std::int64_t out = -1;
  const auto earlier = [&out](std::int64_t location) {
    if (location >= 0 && (out < 0 || location < out)) out = location;
  };
  if (part == nullptr) return out;
  if (const auto* object = part->if_object()) {
    for (const auto& member : *object) {
      earlier(member.key() == "location" && member.value().is_int64() ? member.value().get_int64()
                                                                      : first_location(&member.value()));
    }
  } else if (const auto* array = part->if_array()) {
    for (const auto& item : *array) earlier(first_location(&item));
  }
  return out;
}

std::size_t place_in(const Statement& statement, const boost::json::value* part) {
  const std::int64_t location = first_location(part);
  return location < 0 ? statement.start : statement.base + static_cast<std::size_t>(location);
}

void collect_claims(const Expression& expression, std::set<std::string>& out) {
  if (expression.kind == Kind::claim) out.insert(expression.name);
  for (const Expression& child : expression.children) collect_claims(child, out);
}

/// Several policies on one thing: any of them.
Expression any_of(const std::vector<Policy>& policies) {
  if (policies.size() == 1) return policies.front().predicate;
  Expression out;
  out.kind = Kind::logical_or;
  for (const Policy& policy : policies) out.children.push_back(policy.predicate);
  return out;
}

void append_column(std::string& out, const Table& table, std::size_t column) {
  append_field(out, table.layout.column(column).name);
  append_field(out, table.type_names[column]);
}

/// A plain column stands as it always did; another name or a computed value says so.
void append_selected(std::string& out, const Table& table, const SelectedColumn& selected) {
  if (selected.column) {
    append_column(out, table, *selected.column);
    if (table.layout.column(*selected.column).name == selected.name) return;
  } else {
    append_canonical(out, selected.expression, table.layout);
  }
  append_field(out, "as");
  append_field(out, selected.name);
}

/// What the meaning of a column depends on beside its name and type: the labels of an enum in their order, and of a captured table
/// whatever else its values' text does. Of the columns that the view uses: what becomes of another one is nothing to it.
void append_used_columns(std::string& out, const View& view) {
  const Table& table = *view.table;
  std::vector<std::size_t> used = table.primary_key;
  if (table.space_column) used.push_back(*table.space_column);
  for (const SelectedColumn& selected : view.columns)
    used.insert(used.end(), selected.sources.begin(), selected.sources.end());
  collect_columns(view.predicate, used);
  for (const Policy& policy : view.policies) collect_columns(policy.predicate, used);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<std::string> texts;
  for (const std::size_t column : used) {
    const EnumTypePtr& labels = table.layout.column(column).type.labels;
    const std::string_view mark = table.marks.empty() ? std::string_view() : table.marks[column];
    if (mark.empty() && !labels) continue;
    std::string& text = texts.emplace_back();
    append_field(text, table.layout.column(column).name);
    append_field(text, mark);
    if (!labels) continue;
    append_field(text, labels->name);
    for (const std::string& label : labels->labels) append_field(text, label);
  }
  // By name: a column that comes or goes moves the places of others.
  std::sort(texts.begin(), texts.end());
  for (const std::string& text : texts) append_field(out, text);
}

Digest version_of(const View& view) {
  const Table& table = *view.table;
  std::string out;
  append_field(out, version_of_meaning);
  append_field(out, view.name);
  append_field(out, table.kind == TableKind::captured ? "captured" : "managed");
  append_field(out, table.collection);
  append_field(out, std::to_string(table.capture));
  if (table.space_column) append_column(out, table, *table.space_column);
  append_field(out, "key");
  for (const std::size_t column : table.primary_key) append_column(out, table, column);
  append_field(out, "select");
  for (const SelectedColumn& selected : view.columns) append_selected(out, table, selected);
  // Named by events.
  for (const ledger::ConflictGroup& group : table.conflict_groups) {
    append_field(out, "group");
    append_field(out, group.name);
    for (const std::string& column : group.columns) append_field(out, column);
  }
  append_used_columns(out, view);
  append_field(out, "where");
  append_canonical(out, view.predicate, table.layout);
  append_field(out, "policies");
  std::vector<std::string> policies;
  for (const Policy& policy : view.policies) {
    append_canonical(policies.emplace_back(), policy.predicate, table.layout);
  }
  std::sort(policies.begin(), policies.end());
  for (const std::string& policy : policies) append_field(out, policy);
  return digest(out);
}

std::string no_policy_on(const std::string& view) {
  return "no policy admits anybody to the view " + view + "; write create policy … on " + view + " using (…)";
}

}  // namespace

void ModelBuilder::add_view(const Statement& statement) {
  const Node create = statement.node();
  const Node range = create.plain("view");
  const Node select = create.node("query");
  const std::string name = bare_name(statement, range, "a view");
  refuse_others(statement, create, {"view", "query", "withCheckOption"}, "create view");
  if (create.text("withCheckOption") != "NO_CHECK_OPTION")
    problems_.add(statement.start, "WITH CHECK OPTION is not supported");
  refuse_clauses(statement, select);
  if (name.empty() || !claim_name(statement.place(range), name)) return;
  Draft draft;
  draft.place = statement.place(range);
  draft.view.name = name;
  const std::vector<Node> from = select.list("fromClause");
  if (from.size() != 1 || from.front().type != "RangeVar") {
    // Of a UNION the two selects have tables, and that it is one has been said.
    if (from.empty() && select.find("rarg") != nullptr) return;
    std::size_t place = draft.place;
    if (from.size() > 1) place = statement.place(from[1]);
    if (from.size() == 1) place = place_in(statement, from.front().find("rarg"));
    problems_.add(place, "a view has exactly one table" + std::string(select_form));
    return;
  }
  const std::string table_name = bare_name(statement, from.front(), "a table of the model");
  const auto table = tables_.find(table_name);
  if (table == tables_.end()) {
    if (!table_name.empty() && (!names_.contains(table_name) || views_.contains(table_name))) {
      problems_.add(statement.place(from.front()), "the model has no table " + table_name);
    }
    return;
  }
  if (table->second->layout.size() == 0) return;
  draft.view.table = table->second;
  select_columns(statement, select, draft.view);
  draft.view.predicate = make_constant(Type::boolean, true);
  if (const Node where = select.node("whereClause")) {
    ExpressionBuilder builder(text_, statement, Scope{table->second.get(), {}, true}, problems_);
    if (auto condition = builder.condition(where)) draft.view.predicate = std::move(*condition);
    for (const auto& [parameter, use] : builder.parameters()) {
      draft.view.parameters.push_back({parameter, use.type});
    }
  }
  views_.emplace(name, std::move(draft));
}

void ModelBuilder::refuse_clauses(const Statement& statement, const Node& select) {
  static constexpr std::pair<std::string_view, std::string_view> clauses[] = {
      {"distinctClause", "DISTINCT"}, {"groupClause", "GROUP BY"},     {"havingClause", "HAVING"},
      {"windowClause", "WINDOW"},     {"sortClause", "ORDER BY"},      {"limitOffset", "OFFSET"},
      {"limitCount", "LIMIT"},        {"lockingClause", "FOR UPDATE"}, {"withClause", "WITH"},
      {"valuesLists", "VALUES"},      {"intoClause", "INTO"}};
  if (select.type != "SelectStmt" || select.text("op") != "SETOP_NONE") {
    problems_.add(place_in(statement, select.find("rarg")), "not a plain select" + std::string(select_form));
    return;
  }
  for (const auto& [member, spelt] : clauses) {
    if (select.find(member) == nullptr) continue;
    problems_.add(place_in(statement, select.find(member)),
                  std::string(spelt) + " is not supported" + std::string(select_form));
  }
  refuse_others(statement, select,
                {"targetList", "fromClause", "whereClause", "limitOption", "op", "distinctClause", "groupClause",
                 "havingClause", "windowClause", "sortClause", "limitOffset", "limitCount", "lockingClause",
                 "withClause", "valuesLists", "intoClause"},
                "select");
}

void ModelBuilder::select_columns(const Statement& statement, const Node& select, View& view) {
  const Table& table = *view.table;
  const std::size_t problems_before = problems_.size();
  for (const Node& target : select.list("targetList")) {
    auto selected = select_column(statement, target, table);
    if (!selected) continue;
    const auto same = [&selected](const SelectedColumn& other) { return other.name == selected->name; };
    if (std::any_of(view.columns.begin(), view.columns.end(), same)) {
      problems_.add(statement.place(target), "the column " + selected->name + " is selected twice");
      continue;
    }
    selected->json_name = encode_json_string(selected->name);
    view.columns.push_back(std::move(*selected));
  }
  if (problems_.size() != problems_before) return;
  for (const std::size_t key : table.primary_key) {
    const std::string& name = table.layout.column(key).name;
    const bool found = std::any_of(view.columns.begin(), view.columns.end(), [&](const SelectedColumn& selected) {
      return selected.column == key && selected.name == name;
    });
    if (found) continue;
    problems_.add(statement.place(statement.node().plain("view")),
                  "the view " + view.name + " does not select " + name + ", a column of the primary key of " +
                      table.name + "; a view selects the whole key, under its own names");
  }
}

/// A column, or something computed that has a name. Nothing: a problem was reported.
std::optional<SelectedColumn> ModelBuilder::select_column(const Statement& statement, const Node& target,
                                                          const Table& table) {
  const Node value = target.node("val");
  SelectedColumn out;
  out.name = target.text("name");
  if (value.type == "ColumnRef") {
    std::vector<std::string> names = value.strings("fields");
    const bool star = names.size() != value.list("fields").size();
    if (names.size() == 2 && names.front() == table.name) names.erase(names.begin());
    if (star) {
      problems_.add(statement.place(target),
                    "the select list names columns, one by one: what a client may see is written out");
      return std::nullopt;
    }
    if (names.size() == 1) {
      out.column = table.find_column(names.front());
      if (!out.column) problems_.add(statement.place(target), table.name + " has no column " + names.front());
      if (out.name.empty()) out.name = names.front();
      if (out.column) out.sources.push_back(*out.column);
      return out.column ? std::optional(std::move(out)) : std::nullopt;
    }
  }
  if (out.name.empty()) {
    problems_.add(statement.place(target), "a computed entry of the select list needs a name; write … as name");
  }
  ExpressionBuilder builder(text_, statement, Scope{&table, {}, false, false}, problems_);
  auto expression = builder.selected(value);
  if (!expression || out.name.empty()) return std::nullopt;
  collect_columns(*expression, out.sources);
  out.expression = fold(std::move(*expression), table.layout);
  return out;
}

ModelPtr ModelBuilder::finish(std::vector<Problem>& warnings) {
  auto model = std::make_shared<Model>();
  for (const auto& [name, table] : tables_) model->tables.emplace(name, table);
  for (auto& [name, draft] : views_) {
    View& view = draft.view;
    if (!view.table->policies.empty()) {
      Expression limited;
      limited.kind = Kind::logical_and;
      limited.children.push_back(std::move(view.predicate));
      limited.children.push_back(any_of(view.table->policies));
      view.predicate = std::move(limited);
    }
    std::set<std::string> claims;
    collect_claims(view.predicate, claims);
    for (const Policy& policy : view.policies) collect_claims(policy.predicate, claims);
    view.claims.assign(claims.begin(), claims.end());
    view.version = version_of(view);
    if (view.policies.empty()) {
      warnings.push_back(problems_.make(draft.place, no_policy_on(name)));
    }
    model->views.emplace(name, std::make_shared<const View>(std::move(view)));
  }
  return model;
}

bool ModelBuilder::claim_name(std::size_t place, const std::string& name) {
  if (name == "claims" || name == "params" || name == "space") {
    problems_.add(place, name + " is a reserved name: " + name + ".x means something else in expressions");
    return false;
  }
  if (names_.insert(name).second) return true;
  problems_.add(place, name + " is defined twice");
  return false;
}

std::string ModelBuilder::bare_name(const Statement& statement, const Node& range, std::string_view what) {
  std::string name = range.text("relname");
  if (range.find("schemaname") != nullptr || range.find("catalogname") != nullptr) {
    problems_.add(statement.place(range), std::string(what) + " has no schema; write " + name);
    return {};
  }
  if (range.text("relpersistence") != "p") {
    problems_.add(statement.place(range), "TEMPORARY and UNLOGGED are not supported");
    return {};
  }
  if (range.find("alias") != nullptr || !range.flag("inh")) {
    problems_.add(statement.place(range), "ONLY and another name for a table are not supported; write " + name);
    return {};
  }
  return name;
}

void ModelBuilder::refuse_others(const Statement& statement, const Node& node,
                                 std::initializer_list<std::string_view> allowed, std::string_view what) {
  if (!node) return;
  for (const auto& member : *node.members) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    problems_.add(statement.place(node),
                  std::string(what) + " has a clause that is not supported (" + std::string(key) + ")");
  }
}

}  // namespace viewgate::projection
