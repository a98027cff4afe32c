// The strict reader of what clients send.
#include <algorithm>
#include <array>
#include <span>

#include "gateway/json_text.hpp"
#include "gateway/protocol_json.hpp"
#include "gateway/utf8.hpp"

namespace viewgate::gateway {
namespace {

constexpr JsonBounds client_bounds{limits::json_depth, limits::json_members};
constexpr std::size_t quoted_name_bytes = 64;

enum class Presence : std::uint8_t { required, optional };

struct Field {
  std::string_view name;
  JsonKind kind;
  Presence presence = Presence::required;
};

constexpr std::array hello_fields{Field{"protocol", JsonKind::number}, Field{"token", JsonKind::string}};
constexpr std::array subscribe_fields{
    Field{"id", JsonKind::string}, Field{"space", JsonKind::string}, Field{"view", JsonKind::string},
    Field{"params", JsonKind::object, Presence::optional}, Field{"cursor", JsonKind::string, Presence::optional}};
constexpr std::array unsubscribe_fields{Field{"id", JsonKind::string}};
constexpr std::array refresh_fields{Field{"token", JsonKind::string}};

constexpr std::string_view message_types = "hello, subscribe, unsubscribe, refresh or pong";

std::string_view with_article(JsonKind kind) {
  switch (kind) {
    case JsonKind::object:
      return "an object";
    case JsonKind::array:
      return "an array";
    case JsonKind::string:
      return "a string";
    case JsonKind::number:
      return "a number";
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::null:
      return "null";
  }
  return {};
}

struct Member {
  std::string name;
  std::string_view value;
  JsonKind kind;
};

// A bad request on its way out of the readers below; caught in parse_client_message.
struct Refused {
  std::string message;
};

[[noreturn]] void refuse(std::string_view field, std::string_view what) {
  throw Refused{std::string(field) + ": " + std::string(what)};
}

class Members {
 public:
  explicit Members(std::string_view object) {
    JsonSlicer slicer(object);
    while (const auto slice = slicer.next()) {
      members_.push_back({json_unescape_lossless(slice->name), slice->value, slice->kind});
    }
  }

  [[nodiscard]] const Member* find(std::string_view name) const {
    const auto found =
        std::find_if(members_.begin(), members_.end(), [name](const Member& member) { return member.name == name; });
    return found == members_.end() ? nullptr : &*found;
  }

  // Every member is one of `fields` and of its kind, every required one is there.
  void check(std::span<const Field> fields) const {
    for (const Member& member : members_) {
      if (member.name == "type") continue;
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&member](const Field& known) { return known.name == member.name; });
      if (field == fields.end()) refuse(utf8_prefix(member.name, quoted_name_bytes), known_names(fields));
      if (field->kind != member.kind) refuse(field->name, "must be " + std::string(with_article(field->kind)));
    }
    for (const Field& field : fields) {
      if (field.presence == Presence::required && find(field.name) == nullptr) {
        refuse(field.name, "is missing, it must be " + std::string(with_article(field.kind)));
      }
    }
  }

  // The string of a member that check has found; bytes_max 0 = no limit but the message's.
  [[nodiscard]] std::string text(std::string_view name, std::size_t bytes_max = 0) const {
    std::optional<std::string> value = json_string_value(find(name)->value);
    if (!value) refuse(name, "must not hold U+0000 or half of a surrogate pair");
    if (bytes_max > 0 && value->size() > bytes_max) {
      refuse(name, "must be at most " + std::to_string(bytes_max) + " bytes");
    }
    return *std::move(value);
  }

  [[nodiscard]] std::string id() const {
    std::string value = text("id", limits::id_bytes);
    if (value.empty()) refuse("id", "must not be empty");
    return value;
  }

 private:
  static std::string known_names(std::span<const Field> fields) {
    if (fields.empty()) return "is not known; this message has no members but type";
    std::string out = "is not known; the members are type";
    for (const Field& field : fields) out.append(", ").append(field.name);
    return out;
  }

  std::vector<Member> members_;
};

ClientMessage read_hello(const Members& members) {
  if (const Member* protocol = members.find("protocol"); protocol != nullptr && protocol->kind == JsonKind::number) {
    const std::optional<std::int64_t> version = json_integer_value(protocol->value);
    if (!version) refuse("protocol", "must be an integer within 2^53, without fraction, exponent or -0");
    if (*version != protocol_version) return Hello{*version, {}};
  }
  members.check(hello_fields);
  return Hello{protocol_version, members.text("token", limits::token_bytes)};
}

ClientMessage read_subscribe(const Members& members) {
  members.check(subscribe_fields);
  Subscribe message;
  message.id = members.id();
  message.space = members.text("space", limits::space_bytes);
  message.view = members.text("view");
  if (const Member* params = members.find("params")) message.params = std::string(params->value);
  // A cursor that is too long is not refused here: every bad cursor has the same answer, cursor_invalid.
  if (members.find("cursor") != nullptr) message.cursor = members.text("cursor");
  return message;
}

ClientMessage read_unsubscribe(const Members& members) {
  members.check(unsubscribe_fields);
  return Unsubscribe{members.id()};
}

ClientMessage read_refresh(const Members& members) {
  members.check(refresh_fields);
  return Refresh{members.text("token", limits::token_bytes)};
}

ClientMessage read_pong(const Members& members) {
  members.check({});
  return Pong{};
}

ClientMessage read_by_type(std::string_view type, const Members& members) {
  if (type == "hello") return read_hello(members);
  if (type == "subscribe") return read_subscribe(members);
  if (type == "unsubscribe") return read_unsubscribe(members);
  if (type == "refresh") return read_refresh(members);
  if (type == "pong") return read_pong(members);
  refuse("type", "is not known; it must be " + std::string(message_types));
}

// The id under which a refused subscribe is answered, where it has a sound one.
std::optional<std::string> answerable_id(std::string_view type, const Members& members) {
  const Member* id = members.find("id");
  if (type != "subscribe" || id == nullptr) return std::nullopt;
  std::optional<std::string> value = json_string_value(id->value);
  return value && !value->empty() && value->size() <= limits::id_bytes ? std::move(value) : std::nullopt;
}

}  // namespace

ParsedClientMessage parse_client_message(std::string_view text) {
  if (const auto fault = json_fault(text, client_bounds)) return BadMessage{*fault};
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (text[begin] != '{') return BadMessage{"not a JSON object"};

  const Members members(text.substr(begin));
  std::string type;
  try {
    const Member* const member = members.find("type");
    if (member == nullptr) refuse("type", "is missing; it must be " + std::string(message_types));
    if (member->kind != JsonKind::string) refuse("type", "must be a string: " + std::string(message_types));
    type = members.text("type");
    return read_by_type(type, members);
  } catch (const Refused& refused) {
    return BadRequest{answerable_id(type, members), refused.message};
  }
}

}  // namespace viewgate::gateway
