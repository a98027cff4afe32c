// `viewgate model apply | show`.
#include <iostream>
#include <memory>

#include "gateway/commands.hpp"
#include "gateway/model_apply.hpp"

namespace viewgate::gateway {
namespace {

const std::vector<std::string_view> database_keys{"database"};

void print_warnings(const AppliedModel& applied) {
  if (!applied.warnings.empty()) std::cerr << applied.warnings << "\n";
}

void apply_file(const Config& config, const std::string& file) {
  const auto text = read_model_file(file);
  CommandDatabase database(config.database);
  const auto applied = apply_model(database, text, file);
  print_warnings(applied);
  for (const auto& table : applied.captured) std::cout << "captured " << table << "\n";
  std::cout << "model version " << applied.version << " is in force, " << applied.views << " views\n";
}

void show_model(const Config& config) {
  CommandDatabase database(config.database);
  const auto state =
      database.wait<ledger::RegistryState>([&](auto done) { database.registry().read(std::move(done)); });
  if (!state.model) throw Stop(ExitStatus::failed, "no model is in force; `viewgate model apply FILE` puts one there");
  std::cerr << "version " << state.model->version << ", hash " << state.model->hash << "\n";
  std::cout << state.model->text;
}

}  // namespace

void add_model_commands(CLI::App& app) {
  const auto file = std::make_shared<std::string>();
  auto* model = app.add_subcommand("model", "the model in force: apply, show");
  model->require_subcommand(1);
  auto* apply =
      model->add_subcommand("apply", "check a model, capture the tables it names, and put it in force on all nodes");
  const auto flags_of_apply = std::make_shared<ConfigFlags>(*apply, database_keys);
  apply->add_option("FILE", *file, "the model, as SQL")->required();
  apply->callback([flags_of_apply, file] { apply_file(flags_of_apply->read(), *file); });

  auto* show = model->add_subcommand("show", "print the model in force");
  const auto flags_of_show = std::make_shared<ConfigFlags>(*show, database_keys);
  show->callback([flags_of_show] { show_model(flags_of_show->read()); });
}

}  // namespace viewgate::gateway
