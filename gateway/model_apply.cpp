#include "gateway/model_apply.hpp"

#include "gateway/model_loader.hpp"
#include "projection/digest.hpp"
#include "projection/expression_text.hpp"
#include "projection/pushdown.hpp"

namespace viewgate::gateway {
namespace {

AppliedModel checked(const std::string& text, const std::string& file, const projection::Catalog& catalog) {
  const auto parsed = projection::parse_model(text, catalog);
  if (!parsed.model) throw Stop(ExitStatus::model, problems_text(parsed.problems, file));
  AppliedModel out;
  out.warnings = problems_text(parsed.warnings, file);
  out.views = parsed.model->views.size();
  out.model = parsed.model;
  out.report = projection::report(*parsed.model);
  for (const auto& [name, table] : parsed.model->tables) {
    if (!table->conflict_groups.empty()) out.conflict_groups[table->collection] = table->conflict_groups;
  }
  return out;
}

projection::Catalog catalog_for(CommandDatabase& database, const std::string& text) {
  const auto state =
      database.wait<ledger::RegistryState>([&](auto done) { database.registry().read(std::move(done)); });
  const auto tables = database.wait<std::vector<ledger::TableShape>>(
      [&](auto done) { database.registry().describe(named_tables(text), std::move(done)); });
  return catalog_of(tables, state.captures);
}

std::string quoted(const projection::TableName& name) {
  return projection::quote_identifier(name.schema) + "." + projection::quote_identifier(name.name);
}

/// Before the text is looked at: "it is a view" says more than what the parser misses in it.
void refuse_uncapturable(CommandDatabase& database, const std::string& text, const std::string& file,
                         const projection::Catalog& catalog) {
  for (const auto& name : projection::referenced_tables(text)) {
    if (name.space_column.empty() || catalog.find(name.schema, name.name) == nullptr) continue;
    ledger::pg::Params params;
    params.emplace_back(quoted(name));
    params.emplace_back(name.space_column);
    const auto obstacle =
        database.exec("select viewgate.capture_obstacle(to_regclass($1)::oid, $2)", std::move(params));
    if (obstacle[0].is_null(0)) continue;
    const projection::Problem problem{
        name.line, name.column,
        "table " + name.schema + "." + name.name + " cannot be captured: " + obstacle[0].string(0)};
    throw Stop(ExitStatus::not_capturable, problem.text(file));
  }
}

void capture(CommandDatabase& database, const projection::TableName& name, const projection::CatalogTable& table) {
  const auto plain = name.schema + "." + name.name;
  if (name.space_column.empty()) {
    if (table.capture != 0) return;
    throw Stop(ExitStatus::not_capturable, "table " + plain +
                                               " is not captured; say which column names a record's space: " +
                                               "create table … (like " + plain + ") with (space = 'column')");
  }
  static_cast<void>(database.wait<std::int64_t>(
      [&](auto done) { database.registry().capture(quoted(name), name.space_column, std::move(done)); }));
}

/// A node may serve as another role than the one that applies: one from which rows are hidden cannot read the table at all.
bool has_row_security(CommandDatabase& database, const projection::TableName& name) {
  ledger::pg::Params params;
  params.emplace_back(quoted(name));
  const auto found =
      database.exec("select relrowsecurity from pg_class where oid = to_regclass($1)", std::move(params));
  return !found.empty() && found[0].boolean(0);
}

std::string row_security_warning(const std::string& table) {
  return "table " + table +
         " has row security: a node must serve as its owner or as a role with bypassrls, else views over it stay "
         "unavailable; `viewgate doctor`, asked as that role, says whether it does";
}

}  // namespace

AppliedModel apply_model(CommandDatabase& database, const std::string& text, const std::string& file) {
  const auto catalog = catalog_for(database, text);
  refuse_uncapturable(database, text, file, catalog);
  auto out = checked(text, file, catalog);
  for (const auto& name : projection::referenced_tables(text)) {
    const auto* table = catalog.find(name.schema, name.name);
    if (table == nullptr) continue;
    capture(database, name, *table);
    out.captured.push_back(name.schema + "." + name.name);
    if (!has_row_security(database, name)) continue;
    out.warnings.append(out.warnings.empty() ? "" : "\n").append(row_security_warning(out.captured.back()));
  }
  const auto applied = database.wait<ledger::ModelInForce>([&](auto done) {
    database.registry().apply_model(text, projection::digest(text).hex(), out.conflict_groups, std::move(done));
  });
  out.version = applied.version;
  return out;
}

AppliedModel check_model(const Config& config, const std::string& text, const std::string& file) {
  if (projection::referenced_tables(text).empty()) return checked(text, file, projection::Catalog{});
  CommandDatabase database(config.database);
  const auto catalog = catalog_for(database, text);
  refuse_uncapturable(database, text, file, catalog);
  return checked(text, file, catalog);
}

}  // namespace viewgate::gateway
