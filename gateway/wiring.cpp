#include "gateway/wiring.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

namespace viewgate::gateway {
namespace {

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

projection::ValueLimits value_limits(const Config& config) {
  return {size_of(config.limit_record_bytes), size_of(config.limit_record_depth)};
}

SessionOptions session_options(const Config& config) {
  SessionOptions out;
  out.client_message_bytes = size_of(config.limit_message_bytes);
  out.server_message_bytes = size_of(config.limit_frame_bytes);
  out.subscriptions = size_of(config.limit_subscriptions);
  out.groups = size_of(config.limit_groups);
  out.messages_per_second = size_of(config.limit_messages);
  out.input_bytes_per_second = size_of(config.limit_input_bytes);
  out.control_frames_per_second = size_of(config.limit_control_frames);
  out.snapshot_bytes_per_second = size_of(config.limit_snapshot_rate);
  out.snapshot_send_time = config.snapshot_send_time;
  out.hello_time = config.time_hello;
  out.message_time = config.time_message;
  out.heartbeat = config.time_heartbeat;
  out.silence = config.time_silence;
  out.no_progress = config.time_no_progress;
  out.close_time = config.time_close;
  out.join_time = config.time_join;
  out.expiry_warning = config.time_expiry_warning;
  out.ring_bytes = size_of(config.ring_group_bytes);
  out.rings_bytes = size_of(config.ring_total_bytes);
  out.group_linger = config.linger;
  out.values = value_limits(config);
  return out;
}

}  // namespace

std::size_t reactor_count(const Config& config) {
  if (config.threads > 0) return size_of(config.threads);
  // The engine has a thread of its own.
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 65) - 1;
}

ReactorOptions reactor_options(const Config& config, std::size_t index, const Endpoint& endpoint) {
  ReactorOptions out;
  out.index = index;
  out.address = endpoint.address;
  out.port = endpoint.port;
  out.session = session_options(config);
  out.handshake.origins = config.origins;
  out.proxies = config.proxy_trusted;
  out.connections = size_of(config.limit_connections);
  out.strangers = size_of(config.limit_strangers);
  out.handshake_time = config.time_handshake;
  // A deadline may be late by one sweep: a fifth of the shortest one is exact enough, and cheap.
  const auto shortest = std::min({config.time_hello, config.time_handshake, config.time_message, config.time_close,
                                  config.time_no_progress, config.time_heartbeat});
  out.sweep = std::clamp(shortest / 5, std::chrono::milliseconds(5), std::chrono::milliseconds(250));
  return out;
}

EngineLimits engine_limits(const Config& config) {
  EngineLimits out;
  out.space_bytes = size_of(config.ring_space_bytes);
  out.spaces_bytes = size_of(config.ring_total_bytes);
  out.reactor_backlog_bytes = size_of(config.ring_backlog_bytes);
  out.history_bytes = size_of(config.history_bytes);
  out.history_commit_bytes = size_of(config.history_commit_bytes);
  out.history_total_bytes = size_of(config.history_total_bytes);
  // Of those that fit, a ring holds several: one commit does not push out what everybody is about to read.
  out.frame_bytes = size_of(config.ring_group_bytes) / 4;
  out.snapshot_concurrent = size_of(config.snapshot_concurrent);
  out.snapshot_queue = size_of(config.snapshot_queue);
  out.principal_bootstraps = size_of(config.limit_principal_bootstraps);
  out.snapshot_bytes = size_of(config.snapshot_bytes);
  out.snapshot_memory_bytes = size_of(config.snapshot_memory_bytes);
  out.snapshot_total_bytes = size_of(config.snapshot_total_bytes);
  out.snapshot_disk_bytes = size_of(config.snapshot_disk_bytes);
  out.snapshot_directory = config.snapshot_directory;
  out.snapshot_chunk_bytes = size_of(config.snapshot_chunk_bytes);
  out.snapshot_hold = config.snapshot_hold;
  out.snapshot_time = config.snapshot_time;
  out.snapshot_read_time = config.snapshot_read_time;
  out.snapshot_reuse = config.snapshot_reuse;
  out.snapshot_reuse_commits = config.snapshot_reuse_commits;
  out.progress_interval = config.time_progress;
  out.linger = config.linger;
  out.join_time = config.time_join;
  out.retry_after = config.time_retry;
  return out;
}

AdmissionLimits admission_limits(const Config& config) {
  return {size_of(config.limit_address_connections), size_of(config.limit_address_handshakes),
          size_of(config.limit_principal_connections), size_of(config.limit_principal_requests)};
}

