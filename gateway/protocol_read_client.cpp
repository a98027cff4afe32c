// The strict reader of what clients send.
#include <array>

#include "gateway/json_text.hpp"
#include "gateway/protocol_json.hpp"
#include "gateway/protocol_members.hpp"
#include "gateway/protocol_read_mutation.hpp"

namespace viewgate::gateway {
namespace {

constexpr JsonBounds client_bounds{limits::json_depth, limits::json_members};
constexpr std::array hello_fields{Field{"protocol", JsonKind::number},
                                  Field{"token", JsonKind::string, Presence::optional},
                                  Field{"client", JsonKind::string, Presence::optional}};
constexpr std::array subscribe_fields{
    Field{"id", JsonKind::string}, Field{"space", JsonKind::string}, Field{"view", JsonKind::string},
    Field{"params", JsonKind::object, Presence::optional}, Field{"cursor", JsonKind::string, Presence::optional}};
constexpr std::array unsubscribe_fields{Field{"id", JsonKind::string}};
constexpr std::array refresh_fields{Field{"token", JsonKind::string}};

constexpr std::string_view message_types = "hello, subscribe, unsubscribe, refresh, mutate, receipts or pong";

ClientMessage read_hello(const Members& members) {
  if (const Members::Member* protocol = members.find("protocol");
      protocol != nullptr && protocol->kind == JsonKind::number) {
    const std::int64_t version = members.integer("protocol");
    if (version != protocol_version) return Hello{version, {}};
  }
  members.check(hello_fields);
  Hello message{protocol_version, {}};
  if (members.find("token") != nullptr) message.token = members.text("token", limits::token_bytes);
  if (members.find("client") != nullptr) message.client = members.name("client", limits::client_id_bytes);
  return message;
}

ClientMessage read_subscribe(const Members& members) {
  members.check(subscribe_fields);
  Subscribe message;
  message.id = members.name("id", limits::id_bytes);
  message.space = members.text("space", limits::space_bytes);
  message.view = members.text("view");
  message.params = members.raw("params", message.params);
  // A cursor that is too long is not refused here: every bad cursor has the same answer, cursor_invalid.
  if (members.find("cursor") != nullptr) message.cursor = members.text("cursor");
  return message;
}

ClientMessage read_unsubscribe(const Members& members) {
  members.check(unsubscribe_fields);
  return Unsubscribe{members.name("id", limits::id_bytes)};
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
  if (type == "mutate") return read_mutate(members);
  if (type == "receipts") return read_ask_receipts(members);
  if (type == "pong") return read_pong(members);
  refuse("type", "is not known; it must be " + std::string(message_types));
}

// A mutate is answered under its space and number, where they are sound.
void add_mutation(BadRequest& request, std::string_view type, const Members& members) {
  const Members::Member* const space = members.find("space");
  const Members::Member* const number = members.find("number");
  if (type != "mutate") return;
  if (space != nullptr) request.space = json_string_value(space->value);
  if (request.space && request.space->size() > limits::space_bytes) request.space.reset();
  if (number != nullptr) request.number = json_decimal_value(number->value);
}

// Nothing is wrong with the message but a name that comes twice in the record of a mutation: that is answered as a value
// that no column can hold, and the socket goes on.
bool is_mutation_with_a_name_twice(std::string_view text) {
  if (json_fault(text, {limits::json_depth, limits::json_members, mutation_envelope_depth})) return false;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (text[begin] != '{') return false;
  const Members members(text.substr(begin));
  const Members::Member* const type = members.find("type");
  return type != nullptr && json_string_value(type->value) == "mutate";
}

// The id under which a refused subscribe is answered, where it has a sound one.
std::optional<std::string> answerable_id(std::string_view type, const Members& members) {
  const Members::Member* id = members.find("id");
  if (type != "subscribe" || id == nullptr) return std::nullopt;
  std::optional<std::string> value = json_string_value(id->value);
  return value && !value->empty() && value->size() <= limits::id_bytes ? std::move(value) : std::nullopt;
}

}  // namespace

ParsedClientMessage parse_client_message(std::string_view text) {
  if (const auto fault = json_fault(text, client_bounds); fault && !is_mutation_with_a_name_twice(text)) {
    return BadMessage{*fault};
  }
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (text[begin] != '{') return BadMessage{"not a JSON object"};

  const Members members(text.substr(begin));
  std::string type;
  try {
    const Members::Member* const member = members.find("type");
    if (member == nullptr) refuse("type", "is missing; it must be " + std::string(message_types));
    if (member->kind != JsonKind::string) refuse("type", "must be a string: " + std::string(message_types));
    type = members.text("type");
    return read_by_type(type, members);
  } catch (const Refused& refused) {
    BadRequest request{answerable_id(type, members), refused.message};
    add_mutation(request, type, members);
    return request;
  }
}

}  // namespace viewgate::gateway
