#include "ledger/transaction_pooler.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace viewgate::testing {
namespace {

constexpr std::uint32_t kSslRequest = 80877103;
constexpr std::uint32_t kGssRequest = 80877104;

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return out;
}

/// Appends what has arrived; false at the end.
bool receive(int fd, std::string& into) {
  std::array<char, 65536> buffer{};
  const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  into.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

struct TransactionPooler::Server {
  int fd = -1;
  std::string input;
  Client* client = nullptr;
};

struct TransactionPooler::Client {
  int fd = -1;
  std::string input;
  bool started = false;
  Server* server = nullptr;
};

TransactionPooler::TransactionPooler(std::string unix_socket) : unix_socket_(std::move(unix_socket)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 8) != 0) {
    throw std::runtime_error("a pooler cannot listen");
  }
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

TransactionPooler::~TransactionPooler() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
  for (const auto& client : clients_) ::close(client->fd);
  for (const auto& server : servers_) ::close(server->fd);
}

void TransactionPooler::run() {
  while (!stop_) {
    std::vector<pollfd> fds{{listener_, POLLIN, 0}};
    for (const auto& client : clients_) fds.push_back({client->fd, POLLIN, 0});
    for (const auto& server : servers_) fds.push_back({server->fd, POLLIN, 0});
    if (::poll(fds.data(), fds.size(), 10) <= 0) continue;
    const auto is_ready = [&fds](int fd) {
      return std::ranges::any_of(fds, [fd](const pollfd& one) { return one.fd == fd && one.revents != 0; });
    };
    for (const auto& server : servers_) {
      if (is_ready(server->fd) && !read_server(*server)) stop_ = true;  // a server session ended: no test goes on then
    }
    std::vector<Client*> gone;
    for (const auto& client : clients_) {
      if (is_ready(client->fd) && !read_client(*client)) gone.push_back(client.get());
    }
    for (Client* client : gone) leave(*client);
    if (is_ready(listener_)) accept_client();
  }
}

void TransactionPooler::accept_client() {
  auto client = std::make_unique<Client>();
  client->fd = ::accept(listener_, nullptr, nullptr);
  clients_.push_back(std::move(client));
}

bool TransactionPooler::read_client(Client& client) {
  if (!receive(client.fd, client.input)) return false;
  if (!client.started) return start_client(client);
  if (client.input.starts_with('X')) return false;
  if (!client.server) {
    if (free_.empty()) return true;  // waits: what it said is sent with what it says next
    client.server = free_.back();
    free_.pop_back();
    client.server->client = &client;
  }
  const bool sent = send_all(client.server->fd, client.input);
  client.input.clear();
  return sent;
}

/// Encryption is declined; then a server session is opened with the client's own words.
bool TransactionPooler::start_client(Client& client) {
  while (client.input.size() >= 8 && client.input.size() >= number_at(client.input, 0)) {
    const std::uint32_t size = number_at(client.input, 0);
    const std::uint32_t code = number_at(client.input, 4);
    const std::string packet = client.input.substr(0, size);
    client.input.erase(0, size);
    if (code == kSslRequest || code == kGssRequest) {
      if (!send_all(client.fd, "N")) return false;
      continue;
    }
    auto server = std::make_unique<Server>();
    server->fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, unix_socket_.c_str(), sizeof(address.sun_path) - 1);
    if (::connect(server->fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return false;
    server->client = &client;
    client.server = server.get();
    client.started = true;
    servers_.push_back(std::move(server));
    return send_all(client.server->fd, packet);
  }
  return true;
}

/// Whole messages are handed to the client; at ReadyForQuery outside of a transaction the session is free for another one.
bool TransactionPooler::read_server(Server& server) {
  if (!receive(server.fd, server.input)) return false;
  while (server.input.size() >= 5 && server.input.size() > number_at(server.input, 1)) {
    const std::size_t size = number_at(server.input, 1) + 1;
    const std::string message = server.input.substr(0, size);
    server.input.erase(0, size);
    if (!server.client) continue;
    send_all(server.client->fd, message);
    if (message[0] != 'Z' || message[5] != 'I') continue;
    server.client->server = nullptr;
    server.client = nullptr;
    free_.push_back(&server);
  }
  return true;
}

void TransactionPooler::leave(Client& client) {
  if (client.server) client.server->client = nullptr;
  ::close(client.fd);
  std::erase_if(clients_, [&client](const auto& one) { return one.get() == &client; });
}

}  // namespace viewgate::testing
