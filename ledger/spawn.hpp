// Starts a coroutine of this layer: after the calling function has returned, never inside it. What it throws leaves
// io_context::run, so a root coroutine catches what it can act on.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace viewgate::ledger {

template <class Executor>
void spawn(const Executor& executor, boost::asio::awaitable<void> coroutine) {
  boost::asio::post(executor, [executor, root = std::move(coroutine)]() mutable {
    boost::asio::co_spawn(executor, std::move(root), [](const std::exception_ptr& problem) {
      if (problem) std::rethrow_exception(problem);
    });
  });
}

}  // namespace viewgate::ledger
