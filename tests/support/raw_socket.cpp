#include "support/raw_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

namespace viewgate::testing {

namespace {

constexpr std::array<std::uint8_t, 4> mask{0x37, 0xfa, 0x21, 0x3d};

}  // namespace

RawSocket::RawSocket(std::uint16_t port, int receive_buffer) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    ::close(fd_);
    throw std::runtime_error("nobody listens on port " + std::to_string(port));
  }
}

RawSocket::~RawSocket() { ::close(fd_); }

bool RawSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool RawSocket::fill(std::chrono::steady_clock::time_point end) {
  if (ended_) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
  if (left < 0) return false;
  pollfd watched{fd_, POLLIN, 0};
  if (::poll(&watched, 1, static_cast<int>(left)) <= 0) return false;
  std::array<char, 65536> bytes;
  const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
  if (count <= 0) {
    ended_ = true;
    return false;
  }
  buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

std::string RawSocket::read_until(std::string_view marker, std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  std::size_t at = buffer_.find(marker);
  for (std::size_t seen = buffer_.size(); at == std::string::npos && fill(end); seen = buffer_.size())
    at = buffer_.find(marker, seen - std::min(seen, marker.size()));
  const std::size_t size = at == std::string::npos ? buffer_.size() : at + marker.size();
  const std::string out = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return out;
}

std::optional<std::string> RawSocket::read_exactly(std::size_t count, std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (buffer_.size() < count) {
    if (!fill(end)) return std::nullopt;
  }
  std::string out = buffer_.substr(0, count);
  buffer_.erase(0, count);
  return out;
}

bool RawSocket::wait_closed(std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (fill(end)) buffer_.clear();
  return ended_;
}

void RawSocket::reset() {
  const linger at_once{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  ::close(fd_);
  fd_ = -1;
  ended_ = true;
}

std::string frame_bytes(const FrameForm& form, std::string_view payload) {
  const std::uint64_t length = form.claimed_length.value_or(payload.size());
  const auto byte = [](std::uint64_t value) { return static_cast<char>(value & 0xff); };
  std::string out(1, byte((form.final ? 0x80U : 0U) | static_cast<unsigned>(form.reserved) << 4 | form.opcode));
  const std::uint64_t masked = form.masked ? 0x80 : 0;
  const int wide = length < 126 ? 0 : length < 65536 ? 2 : 8;
  out += byte(masked | (wide == 0 ? length : wide == 2 ? 126 : 127));
  for (int i = wide - 1; i >= 0; --i) out += byte(length >> (8 * i));
  if (!form.masked) return out.append(payload);
  for (const std::uint8_t c : mask) out += byte(c);
  for (std::size_t i = 0; i < payload.size(); ++i)
    out += byte(static_cast<std::uint8_t>(payload[i]) ^ mask[i % mask.size()]);
  return out;
}

std::string text_frame(std::string_view payload) { return frame_bytes({}, payload); }

std::string close_payload(std::uint16_t code, std::string_view reason) {
  return std::string{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)}.append(reason);
}

std::string upgrade_bytes(const UpgradeRequest& request) {
  return "GET " + request.path +
         " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: "
         "viewgate.v1\r\n" +
         request.extra_headers + "\r\n";
}

RawWebSocket::RawWebSocket(std::uint16_t port, int receive_buffer) : socket_(port, receive_buffer) {
  socket_.send(upgrade_bytes());
  const std::string answer = socket_.read_until("\r\n\r\n");
  // The accept value of the key above is RFC 6455's own example.
  const bool good =
      answer.starts_with("HTTP/1.1 101") && answer.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") != std::string::npos;
  if (!good) throw std::runtime_error("the upgrade was answered with: " + answer);
}

std::optional<Frame> RawWebSocket::read_frame(std::chrono::milliseconds time_max) {
  const auto head = socket_.read_exactly(2, time_max);
  if (!head) return std::nullopt;
  const auto first = static_cast<std::uint8_t>((*head)[0]);
  std::uint64_t length = static_cast<std::uint8_t>((*head)[1]) & 0x7f;
  if (length >= 126) {
    const auto wide = socket_.read_exactly(length == 126 ? 2 : 8, time_max);
    if (!wide) return std::nullopt;
    length = 0;
    for (const char c : *wide) length = length << 8 | static_cast<std::uint8_t>(c);
  }
  auto payload = socket_.read_exactly(length, time_max);
  if (!payload) return std::nullopt;
  return Frame{static_cast<std::uint8_t>(first & 0x0f), (first & 0x80) != 0, std::move(*payload)};
}

std::uint16_t RawWebSocket::read_close(std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (const auto frame = read_frame(
             std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()))) {
    if (frame->opcode == close && frame->payload.size() >= 2) {
      return static_cast<std::uint16_t>(static_cast<std::uint8_t>(frame->payload[0]) << 8 |
                                        static_cast<std::uint8_t>(frame->payload[1]));
    }
  }
  return 0;
}

}  // namespace viewgate::testing
