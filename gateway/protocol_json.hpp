// The protocol's messages as JSON text, both directions. Pure; used by the server, by C++ clients and by fuzzers.
//
// Client messages are read strictly: what is not one JSON object ends the connection (BadMessage), what is one but not
// a message of this protocol is answered (BadRequest, naming the field). Server documents are read leniently, as
// section 8 of protocol.hpp asks: unknown members are skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateway/protocol.hpp"

namespace viewgate::gateway {

using ClientMessage = std::variant<Hello, Subscribe, Unsubscribe, Refresh, Mutate, AskReceipts, Pong>;

/// Close with close_code::bad_message. `reason` is constant text.
struct BadMessage {
  std::string_view reason;
};

/// Answer `error bad_request`. `id`: of a subscribe whose id is sound. `space` and `number`: of a mutate where they are.
struct BadRequest {
  std::optional<std::string> id;
  std::string message;
  std::optional<std::string> space = {};
  std::optional<std::int64_t> number = {};
};

using ParsedClientMessage = std::variant<ClientMessage, BadMessage, BadRequest>;

/// A hello of another protocol version is returned with that version and nothing else of it read.
[[nodiscard]] ParsedClientMessage parse_client_message(std::string_view text);

/// The body of the HTTP door: the members of mutate without `type` and `space`, and `client`.
struct MutationBody {
  std::string client;
  Mutate mutate;  ///< without its space
};
[[nodiscard]] std::variant<MutationBody, BadRequest> parse_mutation_body(std::string_view text);

/// Each appends one document without a newline. Raw members (params, records, events) must be JSON already.
void append_document(std::string& out, const Hello& message);
void append_document(std::string& out, const Subscribe& message);
void append_document(std::string& out, const Unsubscribe& message);
void append_document(std::string& out, const Refresh& message);
void append_document(std::string& out, const Mutate& message);
void append_document(std::string& out, const AskReceipts& message);
void append_document(std::string& out, const Pong& message);

void append_document(std::string& out, const Welcome& message);
void append_document(std::string& out, const Notice& message);
void append_document(std::string& out, const Subscribed& message);
void append_document(std::string& out, const Snapshot& message);
void append_document(std::string& out, const Ready& message);
void append_document(std::string& out, const Commit& message);
void append_document(std::string& out, const Progress& message);
void append_document(std::string& out, const At& message);
void append_document(std::string& out, const Receipts& message);
void append_document(std::string& out, const ResetRequired& message);
void append_document(std::string& out, const Unsubscribed& message);
void append_document(std::string& out, const Error& message);
void append_document(std::string& out, const Ping& message);
void append_document(std::string& out, const Drain& message);

// The shared documents once more, from views, so that nothing is copied to be encoded.
void append_snapshot(std::string& out, std::string_view channel, std::string_view records);
/// A whole commit, or its final part. No `at` and no request_id where they are empty.
void append_commit(std::string& out, std::string_view channel, std::int64_t sequence, std::string_view position,
                   std::string_view events, std::string_view at, std::string_view request_id = {});
/// A part that is not the final one: `last: false`, no position.
void append_commit_part(std::string& out, std::string_view channel, std::int64_t sequence, std::string_view events);
void append_progress(std::string& out, std::string_view channel, std::int64_t sequence, std::string_view position);

/// One element of snapshot.records and of commit.events. `body`: the record or the changed columns; unused by kinds
/// that have none.
void append_record(std::string& out, std::string_view key, std::string_view record);
void append_event(std::string& out, EventKind kind, std::string_view key, std::string_view body);

/// A document of a type that this program does not know; to be ignored.
struct UnknownDocument {
  std::string type;
};

using ServerMessage = std::variant<Welcome, Notice, Subscribed, Snapshot, Ready, Commit, Progress, At, Receipts,
                                   ResetRequired, Unsubscribed, Error, Ping, Drain, UnknownDocument>;

/// Absent: not a document of this protocol (a member missing or of another type).
[[nodiscard]] std::optional<ServerMessage> parse_server_document(std::string_view document);

/// What a message of several documents holds, one view each; empty lines are skipped.
[[nodiscard]] std::vector<std::string_view> split_documents(std::string_view message);

/// Elements of snapshot.records and commit.events as exact slices of the text.
struct RecordView {
  std::string_view key;
  std::string_view record;
};
struct EventView {
  EventKind kind = EventKind::entered;
  std::string_view key;
  std::string_view body;  ///< record (entered), changed (updated), else empty
};

/// Absent: malformed.
[[nodiscard]] std::optional<std::vector<RecordView>> read_records(std::string_view records);
[[nodiscard]] std::optional<std::vector<EventView>> read_events(std::string_view events);

/// A document's type and the raw text of its members, without building a message: the fast way for a client that only
/// needs some.
struct DocumentView {
  std::string_view type;
  std::string_view text;
  /// The member's text as written (a string with its quotes); empty = absent.
  [[nodiscard]] std::string_view raw(std::string_view member) const;
  /// The characters of a string member that needs no unescaping (channels, positions, sequences); empty = absent.
  [[nodiscard]] std::string_view plain(std::string_view member) const;
};
[[nodiscard]] std::optional<DocumentView> view_document(std::string_view document);

// Names as on the wire.
[[nodiscard]] std::string_view name(NoticeKind kind);
[[nodiscard]] std::string_view name(ResetReason reason);
[[nodiscard]] std::string_view name(UnsubscribedReason reason);
[[nodiscard]] std::string_view name(ErrorCode code);
[[nodiscard]] std::string_view name(EventKind kind);
[[nodiscard]] std::string_view name(MutationKind kind);
[[nodiscard]] std::string_view name(Retry retry);

/// Null: not a code of this protocol.
[[nodiscard]] const CloseCode* find_close_code(std::uint16_t code);

}  // namespace viewgate::gateway