AdminOptions admin_options(const Config& config, std::string credential) {
  const auto endpoint = *parse_endpoint(config.admin_listen);
  AdminOptions out;
  out.address = endpoint.address;
  out.port = endpoint.port;
  out.credential = std::move(credential);
  return out;
}

ledger::AccessStoreOptions access_store_options(const Config& config) {
  ledger::AccessStoreOptions out;
  out.time_max = config.database_time;
  return out;
}

auth::KeySourceOptions key_source_options(const Config& config) {
  auth::KeySourceOptions out;
  out.interval = config.auth_refresh;
  out.gap = config.auth_refresh_gap;
  return out;
}

ledger::RevocationWatchOptions revocation_options(const Config& config) {
  ledger::RevocationWatchOptions out;
  out.interval = config.revocation_check;
  out.time_max = config.database_time;
  return out;
}

ledger::TailerOptions tailer_options(const Config& config, const Endpoint& endpoint) {
  ledger::TailerOptions out;
  std::array<char, 256> host{};  // longer names are not of this system
  if (::gethostname(host.data(), host.size() - 1) == 0) out.node = host.data();
  out.node += ":" + std::to_string(endpoint.port);
  out.times.busy_interval = config.look_busy;
  out.times.idle_interval = config.look_quiet;
  out.times.resting_interval = config.look_idle;
  out.time_max = config.database_time;
  out.part_bytes_max = size_of(config.part_bytes);
  out.captures_interval = config.registry_check;
  out.prune_interval = config.prune_interval;
  out.size_interval = config.ledger_disk_check;
  out.ignore_notifications = config.notifications == "ignore";
  return out;
}

HttpMutationOptions http_mutation_options(const Config& config) {
  return {size_of(config.limit_body_bytes), value_limits(config)};
}

ViewDeskOptions view_desk_options(const Config& config) {
  ViewDeskOptions out;
  out.answers_max = size_of(config.limit_view_answers);
  out.bytes_per_second_min = size_of(config.limit_snapshot_rate);
  out.send_time = config.snapshot_send_time;
  out.no_progress = config.time_no_progress;
  out.retry_after = config.time_retry;
  return out;
}

ledger::MutatorOptions mutator_options(const Config& config) {
  ledger::MutatorOptions out;
  out.connections_max = size_of(config.write_connections);
  out.waiting_max = size_of(config.write_queue);
  out.record_bytes_max = size_of(config.limit_record_bytes);
  out.effect_bytes_max = std::max(out.effect_bytes_max, 4 * out.record_bytes_max);
  out.lock_time_max = config.write_lock_time;
  out.idle_time_max = config.write_lock_time;
  out.time_max = config.database_time;
  return out;
}

ledger::ReaderOptions reader_options(const Config& config) {
  ledger::ReaderOptions out;
  out.connections_max = 2;
  out.part_bytes_max = size_of(config.part_bytes);
  out.time_max = config.database_time;
  return out;
}

ledger::ReaderOptions bootstrap_reader_options(const Config& config) {
  ledger::ReaderOptions out = reader_options(config);
  out.connections_max = size_of(config.snapshot_concurrent);
  return out;
}

LogDeskOptions log_desk_options(const Config& config, const std::string& conninfo) {
  LogDeskOptions out;
  out.conninfo = conninfo;
  out.part_bytes_max = size_of(config.part_bytes);
  out.time_max = config.database_time;
  out.retry_after = config.time_retry;
  return out;
}

ledger::PreflightOptions preflight_options(const Config& config) {
  ledger::PreflightOptions out;
  out.fsync_off = config.fsync_off == "accept" ? ledger::FsyncOff::accept : ledger::FsyncOff::refuse;
  out.time_max = config.database_time;
  return out;
}

auth::Anonymous anonymous_of(const Config& config) {
  return config.auth_anonymous == "admit" ? auth::Anonymous::admit : auth::Anonymous::refuse;
}

std::vector<auth::Revocation> for_verifier(std::vector<ledger::Revocation> found) {
  std::vector<auth::Revocation> out;
  out.reserve(found.size());
  for (auto& each : found) {
    out.push_back(
        {std::move(each.issuer), std::move(each.principal), std::move(each.token_id), each.revoked_at, each.until});
  }
  return out;
}

std::chrono::milliseconds tick_interval(const Config& config) {
  return std::clamp(config.time_progress / 10, std::chrono::milliseconds(5), std::chrono::milliseconds(100));
}

}  // namespace viewgate::gateway
