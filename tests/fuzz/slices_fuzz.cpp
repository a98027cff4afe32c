// JSON in slices: the readers of strangers' text and of PostgreSQL's stay inside what they are given, and what the strict
// ones accept they agree on.
#include <string>

#include "fuzz/fuzz.hpp"
#include "gateway/json_text.hpp"
#include "projection/json_text.hpp"
#include "projection/record.hpp"

using namespace viewgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::text_of(bytes, size);
  const bool strict = !gateway::json_fault(text, gateway::JsonBounds{32, 4096});
  if (strict) {
    gateway::JsonSlicer slicer(text);
    while (const auto slice = slicer.next()) {
      fuzz::promise(
          slice->value.data() >= text.data() && slice->value.data() + slice->value.size() <= text.data() + text.size(),
          "a slice is of the text");
      fuzz::promise(!gateway::json_fault(slice->value, gateway::JsonBounds{32, 4096}), "a member's value is JSON");
    }
  }
  gateway::JsonSlicer any(text);
  while (any.next()) {
  }
  static_cast<void>(projection::parse_json(text));
  static_cast<void>(projection::value_end(text, 0));
  if (const auto decoded = projection::decode_json_string(text)) {
    fuzz::promise(projection::decode_json_string(projection::encode_json_string(*decoded)) == decoded,
                  "a string comes back");
  }
  static const projection::RecordLayout layout(
      {{"id", projection::Type::int8}, {"a", projection::Type::text}, {"n", projection::Type::numeric}});
  if (const auto record = projection::Record::parse(layout, text)) {
    for (std::size_t i = 0; i < layout.size(); ++i) static_cast<void>(record->value(i));
  }
  return 0;
}
