// The table itself. Order is the order of --help and of docs/operating.md.
#include <array>

#include "gateway/config.hpp"

namespace viewgate::gateway {
namespace {

using enum SettingKind;
using C = Config;

constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;
constexpr std::int64_t gib = 1024 * mib;
constexpr std::int64_t second = 1000;
constexpr std::int64_t hour = 3600 * second;
constexpr std::int64_t day = 24 * hour;
constexpr std::int64_t many = 1'000'000'000;

constexpr std::array table = std::to_array<Setting>({
    {"database", text, &C::database, "", 0, 0, {}, "connection string of PostgreSQL (URL or key=value)"},
    {"embedded",
     text,
     &C::embedded,
     "",
     0,
     0,
     {},
     "directory of a private PostgreSQL that this program makes and runs"},
    {"listen",
     endpoint,
     &C::listen,
     "127.0.0.1:8080",
     0,
     0,
     {},
     "address and port of the socket; port 0 = any free one"},
    {"apply", text, &C::apply, "", 0, 0, {}, "model file to put in force at start, capturing the tables it names"},
    {"threads", count, &C::threads, "0", 0, 64, {}, "reactor threads; 0 = one less than the processors, at least one"},
    {"ready_file", text, &C::ready_file, "", 0, 0, {}, "file that gets address:port once the program listens"},
    {"pid_file", text, &C::pid_file, "", 0, 0, {}, "file that gets the process id"},
    {"origins",
     list,
     &C::origins,
     "",
     0,
     0,
     {},
     "origins of pages that may connect, as https://app.example; empty = none, programs only"},

    {"auth.issuer", text, &C::auth_issuer, "viewgate", 0, 0, {}, "the iss that tokens must have"},
    {"auth.audience", text, &C::auth_audience, "viewgate", 0, 0, {}, "the aud that tokens must have"},
    {"auth.algorithm", choice, &C::auth_algorithm, "HS256", 0, 0, "HS256|RS256", "the only algorithm accepted"},
    {"auth.key_file", text, &C::auth_key_file, "", 0, 0, {}, "HS256: the secret; RS256: the public key in PEM"},
    {"auth.leeway", duration, &C::auth_leeway, "5s", 0, 60 * second, {}, "how far clocks may differ"},

    {"limit.connections",
     count,
     &C::limit_connections,
     "50000",
     1,
     many,
     {},
     "sockets per reactor; more are told 1013"},
    {"limit.subscriptions", count, &C::limit_subscriptions, "128", 1, 10000, {}, "subscriptions per socket"},
    {"limit.groups",
     count,
     &C::limit_groups,
     "100000",
     1,
     many,
     {},
     "different views followed per reactor; subscriptions to more are told when to return"},
    {"limit.message_bytes", bytes, &C::limit_message_bytes, "64KiB", 9 * kib, 16 * mib, {}, "largest client message"},
    {"limit.frame_bytes", bytes, &C::limit_frame_bytes, "256KiB", kib, 64 * mib, {}, "aim for one server message"},

    {"ring.group_bytes", bytes, &C::ring_group_bytes, "1MiB", kib, gib, {}, "documents kept per group and reactor"},
    {"ring.space_bytes", bytes, &C::ring_space_bytes, "4MiB", kib, gib, {}, "recent commits kept per space"},
    {"ring.total_bytes",
     bytes,
     &C::ring_total_bytes,
     "256MiB",
     kib,
     64 * gib,
     {},
     "recent commits of all spaces; and documents of all groups of a reactor"},
    {"history.bytes", bytes, &C::history_bytes, "1MiB", kib, gib, {}, "record text read at once for those who return"},
    {"history.commit_bytes",
     bytes,
     &C::history_commit_bytes,
     "64MiB",
     kib,
     gib,
     {},
     "largest catch-up text; above it the view starts anew"},
    {"linger", duration, &C::linger, "5s", 0, hour, {}, "how long an unused group or space is still followed"},

    {"snapshot.concurrent", count, &C::snapshot_concurrent, "2", 1, 64, {}, "bootstraps read at once"},
    {"snapshot.queue",
     count,
     &C::snapshot_queue,
     "256",
     1,
     many,
     {},
     "bootstraps that may wait; more are told when to return"},
    {"snapshot.bytes", bytes, &C::snapshot_bytes, "256MiB", kib, 64 * gib, {}, "largest bootstrap"},
    {"snapshot.total_bytes",
     bytes,
     &C::snapshot_total_bytes,
     "512MiB",
     kib,
     256 * gib,
     {},
     "all bootstraps in memory; above it new ones are told when to return"},
    {"snapshot.chunk_bytes", bytes, &C::snapshot_chunk_bytes, "64KiB", 1, 256 * kib, {}, "size of a snapshot document"},
    {"snapshot.time", duration, &C::snapshot_time, "30s", 10, hour, {}, "longest bootstrap; then bootstrap_timeout"},
    {"snapshot.reuse",
     duration,
     &C::snapshot_reuse,
     "2s",
     0,
     hour,
     {},
     "how long a bootstrap is shared with later ones"},
    {"snapshot.reuse_commits",
     count,
     &C::snapshot_reuse_commits,
     "2000",
     0,
     many,
     {},
     "commits of the space after which a bootstrap is not shared any more"},

    {"time.handshake", duration, &C::time_handshake, "5s", 10, hour, {}, "accept to the end of the request header"},
    {"time.hello", duration, &C::time_hello, "5s", 10, hour, {}, "upgrade to hello; then 4001"},
    {"time.message", duration, &C::time_message, "10s", 10, hour, {}, "first to last byte of a message; then 1008"},
    {"time.heartbeat",
     duration,
     &C::time_heartbeat,
     "20s",
     10,
     hour,
     {},
     "a ping when nothing else was sent for so long"},
    {"time.silence", duration, &C::time_silence, "50s", 20, day, {}, "nothing heard from the client; then 1001"},
    {"time.no_progress", duration, &C::time_no_progress, "30s", 10, hour, {}, "a reader that takes nothing; then 4008"},
    {"time.close", duration, &C::time_close, "2s", 10, hour, {}, "close frame to the end of the socket"},
    {"time.progress", duration, &C::time_progress, "2s", 10, hour, {}, "how often a quiet view's cursor moves on"},
    {"time.retry", duration, &C::time_retry, "1s", 1, hour, {}, "when a refused bootstrap may be asked for again"},
    {"time.drain", duration, &C::drain_window, "10s", 0, hour, {}, "window over which clients leave at SIGTERM"},

    {"ledger.database_time", duration, &C::database_time, "10s", 10, hour, {}, "deadline of one database round trip"},
    {"ledger.look_busy", duration, &C::look_busy, "2ms", 1, hour, {}, "between two looks while there is work"},
    {"ledger.look_quiet", duration, &C::look_quiet, "100ms", 1, hour, {}, "between two looks when there is none"},
    {"ledger.look_idle", duration, &C::look_idle, "1s", 1, hour, {}, "between two looks after an idle hour"},
    {"ledger.registry_check", duration, &C::registry_check, "2s", 10, hour, {}, "how often captures are checked"},
    {"ledger.part_bytes", bytes, &C::part_bytes, "1MiB", 1, gib, {}, "size of the parts in which commits travel"},
    {"ledger.notifications", choice, &C::notifications, "listen", 0, 0, "listen|ignore",
     "ignore: as if none ever arrived, delivery by looks alone"},
    {"ledger.fsync_off", choice, &C::fsync_off, "refuse", 0, 0, "refuse|accept",
     "a database that may lose commits in a crash; accept it for throw-away data only"},

    {"prune.keep", count, &C::prune_keep, "0", 0, many, {}, "commits kept per space; 0 = all"},
    {"prune.interval", duration, &C::prune_interval, "10s", 10, day, {}, "how often is pruned"},

    {"log.level", choice, &C::log_level, "info", 0, 0, "debug|info|warn|error", "what is logged"},
    {"log.format", choice, &C::log_format, "text", 0, 0, "text|json", "form of a log line"},
});

}  // namespace

std::span<const Setting> settings() { return table; }

}  // namespace viewgate::gateway
