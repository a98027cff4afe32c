// The operators' listener: a port of its own, on the loopback unless configured otherwise, with a credential of its own. What it
// offers is added by whoever has it to offer (`add`); none of it is on the public port.
//
// A thread of its own, so that it answers while the engine and the reactors are busy, and while descriptors have run out (the
// reactors leave some, see descriptors_for_operators). One request on a connection, bounded in bytes and time; whoever has not shown the
// credential gets no more than 401, whatever is asked for, and the pages that say nothing about this node.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/http_api.hpp"

namespace viewgate::gateway {

/// Descriptors that the reactors do not take for sockets of clients: for this port, and to reach the database again.
inline constexpr std::size_t descriptors_for_operators = 16;

struct AdminOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one
  std::string credential;  ///< what must follow "Authorization: Bearer "
  std::size_t body_bytes = std::size_t{64} * 1024;
  std::size_t connections = 32;  ///< at once; the oldest that has not shown the credential makes room for more
  std::chrono::milliseconds time_max{5000};  ///< for a request to arrive, and for a reader to take some of the answer
};

class AdminDoor {
 public:
  /// Called on the door's thread, where it must not block; every request is answered through the reply, from any thread.
  using Handler = std::function<void(HttpRequest request, std::shared_ptr<HttpReply> reply)>;

  explicit AdminDoor(AdminOptions options);
  /// Stops.
  ~AdminDoor();
  AdminDoor(const AdminDoor&) = delete;
  AdminDoor& operator=(const AdminDoor&) = delete;

  /// Before start. `path` is compared with the target up to its query, as it came; each path has one method.
  void add(std::string_view method, std::string_view path, Handler handler);

  /// Before start: a whole answer to GET of exactly this target, to whoever asks. For a page in which the credential is typed in:
  /// a browser shows none before that.
  void add_page(std::string_view target, std::string response);

  /// Begins to listen, and to answer on a thread of its own. Throws std::system_error whose text names the address.
  void start();
  [[nodiscard]] std::uint16_t port() const;

  /// In the place of the one of the options, for whoever asks from now on. From any thread.
  void take_credential(const std::string& credential);

  /// Closes everything at once and joins the thread.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

/// A whole answer, and the end of the connection.
void answer_with(HttpReply& reply, std::string response);

}  // namespace viewgate::gateway
