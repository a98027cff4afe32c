// `viewgate types FILE`: the model as types of TypeScript.
#include <fstream>
#include <iostream>
#include <memory>

#include "gateway/commands.hpp"
#include "gateway/model_apply.hpp"
#include "projection/typescript.hpp"

namespace viewgate::gateway {
namespace {

const std::vector<std::string_view> database_keys{"database"};

const std::map<std::string, projection::NumberForm> number_forms{{"json", projection::NumberForm::json},
                                                                 {"lossless", projection::NumberForm::lossless},
                                                                 {"exact", projection::NumberForm::exact}};

/// Written at once, so that a build that reads the file never sees half of it where the model is refused.
void write_whole_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw Stop(ExitStatus::failed, "cannot write " + path);
}

}  // namespace

void add_types_command(CLI::App& app) {
  struct Options {
    std::string file;
    std::string output;
    std::string numbers = "json";
  };
  const auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("types", "a model as types of TypeScript: views, params and mutations");
  const auto flags = std::make_shared<ConfigFlags>(*command, database_keys);
  command->add_option("FILE", options->file, "the model, as SQL")->required();
  command->add_option("--output", options->output, "where to write the module; default: standard output");
  command
      ->add_option("--numbers", options->numbers,
                   "how the client reads int8 and numeric: json (JSON.parse: doubles), lossless (parseLossless), exact "
                   "(bigint and text, with a parser)")
      ->check(CLI::IsMember({"json", "lossless", "exact"}));
  command->callback([flags, options] {
    const auto checked = check_model(flags->read(), read_model_file(options->file), options->file);
    if (!checked.warnings.empty()) std::cerr << checked.warnings << "\n";
    const std::string text = projection::typescript(*checked.model, number_forms.at(options->numbers));
    if (options->output.empty()) {
      std::cout << text;
    } else {
      write_whole_file(options->output, text);
    }
  });
}

}  // namespace viewgate::gateway
