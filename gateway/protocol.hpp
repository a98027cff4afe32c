// THE protocol: every message, limit, reason and close code that travels between a viewgate and its clients.
// This header includes only the standard library; protocol_json reads and writes it; docs/protocol.md explains it with
// examples that are golden files of both sides' tests.
//
// 1. The life of a socket: GET /v1/socket, Upgrade: websocket, Sec-WebSocket-Protocol: viewgate.v1
//
//   client                                  server
//   hello {protocol, token}            ──►
//                                      ◄──  welcome {principal, connection, heartbeat, limits}
//   subscribe {id, space, view, …}     ──►
//                                      ◄──  subscribed {id, channel, context}
//                                      ◄──  snapshot {channel, records}            zero or more
//                                      ◄──  ready {channel, sequence, position}    the set is exactly the view at sequence
//                                      ◄──  commit {channel, sequence, position, events}
//                                      ◄──  progress {channel, sequence, position} the same set, a later cursor
//                                      ◄──  at {space, sequence}                   several views of one space, moved together
//   mutate {space, number, mutations}  ──►
//                                      ◄──  receipts {space, sequence, receipts}   what became of it, with its effect
//   receipts {space, after}            ──►                                       the receipts that one does not have
//                                      ◄──  ping {}
//   pong {}                            ──►
//   unsubscribe {id}                   ──►
//                                      ◄──  unsubscribed {id, reason}
//                                      ◄──  drain {reconnect_after}                then close 1012
//
// A text message holds one or more JSON documents separated by a newline (both directions; a client sends one).
// Every document has a member "type". Sequences are decimal strings, for information; as a cursor they are never accepted
// back.
// Durations are JSON integers in the unit of their type below.
//
// 2. What a client may rely on
//   I2  A commit is applied whole: with parts, at the part without `last: false`. The cursor never points inside a commit.
//   I3  `ready` at W: the set equals the view at W, and every commit above W that changes it will arrive.
//   I5  No event twice, none skipped, for each subscription, as long as the client resumes with the cursor it stored
//       together with the set.
//   I6  A record that leaves comes as removed_from_scope with its key and nothing else; one that enters comes whole.
//   I8  cursor = context + "." + position. It is opaque, authenticated and bound to the principal and the subscription.
//   I9  reset_required: drop the set of that subscription; a new bootstrap follows by itself and replaces it.
//   I11 Record values are the bytes that PostgreSQL produced.
//   I12 Every processed mutation has one receipt. Whoever has none for a number sends the mutation again: it is processed
//       once, and answered with the same receipt each time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace viewgate::gateway {

inline constexpr int protocol_version = 1;
inline constexpr std::string_view subprotocol = "viewgate.v1";
inline constexpr std::string_view socket_path = "/v1/socket";

