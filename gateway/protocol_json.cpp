// Names and writers. The readers are in protocol_read_client.cpp and protocol_read_server.cpp.
#include "gateway/protocol_json.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "gateway/json_text.hpp"

namespace viewgate::gateway {
namespace {

void append_integer(std::string& out, std::int64_t value) {
  std::array<char, 20> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// Writes one document, member by member, straight into the caller's text; it ends with the writer.
class Document {
 public:
  Document(std::string& out, std::string_view type) : out_(out) {
    out_ += R"({"type":")";
    out_ += type;
    out_ += '"';
  }
  ~Document() { out_ += '}'; }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  void text(std::string_view member, std::string_view value) {
    begin(member);
    append_json_string(out_, value);
  }
  void optional_text(std::string_view member, const std::optional<std::string>& value) {
    if (value) text(member, *value);
  }
  void raw(std::string_view member, std::string_view json) {
    begin(member);
    out_ += json;
  }
  void integer(std::string_view member, std::int64_t value) {
    begin(member);
    append_integer(out_, value);
  }
  void decimal(std::string_view member, std::int64_t value) {
    begin(member);
    out_ += '"';
    append_integer(out_, value);
    out_ += '"';
  }
  void flag(std::string_view member, bool value) { raw(member, value ? "true" : "false"); }

 private:
  void begin(std::string_view member) {
    out_ += ",\"";
    out_ += member;
    out_ += "\":";
  }
  std::string& out_;
};

void append_mutation(std::string& out, const Mutation& mutation) {
  out += out.empty() ? '[' : ',';
  out.append(R"({"kind":")").append(name(mutation.kind)).append(R"(","collection":)");
  append_json_string(out, mutation.collection);
  out.append(",\"key\":").append(mutation.key);
  if (!mutation.values.empty()) {
    out.append(mutation.kind == MutationKind::update ? ",\"changed\":" : ",\"record\":").append(mutation.values);
  }
  char separator = '{';
  for (const MutationBase& base : mutation.bases) {
    out.append(separator == '{' ? ",\"bases\":" : "");
    out += std::exchange(separator, ',');
    append_json_string(out, base.group);
    out.append(":\"").append(std::to_string(base.version)).append("\"");
  }
  out += separator == ',' ? "}}" : "}";
}

}  // namespace

void append_document(std::string& out, const Hello& message) {
  Document document(out, "hello");
  document.integer("protocol", message.protocol);
  if (!message.token.empty()) document.text("token", message.token);
  document.optional_text("client", message.client);
}

void append_document(std::string& out, const Subscribe& message) {
  Document document(out, "subscribe");
  document.text("id", message.id);
  document.text("space", message.space);
  document.text("view", message.view);
  document.raw("params", message.params);
  document.optional_text("cursor", message.cursor);
}

void append_document(std::string& out, const Unsubscribe& message) {
  Document document(out, "unsubscribe");
  document.text("id", message.id);
}

void append_document(std::string& out, const Refresh& message) {
  Document document(out, "refresh");
  document.text("token", message.token);
}

void append_document(std::string& out, const Mutate& message) {
  std::string mutations;
  for (const Mutation& mutation : message.mutations) append_mutation(mutations, mutation);
  mutations += mutations.empty() ? "[]" : "]";
  Document document(out, "mutate");
  document.text("space", message.space);
  document.decimal("number", message.number);
  document.raw("mutations", mutations);
  document.optional_text("request_id", message.request_id);
  if (message.provenance != "{}") document.raw("provenance", message.provenance);
}

void append_document(std::string& out, const AskReceipts& message) {
  Document document(out, "receipts");
  document.text("space", message.space);
  document.decimal("after", message.after);
}

void append_document(std::string& out, const Pong&) { Document document(out, "pong"); }

void append_document(std::string& out, const Welcome& message) {
  Document document(out, "welcome");
  document.text("principal", message.principal);
  document.text("connection", message.connection);
  document.integer("expires_in", message.expires_in.count());
  document.integer("heartbeat", message.heartbeat.count());
  document.integer("message_bytes", static_cast<std::int64_t>(message.message_bytes));
  document.integer("subscriptions", static_cast<std::int64_t>(message.subscriptions));
}

void append_document(std::string& out, const Notice& message) {
  Document document(out, "notice");
  document.text("kind", name(message.kind));
  if (message.in) document.integer("in", message.in->count());
}

void append_document(std::string& out, const Subscribed& message) {
  Document document(out, "subscribed");
  document.text("id", message.id);
  document.text("channel", message.channel);
  document.text("context", message.context);
  document.flag("resumed", message.resumed);
  document.optional_text("same_as", message.same_as);
}

void append_document(std::string& out, const Snapshot& message) {
  append_snapshot(out, message.channel, message.records);
}

void append_document(std::string& out, const Ready& message) {
  Document document(out, "ready");
  document.text("channel", message.channel);
  document.decimal("sequence", message.sequence);
  document.text("position", message.position);
  document.decimal("head", message.head);
}

void append_document(std::string& out, const Commit& message) {
  if (message.last) {
    append_commit(out, message.channel, message.sequence, message.position, message.events, message.at.value_or(""),
                  message.request_id.value_or(""));
  } else {
    append_commit_part(out, message.channel, message.sequence, message.events);
  }
}

void append_document(std::string& out, const Progress& message) {
  append_progress(out, message.channel, message.sequence, message.position);
}

void append_document(std::string& out, const At& message) {
  Document document(out, "at");
  document.text("space", message.space);
  document.decimal("sequence", message.sequence);
}

void append_document(std::string& out, const Receipts& message) {
  Document document(out, "receipts");
  document.text("space", message.space);
  document.decimal("sequence", message.sequence);
  document.raw("receipts", message.receipts);
}

void append_document(std::string& out, const ResetRequired& message) {
  Document document(out, "reset_required");
  document.text("id", message.id);
  document.text("reason", name(message.reason));
}

void append_document(std::string& out, const Unsubscribed& message) {
  Document document(out, "unsubscribed");
  document.text("id", message.id);
  document.text("reason", name(message.reason));
}

void append_document(std::string& out, const Error& message) {
  Document document(out, "error");
  document.optional_text("id", message.id);
  document.text("code", name(message.code));
  document.text("message", message.message);
  if (message.retry_after) document.integer("retry_after", message.retry_after->count());
  document.optional_text("space", message.space);
  if (message.number) document.decimal("number", *message.number);
  if (message.expected) document.decimal("expected", *message.expected);
  document.optional_text("connection", message.connection);
}

void append_document(std::string& out, const Ping&) { Document document(out, "ping"); }

void append_document(std::string& out, const Drain& message) {
  Document document(out, "drain");
  document.integer("reconnect_after", message.reconnect_after.count());
}

void append_snapshot(std::string& out, std::string_view channel, std::string_view records) {
  Document document(out, "snapshot");
  document.text("channel", channel);
  document.raw("records", records);
}

void append_commit(std::string& out, std::string_view channel, std::int64_t sequence, std::string_view position,
                   std::string_view events, std::string_view at, std::string_view request_id) {
  Document document(out, "commit");
  document.text("channel", channel);
  document.decimal("sequence", sequence);
  document.text("position", position);
  if (!at.empty()) document.text("at", at);
  document.raw("events", events);
  if (!request_id.empty()) document.text("request_id", request_id);
}

void append_commit_part(std::string& out, std::string_view channel, std::int64_t sequence, std::string_view events) {
  Document document(out, "commit");
  document.text("channel", channel);
  document.decimal("sequence", sequence);
  document.raw("events", events);
  document.flag("last", false);
}

void append_progress(std::string& out, std::string_view channel, std::int64_t sequence, std::string_view position) {
  Document document(out, "progress");
  document.text("channel", channel);
  document.decimal("sequence", sequence);
  document.text("position", position);
}

void append_record(std::string& out, std::string_view key, std::string_view record) {
  out += R"({"key":)";
  out += key;
  out += R"(,"record":)";
  out += record;
  out += '}';
}

void append_event(std::string& out, EventKind kind, std::string_view key, std::string_view body) {
  out += R"({"kind":")";
  out += name(kind);
  out += R"(","key":)";
  out += key;
  if (kind == EventKind::entered || kind == EventKind::updated) {
    out += kind == EventKind::entered ? R"(,"record":)" : R"(,"changed":)";
    out += body;
  }
  out += '}';
}

