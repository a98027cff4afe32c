// The lenient reader of what servers send, for C++ clients: slices, and the same as messages.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "gateway/json_text.hpp"
#include "gateway/protocol_json.hpp"

namespace viewgate::gateway {
namespace {

template <class Enum, std::size_t n>
std::optional<Enum> named(const std::array<Enum, n>& all, std::string_view text) {
  for (const Enum value : all) {
    if (name(value) == text) return value;
  }
  return std::nullopt;
}

constexpr std::array notice_kinds{NoticeKind::auth_expiring, NoticeKind::degraded, NoticeKind::restored,
                                  NoticeKind::draining};
constexpr std::array reset_reasons{ResetReason::history_pruned, ResetReason::history_diverged,
                                   ResetReason::view_changed, ResetReason::authorization_changed,
                                   ResetReason::state_unavailable};
constexpr std::array unsubscribed_reasons{UnsubscribedReason::requested, UnsubscribedReason::forbidden};
constexpr std::array error_codes{ErrorCode::bad_request,
                                 ErrorCode::invalid_value,
                                 ErrorCode::invalid_view,
                                 ErrorCode::duplicate_subscription,
                                 ErrorCode::too_many_subscriptions,
                                 ErrorCode::forbidden,
                                 ErrorCode::cursor_invalid,
                                 ErrorCode::sequence_conflict,
                                 ErrorCode::sequence_gap,
                                 ErrorCode::not_writable,
                                 ErrorCode::receipt_pruned,
                                 ErrorCode::unavailable,
                                 ErrorCode::bootstrap_timeout};
constexpr std::array event_kinds{EventKind::entered, EventKind::updated, EventKind::removed_from_scope,
                                 EventKind::deleted};

// A document's members, sliced once. A missing or wrong one makes the whole document unusable, which is asked at the
// end.
class Fields {
 public:
  explicit Fields(std::string_view document) {
    JsonSlicer slicer(document);
    while (const auto slice = slicer.next()) slices_.push_back(*slice);
    sound_ = !slicer.malformed();
  }

  [[nodiscard]] bool sound() const { return sound_; }

  [[nodiscard]] bool has(std::string_view member) const { return !find(member).empty(); }

  std::string text(std::string_view member) { return require(json_string_value(find(member))); }

  std::optional<std::string> optional_text(std::string_view member) {
    if (!has(member)) return std::nullopt;
    return text(member);
  }

  std::int64_t integer(std::string_view member) { return require(json_integer_value(find(member))); }

  std::optional<std::int64_t> optional_integer(std::string_view member) {
    if (!has(member)) return std::nullopt;
    return integer(member);
  }

  std::int64_t decimal(std::string_view member) {
    const std::string digits = text(member);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    sound_ = sound_ && error == std::errc{} && end == digits.data() + digits.size();
    return value;
  }

  std::optional<std::int64_t> optional_decimal(std::string_view member) {
    if (!has(member)) return std::nullopt;
    return decimal(member);
  }

  bool flag(std::string_view member) {
    const std::string_view value = find(member);
    sound_ = sound_ && (value == "true" || value == "false");
    return value == "true";
  }

  std::string array(std::string_view member) {
    const std::string_view value = find(member);
    sound_ = sound_ && value.starts_with('[');
    return std::string(value);
  }

 private:
  [[nodiscard]] std::string_view find(std::string_view member) const {
    for (const JsonSlice& slice : slices_) {
      if (slice.name == member) return slice.value;
    }
    return {};
  }

  template <class T>
  T require(std::optional<T> value) {
    sound_ = sound_ && value.has_value();
    return std::move(value).value_or(T{});
  }

