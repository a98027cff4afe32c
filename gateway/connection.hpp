// One socket: reads the request head, then carries a session's bytes both ways. Writing goes straight to the socket;
// only when that would block is the rest copied and writability waited for. Reading goes into one buffer that all
// connections of the reactor share, so an idle connection holds none.
//
// Lives as long as an operation on its socket is pending; `end` makes the last one complete. On its reactor's thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/admission.hpp"
#include "gateway/correlation.hpp"
#include "gateway/handshake.hpp"
#include "gateway/http_api.hpp"
#include "gateway/http_endpoints.hpp"
#include "gateway/proxies.hpp"
#include "gateway/session.hpp"
#include "gateway/ticket_desk.hpp"
#include "gateway/tls.hpp"

namespace viewgate::gateway {

class Connection;

/// What the connections of a reactor share. It outlives them.
struct ConnectionHost {
  ConnectionHost(Fanout& fanout_, const HandshakePolicy& handshake_) : fanout(fanout_), handshake(handshake_) {}
  virtual ~ConnectionHost() = default;
  /// Whether one more session is welcome.
  [[nodiscard]] virtual Readiness readiness() const = 0;
  [[nodiscard]] virtual bool full() const = 0;
  virtual void on_ended(Connection& connection) = 0;
  /// It is a stranger's no more, or again (strangers_place); where it was so already, nothing happens.
  virtual void on_known(Connection& connection) = 0;
  virtual void on_strange(Connection& connection) = 0;
  /// Counts the connection with its client's address, where that was not known before the head. False: the address has enough.
  [[nodiscard]] virtual bool admit(Connection& connection, const HttpHead& head) = 0;

  Fanout& fanout;
  const HandshakePolicy& handshake;
  const TlsIdentity* tls = nullptr;  ///< null: without TLS
  TicketDesk* tickets = nullptr;     ///< null: no ticket is good
  HttpApi* http_api = nullptr;       ///< answers what it has (HttpApi::has); null: nothing is there
  std::size_t bodies_bytes_max = 0;  ///< of requests that are being read, all together
  std::size_t bodies_bytes = 0;      ///< as their heads announce them
  std::chrono::milliseconds handshake_time{};
  std::chrono::milliseconds no_progress{};  ///< for the reader of an HTTP answer
  std::vector<char> read_buffer;
  std::string write_buffer;
  std::uint64_t messages_written = 0;
  std::uint64_t bytes_written = 0;
};

class Connection final : public Transport, public std::enable_shared_from_this<Connection> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Connection(boost::asio::ip::tcp::socket socket, ConnectionHost& host, Now now);

  void start() { wait_readable(); }
  void flush(Now now) override;
  void on_welcome() override { host_.on_known(*this); }
  void on_tick(Now now);
  [[nodiscard]] Time next_tick() const { return session_ ? session_->next_tick() : deadline_; }

  /// Null while the head is read, and after the end.
  [[nodiscard]] Session* session() { return session_ ? &*session_ : nullptr; }

  /// Whether a request is being answered.
  [[nodiscard]] bool replying() const { return replying_; }

  /// Closes the socket at once.
  void end();

  [[nodiscard]] const Correlation& correlation() const override { return correlation_; }

  // What an operator looks at.
  [[nodiscard]] const Session* session() const { return session_ ? &*session_ : nullptr; }
  [[nodiscard]] Time opened_at() const { return opened_at_; }
  /// Of what was written, what the socket has not taken yet.
  [[nodiscard]] std::size_t pending_bytes() const { return pending_.empty() ? 0 : pending_.size() - pending_written_; }

  /// A trusted proxy's word. Before the first answer.
  void set_id(std::string_view id) { correlation_.id = id; }

  // Kept by the host.
  /// Among the strangers: neither was its hello accepted (yet) nor is a request of its being answered.
  std::optional<std::list<Connection*>::iterator> strangers_place;
  std::size_t host_index = 0;
  std::uint64_t number = 0;               ///< of the host's connections, in the order in which they came
  std::optional<Admission::Place> place;  ///< among its address's connections
  AddressBytes address;                   ///< the client's; the proxy's as long as `awaits_client`
  bool awaits_client = false;             ///< the peer is a trusted proxy, whose request names the client

 private:
  void wait_readable();
  void wait_writable();
  void on_readable();
  void on_writable();
  /// False: the connection has ended.
  [[nodiscard]] bool take(std::span<char> bytes, Now now);
  [[nodiscard]] bool take_head(std::span<char> bytes, Now now);
  [[nodiscard]] bool take_request(std::string_view head, Now now);
  [[nodiscard]] std::optional<std::string> refuse_body(const HttpHead& head, std::size_t bytes);
  [[nodiscard]] bool take_body(std::string_view bytes);
  void refuse_handshake(const HandshakeRefused& refused, Now now);
  void answer_and_leave(std::string response, Now now);
  void upgrade(const HandshakeAccepted& accepted, Now now);
  void use_ticket(const std::string& ticket);

  void write(std::span<const std::string_view> pieces);
  void reset();
  void keep(std::span<const std::string_view> pieces, std::size_t written);
  [[nodiscard]] std::optional<std::size_t> receive(std::span<char> into, Now now);
  [[nodiscard]] std::optional<std::size_t> send(std::span<const std::string_view> pieces);
  void say_nothing_more();

  // The answer to an HTTP request, see HttpReply.
  class Reply;
  void write_reply(std::string bytes, std::function<void(bool)> written);
  void finish_reply();
  void tell_written(bool alive);

  boost::asio::ip::tcp::socket socket_;
  ConnectionHost& host_;
  const Time opened_at_;
  Correlation correlation_ = new_correlation();
  const std::unique_ptr<TlsStream> tls_;  // over socket_; null: without TLS
  std::optional<Session> session_;
  std::string head_;  // of the request, until it is complete
  // A request whose head is admitted, until its body is complete.
  std::optional<HttpHead> admitted_;
  std::string body_;
  std::size_t body_bytes_ = 0;
  std::size_t reserved_ = 0;  // of host_.bodies_bytes
  std::string pending_;       // what the socket did not take
  std::size_t pending_written_ = 0;
  std::shared_ptr<const void> ticket_asker_;  // ends with the connection; other threads look whether it has
  Time deadline_;                             // while there is no session
  bool reading_ = false;
  bool writing_ = false;   // waits for writability
  bool replying_ = false;  // a request is being answered
  bool reply_begun_ = false;
  bool leaving_ = false;                               // has said everything; waits for the other side's end
  std::vector<std::function<void(bool)>> on_written_;  // of the answer, once pending_ is written
  bool ended_ = false;
};

}  // namespace viewgate::gateway
