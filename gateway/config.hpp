// The configuration: one typed table, from which the flags, the environment names, the file's keys, `--help` and the
// table in docs/operating.md come, so that none of them can differ from another.
//
// A value is taken from the flag, else the environment, else the file, else the default. Everything that is wrong is
// told at once, each with its source, its key and what would be right; a program with a wrong configuration does not
// start.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "auth/named_file.hpp"

namespace viewgate::gateway {

/// What the keys mean stands in the table (config.cpp); members are in the table's order. Defaults are in the table as
/// well: a Config comes from `read_config` or `default_config`.
struct Config {
  /// No setting: which files are read where it names them. Another one when it is read again.
  auth::FileKind files = auth::FileKind::any;
  std::string database;
  std::string embedded;
  std::string listen;
  std::string apply;
  std::int64_t threads = 0;
  std::string ready_file;
  std::string pid_file;
  std::vector<std::string> origins;
  std::string admin_listen;
  std::string admin_key_file;
  std::vector<std::string> proxy_trusted;
  std::string tls_certificate;
  std::string tls_key;
  std::chrono::milliseconds tls_check{};

  std::string auth_issuer;
  std::string auth_audience;
  std::string auth_algorithm;
  std::string auth_key_file;
  std::chrono::milliseconds auth_leeway{};
  std::string auth_issuers;
  std::chrono::milliseconds auth_refresh{};
  std::chrono::milliseconds auth_refresh_gap{};
  std::string auth_anonymous;
  std::chrono::milliseconds auth_ticket_time{};

  std::int64_t limit_connections = 0;
  std::int64_t limit_strangers = 0;
  std::int64_t limit_address_connections = 0;
  std::int64_t limit_address_handshakes = 0;
  std::int64_t limit_principal_connections = 0;
  std::int64_t limit_principal_requests = 0;
  std::int64_t limit_input_bytes = 0;
  std::int64_t limit_subscriptions = 0;
  std::int64_t limit_groups = 0;
  std::int64_t limit_messages = 0;
  std::int64_t limit_control_frames = 0;
  std::int64_t limit_message_bytes = 0;
  std::int64_t limit_body_bytes = 0;
  std::int64_t limit_record_bytes = 0;
  std::int64_t limit_record_depth = 0;
  std::int64_t limit_frame_bytes = 0;
  std::int64_t limit_snapshot_rate = 0;
  std::int64_t limit_view_answers = 0;
  std::int64_t limit_principal_bootstraps = 0;
  std::int64_t limit_memory = 0;
  std::int64_t write_connections = 0;
  std::int64_t write_queue = 0;
  std::chrono::milliseconds write_lock_time{};

  std::int64_t ring_group_bytes = 0;
  std::int64_t ring_space_bytes = 0;
  std::int64_t ring_total_bytes = 0;
  std::int64_t ring_backlog_bytes = 0;
  std::int64_t history_bytes = 0;
  std::int64_t history_commit_bytes = 0;
  std::int64_t history_total_bytes = 0;
  std::chrono::milliseconds linger{};

  std::int64_t snapshot_concurrent = 0;
  std::int64_t snapshot_queue = 0;
  std::int64_t snapshot_bytes = 0;
  std::int64_t snapshot_memory_bytes = 0;
  std::int64_t snapshot_total_bytes = 0;
  std::int64_t snapshot_disk_bytes = 0;
  std::string snapshot_directory;
  std::int64_t snapshot_chunk_bytes = 0;
  std::chrono::milliseconds snapshot_hold{};
  std::chrono::milliseconds snapshot_time{};
  std::chrono::milliseconds snapshot_read_time{};
  std::chrono::milliseconds snapshot_send_time{};
  std::chrono::milliseconds snapshot_reuse{};
  std::int64_t snapshot_reuse_commits = 0;

  std::chrono::milliseconds time_handshake{};
  std::chrono::milliseconds time_hello{};
  std::chrono::milliseconds time_message{};
  std::chrono::milliseconds time_heartbeat{};
  std::chrono::milliseconds time_silence{};
  std::chrono::milliseconds time_no_progress{};
  std::chrono::milliseconds time_close{};
  std::chrono::milliseconds time_progress{};
  std::chrono::milliseconds time_join{};
  std::chrono::milliseconds time_expiry_warning{};
  std::chrono::milliseconds time_retry{};
  std::chrono::milliseconds drain_window{};

