// What a conformance suite talks to: a server that sends every text back, made of the gateway's own reader of frames, its own frames
// and its own answer to the upgrade. The suite's client asks for no subprotocol and a path of its own, so these two are put into the
// request before it is looked at.
//
//   viewgate-echo            prints the port and serves until its input ends
#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <iostream>
#include <thread>

#include "gateway/handshake.hpp"
#include "gateway/protocol.hpp"
#include "gateway/ws_codec.hpp"

namespace {

namespace asio = boost::asio;
namespace gateway = viewgate::gateway;
using tcp = asio::ip::tcp;

// The suite sends messages of 16 MiB, and in many fragments.
constexpr std::size_t message_bytes = std::size_t{32} << 20;
constexpr std::size_t message_fragments = 1'000'000;

std::string without(std::string text, std::string_view line) {
  const std::size_t at = text.find(line);
  return at == std::string::npos ? text : text.erase(at, line.size());
}

/// The request as our own client would make it, up to its end. Empty: there is none.
std::string read_request(tcp::socket& socket, std::string& rest) {
  std::array<char, 4096> buffer;
  while (rest.find("\r\n\r\n") == std::string::npos) rest.append(buffer.data(), socket.read_some(asio::buffer(buffer)));
  const std::size_t end = rest.find("\r\n\r\n") + 4;
  std::string head = rest.substr(0, end);
  rest.erase(0, end);
  const std::size_t line_end = head.find("\r\n");
  return "GET " + std::string(gateway::socket_path) +
         " HTTP/1.1\r\nSec-WebSocket-Protocol: " + std::string(gateway::subprotocol) + head.substr(line_end);
}

/// False: the connection is over.
bool answer(gateway::WsReader& reader, std::span<char> bytes, std::string& out) {
  while (const auto event = reader.next(bytes)) {
    using Kind = gateway::WsEvent::Kind;
    constexpr std::uint16_t normal = 1000;
    if (event->kind == Kind::message) gateway::append_ws_text(out, event->text);
    if (event->kind == Kind::ping) gateway::append_ws_pong(out, event->text);
    if (event->kind == Kind::close) gateway::append_ws_close(out, event->code == 0 ? normal : event->code, {});
    if (event->kind == Kind::failure) gateway::append_ws_close(out, event->code, event->text);
    if (reader.ended()) return false;
  }
  return true;
}

void serve(tcp::socket socket) {
  std::string rest;
  const std::string request = read_request(socket, rest);
  const auto outcome = gateway::check_handshake(request, {});
  if (const auto* refused = std::get_if<gateway::HandshakeRefused>(&outcome)) {
    asio::write(socket, asio::buffer(gateway::handshake_response(refused->answer)));
    return;
  }
  const std::string chosen = "Sec-WebSocket-Protocol: " + std::string(gateway::subprotocol) + "\r\n";
  asio::write(socket, asio::buffer(
                          without(gateway::handshake_response(std::get<gateway::HandshakeAccepted>(outcome)), chosen)));
  gateway::WsReader reader(gateway::WsRole::server, {message_bytes, message_fragments});
  std::string out;
  bool goes_on = answer(reader, rest, out);
  std::array<char, 65536> buffer;
  while (goes_on || !out.empty()) {
    asio::write(socket, asio::buffer(std::exchange(out, {})));
    if (!goes_on) break;
    goes_on = answer(reader, std::span(buffer).first(socket.read_some(asio::buffer(buffer))), out);
  }
  boost::system::error_code over;
  socket.shutdown(tcp::socket::shutdown_send, over);
  while (!over) socket.read_some(asio::buffer(buffer), over);
}

}  // namespace

int main() {
  asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::cout << acceptor.local_endpoint().port() << std::endl;
  std::vector<std::jthread> threads;
  const auto is_over = [] {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::poll(&input, 1, 0) > 0;
  };
  acceptor.non_blocking(true);
  while (!is_over()) {
    boost::system::error_code none;
    tcp::socket socket = acceptor.accept(none);
    if (none) {
      pollfd both[2] = {{STDIN_FILENO, POLLIN, 0}, {acceptor.native_handle(), POLLIN, 0}};
      ::poll(both, 2, -1);
      continue;
    }
    socket.native_non_blocking(false);
    threads.emplace_back([socket = std::move(socket)]() mutable {
      try {
        serve(std::move(socket));
      } catch (const boost::system::system_error&) {
        return;  // the other side has left
      }
    });
  }
}
