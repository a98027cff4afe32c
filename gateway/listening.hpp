// Listening sockets, and the descriptors that those who come are given.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>

namespace viewgate::gateway {

enum class Sharing : std::uint8_t { alone, with_other_reactors };

/// Throws std::system_error whose text names the address.
void open_and_bind(boost::asio::ip::tcp::acceptor& acceptor, const std::string& address, std::uint16_t port,
                   Sharing sharing);

/// Checks that nobody listens there and finds a port where 0 is asked for; gives the port. Without this a second
/// program of the same user would share the port unnoticed. Throws std::system_error whose text names the address.
[[nodiscard]] std::uint16_t reserve_port(const std::string& address, std::uint16_t port);

/// A client's socket with this descriptor or a higher one is one too many: descriptors are given from below, and the last
/// ones are for operators and the database.
[[nodiscard]] int descriptors_for_clients();

/// To the lowest free descriptor. False: there is none at all; the socket is closed.
[[nodiscard]] bool move_down(boost::asio::ip::tcp::socket& socket);

}  // namespace viewgate::gateway
