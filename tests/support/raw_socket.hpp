// A socket that says exactly the bytes it is told to, right or wrong, and reads with a bound; and a WebSocket over it
// whose frames are made by hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/patience.hpp"

namespace viewgate::testing {

class RawSocket {
 public:
  /// Throws std::runtime_error where nobody listens.
  explicit RawSocket(std::uint16_t port, int receive_buffer = 0);
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  /// False when the peer does not take them any more.
  bool send(std::string_view bytes);
  /// Everything up to and with `marker`; what came instead when the peer closed or the time is over.
  std::string read_until(std::string_view marker, std::chrono::milliseconds time_max = patience);
  /// So many bytes, or nothing.
  std::optional<std::string> read_exactly(std::size_t count, std::chrono::milliseconds time_max = patience);
  /// Reads and forgets until the peer has closed; false when it has not within the time.
  bool wait_closed(std::chrono::milliseconds time_max = patience);
  /// RST.
  void reset();
  int fd() const { return fd_; }

 private:
  /// Reads once into buffer_; false at the end of the time or of the connection.
  bool fill(std::chrono::steady_clock::time_point end);

  int fd_ = -1;
  bool ended_ = false;
  std::string buffer_;
};

enum Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

struct FrameForm {
  std::uint8_t opcode = text;
  bool final = true;
  bool masked = true;
  std::uint8_t reserved = 0;                         ///< the three RSV bits
  std::optional<std::uint64_t> claimed_length = {};  ///< another length than the payload's
};

std::string frame_bytes(const FrameForm& form, std::string_view payload);
std::string text_frame(std::string_view payload);
std::string close_payload(std::uint16_t code, std::string_view reason = "");

struct Frame {
  std::uint8_t opcode = 0;
  bool final = true;
  std::string payload;
};

struct UpgradeRequest {
  std::string path = "/v1/socket";
  std::string extra_headers;  ///< lines ending in CRLF
};
std::string upgrade_bytes(const UpgradeRequest& request = {});

/// A RawSocket that has been upgraded.
class RawWebSocket {
 public:
  /// Throws std::runtime_error with the answer when it is not 101.
  explicit RawWebSocket(std::uint16_t port, int receive_buffer = 0);

  RawSocket& socket() { return socket_; }
  bool send(const FrameForm& form, std::string_view payload) { return socket_.send(frame_bytes(form, payload)); }
  bool send_text(std::string_view payload) { return socket_.send(text_frame(payload)); }
  /// The next frame; nothing when the connection ended or the time is over.
  std::optional<Frame> read_frame(std::chrono::milliseconds time_max = patience);
  /// Reads on until a close frame; its code, or 0 when the connection ended (or the time was over) without one.
  std::uint16_t read_close(std::chrono::milliseconds time_max = patience);

 private:
  RawSocket socket_;
};

}  // namespace viewgate::testing
