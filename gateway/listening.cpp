#include "gateway/listening.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <limits>
#include <system_error>

#include "gateway/admin_door.hpp"

namespace viewgate::gateway {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using reuse_port = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

void open_and_bind(tcp::acceptor& acceptor, const std::string& address, std::uint16_t port, Sharing sharing) {
  try {
    const tcp::endpoint endpoint(asio::ip::make_address(address), port);
    acceptor.open(endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    if (sharing == Sharing::with_other_reactors) acceptor.set_option(reuse_port(true));
    acceptor.bind(endpoint);
    acceptor.listen();
  } catch (const boost::system::system_error& error) {
    throw std::system_error(error.code(), "cannot listen on " + address + ":" + std::to_string(port));
  }
}

std::uint16_t reserve_port(const std::string& address, std::uint16_t port) {
  asio::io_context context(1);
  tcp::acceptor acceptor(context);
  open_and_bind(acceptor, address, port, Sharing::alone);
  return acceptor.local_endpoint().port();
}

int descriptors_for_clients() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > std::numeric_limits<int>::max()) {
    return std::numeric_limits<int>::max();
  }
  return std::max(static_cast<int>(limit.rlim_cur) - static_cast<int>(descriptors_for_operators), 1);
}

bool move_down(tcp::socket& socket) {
  boost::system::error_code error;
  const tcp protocol = socket.local_endpoint(error).protocol();
  const int high = error ? -1 : socket.release(error);
  if (error) return false;
  const int low = ::fcntl(high, F_DUPFD_CLOEXEC, 0);
  ::close(high);
  if (low < 0) return false;
  socket.assign(protocol, low, error);
  if (error) ::close(low);
  return !error;
}

}  // namespace viewgate::gateway