// 3. Limits. Those that a deployment may want to change are defaults of configuration keys.
namespace limits {
inline constexpr std::size_t client_message_bytes = std::size_t{64} * 1024;  ///< above: close 1009
inline constexpr std::size_t client_message_fragments = 64;                  ///< above: close 1008
inline constexpr std::chrono::seconds client_message_time{10};  ///< first to last byte of a message; above: close 1008
inline constexpr std::size_t server_message_bytes =
    std::size_t{256} * 1024;  ///< a larger single document is a message by itself
inline constexpr std::size_t json_depth = 32;
inline constexpr std::size_t json_members = 4096;  ///< of all objects of one message
inline constexpr std::size_t token_bytes = std::size_t{8} * 1024;
inline constexpr std::size_t cursor_bytes = 1024;
inline constexpr std::size_t id_bytes = 64;  ///< of a subscription id
inline constexpr std::size_t space_bytes = std::size_t{8} * 1024;
inline constexpr std::size_t client_id_bytes = 64;  ///< of hello.client
inline constexpr std::size_t mutations = 500;       ///< of one message; all of them or none
inline constexpr std::size_t request_id_bytes = 128;
inline constexpr std::size_t provenance_bytes = 1024;
inline constexpr std::size_t receipts_per_answer = 1000;  ///< of those that are asked for by `receipts`
inline constexpr std::size_t subscriptions_per_socket = 128;
inline constexpr int strikes = 3;                         ///< the third bad_request closes with 4000
inline constexpr std::chrono::seconds hello_time{5};      ///< from the upgrade; above: close 4001
inline constexpr std::chrono::seconds handshake_time{5};  ///< from accept to the end of the request header
inline constexpr std::size_t request_header_bytes = std::size_t{8} * 1024;  ///< above: 431
inline constexpr std::chrono::seconds heartbeat{20};    ///< a ping when nothing else was sent for so long
inline constexpr std::chrono::seconds silence{50};      ///< nothing heard from the client: close 1001
inline constexpr std::chrono::seconds no_progress{30};  ///< a stuck reader: close 4008
inline constexpr std::chrono::seconds progress_interval{2};
inline constexpr std::chrono::seconds close_time{2};          ///< after our close frame the socket goes away
inline constexpr std::size_t control_frames_per_second = 20;  ///< above: close 4029
static_assert(token_bytes < client_message_bytes && cursor_bytes < client_message_bytes);
static_assert(heartbeat * 2 < silence);
static_assert(client_message_bytes <= server_message_bytes);
}  // namespace limits

// 4. Client messages. Unknown members are refused by name (bad_request).

/// The first message. `token`: a JWT in compact form.
struct Hello {
  std::int64_t protocol = 0;  ///< protocol_version; another: close 4010, whatever else the message holds
  std::string token;          ///< absent or empty: nobody in particular, where the server admits such; else close 4001
  std::optional<std::string> client = {};  ///< under which its mutations are numbered; absent = it sends none
};

/// Opens a live view. `id` is chosen by the client and names the subscription in its own messages.
struct Subscribe {
  std::string id;
  std::string space;
  std::string view;
  std::string params = "{}";          ///< the JSON object as text; absent = {}
  std::optional<std::string> cursor;  ///< context + "." + position of the last commit applied; absent = bootstrap
};

struct Unsubscribe {
  std::string id;
};

/// A fresh token for the same principal.
struct Refresh {
  std::string token;
};

/// `remove` is spelt "delete".
enum class MutationKind : std::uint8_t { create, update, put, remove };

/// The mutation is based on the group as it was at this sequence: it conflicts where the group moved since.
struct MutationBase {
  std::string group;
  std::int64_t version = 0;
};

struct Mutation {
  MutationKind kind = MutationKind::create;
  std::string collection;           ///< a managed table of the model
  std::string key;                  ///< a JSON array: the primary key's columns
  std::string values;               ///< a JSON object: `record` of create and put, `changed` of update; empty = delete
  std::vector<MutationBase> bases;  ///< absent = whatever moved, it does not conflict
};

/// One commit: all mutations or, where one is rejected, none. `number`: 1, 2, 3 … for each client and space.
struct Mutate {
  std::string space;
  std::int64_t number = 0;
  std::vector<Mutation> mutations;
  std::optional<std::string> request_id;  ///< comes back in the commit's provenance
  std::string provenance = "{}";          ///< a JSON object of the client's own, for the log; absent = {}
};

/// Asks for the receipts of this client in this space whose number is above `after`.
struct AskReceipts {
  std::string space;
  std::int64_t after = 0;
};

/// The answer to ping; also welcome unasked.
struct Pong {};

// 5. Server messages.

struct Welcome {
  std::string principal;
  std::string connection;             ///< what the server's log calls this socket
  std::chrono::seconds expires_in{};  ///< until the token's exp
  std::chrono::seconds heartbeat{};   ///< at least one document arrives in each such period; twice without = dead link
  std::size_t message_bytes = 0;      ///< largest message the server accepts
  std::size_t subscriptions = 0;      ///< per socket
};

