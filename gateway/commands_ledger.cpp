// `viewgate capture | uncapture | migrate`: what an operator does to the database.
#include <iostream>
#include <memory>

#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"
#include "ledger/migrate.hpp"

namespace viewgate::gateway {
namespace {

const std::vector<std::string_view> database_keys{"database"};

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

}  // namespace

void add_ledger_commands(CLI::App& app) {
  add_capture(app);
  add_uncapture(app);
  add_migrate(app);
}

}  // namespace viewgate::gateway
