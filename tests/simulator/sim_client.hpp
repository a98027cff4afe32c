// A client and its connection, for a simulation in one thread. The connection is two pipes of bytes with a bounded middle, as
// sockets are; every byte moves only when the simulation says so, and it can be cut after any of them.
//
// The client folds what it gets with the load test's fold, which checks every promise of the protocol on the way, keeps set
// and cursor over cuts, and comes back with them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/session.hpp"
#include "loadtest/fold.hpp"
#include "simulator/fake_ledger.hpp"

namespace viewgate::simulator {

/// The server's end of a connection: what gateway::Connection is over a socket.
class SimConnection final : public gateway::Transport {
 public:
  SimConnection(gateway::Fanout& fanout, std::size_t capacity, gateway::Now now)
      : capacity_(capacity), session_(std::in_place, fanout, *this, now) {}

  void flush(gateway::Now now) override;
  void on_welcome() override {}
  [[nodiscard]] const gateway::Correlation& correlation() const override { return correlation_; }
  void on_tick(gateway::Now now);
  /// Bytes from the client; false: the connection is over.
  void receive(std::string bytes, gateway::Now now);
  /// What the client's side takes out of the pipe, at most so many bytes.
  [[nodiscard]] std::string take(std::size_t bytes_max, gateway::Now now);

  /// Closed by the server; what is in the pipe can still be taken.
  [[nodiscard]] bool closed() const { return !session_; }
  [[nodiscard]] bool drained() const { return pipe_.empty(); }
  [[nodiscard]] gateway::Session* session() { return session_ ? &*session_ : nullptr; }

 private:
  void fill_pipe();
  void end_if_over();

  const std::size_t capacity_;
  const gateway::Correlation correlation_{"0123456789abcdef", {}};  // the same in each run
  std::string pipe_;                                                // in the kernel, so to say
  std::string pending_;                                             // the rest of a message
  std::optional<gateway::Session> session_;
};

/// One view that the client wants, over all its connections.
struct Slot {
  Slot(gateway::Subscribe request_, loadtest::Violations& violations)
      : request(std::move(request_)), fold(request.id, violations) {}

  gateway::Subscribe request;
  gateway::GroupSpecPtr spec;  ///< for whoever judges the fold
  loadtest::Fold fold;
  enum class Link : std::uint8_t { none, asked, told, leaving } link = Link::none;
  std::string channel;
  std::string id;      ///< under which it is subscribed now
  std::string shadow;  ///< another subscription to the same; empty = none
  bool shadow_told = false;
  std::string former;  ///< left, but that was not answered yet: what comes for it is still for this set
  std::chrono::steady_clock::time_point ask_at;
};

class SimClient {
 public:
  SimClient(std::string name, std::vector<gateway::Subscribe> wanted, loadtest::Violations& violations);

  void connect(gateway::Fanout& fanout, std::size_t capacity, std::string token, gateway::Now now);
  [[nodiscard]] bool connected() const { return connection_ != nullptr; }
  [[nodiscard]] SimConnection* connection() { return connection_.get(); }

  /// Takes up to so many bytes from the server and acts on what is complete in them.
  void read(std::size_t bytes_max, gateway::Now now);
  /// Sends up to so many of the bytes that it has to say.
  void write(std::size_t bytes_max, gateway::Now now);
  /// Asks for what it does not have.
  void want(gateway::Now now);
  /// The connection is gone, now, with what was in it.
  void cut();

  // Things that a user of the client may do at any time.
  void leave(Slot& slot);
  void cast_shadow(Slot& slot);
  void step_into_shadow(Slot& slot);

  [[nodiscard]] std::vector<std::unique_ptr<Slot>>& slots() { return slots_; }
  [[nodiscard]] std::string describe() const;

 private:
  void say(const std::string& text);
  void on_message(std::string_view text, gateway::Now now);
  void on_document(std::string_view document, gateway::Now now);
  void on_subscribed(const std::vector<loadtest::Member>& document);
  void on_error(const std::vector<loadtest::Member>& document, gateway::Now now);
  void broken(const std::string& what) { violations_.add(name_ + ": " + what); }
  [[nodiscard]] Slot* by_id(std::string_view id);
  [[nodiscard]] Slot* by_channel(std::string_view channel);
  void lose(Slot& slot);

  const std::string name_;
  loadtest::Violations& violations_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<SimConnection> connection_;
  gateway::WsReader reader_{gateway::WsRole::client};
  std::string to_say_;
  bool welcomed_ = false;
  bool gives_up_ = false;
  int next_id_ = 0;
};

}  // namespace viewgate::simulator
