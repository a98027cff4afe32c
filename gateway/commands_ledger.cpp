// `viewgate capture | uncapture | migrate | prune`: what an operator does to the database.
#include <iostream>
#include <memory>

#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"
#include "ledger/migrate.hpp"

namespace viewgate::gateway {
namespace {

using ledger::pg::Params;

const std::vector<std::string_view> database_keys{"database"};

Params params_of(std::initializer_list<std::string> values) { return Params(values.begin(), values.end()); }

void add_capture(CLI::App& app) {
  auto* command = app.add_subcommand("capture", "record every write of a table, from now on");
  const auto flags = std::make_shared<ConfigFlags>(*command, database_keys);
  const auto table = std::make_shared<std::string>();
  const auto space = std::make_shared<std::string>();
  command->add_option("TABLE", *table, "as SQL writes it, for example public.orders")->required();
  command->add_option("--space", *space, "the column that names a record's space")->required();
  command->callback([flags, table, space] {
    CommandDatabase database(flags->read().database);
    static_cast<void>(
        database.wait<std::int64_t>([&](auto done) { database.registry().capture(*table, *space, std::move(done)); }));
    std::cout << "captured " << *table << "\n";
  });
}

void add_uncapture(CLI::App& app) {
  auto* command = app.add_subcommand("uncapture", "record the writes of a table no more; its log stays");
  const auto flags = std::make_shared<ConfigFlags>(*command, database_keys);
  const auto table = std::make_shared<std::string>();
  command->add_option("TABLE", *table, "as SQL writes it")->required();
  command->callback([flags, table] {
    CommandDatabase database(flags->read().database);
    database.wait<void>([&](auto done) { database.registry().uncapture(*table, std::move(done)); });
    std::cout << "uncaptured " << *table << "\n";
  });
}

void add_migrate(CLI::App& app) {
  auto* command = app.add_subcommand("migrate", "bring the schema viewgate to this program's version");
  const auto flags = std::make_shared<ConfigFlags>(*command, database_keys);
  command->callback([flags] {
    const CommandDatabase database(flags->read().database);
    std::cout << "schema version " << ledger::schema_version() << "\n";
  });
}

/// The horizon is raised in one transaction, the rows go in later ones, so that no reader is cut off in the middle of a
/// batch.
void prune(CommandDatabase& database, const std::string& space, const std::string& keep) {
  const auto horizon = database.exec("select viewgate.prune($1, $2::bigint)", params_of({space, keep}));
  while (database.exec("select viewgate.prune_batch($1, 5000)", params_of({space}))[0].integer(0) > 0) {
  }
  std::cout << "space " << space << " is kept from commit " << horizon[0].text(0) << "\n";
}

void add_prune(CLI::App& app) {
  auto* command = app.add_subcommand("prune", "forget old commits");
  const auto flags = std::make_shared<ConfigFlags>(*command, database_keys);
  const auto space = std::make_shared<std::string>();
  const auto keep = std::make_shared<std::int64_t>(0);
  command->add_option("--space", *space, "only this one; else all");
  command->add_option("--keep", *keep, "how many commits stay in each space")
      ->required()
      ->check(CLI::NonNegativeNumber);
  command->callback([flags, space, keep] {
    CommandDatabase database(flags->read().database);
    const auto number = std::to_string(*keep);
    if (!space->empty()) return prune(database, *space, number);
    const auto spaces = database.exec("select name from viewgate.spaces order by space", Params());
    for (int i = 0; i < spaces.size(); ++i) prune(database, spaces[i].string(0), number);
  });
}

}  // namespace

void add_ledger_commands(CLI::App& app) {
  add_capture(app);
  add_uncapture(app);
  add_migrate(app);
  add_prune(app);
}

}  // namespace viewgate::gateway