  std::vector<JsonSlice> slices_;
  bool sound_ = true;
};

std::chrono::milliseconds as_milliseconds(std::int64_t count) { return std::chrono::milliseconds{count}; }

ServerMessage read_welcome(Fields& fields) {
  Welcome message;
  message.principal = fields.text("principal");
  message.connection = fields.optional_text("connection").value_or("");
  message.expires_in = std::chrono::seconds{fields.integer("expires_in")};
  message.heartbeat = std::chrono::seconds{fields.integer("heartbeat")};
  message.message_bytes = static_cast<std::size_t>(fields.integer("message_bytes"));
  message.subscriptions = static_cast<std::size_t>(fields.integer("subscriptions"));
  return message;
}

ServerMessage read_notice(Fields& fields) {
  const auto kind = named(notice_kinds, fields.text("kind"));
  if (!kind) return UnknownDocument{"notice"};
  Notice message{*kind, std::nullopt};
  if (const auto in = fields.optional_integer("in")) message.in = std::chrono::seconds{*in};
  return message;
}

ServerMessage read_subscribed(Fields& fields) {
  Subscribed message;
  message.id = fields.text("id");
  message.channel = fields.text("channel");
  message.context = fields.text("context");
  message.resumed = fields.flag("resumed");
  message.same_as = fields.optional_text("same_as");
  return message;
}

ServerMessage read_snapshot(Fields& fields) {
  Snapshot message;
  message.channel = fields.text("channel");
  message.records = fields.array("records");
  return message;
}

ServerMessage read_ready(Fields& fields) {
  Ready message;
  message.channel = fields.text("channel");
  message.sequence = fields.decimal("sequence");
  message.position = fields.text("position");
  message.head = fields.decimal("head");
  return message;
}

ServerMessage read_commit(Fields& fields) {
  Commit message;
  message.channel = fields.text("channel");
  message.sequence = fields.decimal("sequence");
  message.events = fields.array("events");
  message.last = !fields.has("last") || fields.flag("last");
  if (message.last) message.position = fields.text("position");
  message.at = fields.optional_text("at");
  message.request_id = fields.optional_text("request_id");
  return message;
}

ServerMessage read_progress(Fields& fields) {
  Progress message;
  message.channel = fields.text("channel");
  message.sequence = fields.decimal("sequence");
  message.position = fields.text("position");
  return message;
}

ServerMessage read_at(Fields& fields) {
  At message;
  message.space = fields.text("space");
  message.sequence = fields.decimal("sequence");
  return message;
}

ServerMessage read_receipts(Fields& fields) {
  Receipts message;
  message.space = fields.text("space");
  message.sequence = fields.decimal("sequence");
  message.receipts = fields.array("receipts");
  return message;
}

ServerMessage read_reset_required(Fields& fields) {
  const auto reason = named(reset_reasons, fields.text("reason"));
  if (!reason) return UnknownDocument{"reset_required"};
  return ResetRequired{fields.text("id"), *reason};
}

ServerMessage read_unsubscribed(Fields& fields) {
  const auto reason = named(unsubscribed_reasons, fields.text("reason"));
  if (!reason) return UnknownDocument{"unsubscribed"};
  return Unsubscribed{fields.text("id"), *reason};
}

ServerMessage read_error(Fields& fields) {
  const auto code = named(error_codes, fields.text("code"));
  if (!code) return UnknownDocument{"error"};
  Error message;
  message.id = fields.optional_text("id");
  message.code = *code;
  message.message = fields.text("message");
  if (const auto after = fields.optional_integer("retry_after")) message.retry_after = as_milliseconds(*after);
  message.space = fields.optional_text("space");
  message.number = fields.optional_decimal("number");
  message.expected = fields.optional_decimal("expected");
  message.connection = fields.optional_text("connection");
  return message;
}

ServerMessage read_ping(Fields&) { return Ping{}; }

ServerMessage read_drain(Fields& fields) { return Drain{as_milliseconds(fields.integer("reconnect_after"))}; }

struct Reader {
  std::string_view type;
  ServerMessage (*read)(Fields&);
};

constexpr std::array<Reader, 14> readers{{{"commit", read_commit},
                                          {"progress", read_progress},
                                          {"at", read_at},
                                          {"receipts", read_receipts},
                                          {"snapshot", read_snapshot},
                                          {"ready", read_ready},
                                          {"ping", read_ping},
                                          {"welcome", read_welcome},
                                          {"subscribed", read_subscribed},
                                          {"unsubscribed", read_unsubscribed},
                                          {"reset_required", read_reset_required},
                                          {"error", read_error},
                                          {"notice", read_notice},
                                          {"drain", read_drain}}};

// The inside of a string without escapes; empty for all else.
std::string_view unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.find('\\') != std::string_view::npos) return {};
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::string_view DocumentView::raw(std::string_view member) const {
  JsonSlicer slicer(text);
  while (const auto slice = slicer.next()) {
    if (slice->name == member) return slice->value;
  }
  return {};
}

std::string_view DocumentView::plain(std::string_view member) const { return unquoted(raw(member)); }

std::optional<DocumentView> view_document(std::string_view document) {
  DocumentView view{{}, document};
  view.type = view.plain("type");
  if (view.type.empty()) return std::nullopt;
  return view;
}

std::optional<ServerMessage> parse_server_document(std::string_view document) {
  const std::optional<DocumentView> view = view_document(document);
  if (!view) return std::nullopt;
  for (const Reader& reader : readers) {
    if (reader.type != view->type) continue;
    Fields fields(document);
    ServerMessage message = reader.read(fields);
    if (!fields.sound()) return std::nullopt;
    return message;
  }
  return UnknownDocument{std::string(view->type)};
}

std::vector<std::string_view> split_documents(std::string_view message) {
  std::vector<std::string_view> out;
  while (!message.empty()) {
    const std::string_view line = message.substr(0, message.find('\n'));
    if (!line.empty()) out.push_back(line);
    message.remove_prefix(std::min(line.size() + 1, message.size()));
  }
  return out;
}

std::optional<std::vector<RecordView>> read_records(std::string_view records) {
  if (!records.starts_with('[')) return std::nullopt;
  std::vector<RecordView> out;
  JsonSlicer elements(records);
  while (const auto element = elements.next()) {
    RecordView record;
    JsonSlicer members(element->value);
    while (const auto member = members.next()) {
      if (member->name == "key") record.key = member->value;
      if (member->name == "record") record.record = member->value;
    }
    if (members.malformed() || record.key.empty() || record.record.empty()) return std::nullopt;
    out.push_back(record);
  }
  if (elements.malformed()) return std::nullopt;
  return out;
}

std::optional<std::vector<EventView>> read_events(std::string_view events) {
  if (!events.starts_with('[')) return std::nullopt;
  std::vector<EventView> out;
  JsonSlicer elements(events);
  while (const auto element = elements.next()) {
    EventView event;
    std::optional<EventKind> kind;
    JsonSlicer members(element->value);
    while (const auto member = members.next()) {
      if (member->name == "kind") kind = named(event_kinds, unquoted(member->value));
      if (member->name == "key") event.key = member->value;
      if (member->name == "record" || member->name == "changed") event.body = member->value;
    }
    if (members.malformed() || !kind || event.key.empty()) return std::nullopt;
    event.kind = *kind;
    const bool has_body = event.kind == EventKind::entered || event.kind == EventKind::updated;
    if (has_body == event.body.empty()) return std::nullopt;
    out.push_back(event);
  }
  if (elements.malformed()) return std::nullopt;
  return out;
}

}  // namespace viewgate::gateway
