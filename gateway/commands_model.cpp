// `viewgate model apply | check | show`.
#include <iostream>
#include <memory>

#include "gateway/commands.hpp"
#include "gateway/model_apply.hpp"
#include "projection/model_parser.hpp"

namespace viewgate::gateway {
namespace {

const std::vector<std::string_view> database_keys{"database"};

void print_warnings(const AppliedModel& applied) {
  if (!applied.warnings.empty()) std::cerr << applied.warnings << "\n";
}

void apply_file(const Config& config, const std::string& file) {
  const auto text = read_whole_file(file);
  CommandDatabase database(config.database);
  const auto applied = apply_model(database, text, file);
  print_warnings(applied);
  for (const auto& table : applied.captured) std::cout << "captured " << table << "\n";
  std::cout << "model version " << applied.version << " is in force, " << applied.views << " views\n";
}

void check_file(const Config& config, const std::string& file) {
  const auto text = read_whole_file(file);
  const bool needs_database = !projection::referenced_tables(text).empty();
  AppliedModel checked;
  if (needs_database) {
    CommandDatabase database(config.database);
    checked = check_model(database, text, file);
  } else {
    checked = check_model(text, file);
  }
  print_warnings(checked);
  std::cout << checked.report << file << ": " << checked.views << " views, no problems\n";
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
  auto* model = app.add_subcommand("model", "the model in force: apply, check, show");
  model->require_subcommand(1);
  const auto file = std::make_shared<std::string>();
  for (const char* name : {"apply", "check", "show"}) {
    const std::string verb = name;
    auto* command = model->add_subcommand(
        verb, verb == "apply" ? "check a model, capture the tables it names, and put it in force on all nodes"
              : verb == "check"
                  ? "say what is wrong with a model, or what each view needs and who is admitted; changes nothing"
                  : "print the model in force");
    const auto flags = std::make_shared<ConfigFlags>(*command, database_keys);
    if (verb != "show") command->add_option("FILE", *file, "the model, as SQL")->required();
    command->callback([verb, flags, file] {
      const auto config = flags->read();
      if (verb == "apply") {
        apply_file(config, *file);
      } else if (verb == "check") {
        check_file(config, *file);
      } else {
        show_model(config);
      }
    });
  }
}

}  // namespace viewgate::gateway