  std::chrono::milliseconds database_time{};
  std::chrono::milliseconds look_busy{};
  std::chrono::milliseconds look_quiet{};
  std::chrono::milliseconds look_idle{};
  std::chrono::milliseconds registry_check{};
  std::chrono::milliseconds revocation_check{};
  std::int64_t part_bytes = 0;
  std::string notifications;
  std::string fsync_off;
  std::int64_t ledger_disk_bytes = 0;
  std::chrono::milliseconds ledger_disk_check{};

  std::chrono::milliseconds prune_interval{};
  std::string raw_log_claim;

  std::string log_level;
  std::string log_format;

  /// Where each value was written, by key: "/etc/viewgate/viewgate.toml:7", "--listen". Of a default: nothing.
  std::map<std::string_view, std::string> written = {};
};

/// "/etc/viewgate/viewgate.toml:7: tls.key", or the key alone: where somebody mends what is wrong with its value.
[[nodiscard]] std::string place_of(const Config& config, std::string_view key);

using Member = std::variant<std::string Config::*, std::int64_t Config::*, std::chrono::milliseconds Config::*,
                            std::vector<std::string> Config::*>;

enum class SettingKind : std::uint8_t {
  text,
  conninfo,  ///< a connection string of PostgreSQL; never repeated, since it may hold a password
  choice,    ///< one of `choices`
  origins,   ///< a list of web origins; lists are comma-separated, and in a file arrays of strings
  count,     ///< a whole number
  bytes,     ///< a whole number with an optional KiB, MiB or GiB
  duration,  ///< a whole number with ms, s, m or h
  networks,  ///< a list of addresses, each with an optional /prefix
  endpoint   ///< address:port; an IPv6 address in brackets
};

/// What it takes for a changed value to be in force.
enum class Reload : std::uint8_t {
  restart,  ///< the next start
  hangup    ///< SIGHUP: the file is read again
};

struct Setting {
  std::string_view key;  ///< in the file; the flag has '-' for '.' and '_'; the environment VIEWGATE_ and '_' for '.'
  SettingKind kind;
  Member member;
  std::string_view fallback;  ///< the default, as one would write it
  std::int64_t min = 0;       ///< of count, bytes, and duration in milliseconds
  std::int64_t max = 0;
  std::string_view choices = {};  ///< separated by '|'
  std::string_view text = {};     ///< one line for --help and the docs
  Reload reload = Reload::restart;
};

[[nodiscard]] std::span<const Setting> settings();

[[nodiscard]] std::string flag_of(const Setting& setting);         ///< "--auth-issuer"
[[nodiscard]] std::string environment_of(const Setting& setting);  ///< "VIEWGATE_AUTH_ISSUER"
[[nodiscard]] std::string allowed_text(const Setting& setting);    ///< "1 to 64", "5s to 1h", "json or text"

/// Where values were written, by source. `flags` are keyed by the setting's key.
struct ConfigSources {
  std::map<std::string, std::string, std::less<>> flags;
  std::map<std::string, std::string, std::less<>> environment;  ///< all VIEWGATE_… variables, by name
  std::optional<std::string> file;                              ///< path of a TOML file
  auth::FileKind kind = auth::FileKind::any;                    ///< of that file, and of those that it names
};

/// The configuration, or every problem, a line each.
[[nodiscard]] std::variant<Config, std::vector<std::string>> read_config(const ConfigSources& sources);

[[nodiscard]] Config default_config();

/// What a configuration that was read again changes.
struct ConfigChange {
  Config config;                          ///< the one of before, with what may be taken
  std::vector<std::string_view> taken;    ///< keys, in the table's order
  std::vector<std::string_view> waiting;  ///< keys whose new value needs a restart
};
[[nodiscard]] ConfigChange take_change(const Config& now, const Config& fresh);

/// Names the file for every verb that is given no --config, so that a container's health check finds the one of its node.
inline constexpr const char* config_file_variable = "VIEWGATE_CONFIG";

/// The VIEWGATE_… variables of this process that are settings, or mistaken for one.
[[nodiscard]] std::map<std::string, std::string, std::less<>> process_environment();

/// "250ms", "5s", "1h".
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

struct Endpoint {
  std::string address;  ///< without brackets
  std::uint16_t port = 0;
};
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);

}  // namespace viewgate::gateway
