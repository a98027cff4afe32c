// RFC 6455 frames without I/O: bytes in, events out; and the few frames that each side writes.
//
// The reader is strict and allocates nothing for a frame that lies whole in the caller's buffer: it unmasks there and
// returns views. Only what the buffer cuts (a partial frame, an unfinished fragmented message) is kept, never more than
// the message limit and never reserved by what a header claims. How the stream is cut makes no difference to the
// events.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/protocol.hpp"
#include "gateway/utf8.hpp"

namespace viewgate::gateway {

enum class WsRole : std::uint8_t { server, client };  ///< a server reads masked frames, a client unmasked ones

struct WsLimits {
  std::size_t message_bytes = limits::client_message_bytes;
  std::size_t message_fragments = limits::client_message_fragments;
};

struct WsEvent {
  enum class Kind : std::uint8_t {
    message,  ///< a complete text message
    ping,     ///< answer with a pong of the same text
    pong,
    close,   ///< the peer's close frame; nothing is read after it
    failure  ///< the peer broke the protocol: close with `code`; nothing is read after it
  };
  Kind kind = Kind::message;
  std::string_view text;   ///< message, payload, the close's reason, or what was wrong (constant text)
  std::uint16_t code = 0;  ///< close: the peer's code, 0 = none given; failure: the code to close with
};

class WsReader {
 public:
  explicit WsReader(WsRole role, WsLimits limits = {}) : role_(role), limits_(limits) {}

  /// Takes the next event off the front of `input`, which shrinks; payload bytes in it are unmasked in place. Absent:
  /// all of `input` was taken and more is needed. An event's text lives until the next call or until the buffer is
  /// reused.
  [[nodiscard]] std::optional<WsEvent> next(std::span<char>& input);

  /// A message or a frame has begun and not ended: what limits::client_message_time is measured on.
  [[nodiscard]] bool inside_message() const { return fragments_ > 0 || header_size_ > 0 || in_payload_; }

  /// A close or failure was returned: all further input is ignored.
  [[nodiscard]] bool ended() const { return ended_; }

  /// Bytes of memory held beyond the object itself.
  [[nodiscard]] std::size_t held_bytes() const { return message_.capacity() + control_.capacity(); }

 private:
  std::optional<WsEvent> read_header(std::span<char>& input);
  std::optional<WsEvent> check_first_two();
  std::optional<WsEvent> check_length(std::size_t length_bytes);
  std::optional<WsEvent> read_payload(std::span<char>& input);
  WsEvent end_control_frame(std::string_view payload);
  WsEvent end_close_frame(std::string_view payload);
  WsEvent fail(std::uint16_t code, std::string_view why);

  // Constant after construction.
  WsRole role_;
  WsLimits limits_;

  // The frame being read.
  std::array<std::uint8_t, 14> header_{};
  std::uint8_t header_size_ = 0;
  std::uint8_t opcode_ = 0;
  bool final_ = false;
  bool in_payload_ = false;
  std::array<std::uint8_t, 4> mask_{};
  std::uint64_t payload_size_ = 0;
  std::uint64_t payload_done_ = 0;

  // The message being read.
  std::size_t fragments_ = 0;
  Utf8Checker utf8_;
  std::string message_;
  std::string control_;
  bool delivered_message_ = false;  // handed out: freed at the next call
  bool delivered_control_ = false;
  bool ended_ = false;
};

/// The header of an unmasked text frame, to be written before the payload without copying it.
struct WsFrameHeader {
  std::array<char, 10> bytes{};
  std::uint8_t size = 0;
  [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
};
[[nodiscard]] WsFrameHeader ws_text_header(std::uint64_t payload_bytes);

// What a server writes: appended to `out`, unmasked.
void append_ws_text(std::string& out, std::string_view payload);
void append_ws_ping(std::string& out, std::string_view payload);  ///< at most 125 bytes
void append_ws_pong(std::string& out, std::string_view payload);  ///< at most 125 bytes
/// `reason` is cut at a character so that the frame holds it (123 bytes).
void append_ws_close(std::string& out, std::uint16_t code, std::string_view reason);

/// What a client writes. `mask`: random per frame.
enum class WsOpcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };
void append_ws_masked(std::string& out, WsOpcode opcode, std::string_view payload, std::uint32_t mask);

}  // namespace viewgate::gateway
