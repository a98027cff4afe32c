#include "loadtest/peers/receivers.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace viewgate::loadtest {

namespace {

std::vector<char>& read_buffer() {
  static std::vector<char> buffer(std::size_t{256} * 1024);
  return buffer;
}

}  // namespace

std::string client_frame(std::uint8_t opcode, std::string_view payload) {
  std::string out(1, static_cast<char>(0x80 | opcode));
  if (payload.size() < 126) {
    out += static_cast<char>(0x80 | payload.size());
  } else {
    out += static_cast<char>(0x80 | 126);
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size() & 0xff);
  }
  return out.append(4, '\0').append(payload);
}

std::string upgrade_of(const Address& address, const std::string& path, const std::string& subprotocol) {
  std::string out = "GET " + path + " HTTP/1.1\r\nHost: " + address.host + ":" + std::to_string(address.port) +
                    "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    "Sec-WebSocket-Version: 13\r\n";
  if (!subprotocol.empty()) out += "Sec-WebSocket-Protocol: " + subprotocol + "\r\n";
  return out + "\r\n";
}

class Receivers::Receiver final : public Watcher {
 public:
  explicit Receiver(Receivers& owner) : owner_(&owner) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(owner.greeting_.address.port);
    inet_pton(AF_INET, owner.greeting_.address.host.c_str(), &to.sin_addr);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) throw std::runtime_error(std::string("socket: ") + std::strerror(errno));
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0 && errno != EINPROGRESS)
      throw std::runtime_error(std::string("connect: ") + std::strerror(errno));
    owner.loop_->watch(fd_, EPOLLOUT, this);
  }
  ~Receiver() override { close(); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void on_ready(std::uint32_t) override {
    if (state_ == State::connecting) {
      state_ = State::upgrading;
      send(upgrade_of(owner_->greeting_.address, owner_->greeting_.path, owner_->greeting_.subprotocol));
      return owner_->loop_->change(fd_, EPOLLIN, this);
    }
    std::vector<char>& buffer = read_buffer();
    const ssize_t count = recv(fd_, buffer.data(), buffer.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return end("closed by the server");
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    if (state_ == State::upgrading) return upgrade(bytes);
    scanner_.scan(bytes, [this](const Mark& mark) { owner_->arrived(*this, mark); });
  }

  /// Greetings are small and the socket is empty: a write that does not take all of it is a failure.
  void send(const std::string& bytes) {
    if (!bytes.empty() && ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
      end("could not be written to");
  }

  std::uint32_t last = 0;  ///< number of the latest mark; 0 = none yet

 private:
  enum class State : std::uint8_t { connecting, upgrading, open, closed };

  void upgrade(std::string_view bytes) {
    answer_ += bytes;
    const std::size_t header_end = answer_.find("\r\n\r\n");
    if (header_end == std::string::npos) return;
    if (!answer_.starts_with("HTTP/1.1 101 ")) return end("refused: " + answer_.substr(0, answer_.find('\r')));
    state_ = State::open;
    ++owner_->greeted_;
    send(owner_->greeting_.frames);
    scanner_.scan(answer_.substr(header_end + 4), [this](const Mark& mark) { owner_->arrived(*this, mark); });
    answer_ = {};
  }

  void end(const std::string& why) {
    if (state_ != State::closed) ++owner_->closed_;
    if (owner_->problem_.empty()) owner_->problem_ = why;
    close();
  }

  void close() {
    if (fd_ < 0) return;
    owner_->loop_->drop(fd_, this);
    ::close(fd_);
    fd_ = -1;
    state_ = State::closed;
  }

  Receivers* owner_;
  int fd_ = -1;
  State state_ = State::connecting;
  std::string answer_;
  MarkScanner scanner_;
};

Receivers::Receivers(Loop& loop, const Greeting& greeting, std::size_t count) : loop_(&loop), greeting_(greeting) {
  constexpr std::size_t at_once = 200;
  const Clock::time_point give_up = Clock::now() + std::chrono::minutes(1);
  while (greeted_ < count) {
    while (all_.size() < count && all_.size() - greeted_ < at_once) all_.push_back(std::make_unique<Receiver>(*this));
    loop.turn(std::chrono::milliseconds(10));
    if (!problem_.empty()) throw std::runtime_error("a connection was " + problem_);
    if (Clock::now() > give_up) throw std::runtime_error("not all connections came about within a minute");
  }
}

Receivers::~Receivers() = default;

void Receivers::arrived(Receiver& at, const Mark& mark) {
  ++delivered_;
  if (at.last != 0 && mark.number != at.last + 1) ++gaps_;
  at.last = mark.number;
  if (mark.number > measured_after_) latency_.add(Clock::now() - mark.due);
}

void Receivers::measure_after(std::uint32_t after) {
  measured_after_ = after;
  latency_ = {};
}

void Receivers::send_from_first(const std::string& bytes) { all_.front()->send(bytes); }

}  // namespace viewgate::loadtest
