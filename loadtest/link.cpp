#include "loadtest/link.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "gateway/protocol.hpp"

namespace viewgate::loadtest {

namespace {

constexpr std::string_view websocket_key = "dmlld2dhdGUgbG9hZHRlcw==";
constexpr std::array<unsigned char, 4> mask{0x5a, 0x13, 0xc7, 0x2e};

constexpr std::uint8_t opcode_continuation = 0, opcode_text = 1, opcode_close = 8, opcode_ping = 9, opcode_pong = 10;

std::string accept_of(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr);
  std::array<unsigned char, 32> encoded;
  const int size = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(length));
  return std::string(encoded.begin(), encoded.begin() + size);
}

std::string upgrade_request(const Address& address) {
  return "GET " + std::string(gateway::socket_path) + " HTTP/1.1\r\nHost: " + address.host + ":" +
         std::to_string(address.port) +
         "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
         std::string(websocket_key) + "\r\nSec-WebSocket-Protocol: " + std::string(gateway::subprotocol) + "\r\n\r\n";
}

using ReadBuffer = std::array<char, std::size_t{64} * 1024>;

ReadBuffer& read_buffer() {
  thread_local ReadBuffer buffer;
  return buffer;
}

}  // namespace

Address parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  Address out;
  if (colon != std::string_view::npos) {
    out.host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (failed == std::errc() && end == port.data() + port.size() && out.port != 0) return out;
  }
  throw std::runtime_error("\"" + std::string(text) + "\" is not host:port");
}

void Link::open(const Address& address) {
  abandon();
  ++generation_;
  unread_.clear();
  fragments_.clear();
  unsent_ = upgrade_request(address);
  cut_after_reading_.reset();
  cut_while_sending_ = false;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  if (inet_pton(AF_INET, address.host.c_str(), &to.sin_addr) != 1)
    throw std::runtime_error(address.host + " is not an IPv4 address");
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) throw std::runtime_error(std::string("socket: ") + std::strerror(errno));
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // Before connect: it decides the window that is offered (tcp(7)).
  if (receive_buffer_bytes_ > 0)
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes_, sizeof(receive_buffer_bytes_));
  state_ = State::connecting;
  loop_->watch(fd_, EPOLLOUT, this);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0 && errno != EINPROGRESS) {
    end(0, std::string("connect: ") + std::strerror(errno));
  }
}

void Link::on_ready(std::uint32_t events) {
  const std::uint64_t generation = generation_;
  if (state_ == State::connecting) return connected();
  if ((events & EPOLLOUT) != 0) flush();
  if (generation != generation_ || closed()) return;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  if (on_demand_ && (events & (EPOLLHUP | EPOLLERR)) == 0) return;
  // A bounded number of reads, so that one busy socket does not starve the others of the thread.
  for (int i = 0; i < 4 && read_once(read_buffer().size()); ++i) {
    if (generation != generation_ || closed()) return;
  }
}

void Link::connected() {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return end(0, std::string("connect: ") + std::strerror(error));
  state_ = State::upgrading;
  flush();
}

bool Link::read_once(std::size_t bytes_max) {
  ReadBuffer& buffer = read_buffer();
  std::size_t room = std::min(bytes_max, buffer.size());
  if (cut_after_reading_) room = std::min(room, *cut_after_reading_);
  if (room == 0) {
    cut(true);
    return false;
  }
  const ssize_t count = recv(fd_, buffer.data(), room, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    end(0, count == 0 ? "the server closed the connection without a close frame"
                      : std::string("recv: ") + std::strerror(errno));
    return false;
  }
  const auto size = static_cast<std::size_t>(count);
  bytes_read_ += size;
  if (cut_after_reading_) *cut_after_reading_ -= size;
  take({buffer.data(), size});
  return size == room || cut_after_reading_ == std::size_t{0};
}

void Link::read_some(std::size_t bytes_max) {
  if (state_ == State::upgrading || state_ == State::open) read_once(bytes_max);
}

void Link::take(std::string_view bytes) {
  const std::uint64_t generation = generation_;
  std::string kept;
  if (!unread_.empty()) {
    kept = std::move(unread_);
    kept += bytes;
    bytes = kept;
  }
  const std::size_t size = bytes.size();
  if (state_ != State::upgrading || upgrade(bytes)) {
    while (generation == generation_ && state_ == State::open && take_frame(bytes)) {
    }
  }
  if (generation != generation_ || closed()) return;
  // A large frame grows in place: copying it at every read would be quadratic.
  if (bytes.size() == size && !kept.empty()) {
    unread_ = std::move(kept);
  } else {
    unread_ = bytes;
  }
}

