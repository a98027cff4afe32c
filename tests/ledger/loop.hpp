// One thread's event loop for tests: runs coroutines to their end, and pumps until something holds.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <optional>

#include "ledger/pg/connection.hpp"
#include "support/patience.hpp"

namespace viewgate::testing {

class Loop {
 public:
  boost::asio::io_context& io() { return io_; }

  /// Runs what there is to run until the condition holds; false after the bound.
  template <class Condition>
  bool until(Condition condition, std::chrono::milliseconds time_max = patient(std::chrono::seconds(20))) {
    const auto end = std::chrono::steady_clock::now() + time_max;
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      if (io_.stopped()) io_.restart();
      io_.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  /// For so long, whatever happens: only to give something that must not happen its chance.
  void spin(std::chrono::milliseconds time) {
    until([] { return false; }, time);
  }

  /// The result of a coroutine.
  template <class T>
  ledger::Result<T> await(ledger::pg::Task<T> task) {
    std::optional<ledger::Result<T>> out;
    const auto rethrow = [](const std::exception_ptr& problem) {
      if (problem) std::rethrow_exception(problem);
    };
    boost::asio::co_spawn(io_, keep(std::move(task), out), rethrow);
    if (!until([&out] { return out.has_value(); }, patient(std::chrono::seconds(60)))) {
      throw std::runtime_error("a coroutine did not end");
    }
    return std::move(*out);
  }

 private:
  // co_spawn would want a default value of T.
  template <class T>
  static boost::asio::awaitable<void> keep(ledger::pg::Task<T> task, std::optional<ledger::Result<T>>& out) {
    out.emplace(co_await std::move(task));
  }

  boost::asio::io_context io_;
};

inline const char* name_of(const ledger::Error& error) { return ledger::name(error.code); }

/// The value, or a failed test that says why there is none.
template <class T>
T value_of(ledger::Result<T> result) {
  if (!result) throw std::runtime_error(std::string(name_of(result.error())) + ": " + result.error().detail);
  return std::move(*result);
}

inline void expect_ok(const ledger::Result<void>& result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().detail);
}

}  // namespace viewgate::testing
