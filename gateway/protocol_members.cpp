#include "gateway/protocol_members.hpp"

#include <algorithm>
#include <charconv>

#include "gateway/utf8.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::size_t quoted_name_bytes = 64;

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

}  // namespace

void refuse(std::string_view field, std::string_view what) {
  throw Refused{std::string(field) + ": " + std::string(what)};
}

std::optional<std::int64_t> json_decimal_value(std::string_view text) {
  const std::optional<std::string> digits = json_string_value(text);
  if (!digits || digits->empty() || digits->front() == '-' || (digits->size() > 1 && digits->front() == '0')) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* const end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

Members::Members(std::string_view object, std::string place) : place_(std::move(place)) {
  JsonSlicer slicer(object);
  while (const auto slice = slicer.next()) {
    members_.push_back({json_unescape_lossless(slice->name), slice->value, slice->kind});
  }
}

const Members::Member* Members::find(std::string_view name) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [name](const Member& member) { return member.name == name; });
  return found == members_.end() ? nullptr : &*found;
}

void Members::check(std::span<const Field> fields) const {
  for (const Member& member : members_) {
    if (member.name == "type" && place_.empty()) continue;
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&member](const Field& known) { return known.name == member.name; });
    if (field == fields.end()) refuse_member(utf8_prefix(member.name, quoted_name_bytes), known_names(fields));
    if (field->kind != member.kind) refuse_member(field->name, "must be " + std::string(with_article(field->kind)));
  }
  for (const Field& field : fields) {
    if (field.presence == Presence::required && find(field.name) == nullptr) {
      refuse_member(field.name, "is missing, it must be " + std::string(with_article(field.kind)));
    }
  }
}

std::string Members::text(std::string_view name, std::size_t bytes_max) const {
  std::optional<std::string> value = json_string_value(find(name)->value);
  if (!value) refuse_member(name, "must not hold U+0000 or half of a surrogate pair");
  if (bytes_max > 0 && value->size() > bytes_max) {
    refuse_member(name, "must be at most " + std::to_string(bytes_max) + " bytes");
  }
  return *std::move(value);
}

std::string Members::name(std::string_view name, std::size_t bytes_max) const {
  std::string value = text(name, bytes_max);
  if (value.empty()) refuse_member(name, "must not be empty");
  return value;
}

std::string Members::raw(std::string_view name, std::string_view absent) const {
  const Member* const member = find(name);
  return std::string(member == nullptr ? absent : member->value);
}

std::int64_t Members::integer(std::string_view name) const {
  const std::optional<std::int64_t> value = json_integer_value(find(name)->value);
  if (!value) refuse_member(name, "must be an integer within 2^53, without fraction, exponent or -0");
  return *value;
}

std::int64_t Members::decimal(std::string_view name, std::int64_t least) const {
  const std::optional<std::int64_t> value = json_decimal_value(find(name)->value);
  if (!value || *value < least) {
    refuse_member(name, "must be a decimal number in a string, from " + std::to_string(least) + " to 2^63 - 1");
  }
  return *value;
}

std::string Members::known_names(std::span<const Field> fields) const {
  if (fields.empty()) return "is not known; this message has no members but type";
  std::string out = "is not known; the members are ";
  std::string_view separator;
  if (place_.empty()) {
    out += "type";
    separator = ", ";
  }
  for (const Field& field : fields) {
    out.append(separator).append(field.name);
    separator = ", ";
  }
  return out;
}

void Members::refuse_member(std::string_view name, std::string_view what) const {
  refuse(place_ + std::string(name), what);
}

}  // namespace viewgate::gateway
