// Cursors of strangers: nothing opens but what was sealed.
#include <string>

#include "fuzz/fuzz.hpp"
#include "gateway/cursor.hpp"

using namespace viewgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const gateway::CursorKeys keys({{1, std::string(32, 'a')}});
  static const gateway::PositionSealer sealer(keys, gateway::GroupId{});
  const std::string_view text = fuzz::text_of(bytes, size);
  const auto parts = gateway::split_cursor(text);
  if (!parts) return 0;
  fuzz::promise(gateway::join_cursor(parts->context, parts->position) == text, "a cursor has one spelling");
  if (const auto position = sealer.open(parts->position)) {
    fuzz::promise(sealer.seal(*position) == parts->position, "a position that opens was sealed");
  }
  if (const auto context = gateway::open_context(keys, parts->context)) {
    fuzz::promise(gateway::seal_context(keys, *context) == parts->context, "a context that opens was sealed");
  }
  return 0;
}
