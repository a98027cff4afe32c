// The program's command line: `viewgate serve`, `model`, `capture`, `token` and the rest. Each subcommand takes those
// settings of the configuration table that it uses; what goes wrong ends in one clear line on stderr and an exit status
// (errors.hpp).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config.hpp"
#include "gateway/errors.hpp"

namespace viewgate::gateway {

/// Parses, runs, and returns the exit status of the process.
[[nodiscard]] int run_program(int argc, const char* const* argv);

/// The settings that a subcommand takes as flags, and the configuration that comes of them.
class ConfigFlags {
 public:
  /// `keys`: the settings, or their section ("auth."); none = all.
  ConfigFlags(CLI::App& app, const std::vector<std::string_view>& keys);

  /// As often as one likes: the file is read each time. Throws Stop(config) with every problem.
  [[nodiscard]] Config read(auth::FileKind kind = auth::FileKind::any) const;
  /// Whether a file was named, by --config or by the environment.
  [[nodiscard]] bool has_file() const { return !file().empty(); }

 private:
  [[nodiscard]] std::string file() const;

  std::map<std::string, std::string, std::less<>> given_;  // node addresses are stable: CLI11 writes into them
  std::map<std::string, CLI::Option*, std::less<>> options_;
  std::string file_;
};

/// Each adds its subcommands; they run from CLI11's callbacks and throw Stop.
void add_serve_command(CLI::App& app);
void add_model_commands(CLI::App& app);
void add_check_command(CLI::App& app);
void add_health_command(CLI::App& app);
void add_types_command(CLI::App& app);
void add_ledger_commands(CLI::App& app);   ///< capture, uncapture, migrate
void add_history_commands(CLI::App& app);  ///< prune, retention, erase
void add_log_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_token_command(CLI::App& app);
void add_access_commands(CLI::App& app);

/// Throws Stop(config): neither a database nor a private one is named.
void require_database(const Config& config);

/// Said at the start rather than by the first large view that has no room. Throws Stop(config).
void check_snapshot_directory(const Config& config);

/// The whole of a model or another document. Throws Stop(no_input), as the others do.
[[nodiscard]] std::string read_document(const std::string& path);
/// Without the byte order mark that some editors write.
[[nodiscard]] std::string read_model_file(const std::string& path);
/// The whole of a file of settings, keys or certificates.
[[nodiscard]] std::string read_small_file(const std::string& path, auth::FileKind kind);
/// The same of one that the setting names: what hinders it is told with the setting's place.
[[nodiscard]] std::string read_named_file(const Config& config, std::string_view key, const std::string& path);

}  // namespace viewgate::gateway