enum class NoticeKind : std::uint8_t { auth_expiring, degraded, restored, draining };

struct Notice {
  NoticeKind kind = NoticeKind::degraded;
  std::optional<std::chrono::seconds> in;  ///< auth_expiring: until exp
};

/// `channel` names the group in all shared documents (16 hexadecimal digits, the same on every node). `resumed`: the set of
/// the cursor stays valid, `ready` follows at once; otherwise a snapshot replaces the set. `same_as`: another subscription
/// of this socket has the same group; this one shares its set and gets no documents of its own.
struct Subscribed {
  std::string id;
  std::string channel;
  std::string context;
  bool resumed = false;
  std::optional<std::string> same_as;
};

/// `records`: a JSON array of {"key":[…],"record":{…}}.
struct Snapshot {
  std::string channel;
  std::string records;
};

/// `head`: the space's newest commit when this was made: a client at or above it is live, below it is catching up.
struct Ready {
  std::string channel;
  std::int64_t sequence = 0;
  std::string position;
  std::int64_t head = 0;
};

/// `events`: a JSON array of events, in no particular order (section 6). Parts: all but the final part of a commit have
/// `last: false` and no position; absent `last` = true.
struct Commit {
  std::string channel;
  std::int64_t sequence = 0;
  std::string position;
  std::string events;
  // Not in parts before the final one:
  std::optional<std::string> at;          ///< the transaction's time, RFC 3339 in UTC with microseconds
  std::optional<std::string> request_id;  ///< with which a back-end has signed its transaction
  bool last = true;
};

struct Progress {
  std::string channel;
  std::int64_t sequence = 0;
  std::string position;
};

/// Sent where a socket has two or more ready views of one space, at the end of each message in which one of them moved:
/// all of them are complete up to `sequence`. What is shown across views moves here.
struct At {
  std::string space;
  std::int64_t sequence = 0;
};

/// The receipts of this socket's client in that commit: a JSON array of the bytes that the ledger holds. Every ready view
/// of the space on this socket is complete up to `sequence` when it comes. It may come more than once.
struct Receipts {
  std::string space;
  std::int64_t sequence = 0;
  std::string receipts;
};

enum class ResetReason : std::uint8_t {
  history_pruned,         ///< the cursor is below the horizon
  history_diverged,       ///< the ledger is not the one the cursor was made from (restore, failover)
  view_changed,           ///< the view, a policy or the captured table is another than it was
  authorization_changed,  ///< the caller's claims are others than they were, and the view depends on them
  state_unavailable       ///< the server lost what it needed; nothing is wrong with the cursor's maker
};

struct ResetRequired {
  std::string id;
  ResetReason reason = ResetReason::state_unavailable;
};

enum class UnsubscribedReason : std::uint8_t { requested, forbidden };

struct Unsubscribed {
  std::string id;
  UnsubscribedReason reason = UnsubscribedReason::requested;
};

/// Errors of one message or subscription; the connection stays. duplicate_subscription is about the second subscription of
/// that id: the first one goes on.
enum class ErrorCode : std::uint8_t {
  bad_request,
  invalid_value,
  invalid_view,
  duplicate_subscription,
  too_many_subscriptions,
  forbidden,
  cursor_invalid,
  sequence_conflict,  ///< the number was used for another mutation
  sequence_gap,       ///< `expected` is the next number
  not_writable,       ///< the collection is not one that mutations write
  receipt_pruned,     ///< the number was processed, and its receipt is not kept any more
  unavailable,
  bootstrap_timeout
};

struct Error {
  std::optional<std::string> id;  ///< the subscription that was not opened, or has ended by this
  ErrorCode code = ErrorCode::bad_request;
  std::string message;  ///< names the thing and what would be right; constant where more would disclose
  std::optional<std::chrono::milliseconds> retry_after;  ///< present: ask again after so long
  // Of a mutation. Its number is still free, but for sequence_conflict and receipt_pruned.
  std::optional<std::string> space = {};
  std::optional<std::int64_t> number = {};
  std::optional<std::int64_t> expected = {};   ///< sequence_gap
  std::optional<std::string> connection = {};  ///< present: the server's log has a line about it, under this id
};

