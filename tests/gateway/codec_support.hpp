// What a reader made of a byte stream, as lines of text that tests compare.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/ws_codec.hpp"

namespace viewgate::test {

/// "message hello", "ping x", "close 1000 bye", "failure 1002".
[[nodiscard]] inline std::string describe(const gateway::WsEvent& event) {
  using Kind = gateway::WsEvent::Kind;
  switch (event.kind) {
    case Kind::message:
      return "message " + std::string(event.text);
    case Kind::ping:
      return "ping " + std::string(event.text);
    case Kind::pong:
      return "pong " + std::string(event.text);
    case Kind::close:
      return "close " + std::to_string(event.code) + ' ' + std::string(event.text);
    case Kind::failure:
      return "failure " + std::to_string(event.code);
  }
  return {};
}

/// Feeds the pieces one after the other, each from a buffer that is gone afterwards.
[[nodiscard]] inline std::vector<std::string> read_pieces(gateway::WsReader& reader,
                                                          const std::vector<std::string>& pieces) {
  std::vector<std::string> out;
  for (const std::string& piece : pieces) {
    std::string buffer = piece;
    std::span<char> input{buffer};
    while (const auto event = reader.next(input)) out.push_back(describe(*event));
  }
  return out;
}

[[nodiscard]] inline std::vector<std::string> read_all(const std::string& stream,
                                                       gateway::WsRole role = gateway::WsRole::server) {
  gateway::WsReader reader(role);
  return read_pieces(reader, {stream});
}

/// A masked frame built byte by byte, so that it can be wrong: `first` is the byte with FIN, RSV and opcode.
[[nodiscard]] inline std::string masked_frame(unsigned first, std::string_view payload) {
  std::string out;
  gateway::append_ws_masked(out, gateway::WsOpcode::text, payload, 0x5AA50FF0);
  out[0] = static_cast<char>(first);
  return out;
}

inline constexpr unsigned fin_text = 0x81;
inline constexpr unsigned more_text = 0x01;
inline constexpr unsigned fin_continuation = 0x80;
inline constexpr unsigned more_continuation = 0x00;
inline constexpr unsigned fin_binary = 0x82;
inline constexpr unsigned fin_close = 0x88;
inline constexpr unsigned fin_ping = 0x89;
inline constexpr unsigned fin_pong = 0x8A;

/// The payload of a close frame.
[[nodiscard]] inline std::string close_payload(unsigned code, std::string_view reason) {
  std::string out{static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  out += reason;
  return out;
}

}  // namespace viewgate::test
