// `viewgate explain`: why a record is in a view or not, and when it came in and went out.
#include <iostream>
#include <memory>
#include <optional>

#include "gateway/command_database.hpp"
#include "gateway/commands.hpp"
#include "gateway/explain.hpp"
#include "gateway/model_loader.hpp"

namespace viewgate::gateway {
namespace {

struct ExplainArguments {
  ExplainQuestion question;
  bool json = false;
};

ActiveModelPtr model_in_force(CommandDatabase& database) {
  const auto state =
      database.wait<ledger::RegistryState>([&](auto done) { database.registry().read(std::move(done)); });
  if (!state.model) throw Stop(ExitStatus::failed, "no model is in force; `viewgate model apply FILE` puts one there");
  const auto tables = database.wait<std::vector<ledger::TableShape>>(
      [&](auto done) { database.registry().describe(named_tables(state.model->text), std::move(done)); });
  return compile_model(state, tables, CommandDatabase::time_max);
}

void explain(const Config& config, const ExplainArguments& arguments) {
  CommandDatabase database(config.database);
  const auto model = model_in_force(database);
  boost::asio::io_context io(1);
  ExplainDesk desk(io, config.database, CommandDatabase::time_max);
  std::optional<ExplainResult> result;
  desk.ask(model, arguments.question, [&result](ExplainResult told) { result.emplace(std::move(told)); });
  while (!result && io.run_one() > 0) {
  }
  if (!result) throw Stop(ExitStatus::failed, "the database did not answer");
  if (const auto* refusal = std::get_if<ExplainRefusal>(&*result)) {
    throw Stop(ExitStatus::failed, std::string(refusal->code) + ": " + refusal->text);
  }
  const auto& answer = std::get<ExplainAnswer>(*result);
  std::cout << (arguments.json ? explain_json(answer) + "\n" : explain_text(answer));
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("explain", "say why a record is in a view or not, and when it came in and went out");
  const auto flags = std::make_shared<ConfigFlags>(*command, std::vector<std::string_view>{"database"});
  const auto arguments = std::make_shared<ExplainArguments>();
  auto& question = arguments->question;
  command->add_option("--space", question.space, "the space")->required();
  command->add_option("--view", question.view, "the view")->required();
  command->add_option("--record", question.record, "its key, a JSON array as in events: [42] or [\"a\", 7]")
      ->required();
  command->add_option("--params", question.parameters, "the subscription's parameters, a JSON object [{}]");
  command->add_option("--claims", question.claims, "the caller's claims, a JSON object [{}]");
  command
      ->add_option_function<std::int64_t>(
          "--before", [arguments](std::int64_t given) { arguments->question.before = ledger::Sequence{given}; },
          "only events of commits before this sequence, where the latest are too many")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", arguments->json, "as one JSON document");
  command->callback([flags, arguments] { explain(flags->read(), *arguments); });
}

}  // namespace viewgate::gateway
