#include "gateway/commands.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "gateway/log_sink.hpp"
#include "gateway/reference.hpp"
#include "gateway/spill.hpp"
#include "gateway/version.hpp"

namespace viewgate::gateway {
namespace {

void add_version_command(CLI::App& app) {
  app.add_subcommand("version", "print the version")->callback([] {
    std::cout << "viewgate " << program_version << "\n";
  });
}

void add_reference_command(CLI::App& app) {
  auto* reference = app.add_subcommand(
      "reference", "print the tables of settings, exit statuses, close codes, errors, reset reasons and metrics");
  const auto file = std::make_shared<std::string>();
  reference->add_option("FILE", *file, "a document with marks for these tables: printed with them made anew");
  reference->callback([file] { std::cout << (file->empty() ? reference_text() : with_tables(read_document(*file))); });
}

bool is_wanted(const Setting& setting, const std::vector<std::string_view>& keys) {
  return keys.empty() || std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
           return key.ends_with('.') ? setting.key.starts_with(key) : setting.key == key;
         });
}

std::string help_of(const Setting& setting) {
  std::string out(setting.text);
  const bool bare = setting.kind == SettingKind::text || setting.kind == SettingKind::origins;
  if (!bare) out += "; " + allowed_text(setting);
  if (!setting.fallback.empty()) out += " [" + std::string(setting.fallback) + "]";
  if (setting.reload == Reload::hangup) out += " (SIGHUP)";
  return out;
}

bool has_command(CLI::App& app, const std::string& name) {
  return !app.get_subcommands([&](const CLI::App* each) { return each->check_name(name); }).empty();
}

/// What no command takes: flags by their names, and of everything else how much. It may be a password, behind a flag that is mistyped or
/// in a connection string without quotes, and what is said here is kept in journals.
std::string not_taken(const std::vector<std::string>& arguments) {
  std::string flags;
  std::size_t others = 0;
  for (const auto& each : arguments) {
    if (each.starts_with("--") && each.size() > 2) {
      flags.append(flags.empty() ? "there is no flag " : ", ").append(each.substr(0, each.find('=')));
    } else {
      ++others;
    }
  }
  if (!flags.empty()) return flags;
  return others == 1 ? "an argument is one too many" : std::to_string(others) + " arguments are too many";
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  // Asked for help: CLI11 prints it. Anything else is the caller's mistake, in one line.
  if (error.get_exit_code() == 0) return app.exit(error);
  const bool is_extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  std::cerr << "viewgate: " << (is_extra ? not_taken(app.remaining(true)) : error.what())
            << "; `viewgate --help` tells what there is\n";
  return static_cast<int>(ExitStatus::usage);
}

/// For what the log still has when the process ends.
constexpr std::chrono::seconds log_patience{1};

/// Behind the lines of the log. Where nobody takes those, nobody takes these, and the process ends all the same.
int end_with(ExitStatus status, const std::string& problems) {
  if (log::flush(log_patience)) {
    std::stringstream lines(problems);
    for (std::string line; std::getline(lines, line);) std::cerr << "viewgate: " << line << "\n";
  }
  return static_cast<int>(status);
}

std::string read_file(const std::string& path, auth::FileKind kind, std::size_t bytes_max) {
  try {
    return auth::read_named(path, kind, bytes_max);
  } catch (const std::runtime_error& problem) {
    throw Stop(ExitStatus::no_input, problem.what());
  }
}

}  // namespace

ConfigFlags::ConfigFlags(CLI::App& app, const std::vector<std::string_view>& keys) {
  app.add_option("--config", file_, "TOML file with settings; else the one that VIEWGATE_CONFIG names")
      ->option_text("FILE");
  for (const auto& setting : settings()) {
    if (!is_wanted(setting, keys)) continue;
    const std::string key(setting.key);
    options_[key] = app.add_option(flag_of(setting), given_[key], help_of(setting))->option_text(" ");
  }
}

std::string ConfigFlags::file() const {
  const char* const in_environment = std::getenv(config_file_variable);
  return !file_.empty() || in_environment == nullptr ? file_ : in_environment;
}

Config ConfigFlags::read(auth::FileKind kind) const {
  ConfigSources sources;
  sources.kind = kind;
  for (const auto& [key, option] : options_) {
    if (option->count() > 0) sources.flags.emplace(key, given_.at(key));
  }
  sources.environment = process_environment();
  if (has_file()) sources.file = file();
  auto read = read_config(sources);
  if (auto* config = std::get_if<Config>(&read)) return std::move(*config);
  std::string lines;
  for (const auto& problem : std::get<std::vector<std::string>>(read)) lines += (lines.empty() ? "" : "\n") + problem;
  throw Stop(ExitStatus::config, lines);
}

void require_database(const Config& config) {
  if (!config.database.empty() || !config.embedded.empty()) return;
  throw Stop(ExitStatus::config, "--database must say which PostgreSQL, or --embedded where to keep a private one");
}

void check_snapshot_directory(const Config& config) {
  if (config.snapshot_disk_bytes == 0) return;
  std::string problem;
  const auto probe = SpillFile::make(config.snapshot_directory, std::make_shared<SpillBudget>(0), problem);
  if (probe != nullptr) return;
  throw Stop(ExitStatus::config, place_of(config, "snapshot.directory") + ": " + problem +
                                     "; it must be a directory that this user may write in, or "
                                     "snapshot.disk_bytes = 0 where there is to be none");
}

std::string read_document(const std::string& path) {
  constexpr std::size_t bytes_max = std::size_t{16} * 1024 * 1024;
  return read_file(path, auth::FileKind::any, bytes_max);
}

std::string read_model_file(const std::string& path) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  std::string text = read_document(path);
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  return text;
}

std::string read_small_file(const std::string& path, auth::FileKind kind) {
  return read_file(path, kind, auth::named_file_bytes_max);
}

std::string read_named_file(const Config& config, std::string_view key, const std::string& path) {
  try {
    return read_small_file(path, config.files);
  } catch (const Stop& problem) {
    throw Stop(problem.status(), place_of(config, key) + ": " + problem.what());
  }
}

int run_program(int argc, const char* const* argv) {
  CLI::App app("viewgate: live views of PostgreSQL for browsers", "viewgate");
  app.require_subcommand(1);
  app.fallthrough(false);
  add_serve_command(app);
  add_check_command(app);
  add_model_commands(app);
  add_types_command(app);
  add_ledger_commands(app);
  add_history_commands(app);
  add_log_command(app);
  add_doctor_command(app);
  add_health_command(app);
  add_explain_command(app);
  add_token_command(app);
  add_access_commands(app);
  add_version_command(app);
  add_reference_command(app);
  try {
    // CLI11 would only say that a command is missing.
    if (argc > 1 && argv[1][0] != '-' && !has_command(app, argv[1])) {
      throw Stop(ExitStatus::usage,
                 "there is no command " + std::string(argv[1]) + "; `viewgate --help` tells what there is");
    }
    app.parse(argc, argv);
    return end_with(ExitStatus::ok, "");
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  } catch (const Stop& stop) {
    return end_with(stop.status(), stop.what());
  } catch (const std::exception& error) {
    return end_with(ExitStatus::failed, error.what());
  }
}

}  // namespace viewgate::gateway