bool Link::upgrade(std::string_view& bytes) {
  const std::size_t header_end = bytes.find("\r\n\r\n");
  if (header_end == std::string_view::npos) return false;
  const std::string_view header = bytes.substr(0, header_end + 2);
  if (!header.starts_with("HTTP/1.1 101 ")) {
    end(0, "upgrade refused: " + std::string(header.substr(0, header.find('\r'))));
    return false;
  }
  static const std::string accept = "Sec-WebSocket-Accept: " + accept_of(websocket_key) + "\r\n";
  static const std::string protocol = "Sec-WebSocket-Protocol: " + std::string(gateway::subprotocol) + "\r\n";
  if (header.find(accept) == std::string_view::npos || header.find(protocol) == std::string_view::npos) {
    end(0, "upgrade without the right Sec-WebSocket-Accept and Sec-WebSocket-Protocol");
    return false;
  }
  bytes.remove_prefix(header_end + 4);
  const std::uint64_t generation = generation_;
  state_ = State::open;
  owner_->on_open();
  return generation == generation_ && !closed();
}

bool Link::take_frame(std::string_view& bytes) {
  if (bytes.size() < 2) return false;
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
  std::size_t header = 2;
  std::uint64_t length = byte(1) & 0x7f;
  if (length >= 126) {
    const std::size_t wide = length == 126 ? 2 : 8;
    if (bytes.size() < 2 + wide) return false;
    length = 0;
    for (std::size_t i = 0; i < wide; ++i) length = length << 8 | byte(2 + i);
    header += wide;
  }
  if ((byte(0) & 0x70) != 0 || (byte(1) & 0x80) != 0) {
    end(0, "a server frame with a mask or reserved bits");
    return false;
  }
  if (bytes.size() < header + length) return false;
  const std::string_view payload = bytes.substr(header, length);
  const std::uint8_t first = byte(0);
  bytes.remove_prefix(header + length);
  handle_frame(first & 0x0f, (first & 0x80) != 0, payload);
  return true;
}

void Link::handle_frame(std::uint8_t opcode, bool final, std::string_view payload) {
  switch (opcode) {
    case opcode_text:
    case opcode_continuation:
      if (final && fragments_.empty()) return owner_->on_message(payload);
      fragments_ += payload;
      if (final) {
        const std::string whole = std::move(fragments_);
        fragments_.clear();
        owner_->on_message(whole);
      }
      return;
    case opcode_ping:
      return send_frame(opcode_pong, payload);
    case opcode_pong:
      return;
    case opcode_close: {
      if (payload.size() < 2) return end(0, "a close frame without a code");
      const auto code = static_cast<std::uint16_t>(static_cast<unsigned char>(payload[0]) << 8 |
                                                   static_cast<unsigned char>(payload[1]));
      return end(code, "closed with " + std::to_string(code) + " " + std::string(payload.substr(2)));
    }
    default:
      return end(0, "a server frame with opcode " + std::to_string(opcode));
  }
}

void Link::send(std::string_view text) {
  if (state_ == State::open) send_frame(opcode_text, text);
}

void Link::close_politely(std::uint16_t code) {
  if (state_ != State::open) return cut(false);
  const std::array<char, 2> payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  send_frame(opcode_close, {payload.data(), payload.size()});
}

void Link::send_frame(std::uint8_t opcode, std::string_view payload) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80 | payload.size());
  } else {
    const int wide = payload.size() < 65536 ? 2 : 8;
    frame += static_cast<char>(0x80 | (wide == 2 ? 126 : 127));
    for (int i = wide - 1; i >= 0; --i) frame += static_cast<char>(payload.size() >> (8 * i) & 0xff);
  }
  for (const unsigned char c : mask) frame += static_cast<char>(c);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    frame += static_cast<char>(static_cast<unsigned char>(payload[i]) ^ mask[i % mask.size()]);
  }
  if (cut_while_sending_) {
    unsent_ += frame.substr(0, frame.size() / 2);
    const std::uint64_t generation = generation_;
    flush();
    if (generation == generation_ && !closed()) cut(false);
    return;
  }
  unsent_ += frame;
  flush();
}

void Link::flush() {
  if (closed()) return;
  if (!unsent_.empty()) {
    const ssize_t count = ::send(fd_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return end(0, std::string("send: ") + std::strerror(errno));
    if (count > 0) unsent_.erase(0, static_cast<std::size_t>(count));
    if (unsent_.empty()) unsent_.shrink_to_fit();
  }
  loop_->change(fd_, interest(), this);
}

std::uint32_t Link::interest() const {
  std::uint32_t out = on_demand_ ? 0U : static_cast<std::uint32_t>(EPOLLIN);
  if (!unsent_.empty()) out |= EPOLLOUT;
  return out;
}

void Link::read_only_on_demand(bool on) {
  if (on_demand_ == on) return;
  on_demand_ = on;
  if (!closed() && state_ != State::connecting) loop_->change(fd_, interest(), this);
}

void Link::cut(bool reset) {
  if (closed()) return;
  if (reset) {
    const linger at_once{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  end(0, "cut");
}

void Link::end(std::uint16_t code, const std::string& why) {
  if (closed()) return;
  abandon();
  owner_->on_ended(code, why);
}

void Link::abandon() {
  if (closed()) return;
  loop_->drop(fd_, this);
  ::close(fd_);
  fd_ = -1;
  state_ = State::closed;
  unread_.clear();
  fragments_.clear();
  unsent_.clear();
}

}  // namespace viewgate::loadtest
