// `viewgate check`: what is wrong with a configuration, a model, or both, before anything runs with them. Changes nothing, and asks
// the database only about tables that the model names.
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>

#include "gateway/commands.hpp"
#include "gateway/identity.hpp"
#include "gateway/model_apply.hpp"
#include "gateway/signing_key.hpp"
#include "gateway/tls_files.hpp"

namespace viewgate::gateway {
namespace {

/// Adds what the step finds wrong, and says whether it found nothing; steps do not hinder one another.
bool look(std::string& problems, const std::function<void()>& step) {
  try {
    step();
    return true;
  } catch (const std::exception& problem) {
    problems.append(problems.empty() ? "" : "\n").append(problem.what());
    return false;
  }
}

/// Adds what hinders the file from being read; a setting that names none is right.
bool look_into(std::string& problems, const Config& config, std::string_view key, const std::string& file) {
  return look(problems, [&] {
    if (!file.empty()) static_cast<void>(read_named_file(config, key, file));
  });
}

/// Adds what hinders the file from being made, where one is named: it is written anew, beside the old one.
void look_at_place(std::string& problems, const Config& config, std::string_view key, const std::string& file) {
  if (file.empty()) return;
  const auto parent = std::filesystem::path(file).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  if (std::filesystem::is_directory(directory) && ::access(directory.c_str(), W_OK | X_OK) == 0) return;
  look(problems, [&] {
    throw Stop(ExitStatus::config, place_of(config, key) + ": " + file + " cannot be written: " + directory +
                                       " must be a directory that this user may write in");
  });
}

/// What `serve` would find in the files that the settings name.
void check_config(const Config& config) {
  std::string problems;
  look(problems, [&] { require_database(config); });
  // Beside a private PostgreSQL a key is made where none is named.
  const bool makes_key = config.auth_issuers.empty() && config.auth_key_file.empty() && !config.embedded.empty();
  if (!makes_key) look(problems, [&] { const auth::TokenVerifier usable(read_identity(config).issuers); });
  const bool has_certificate = look_into(problems, config, "tls.certificate", config.tls_certificate);
  const bool has_key = look_into(problems, config, "tls.key", config.tls_key);
  if (has_certificate && has_key) look(problems, [&] { static_cast<void>(TlsFiles::of(config)); });
  if (!config.admin_key_file.empty()) look(problems, [&] { static_cast<void>(admin_credential(config)); });
  look_into(problems, config, "apply", config.apply);
  look_at_place(problems, config, "ready_file", config.ready_file);
  look_at_place(problems, config, "pid_file", config.pid_file);
  look(problems, [&] { check_snapshot_directory(config); });
  if (!problems.empty()) throw Stop(ExitStatus::config, problems);
  std::cout << "configuration: no problems\n";
}

void check_model_file(const Config& config, const std::string& file) {
  const auto checked = check_model(config, read_model_file(file), file);
  if (!checked.warnings.empty()) std::cerr << checked.warnings << "\n";
  std::cout << checked.report << file << ": " << checked.views << " views, no problems\n";
}

}  // namespace

void add_check_command(CLI::App& app) {
  auto* check = app.add_subcommand("check",
                                   "say what is wrong with a model, or what each view needs and who is admitted; with "
                                   "--config, or without a model: what is wrong with the configuration");
  const auto file = std::make_shared<std::string>();
  const auto flags = std::make_shared<ConfigFlags>(*check, std::vector<std::string_view>{});
  check->add_option("FILE", *file, "the model, as SQL");
  check->callback([flags, file] {
    const auto config = flags->read();
    if (flags->has_file() || file->empty()) check_config(config);
    if (!file->empty()) check_model_file(config, *file);
  });
}

}  // namespace viewgate::gateway
