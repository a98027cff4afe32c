// One WebSocket connection of a client: TCP, upgrade, frames, and the ways in which a connection can be made to suffer.
//
// Owned by its client, lives on the loop's thread. Frames are read and written here and not by the server's codec: what
// judges the server shares no code with it. Memory while idle is the socket and this object: what is read goes through
// one buffer of the thread, and only a frame that has not come whole is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "loadtest/loop.hpp"

namespace viewgate::loadtest {

struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
};

/// "host:port"; throws std::runtime_error naming the text.
Address parse_address(std::string_view text);

class LinkOwner {
 public:
  virtual ~LinkOwner() = default;
  virtual void on_open() = 0;
  virtual void on_message(std::string_view text) = 0;
  /// `code`: of the server's close frame, 0 without one. `why`: one line. The link may be opened again.
  virtual void on_ended(std::uint16_t code, const std::string& why) = 0;
};

class Link final : public Watcher {
 public:
  Link(Loop& loop, LinkOwner& owner) : loop_(&loop), owner_(&owner) {}
  ~Link() override { abandon(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void open(const Address& address);
  void send(std::string_view text);
  /// A close frame, then whatever the server does.
  void close_politely(std::uint16_t code);
  /// The socket goes at once, without a word; on_ended is called. With `reset` the peer sees RST.
  void cut(bool reset);
  /// After so many more bytes have been read: whatever frame or record they end in.
  void cut_after_reading(std::size_t bytes) { cut_after_reading_ = bytes; }
  /// In the middle of the next message that is sent.
  void cut_while_sending() { cut_while_sending_ = true; }
  /// Takes the two above back.
  void spare() {
    cut_after_reading_.reset();
    cut_while_sending_ = false;
  }
  /// SO_RCVBUF of the connections to come; 0 = as the kernel sees fit.
  void set_receive_buffer(int bytes) { receive_buffer_bytes_ = bytes; }
  /// A slow reader: nothing is read but by read_some.
  void read_only_on_demand(bool on);
  void read_some(std::size_t bytes_max);

  bool closed() const { return fd_ < 0; }
  bool upgraded() const { return state_ == State::open; }
  std::uint64_t bytes_read() const { return bytes_read_; }

  void on_ready(std::uint32_t events) override;

 private:
  enum class State : std::uint8_t { closed, connecting, upgrading, open };

  void connected();
  bool upgrade(std::string_view& bytes);
  /// Reads up to bytes_max; false when there was nothing, or the link ended.
  bool read_once(std::size_t bytes_max);
  void take(std::string_view bytes);
  /// The next whole frame of `bytes` is handled and taken off; false when there is none, or the link ended.
  bool take_frame(std::string_view& bytes);
  void handle_frame(std::uint8_t opcode, bool final, std::string_view payload);
  void send_frame(std::uint8_t opcode, std::string_view payload);
  void flush();
  void end(std::uint16_t code, const std::string& why);
  void abandon();
  std::uint32_t interest() const;

  Loop* loop_;
  LinkOwner* owner_;
  int fd_ = -1;
  State state_ = State::closed;
  bool on_demand_ = false;
  bool cut_while_sending_ = false;
  std::optional<std::size_t> cut_after_reading_;
  int receive_buffer_bytes_ = 0;
  std::uint64_t generation_ = 0;  ///< counts connections: a callback may have ended the one that called it
  std::uint64_t bytes_read_ = 0;
  std::string unread_;     ///< the begin of a frame (or of the upgrade's answer)
  std::string fragments_;  ///< of a message whose last frame has not come
  std::string unsent_;
};

}  // namespace viewgate::loadtest