std::string_view name(NoticeKind kind) {
  switch (kind) {
    case NoticeKind::auth_expiring:
      return "auth_expiring";
    case NoticeKind::degraded:
      return "degraded";
    case NoticeKind::restored:
      return "restored";
    case NoticeKind::draining:
      return "draining";
  }
  return {};
}

std::string_view name(ResetReason reason) {
  switch (reason) {
    case ResetReason::history_pruned:
      return "history_pruned";
    case ResetReason::history_diverged:
      return "history_diverged";
    case ResetReason::view_changed:
      return "view_changed";
    case ResetReason::authorization_changed:
      return "authorization_changed";
    case ResetReason::state_unavailable:
      return "state_unavailable";
  }
  return {};
}

std::string_view name(UnsubscribedReason reason) {
  switch (reason) {
    case UnsubscribedReason::requested:
      return "requested";
    case UnsubscribedReason::forbidden:
      return "forbidden";
  }
  return {};
}

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_request:
      return "bad_request";
    case ErrorCode::invalid_value:
      return "invalid_value";
    case ErrorCode::invalid_view:
      return "invalid_view";
    case ErrorCode::duplicate_subscription:
      return "duplicate_subscription";
    case ErrorCode::too_many_subscriptions:
      return "too_many_subscriptions";
    case ErrorCode::forbidden:
      return "forbidden";
    case ErrorCode::cursor_invalid:
      return "cursor_invalid";
    case ErrorCode::sequence_conflict:
      return "sequence_conflict";
    case ErrorCode::sequence_gap:
      return "sequence_gap";
    case ErrorCode::not_writable:
      return "not_writable";
    case ErrorCode::receipt_pruned:
      return "receipt_pruned";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::bootstrap_timeout:
      return "bootstrap_timeout";
  }
  return {};
}

std::string_view name(MutationKind kind) {
  switch (kind) {
    case MutationKind::create:
      return "create";
    case MutationKind::update:
      return "update";
    case MutationKind::put:
      return "put";
    case MutationKind::remove:
      return "delete";
  }
  return {};
}

std::string_view name(EventKind kind) {
  switch (kind) {
    case EventKind::entered:
      return "entered";
    case EventKind::updated:
      return "updated";
    case EventKind::removed_from_scope:
      return "removed_from_scope";
    case EventKind::deleted:
      return "deleted";
  }
  return {};
}

std::string_view name(Retry retry) {
  switch (retry) {
    case Retry::at_once:
      return "at once";
    case Retry::later:
      return "later";
    case Retry::after_refresh:
      return "after a fresh token";
    case Retry::never:
      return "never";
  }
  return {};
}

const CloseCode* find_close_code(std::uint16_t code) {
  const auto* const found = std::find_if(close_codes.begin(), close_codes.end(),
                                         [code](const CloseCode& known) { return known.code == code; });
  return found == close_codes.end() ? nullptr : found;
}

}  // namespace viewgate::gateway
