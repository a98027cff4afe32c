// The table itself. Order is the order of --help and of docs/operating.md.
#include <array>

#include "gateway/config.hpp"

namespace viewgate::gateway {
namespace {

using enum SettingKind;
using enum Reload;
using C = Config;

constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;
constexpr std::int64_t gib = 1024 * mib;
constexpr std::int64_t second = 1000;
constexpr std::int64_t hour = 3600 * second;
constexpr std::int64_t day = 24 * hour;
constexpr std::int64_t many = 1'000'000'000;

constexpr Setting words(std::string_view key, SettingKind kind, Member member, std::string_view fallback,
                        std::string_view meaning, Reload reload = restart) {
  return {key, kind, member, fallback, 0, 0, {}, meaning, reload};
}
constexpr Setting number(std::string_view key, SettingKind kind, Member member, std::string_view fallback,
                         std::int64_t min, std::int64_t max, std::string_view meaning, Reload reload = restart) {
  return {key, kind, member, fallback, min, max, {}, meaning, reload};
}
constexpr Setting one_of(std::string_view key, Member member, std::string_view fallback, std::string_view choices,
                         std::string_view meaning, Reload reload = restart) {
  return {key, choice, member, fallback, 0, 0, choices, meaning, reload};
}

constexpr std::array table = std::to_array<Setting>({
    words("database", conninfo, &C::database, "", "which PostgreSQL, and as whom"),
    words("embedded", text, &C::embedded, "", "directory of a private PostgreSQL that this program makes and runs"),
    words("listen", endpoint, &C::listen, "127.0.0.1:8080", "address and port of the socket; port 0 = any free one"),
    words("apply", text, &C::apply, "", "model file to put in force at start, capturing the tables it names"),
    number("threads", count, &C::threads, "0", 0, 64,
           "reactor threads; 0 = one less than the processors, at least one"),
    words("ready_file", text, &C::ready_file, "", "file that gets address:port once the program listens"),
    words("pid_file", text, &C::pid_file, "", "file that gets the process id"),
    words("origins", origins, &C::origins, "",
          "origins of pages that may connect, as https://app.example; empty = none, programs only", hangup),

    words("admin.listen", endpoint, &C::admin_listen, "127.0.0.1:8081",
          "address and port for operators; there only with admin.key_file"),
    words("admin.key_file", text, &C::admin_key_file, "",
          "file with the credential of operators, at least 16 bytes; empty = no listener for them"),
    words("proxy.trusted", networks, &C::proxy_trusted, "",
          "proxies whose X-Forwarded-For says who the client is, for the limits by address, and whose X-Request-Id is "
          "taken",
          hangup),

    words("tls.certificate", text, &C::tls_certificate, "",
          "PEM file: the certificate of `listen`, then its issuers; empty = without TLS", hangup),
    words("tls.key", text, &C::tls_key, "", "PEM file with the private key of tls.certificate", hangup),
    number("tls.check", duration, &C::tls_check, "10s", 10, day,
           "how often is looked whether these files are others; SIGHUP reads them at once", hangup),

    words("auth.issuer", text, &C::auth_issuer, "viewgate", "the iss that tokens must have", hangup),
    words("auth.audience", text, &C::auth_audience, "viewgate", "the aud that tokens must have", hangup),
    one_of("auth.algorithm", &C::auth_algorithm, "HS256", "HS256|HS384|HS512|RS256|PS256|ES256|EdDSA",
           "the only algorithm accepted", hangup),
    words("auth.key_file", text, &C::auth_key_file, "", "HS…: the secret; else the public key in PEM", hangup),
    number("auth.leeway", duration, &C::auth_leeway, "5s", 0, 60 * second, "how far clocks may differ", hangup),
    words("auth.issuers", text, &C::auth_issuers, "", "TOML file with a table of issuers, instead of the above",
          hangup),
    number("auth.refresh", duration, &C::auth_refresh, "10m", second, day, "how often key sets are fetched", hangup),
    number("auth.refresh_gap", duration, &C::auth_refresh_gap, "1m", 10, day,
           "at least, between two fetches that unknown keys cause", hangup),
    one_of("auth.anonymous", &C::auth_anonymous, "refuse", "refuse|admit",
           "who brings no token; admit: policies decide", hangup),
    number("auth.ticket_time", duration, &C::auth_ticket_time, "30s", second, std::int64_t{10} * 60 * second,
           "how long a ticket of POST /v1/tickets may be used, once"),

    number("limit.connections", count, &C::limit_connections, "50000", 1, many,
           "sockets per reactor; more are told 1013, or 503 over HTTP", hangup),
    number(
        "limit.strangers", count, &C::limit_strangers, "10000", 1, many,
        "sockets per reactor with neither an accepted hello nor an answer under way; for one more the oldest is closed",
        hangup),
    number("limit.address_connections", count, &C::limit_address_connections, "0", 0, many,
           "sockets of one address (IPv6: one /64); more are closed; 0 = any number, as behind a proxy", hangup),
    number("limit.address_handshakes", count, &C::limit_address_handshakes, "0", 0, many,
           "new sockets a second of one address; more are closed; 0 = any number", hangup),
    number("limit.principal_connections", count, &C::limit_principal_connections, "0", 0, many,
           "sockets and requests of one principal; above it 4029, or 429; 0 = any number", hangup),
    number("limit.principal_requests", count, &C::limit_principal_requests, "128", 0, many,
           "requests over HTTP of one principal that are being answered; above it 429; 0 = any number", hangup),
    number("limit.input_bytes", bytes, &C::limit_input_bytes, "4MiB", 64 * kib, gib,
           "bytes a second of one client; above it 4029", hangup),
    number("limit.subscriptions", count, &C::limit_subscriptions, "128", 1, 10000, "subscriptions per socket", hangup),
    number("limit.groups", count, &C::limit_groups, "100000", 1, many,
           "different views followed per reactor; subscriptions to more are told when to return", hangup),
    number("limit.messages", count, &C::limit_messages, "500", 1, many,
           "messages a second of one client; above it 4029", hangup),
    number("limit.control_frames", count, &C::limit_control_frames, "20", 1, many,
           "pings and pongs a second of one client; above it 4029", hangup),
    number("limit.message_bytes", bytes, &C::limit_message_bytes, "64KiB", 9 * kib, 16 * mib, "largest client message",
           hangup),
    number("limit.body_bytes", bytes, &C::limit_body_bytes, "1MiB", kib, 16 * mib,
           "largest body of a mutation over HTTP"),
    number("limit.record_bytes", bytes, &C::limit_record_bytes, "1MiB", kib, 64 * mib,
           "largest record that a mutation may write, as PostgreSQL prints it"),
    number("limit.record_depth", count, &C::limit_record_depth, "16", 1, 28,
           "nesting of a value that a mutation may write"),
    number("limit.frame_bytes", bytes, &C::limit_frame_bytes, "256KiB", kib, 64 * mib, "aim for one server message"),
    number("limit.snapshot_rate", bytes, &C::limit_snapshot_rate, "16KiB", 1, gib,
           "a second; a bootstrap read more slowly is closed with 4008", hangup),
    number("limit.view_answers", count, &C::limit_view_answers, "64", 1, many,
           "GETs of views answered at a time; one more is told when to return"),
    number("limit.principal_bootstraps", count, &C::limit_principal_bootstraps, "128", 0, many,
           "bootstraps of one principal that may wait; more are told when to return; 0 = any number"),
    number("limit.memory", bytes, &C::limit_memory, "0", 0, 1024 * gib,
           "resident memory; from nine tenths of it on newcomers wait outside; 0 = that of the control group, if it "
           "has one"),

    number("write.connections", count, &C::write_connections, "4", 1, 64,
           "connections that write mutations: so many spaces at once"),
    number("write.queue", count, &C::write_queue, "1024", 1, many,
           "mutations that wait for one space, of one principal at most half; more are unavailable"),
    number("write.lock_time", duration, &C::write_lock_time, "5s", 100, hour,
           "how long a mutation waits for a space's lock, or an idle writer may hold it"),

    number("ring.group_bytes", bytes, &C::ring_group_bytes, "1MiB", kib, gib, "documents kept per group and reactor"),
    number("ring.space_bytes", bytes, &C::ring_space_bytes, "4MiB", kib, gib, "recent commits kept per space"),
    number("ring.total_bytes", bytes, &C::ring_total_bytes, "256MiB", kib, 64 * gib,
           "recent commits of all spaces; and documents of all groups of a reactor"),
    number("ring.backlog_bytes", bytes, &C::ring_backlog_bytes, "64MiB", kib, 64 * gib,
           "documents on their way to one reactor; above it the reactor's views come back through history"),
    number("history.bytes", bytes, &C::history_bytes, "1MiB", kib, gib,
           "record text read at once for those who return"),
    number("history.commit_bytes", bytes, &C::history_commit_bytes, "4MiB", kib, gib,
           "of one catch-up text in memory, the rest goes to a file"),
    number("history.total_bytes", bytes, &C::history_total_bytes, "64MiB", kib, 64 * gib,
           "of all catch-up texts in memory, above it they go to files at once"),
    number("linger", duration, &C::linger, "5s", 0, hour, "how long an unused group or space is still followed"),

    number("snapshot.concurrent", count, &C::snapshot_concurrent, "2", 1, 64, "bootstraps read at once"),
    number("snapshot.queue", count, &C::snapshot_queue, "1024", 1, many,
           "bootstraps that may wait; more are told when to return"),
    number("snapshot.bytes", bytes, &C::snapshot_bytes, "8GiB", kib, 1024 * gib, "largest bootstrap"),
    number("snapshot.memory_bytes", bytes, &C::snapshot_memory_bytes, "32MiB", kib, 64 * gib,
           "of one bootstrap in memory, the rest goes to a file; and of what changes while it is read"),
    number("snapshot.total_bytes", bytes, &C::snapshot_total_bytes, "256MiB", kib, 256 * gib,
           "all bootstraps in memory; above it new ones go to files"),
    number("snapshot.disk_bytes", bytes, &C::snapshot_disk_bytes, "16GiB", 0, 1024 * gib,
           "all bootstraps and catch-ups in files; above it new ones are told when to return; 0 = no files"),
    words("snapshot.directory", text, &C::snapshot_directory, "/var/tmp",
          "where these files are; they have no names and never outlive the process"),
    number("snapshot.chunk_bytes", bytes, &C::snapshot_chunk_bytes, "64KiB", 1, 256 * kib,
           "size of a snapshot document"),
    number("snapshot.hold", duration, &C::snapshot_hold, "1s", 10, hour,
           "how long one snapshot of the database should be held; a larger view is read in several"),
    number("snapshot.time", duration, &C::snapshot_time, "30s", 10, hour,
           "longest that one may be held; then bootstrap_timeout"),
    number("snapshot.read_time", duration, &C::snapshot_read_time, "30m", 10, day,
           "longest that a whole view may be read, all its snapshots together; then bootstrap_timeout"),
    number("snapshot.send_time", duration, &C::snapshot_send_time, "1h", 10, day,
           "longest that one client may be sent a bootstrap, or a catch-up from a file, whatever limit.snapshot_rate "
           "allows",
           hangup),
    number("snapshot.reuse", duration, &C::snapshot_reuse, "2s", 0, hour,
           "how long a bootstrap is shared with later ones; or as long as it took"),
    number("snapshot.reuse_commits", count, &C::snapshot_reuse_commits, "2000", 0, many,
           "commits of the space after which a bootstrap is not shared any more; or a tenth of its records"),

    number("time.handshake", duration, &C::time_handshake, "5s", 10, hour, "accept to the end of the request header",
           hangup),
    number("time.hello", duration, &C::time_hello, "5s", 10, hour, "upgrade to hello; then 4001", hangup),
    number("time.message", duration, &C::time_message, "10s", 10, hour, "first to last byte of a message; then 1008",
           hangup),
    number("time.heartbeat", duration, &C::time_heartbeat, "20s", 10, hour,
           "a ping when nothing else was sent for so long"),
    number("time.silence", duration, &C::time_silence, "50s", 20, day, "nothing heard from the client; then 1001",
           hangup),
    number("time.no_progress", duration, &C::time_no_progress, "30s", 10, hour,
           "a reader that takes nothing; then 4008", hangup),
    number("time.close", duration, &C::time_close, "2s", 10, hour, "close frame to the end of the socket", hangup),
    number("time.progress", duration, &C::time_progress, "2s", 10, hour, "how often a quiet view's cursor moves on"),
    number("time.join", duration, &C::time_join, "10s", 10, hour,
           "a view that cannot be followed by then is unavailable", hangup),
    number("time.expiry_warning", duration, &C::time_expiry_warning, "60s", 0, day,
           "notice auth_expiring before the token's end", hangup),
    number("time.retry", duration, &C::time_retry, "1s", 1, hour,
           "when a refused bootstrap may be asked for again; up to 30 times as long where many wait, each at a time of "
           "its own"),
    number("time.drain", duration, &C::drain_window, "10s", 0, hour, "window over which clients leave at SIGTERM",
           hangup),

    number("ledger.database_time", duration, &C::database_time, "10s", 10, hour, "deadline of one database round trip"),
    number("ledger.look_busy", duration, &C::look_busy, "2ms", 1, hour, "between two looks while there is work"),
    number("ledger.look_quiet", duration, &C::look_quiet, "100ms", 1, hour, "between two looks when there is none"),
    number("ledger.look_idle", duration, &C::look_idle, "1s", 1, hour, "between two looks after an idle hour"),
    number("ledger.registry_check", duration, &C::registry_check, "2s", 10, hour, "how often captures are checked"),
    number("ledger.revocation_check", duration, &C::revocation_check, "250ms", 10, second,
           "how often is asked what was revoked"),
    number("ledger.part_bytes", bytes, &C::part_bytes, "1MiB", 1, gib, "size of the parts in which commits travel"),
    one_of("ledger.notifications", &C::notifications, "listen", "listen|ignore",
           "ignore: as if none ever arrived, delivery by looks alone"),
    one_of("ledger.fsync_off", &C::fsync_off, "refuse", "refuse|accept",
           "a database that may lose commits in a crash; accept it for throw-away data only"),
    number(
        "ledger.disk_bytes", bytes, &C::ledger_disk_bytes, "0", 0, std::int64_t{1024} * 1024 * gib,
        "what the ledger may take of the database's disk, for alerts and the doctor; 0 = all that is left on a private "
        "PostgreSQL's, else unknown"),
    number("ledger.disk_check", duration, &C::ledger_disk_check, "30s", 10, day, "how often is looked what it takes"),

    number("prune.interval", duration, &C::prune_interval, "1m", 10, day,
           "how often commits are deleted that `viewgate retention` lets go"),

    words("raw_log.claim", text, &C::raw_log_claim, "",
          "claim whose array names the spaces whose raw log a token may read (\"*\": all); empty = nobody's, by HTTP"),

    one_of("log.level", &C::log_level, "info", "debug|info|warn|error", "what is logged", hangup),
    one_of("log.format", &C::log_format, "text", "text|json", "form of a log line"),
});

}  // namespace

std::span<const Setting> settings() { return table; }

}  // namespace viewgate::gateway