struct Ping {};

struct Drain {
  std::chrono::milliseconds reconnect_after{};
};

// 6. Events inside commit.events
//   {"kind":"entered","key":[…],"record":{…}}           every selected column; a missing one is null
//   {"kind":"updated","key":[…],"changed":{…}}          the selected columns whose text changed; where the table declares
//                                                       conflict groups also "groups":["…"], those of these columns
//   {"kind":"removed_from_scope","key":[…]}             still exists, or existed, outside the view
//   {"kind":"deleted","key":[…]}
// At most one event per record and commit.
enum class EventKind : std::uint8_t { entered, updated, removed_from_scope, deleted };

// 7. Close codes, and what a client does about each.
enum class Retry : std::uint8_t { at_once, later, after_refresh, never };

struct CloseCode {
  std::uint16_t code;
  std::string_view name;
  Retry retry;
  std::string_view meaning;
};

namespace close_code {
inline constexpr std::uint16_t going_away = 1001;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t unsupported_data = 1003;
inline constexpr std::uint16_t invalid_payload = 1007;
inline constexpr std::uint16_t policy_violation = 1008;
inline constexpr std::uint16_t message_too_big = 1009;
inline constexpr std::uint16_t internal_error = 1011;
inline constexpr std::uint16_t service_restart = 1012;
inline constexpr std::uint16_t try_again_later = 1013;
inline constexpr std::uint16_t bad_message = 4000;
inline constexpr std::uint16_t auth_required = 4001;
inline constexpr std::uint16_t forbidden = 4003;
inline constexpr std::uint16_t auth_expired = 4004;
inline constexpr std::uint16_t revoked = 4005;
inline constexpr std::uint16_t slow_reader = 4008;
inline constexpr std::uint16_t version_unsupported = 4010;
inline constexpr std::uint16_t rate_limited = 4029;
}  // namespace close_code

inline constexpr std::array<CloseCode, 17> close_codes{{
    {1001, "going_away", Retry::at_once,
     "nothing was heard from the client for the time of silence, or the page went away"},
    {1002, "protocol_error", Retry::never, "a frame that RFC 6455 does not allow"},
    {1003, "unsupported_data", Retry::never, "a binary message; this protocol is text"},
    {1007, "invalid_payload", Retry::never, "text that is not UTF-8"},
    {1008, "policy_violation", Retry::later, "too many fragments, or a message that took too long"},
    {1009, "message_too_big", Retry::never, "a message above message_bytes of welcome"},
    {1011, "internal_error", Retry::later, "the server failed; it is logged there"},
    {1012, "service_restart", Retry::later, "the node stops; the delay was told by drain"},
    {1013, "try_again_later", Retry::later, "the node is not ready, or full"},
    {4000, "bad_message", Retry::never, "not one JSON object as this protocol has it, or the third bad request"},
    {4001, "auth_required", Retry::after_refresh, "no valid token in time"},
    {4003, "forbidden", Retry::never, "a refreshed token of another principal"},
    {4004, "auth_expired", Retry::after_refresh, "the token reached its exp"},
    {4005, "revoked", Retry::never, "the principal or the token was revoked"},
    {4008, "slow_reader", Retry::later, "no byte was read for the set time; resume with the stored cursor"},
    {4010, "version_unsupported", Retry::never, "hello asked for a protocol that this server does not speak"},
    {4029, "rate_limited", Retry::later, "more control frames, messages or subscriptions than allowed"},
}};

// 8. Versions. Inside viewgate.v1 a server may add members to server documents, types of server documents, notice kinds and
//    error codes; clients ignore what they do not know. Everything else needs viewgate.v2.

}  // namespace viewgate::gateway
