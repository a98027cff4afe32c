// What clients send, and what a client reads: every text is refused or is a message that comes back the same when it is
// written again.
#include <string>
#include <variant>

#include "fuzz/fuzz.hpp"
#include "gateway/protocol_json.hpp"

using namespace viewgate;

namespace {

std::string written(const gateway::ClientMessage& message) {
  std::string out;
  std::visit([&](const auto& each) { append_document(out, each); }, message);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::text_of(bytes, size);
  const auto parsed = gateway::parse_client_message(text);
  if (const auto* message = std::get_if<gateway::ClientMessage>(&parsed)) {
    const std::string once = written(*message);
    const auto again = gateway::parse_client_message(once);
    const auto* same = std::get_if<gateway::ClientMessage>(&again);
    fuzz::promise(same != nullptr, "a message that was read can be written and read");
    fuzz::promise(written(*same) == once, "it is the same message then");
  }
  static_cast<void>(gateway::parse_server_document(text));
  return 0;
}
