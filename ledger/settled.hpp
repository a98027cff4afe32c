// A task's outcome where it may also give up by a Failure: for the coroutines at the root, which tell somebody what their
// task came to.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <utility>

#include "ledger/error.hpp"

namespace viewgate::ledger {

template <class T>
boost::asio::awaitable<Result<T>> settled(boost::asio::awaitable<Result<T>> task) {
  try {
    co_return co_await std::move(task);
  } catch (const Failure& failure) {
    co_return failure.error();
  }
}

}  // namespace viewgate::ledger
