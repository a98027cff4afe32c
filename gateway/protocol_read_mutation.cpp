#include "gateway/protocol_read_mutation.hpp"

#include <algorithm>
#include <array>

#include "gateway/protocol_json.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::array mutate_fields{Field{"space", JsonKind::string}, Field{"number", JsonKind::string},
                                   Field{"mutations", JsonKind::array},
                                   Field{"request_id", JsonKind::string, Presence::optional},
                                   Field{"provenance", JsonKind::object, Presence::optional}};
constexpr std::array body_fields{Field{"client", JsonKind::string}, Field{"number", JsonKind::string},
                                 Field{"mutations", JsonKind::array},
                                 Field{"request_id", JsonKind::string, Presence::optional},
                                 Field{"provenance", JsonKind::object, Presence::optional}};
constexpr std::array ask_receipts_fields{Field{"space", JsonKind::string}, Field{"after", JsonKind::string}};

constexpr std::array whole_record_fields{Field{"kind", JsonKind::string}, Field{"collection", JsonKind::string},
                                         Field{"key", JsonKind::array}, Field{"record", JsonKind::object},
                                         Field{"bases", JsonKind::object, Presence::optional}};
constexpr std::array update_fields{Field{"kind", JsonKind::string}, Field{"collection", JsonKind::string},
                                   Field{"key", JsonKind::array}, Field{"changed", JsonKind::object},
                                   Field{"bases", JsonKind::object, Presence::optional}};
constexpr std::array delete_fields{Field{"kind", JsonKind::string}, Field{"collection", JsonKind::string},
                                   Field{"key", JsonKind::array}, Field{"bases", JsonKind::object, Presence::optional}};

constexpr std::array mutation_kinds{MutationKind::create, MutationKind::update, MutationKind::put,
                                    MutationKind::remove};

MutationKind read_kind(const Members& members, const std::string& place) {
  const Members::Member* const kind = members.find("kind");
  if (kind != nullptr && kind->kind == JsonKind::string) {
    const std::string text = members.text("kind");
    for (const MutationKind each : mutation_kinds) {
      if (name(each) == text) return each;
    }
  }
  refuse(place + "kind", "must be \"create\", \"update\", \"put\" or \"delete\"");
}

std::vector<MutationBase> read_bases(std::string_view object, const std::string& place) {
  std::vector<MutationBase> out;
  const Members groups(object, place);
  for (const Members::Member& member : groups.all()) {
    const std::string name = place + member.name;
    const auto version = json_decimal_value(member.value);
    if (!version) refuse(name, "must be a sequence, a decimal number in a string");
    MutationBase base{member.name, *version};
    if (std::ranges::any_of(out, [&base](const MutationBase& other) { return other.group == base.group; })) {
      refuse(name, "stands twice");
    }
    out.push_back(std::move(base));
  }
  return out;
}

Mutation read_mutation(std::string_view object, const std::string& place) {
  const Members members(object, place);
  Mutation out;
  out.kind = read_kind(members, place);
  switch (out.kind) {
    case MutationKind::create:
    case MutationKind::put:
      members.check(whole_record_fields);
      out.values = members.raw("record", {});
      break;
    case MutationKind::update:
      members.check(update_fields);
      out.values = members.raw("changed", {});
      break;
    case MutationKind::remove:
      members.check(delete_fields);
      break;
  }
  out.collection = members.text("collection");
  out.key = members.raw("key", {});
  out.bases = read_bases(members.raw("bases", "{}"), place + "bases.");
  return out;
}

std::vector<Mutation> read_mutations(std::string_view array) {
  std::vector<Mutation> out;
  JsonSlicer slicer(array);
  while (const auto element = slicer.next()) {
    const std::string place = "mutations[" + std::to_string(out.size()) + "]";
    if (element->kind != JsonKind::object) refuse(place, "must be an object");
    if (out.size() == limits::mutations) refuse("mutations", "must be at most " + std::to_string(limits::mutations));
    out.push_back(read_mutation(element->value, place + "."));
  }
  if (out.empty()) refuse("mutations", "must hold at least one");
  return out;
}

/// What both doors have.
Mutate read_common(const Members& members) {
  Mutate out;
  out.number = members.decimal("number", 1);
  out.mutations = read_mutations(members.raw("mutations", {}));
  if (members.find("request_id") != nullptr) out.request_id = members.name("request_id", limits::request_id_bytes);
  out.provenance = members.raw("provenance", "{}");
  if (out.provenance.size() > limits::provenance_bytes) {
    refuse("provenance", "must be at most " + std::to_string(limits::provenance_bytes) + " bytes");
  }
  if (!is_storable_json(out.provenance)) refuse("provenance", "must not hold U+0000 or half of a surrogate pair");
  return out;
}

}  // namespace

Mutate read_mutate(const Members& members) {
  members.check(mutate_fields);
  std::string space = members.text("space", limits::space_bytes);
  Mutate out = read_common(members);
  out.space = std::move(space);
  return out;
}

AskReceipts read_ask_receipts(const Members& members) {
  members.check(ask_receipts_fields);
  return AskReceipts{members.text("space", limits::space_bytes), members.decimal("after", 0)};
}

std::variant<MutationBody, BadRequest> parse_mutation_body(std::string_view text) {
  if (const auto fault = json_fault(text, {limits::json_depth, limits::json_members, mutation_envelope_depth})) {
    return BadRequest{std::nullopt, std::string(*fault)};
  }
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  try {
    if (text[begin] != '{') refuse("body", "must be a JSON object");
    const Members members(text.substr(begin));
    if (members.find("type") != nullptr) refuse("type", "is not known");
    members.check(body_fields);
    return MutationBody{members.name("client", limits::client_id_bytes), read_common(members)};
  } catch (const Refused& refused) {
    return BadRequest{std::nullopt, refused.message};
  }
}

}  // namespace viewgate::gateway
