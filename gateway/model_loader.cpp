#include "gateway/model_loader.hpp"

#include <algorithm>
#include <utility>

#include "gateway/log.hpp"

namespace viewgate::gateway {
namespace {

const ledger::Capture* find_capture(const std::vector<ledger::Capture>& captures, std::string_view schema,
                                    std::string_view table) {
  const auto found = std::find_if(captures.begin(), captures.end(), [&](const ledger::Capture& each) {
    return each.schema == schema && each.table == table;
  });
  return found == captures.end() ? nullptr : &*found;
}

std::shared_ptr<const CursorKeys> keys_of(const ledger::RegistryState& state) {
  std::vector<CursorKeys::Key> keys;
  for (const auto& key : state.keys) keys.push_back(CursorKeys::Key{static_cast<std::uint16_t>(key.id), key.secret});
  return std::make_shared<const CursorKeys>(std::move(keys));
}

/// Why the views over a captured table must refuse.
void note_holes(ActiveModel& active, const projection::Catalog& catalog, const ledger::RegistryState& state) {
  for (const auto& table : catalog.tables) {
    const auto* capture = find_capture(state.captures, table.schema, table.name);
    if (capture != nullptr && capture->broken_reason.empty() && capture->id != 0) continue;
    std::string collection = table.schema;
    collection.append(".").append(table.name);
    std::string why = collection;
    why.append(": ").append(capture != nullptr ? capture->broken_reason : "it is not captured");
    active.broken.emplace(std::move(collection), std::move(why));
  }
}

}  // namespace

TableNames named_tables(std::string_view model_text) {
  TableNames out;
  for (auto& name : projection::referenced_tables(model_text)) {
    std::pair<std::string, std::string> table(std::move(name.schema), std::move(name.name));
    if (std::find(out.begin(), out.end(), table) == out.end()) out.push_back(std::move(table));
  }
  return out;
}

projection::Catalog catalog_of(const std::vector<ledger::TableShape>& tables,
                               const std::vector<ledger::Capture>& captures) {
  projection::Catalog out;
  for (const auto& shape : tables) {
    if (shape.columns.empty()) continue;
    projection::CatalogTable table;
    table.schema = shape.schema;
    table.name = shape.table;
    table.primary_key = shape.primary_key;
    for (const auto& column : shape.columns) {
      table.columns.push_back(projection::CatalogColumn{column.name, column.type, column.has_deterministic_collation,
                                                        column.labels, column.is_not_null, column.mark});
    }
    if (const auto* capture = find_capture(captures, shape.schema, shape.table)) {
      table.capture = capture->id;
      table.space_column = capture->space_column;
    }
    out.tables.push_back(std::move(table));
  }
  return out;
}

ActiveModelPtr compile_model(const ledger::RegistryState& state, const std::vector<ledger::TableShape>& tables,
                             std::chrono::milliseconds retry_after) {
  auto active = std::make_shared<ActiveModel>();
  active->retry_after = retry_after;
  active->keys = keys_of(state);
  if (!state.model) return active;
  active->hash = state.model->hash;
  const auto catalog = catalog_of(tables, state.captures);
  auto parsed = projection::parse_what_holds(state.model->text, catalog);
  for (const auto& problem : parsed.problems) active->problems.push_back(problem.text("model"));
  active->left_out = std::move(parsed.left_out);
  active->model = std::move(parsed.model);
  if (active->model) note_holes(*active, catalog, state);
  return active;
}

void log_model(const ActiveModel& active) {
  for (const auto& problem : active.problems) log::error("model_invalid", {{"problem", problem}});
  for (const auto& [table, reason] : active.broken) log::error("capture_broken", {{"reason", reason}});
  if (active.model) {
    log::info("model_in_force", {{"hash", active.hash}, {"views", active.model->views.size()}});
  } else if (active.problems.empty()) {
    log::warn("no_model", {{"advice", "viewgate model apply FILE puts one in force"}});
  }
}

std::string problems_text(const std::vector<projection::Problem>& problems, std::string_view file) {
  std::string out;
  for (const auto& problem : problems) out += (out.empty() ? "" : "\n") + problem.text(file);
  return out;
}

void ModelLoader::load(std::function<void(ledger::Result<ActiveModelPtr>)> done) {
  registry_.read([this, done = std::move(done)](ledger::Result<ledger::RegistryState> read) {
    if (!read) {
      done(read.error());
      return;
    }
    auto state = std::make_shared<ledger::RegistryState>(std::move(*read));
    registry_.describe(named_tables(state->model ? state->model->text : ""),
                       [this, state, done](const ledger::Result<std::vector<ledger::TableShape>>& tables) {
                         if (tables) {
                           done(compile_model(*state, *tables, retry_after_));
                         } else {
                           done(tables.error());
                         }
                       });
  });
}

}  // namespace viewgate::gateway
