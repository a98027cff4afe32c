// The frame reader: however the stream is cut, the events are the same, and nothing is kept beyond the message limit.
#include <span>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "gateway/ws_codec.hpp"

using namespace viewgate;
using gateway::WsReader;

namespace {

constexpr gateway::WsLimits limits{4096, 8};

struct Seen {
  std::string events;
  bool ended = false;
};

Seen read(std::string bytes, std::size_t piece, gateway::WsRole role) {
  WsReader reader(role, limits);
  Seen out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::span<char> input(bytes.data() + at, std::min(piece, bytes.size() - at));
    while (const auto event = reader.next(input)) {
      out.events += static_cast<char>('0' + static_cast<int>(event->kind));
      out.events += std::to_string(event->code);
      out.events.append(event->text).append(1, '\n');
    }
    fuzz::promise(reader.held_bytes() <= 4 * limits.message_bytes, "what is kept is bounded");
  }
  out.ended = reader.ended();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = 1 + bytes[0] % 32;
  const auto role = bytes[1] % 2 == 0 ? gateway::WsRole::server : gateway::WsRole::client;
  const std::string stream(fuzz::text_of(bytes + 2, size - 2));
  const Seen whole = read(stream, stream.size() + 1, role);
  const Seen cut = read(stream, piece, role);
  fuzz::promise(whole.events == cut.events && whole.ended == cut.ended, "cuts make no difference");
  return 0;
}
