#include "ledger/pg/socket.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace viewgate::ledger::pg {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

asio::awaitable<void> Socket::wait_readable() {
  boost::system::error_code ignored;
  co_await descriptor_.async_wait(Descriptor::wait_read, asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<void> Socket::wait_writable() {
  boost::system::error_code ignored;
  co_await descriptor_.async_wait(Descriptor::wait_write, asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<void> Socket::wait_either() {
  using namespace asio::experimental::awaitable_operators;  // NOLINT: the operator is all this header is for
  co_await (wait_readable() || wait_writable());
}

void Socket::arm(std::chrono::steady_clock::time_point when) {
  const auto round = ++round_;
  expired_ = false;
  timer_.expires_at(when);
  timer_.async_wait([self = shared_from_this(), round](boost::system::error_code cancelled) {
    if (cancelled || round != self->round_) return;
    self->expired_ = true;
    boost::system::error_code ignored;
    self->descriptor_.cancel(ignored);
  });
}

void Socket::disarm() {
  ++round_;
  timer_.cancel();
}

}  // namespace viewgate::ledger::pg
