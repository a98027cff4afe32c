#include "gateway/gathered_write.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace viewgate::gateway {

std::size_t bytes_of(std::span<const std::string_view> pieces) {
  std::size_t out = 0;
  for (const auto piece : pieces) out += piece.size();
  return out;
}

std::optional<std::size_t> gathered_write(int socket, std::span<const std::string_view> pieces) {
  constexpr std::size_t gathered_max = 512;
  std::array<iovec, gathered_max> gathered;
  const std::size_t count = std::min(pieces.size(), gathered_max);
  for (std::size_t i = 0; i < count; ++i) {
    gathered[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};  // sendmsg reads, its type does not say so
  }
  msghdr message{};
  message.msg_iov = gathered.data();
  message.msg_iovlen = count;
  ssize_t result = 0;
  do {
    result = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (result < 0 && errno == EINTR);
  if (result >= 0) return static_cast<std::size_t>(result);
  if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
  return std::nullopt;
}

}  // namespace viewgate::gateway
