// A thread with its loop, its listening socket and its connections. Connections never leave it; nothing of it is shared
// but what is said here to be thread-safe. The kernel spreads new connections over the reactors (SO_REUSEPORT).
//
// The server makes them in this order: reserve_port (listening.hpp), reactors, engine (whose `post` is Reactor::post),
// then listen and start for each. At the end: drain for each, stop for each, then the engine may go.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "auth/token_verifier.hpp"
#include "gateway/handshake.hpp"
#include "gateway/http_api.hpp"
#include "gateway/ports.hpp"
#include "gateway/session_options.hpp"
#include "gateway/tally.hpp"
#include "gateway/tls.hpp"

namespace viewgate::gateway {

class Connection;
class Fanout;
class MemoryWatch;
class TicketDesk;

struct ReactorOptions {
  std::size_t index = 0;  ///< the engine knows this reactor by it
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  SessionOptions session;
  HandshakePolicy handshake;
  const TlsIdentity* tls = nullptr;  ///< outlives the reactor; null: without TLS
  TicketDesk* tickets = nullptr;     ///< outlives the reactor; null: no ticket is good
  HttpApi* http_api = nullptr;       ///< outlives the reactor; null: no requests but those of health are answered
  std::vector<std::string> proxies;  ///< whose X-Forwarded-For is believed (TrustedProxies)
  std::size_t strangers = 10'000;    ///< sockets without an accepted hello; for one more the oldest is closed
  MemoryWatch* memory = nullptr;     ///< outlives the reactor; null: memory has no bound
  /// Called on the reactor's thread: it has no room for a client and no stranger to end. Others may have: make_room.
  std::function<void()> on_crowded;
  std::size_t connections = 50'000;  ///< more are told 1013
  std::chrono::milliseconds handshake_time = limits::handshake_time;
  std::chrono::milliseconds sweep{250};  ///< how exact deadlines are
  std::size_t send_buffer_bytes = std::size_t{128} * 1024;
};

/// A look from outside, as of the last sweep but for `connections`.
struct ReactorCounters {
  std::size_t connections = 0;  ///< sockets, also those that are not upgraded yet
  std::size_t sessions = 0;
  std::size_t subscriptions = 0;  ///< those of one socket to one group are one
  std::size_t blocked = 0;        ///< sessions whose socket takes nothing of what there is for it
  std::size_t groups = 0;
  std::size_t ring_bytes = 0;
  std::uint64_t messages_written = 0;
  std::uint64_t bytes_written = 0;
};

/// What an operator's question sees of a reactor, on its thread; nothing of it may be kept.
class ReactorSight {
 public:
  virtual ~ReactorSight() = default;
  [[nodiscard]] virtual std::size_t index() const = 0;
  [[nodiscard]] virtual std::size_t connections() const = 0;
  /// One that ends gives its place to the last one, so a walk from the last to the first misses none that stays.
  [[nodiscard]] virtual const Connection& connection(std::size_t at) const = 0;
  [[nodiscard]] virtual const Fanout& views() const = 0;
};

class Reactor {
 public:
  /// `engine` is called on the reactor's thread; `verifier` is shared. Both outlive the reactor. `model` is not null.
  Reactor(ReactorOptions options, EnginePort& engine, const auth::TokenVerifier& verifier, ActiveModelPtr model);
  /// Stops.
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  /// Throws std::system_error whose text names the address.
  void listen();
  /// Begins to accept, on a thread of its own.
  void start();

  // Thread-safe from here on.

  /// Runs the call on the reactor's thread, in the order of the posts. Also before start; after stop calls are dropped.
  void post(std::function<void(ReactorPort&)> call);

  /// The same for a question. Nothing else is done there while it looks: who has many things to look at posts again.
  void look(std::function<void(const ReactorSight&)> call);

  /// Ends the stranger who came first, if there is one.
  void make_room();

  /// /readyz, and whether sockets are welcome (else they are told 1013). Not ready at first.
  void set_ready(bool ready);

  /// Takes what may change while it runs: session, handshake, proxies, strangers, connections, handshake_time and sweep.
  void take(ReactorOptions options);

  /// How many times the loop came to its sweep: a figure that stands still says that the loop does.
  [[nodiscard]] std::uint64_t turns() const;

  /// No new sockets; each client is told when to come back, spread over the window, and closed with 1012. `done` is
  /// called on the reactor's thread when all are gone, at the latest after the time to close.
  void drain(std::chrono::milliseconds window, std::function<void()> done);

  /// Closes everything at once and joins the thread. Not on the reactor's own thread.
  void stop();

  [[nodiscard]] ReactorCounters counters() const;
  /// What happened so far.
  [[nodiscard]] const Tally& tally() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace viewgate::gateway
