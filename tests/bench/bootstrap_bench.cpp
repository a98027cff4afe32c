// Reads the snapshot of one view on many sockets at once, as fast as it comes, and says how long that took:
//
//   bootstrap_bench HOST:PORT TOKEN SPACE VIEW CLIENTS
//
// It counts bytes and looks for each client's `ready`; nothing is parsed, so that it is not what is measured. Prints
// {"clients":…,"seconds":…,"bytes":…}.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/protocol_json.hpp"
#include "gateway/ws_codec.hpp"

namespace {

using namespace viewgate::gateway;  // NOLINT(google-build-using-namespace): a program of one file

constexpr std::string_view mark = R"({"type":"ready")";

struct Client {
  int socket = -1;
  std::string carry;  ///< the last bytes that were read, where the mark may have begun
  bool is_ready = false;
};

int connect_to(const std::string& host, const std::string& port) {
  const int out = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  if (::connect(out, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error("nobody listens at " + host + ":" + port);
  }
  return out;
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("the server has closed a socket");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

template <class Message>
void say(int socket, const Message& message) {
  std::string text;
  append_document(text, message);
  std::string frame;
  append_ws_masked(frame, WsOpcode::text, text, 0x12345678);
  send_all(socket, frame);
}

/// Upgraded and welcomed.
int open_socket(const std::string& host, const std::string& port, const std::string& token) {
  const int out = connect_to(host, port);
  send_all(out, "GET /v1/socket HTTP/1.1\r\nHost: " + host +
                    "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: viewgate.v1\r\n\r\n");
  say(out, Hello{1, token});
  std::string heard;
  std::vector<char> buffer(4096);
  while (heard.find("\"welcome\"") == std::string::npos) {
    const auto count = ::recv(out, buffer.data(), buffer.size(), 0);
    if (count <= 0) throw std::runtime_error("no welcome: " + heard);
    heard.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return out;
}

/// How many bytes came; 0: nothing more will.
std::size_t read_some(Client& client, std::vector<char>& buffer) {
  const std::size_t carried = client.carry.copy(buffer.data(), client.carry.size());
  const auto count = ::recv(client.socket, buffer.data() + carried, buffer.size() - carried, 0);
  if (count <= 0) return 0;
  const std::string_view all(buffer.data(), carried + static_cast<std::size_t>(count));
  client.is_ready = all.find(mark) != std::string_view::npos;
  client.carry = all.substr(all.size() - std::min(all.size(), mark.size() - 1));
  return static_cast<std::size_t>(count);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) {
    std::fputs("bootstrap_bench HOST:PORT TOKEN SPACE VIEW CLIENTS\n", stderr);
    return EXIT_FAILURE;
  }
  try {
    const std::string address = arguments[1];
    const auto colon = address.rfind(':');
    std::vector<Client> clients(std::stoul(arguments[5]));
    const int poll = ::epoll_create1(0);
    for (std::size_t i = 0; i < clients.size(); ++i) {
      clients[i].socket = open_socket(address.substr(0, colon), address.substr(colon + 1), arguments[2]);
      epoll_event event{EPOLLIN, {}};
      event.data.u64 = i;
      ::epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].socket, &event);
    }
    Subscribe subscribe;
    subscribe.id = "a";
    subscribe.space = arguments[3];
    subscribe.view = arguments[4];
    const auto begun = std::chrono::steady_clock::now();
    for (const auto& each : clients) say(each.socket, subscribe);
    std::vector<char> buffer(std::size_t{256} * 1024);
    std::vector<epoll_event> events(256);
    std::size_t bytes = 0;
    for (std::size_t ready = 0; ready < clients.size();) {
      const int woken = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < woken; ++i) {
        Client& client = clients[events[static_cast<std::size_t>(i)].data.u64];
        const auto came = read_some(client, buffer);
        if (came == 0) throw std::runtime_error("a socket was closed before its ready");
        bytes += came;
        if (!client.is_ready) continue;
        ++ready;
        ::epoll_ctl(poll, EPOLL_CTL_DEL, client.socket, nullptr);
      }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::printf("{\"clients\":%zu,\"seconds\":%.3f,\"bytes\":%zu}\n", clients.size(), took.count(), bytes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bootstrap_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
