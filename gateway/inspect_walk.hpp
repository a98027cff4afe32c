// Walks over what a loop owns, a bounded piece in each of its turns, so that whatever waits there comes in between: a question
// about 100,000 connections delays no commit by more than one piece takes, some hundred microseconds.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gateway/connection.hpp"
#include "gateway/engine.hpp"
#include "gateway/fanout.hpp"
#include "gateway/reactor.hpp"
#include "gateway/table_walk.hpp"

namespace viewgate::gateway {

inline constexpr std::size_t walk_piece = 512;

/// Of a reactor. `piece` is called on its thread until it says that it is done.
using ReactorPiece = std::function<Steps(const ReactorSight&)>;
inline void walk(Reactor& reactor, ReactorPiece piece) {
  reactor.look([&reactor, piece = std::move(piece)](const ReactorSight& sight) mutable {
    if (piece(sight) != Steps::done) walk(reactor, std::move(piece));
  });
}

/// Of the engine, on its loop.
using EnginePiece = std::function<Steps(const Engine&)>;
inline void walk(boost::asio::io_context& io, const Engine& engine, EnginePiece piece) {
  boost::asio::post(io, [&io, &engine, piece = std::move(piece)]() mutable {
    if (piece(engine) != Steps::done) walk(io, engine, std::move(piece));
  });
}

/// Every connection that stays there meanwhile, from the last to the first; `see` says whether to go on. A subscription
/// costs as much as a connection.
class ConnectionWalk {
 public:
  template <class See>
  Steps some(const ReactorSight& sight, const See& see) {
    left_ = std::min(left_, sight.connections());
    for (std::size_t seen = 0; left_ > 0 && seen < walk_piece; ++seen) {
      const Connection& connection = sight.connection(--left_);
      if (connection.session() != nullptr) seen += connection.session()->streams().size();
      if (!see(connection)) return Steps::done;
    }
    return left_ > 0 ? Steps::more : Steps::done;
  }

 private:
  std::size_t left_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace viewgate::gateway
