#include "gateway/reactor.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <optional>
#include <random>
#include <system_error>
#include <thread>

#include "gateway/connection.hpp"
#include "gateway/listening.hpp"
#include "gateway/log.hpp"
#include "gateway/memory_watch.hpp"

namespace viewgate::gateway {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

namespace {

constexpr std::size_t read_buffer_bytes = std::size_t{64} * 1024;
constexpr std::chrono::milliseconds accept_pause{100};  // when descriptors or memory ran out
constexpr int room_tries = 10;                          // so often after such a pause

AddressBytes peer_of(const tcp::socket& socket) {
  boost::system::error_code gone;
  return parse_address(socket.remote_endpoint(gone).address().to_string());
}

}  // namespace

class Reactor::Loop final : public ConnectionHost, public ReactorSight {
 public:
  Loop(ReactorOptions options, EnginePort& engine, const auth::TokenVerifier& verifier, ActiveModelPtr model)
      : ConnectionHost(fanout_, options_.handshake),
        options_(std::move(options)),
        proxies_(options_.proxies),
        acceptor_(context_),
        accept_timer_(context_),
        sweep_timer_(context_),
        work_(asio::make_work_guard(context_)),
        fanout_(options_.index, options_.session, engine, verifier, std::move(model), [this] { flush_soon(); }) {
    handshake_time = options_.handshake_time;
    tls = options_.tls;
    tickets = options_.tickets;
    http_api = options_.http_api;
    constexpr std::size_t largest_bodies = 16;
    if (http_api != nullptr) bodies_bytes_max = largest_bodies * http_api->body_bytes_max();
    no_progress = options_.session.no_progress;
    read_buffer.resize(read_buffer_bytes);
  }

  void listen() { open_and_bind(acceptor_, options_.address, options_.port, Sharing::with_other_reactors); }

  void start() {
    accept();
    sweep_later();
    thread_ = std::thread([this] {
      // What top, perf and a debugger call it.
      ::pthread_setname_np(::pthread_self(), ("reactor-" + std::to_string(options_.index)).c_str());
      context_.run();
    });
  }

  void stop() {
    if (!thread_.joinable()) return end_all();
    asio::post(context_, [this] {
      end_all();
      context_.stop();
    });
    thread_.join();
  }

  void post(std::function<void(ReactorPort&)> call) {
    asio::post(context_, [this, call = std::move(call)] { call(fanout_); });
  }

  void make_room() {
    asio::post(context_, [this] { end_oldest_stranger(); });
  }
  void look(std::function<void(const ReactorSight&)> call) {
    asio::post(context_, [this, call = std::move(call)] { call(*this); });
  }
  [[nodiscard]] std::size_t index() const override { return options_.index; }
  [[nodiscard]] std::size_t connections() const override { return connections_.size(); }
  [[nodiscard]] const Connection& connection(std::size_t at) const override { return *connections_[at]; }
  [[nodiscard]] const Fanout& views() const override { return fanout_; }

  void set_ready(bool ready) { ready_ = ready; }

  void drain(std::chrono::milliseconds window, std::function<void()> done) {
    asio::post(context_, [this, window, done = std::move(done)]() mutable { start_drain(window, std::move(done)); });
  }

  [[nodiscard]] ReactorCounters counters() const {
    return {connection_count_, session_count_, subscription_count_, blocked_count_,
            group_count_,      ring_bytes_,    messages_count_,     bytes_count_};
  }

  [[nodiscard]] const Tally& tally() { return fanout_.tally(); }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

  void take(ReactorOptions options) {
    asio::post(context_, [this, fresh = std::move(options)]() mutable { take_now(std::move(fresh)); });
  }

  [[nodiscard]] Readiness readiness() const override {
    return ready_ && !on_drained_ ? Readiness::ready : Readiness::not_ready;
  }
  [[nodiscard]] bool full() const override { return connections_.size() > options_.connections; }
  void on_ended(Connection& connection) override;
  void on_known(Connection& connection) override;
  void on_strange(Connection& connection) override;
  [[nodiscard]] bool admit(Connection& connection, const HttpHead& head) override;

 private:
  void accept();
  void let_in(tcp::socket socket, int tries);
  std::string_view lacks_for(tcp::socket& socket);
  bool has_room_for(tcp::socket& socket);
  void on_not_accepted(std::string_view reason);
  void on_accepted(tcp::socket socket);
  bool end_oldest_stranger();
  void flush_soon();
  void sweep_later();
  void sweep();
  void take_now(ReactorOptions fresh);
  void start_drain(std::chrono::milliseconds window, std::function<void()> done);
  void end_all();
  /// Those of now; each may end, and leave the list, while it is handled.
  [[nodiscard]] std::vector<std::shared_ptr<Connection>> all() const { return connections_; }

  ReactorOptions options_;
  TrustedProxies proxies_;
  const int descriptors_max_ = descriptors_for_clients();
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer accept_timer_;
  std::optional<tcp::socket> waiting_;  // for room
  asio::steady_timer sweep_timer_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Fanout fanout_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::uint64_t last_number_ = 0;
  std::list<Connection*> strangers_;  // in the order in which they came
  bool accept_fails_ = false;
  std::function<void()> on_drained_;  // set: drains
  std::thread thread_;

  std::atomic<bool> ready_ = false;
  std::atomic<std::uint64_t> turns_ = 0;
  std::atomic<std::size_t> connection_count_ = 0;
  std::atomic<std::size_t> session_count_ = 0;
  std::atomic<std::size_t> subscription_count_ = 0;
  std::atomic<std::size_t> blocked_count_ = 0;
  std::atomic<std::size_t> group_count_ = 0;
  std::atomic<std::size_t> ring_bytes_ = 0;
  std::atomic<std::uint64_t> messages_count_ = 0;
  std::atomic<std::uint64_t> bytes_count_ = 0;
};

void Reactor::Loop::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (error) return on_not_accepted(error.message());
    let_in(std::move(socket), room_tries);
  });
}

/// Where other reactors' strangers have the room, whoever came waits a little for one of them to go.
void Reactor::Loop::let_in(tcp::socket socket, int tries) {
  const std::string_view lacking = lacks_for(socket);
  if (lacking.empty()) {
    accept_fails_ = false;
    on_accepted(std::move(socket));
    return accept();
  }
  if (tries == 0 || !socket.is_open()) {
    boost::system::error_code ignored;
    socket.close(ignored);
    return on_not_accepted(lacking);
  }
  if (options_.on_crowded) options_.on_crowded();
  waiting_ = std::move(socket);
  accept_timer_.expires_after(accept_pause);
  accept_timer_.async_wait([this, tries](const boost::system::error_code& cancelled) {
    auto waiting = std::exchange(waiting_, std::nullopt);
    if (!cancelled && waiting) let_in(std::move(*waiting), tries - 1);
  });
}

/// What a newcomer has to wait for; empty: nothing.
std::string_view Reactor::Loop::lacks_for(tcp::socket& socket) {
  if (options_.memory != nullptr && options_.memory->is_short(std::chrono::steady_clock::now())) {
    fanout_.tally().count_limit(Limit::memory);
    return "the last of the memory is for those who are inside";
  }
  return has_room_for(socket) ? "" : "the last descriptors are for operators and the database";
}

/// Ends strangers until there is room, and takes the descriptor that one of them has left: whoever kept a high one while others
/// fill the low ones would, one after the other, use up those that are not for clients. False: there is none to end.
bool Reactor::Loop::has_room_for(tcp::socket& socket) {
  while (socket.native_handle() >= descriptors_max_) {
    // Another reactor may be faster to take it; then the next stranger goes.
    if (!end_oldest_stranger() || !move_down(socket)) return false;
  }
  return true;
}

void Reactor::Loop::on_not_accepted(std::string_view reason) {
  fanout_.tally().not_accepted.add();
  // Told once, until it succeeds again: whoever caused it would else fill the log.
  if (!std::exchange(accept_fails_, true)) log::warn("accept_failed", {{"error", reason}});
  if (end_oldest_stranger()) return accept();
  if (options_.on_crowded) options_.on_crowded();
  accept_timer_.expires_after(accept_pause);
  accept_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) accept();
  });
}

void Reactor::Loop::on_accepted(tcp::socket socket) {
  const Now now = Now::read();
  AddressBytes peer = peer_of(socket);
  // Whoever comes through a proxy is counted once its request has said who it is (admit).
  const bool is_proxy = proxies_.trusts(peer);
  std::optional<Admission::Place> place;
  if (!is_proxy) {
    place = options_.session.admission->enter_address(peer, now.steady);
    if (!place) return fanout_.tally().not_accepted.add();
  }
  fanout_.tally().accepted.add();
  boost::system::error_code gone;  // a socket that is gone by now tells so when it is read
  socket.non_blocking(true, gone);
  socket.set_option(tcp::no_delay(true), gone);
  socket.set_option(asio::socket_base::send_buffer_size(static_cast<int>(options_.send_buffer_bytes)), gone);
  auto connection = std::make_shared<Connection>(std::move(socket), *this, now);
  connection->place = std::move(place);
  connection->address = std::move(peer);
  connection->awaits_client = is_proxy;
  connection->number = ++last_number_;
  connection->host_index = connections_.size();
  connections_.push_back(connection);
  connection_count_ = connections_.size();
  if (strangers_.size() >= options_.strangers && end_oldest_stranger()) fanout_.tally().count_limit(Limit::strangers);
  on_strange(*connection);
  connection->start();
}

bool Reactor::Loop::admit(Connection& connection, const HttpHead& head) {
  connection.address = proxies_.client_of(connection.address, head);
  connection.awaits_client = false;
  if (const auto id = given_request_id(head); !id.empty()) connection.set_id(id);
  connection.place = options_.session.admission->enter_address(connection.address, Now::read().steady);
  return connection.place.has_value();
}

/// False: there is none.
bool Reactor::Loop::end_oldest_stranger() {
  if (strangers_.empty()) return false;
  connections_[strangers_.front()->host_index]->end();
  return true;
}

void Reactor::Loop::on_known(Connection& connection) {
  if (const auto place = std::exchange(connection.strangers_place, std::nullopt)) strangers_.erase(*place);
}

void Reactor::Loop::on_strange(Connection& connection) {
  if (!connection.strangers_place) connection.strangers_place = strangers_.insert(strangers_.end(), &connection);
}

void Reactor::Loop::on_ended(Connection& connection) {
  on_known(connection);
  const std::size_t index = connection.host_index;
  connections_[index] = connections_.back();
  connections_[index]->host_index = index;
  connections_.pop_back();
  connection_count_ = connections_.size();
  if (on_drained_ && connections_.empty()) asio::post(context_, on_drained_);
}

/// At the end of the loop's turn: what was posted until now comes before it, so a burst of deliveries is one message.
void Reactor::Loop::flush_soon() {
  asio::post(context_, [this] { fanout_.flush_due(Now::read()); });
}

void Reactor::Loop::sweep_later() {
  sweep_timer_.expires_after(options_.sweep);
  sweep_timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    sweep();
    sweep_later();
  });
}

void Reactor::Loop::sweep() {
  ++turns_;
  const Now now = Now::read();
  std::vector<std::shared_ptr<Connection>> due;
  std::size_t blocked = 0;
  for (const auto& each : connections_) {
    if (each->next_tick() <= now.steady) due.push_back(each);
    const Session* const session = std::as_const(*each).session();
    if (session != nullptr && session->blocked_since()) ++blocked;
  }
  blocked_count_ = blocked;
  for (const auto& each : due) each->on_tick(now);
  fanout_.on_tick(now);
  session_count_ = fanout_.sessions();
  group_count_ = fanout_.groups();
  subscription_count_ = fanout_.subscriptions();
  ring_bytes_ = fanout_.ring_bytes();
  messages_count_ = messages_written;
  bytes_count_ = bytes_written;
}

void Reactor::Loop::take_now(ReactorOptions fresh) {
  options_.session = fresh.session;
  options_.handshake = std::move(fresh.handshake);
  options_.connections = fresh.connections;
  options_.strangers = fresh.strangers;
  options_.sweep = fresh.sweep;
  proxies_ = TrustedProxies(fresh.proxies);
  handshake_time = fresh.handshake_time;
  no_progress = fresh.session.no_progress;
  fanout_.set_options(std::move(fresh.session));
}

void Reactor::Loop::start_drain(std::chrono::milliseconds window, std::function<void()> done) {
  on_drained_ = std::move(done);
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  accept_timer_.cancel();
  waiting_.reset();
  if (connections_.empty()) return on_drained_();
  // Spread evenly, in an order that no client can count on.
  auto leaving = all();
  std::shuffle(leaving.begin(), leaving.end(), std::minstd_rand(std::random_device{}()));
  for (std::size_t i = 0; i < leaving.size(); ++i) {
    const auto share = window * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(leaving.size());
    if (Session* session = leaving[i]->session()) {
      session->drain(share);
    } else if (!leaving[i]->replying()) {
      leaving[i]->end();
    }
  }
}

void Reactor::Loop::end_all() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  waiting_.reset();
  on_drained_ = nullptr;
  for (const auto& each : all()) each->end();
}

Reactor::Reactor(ReactorOptions options, EnginePort& engine, const auth::TokenVerifier& verifier, ActiveModelPtr model)
    : loop_(std::make_unique<Loop>(std::move(options), engine, verifier, std::move(model))) {}
Reactor::~Reactor() { stop(); }

void Reactor::listen() { loop_->listen(); }
void Reactor::start() { loop_->start(); }
void Reactor::stop() { loop_->stop(); }
void Reactor::post(std::function<void(ReactorPort&)> call) { loop_->post(std::move(call)); }
void Reactor::make_room() { loop_->make_room(); }
void Reactor::look(std::function<void(const ReactorSight&)> call) { loop_->look(std::move(call)); }
void Reactor::set_ready(bool ready) { loop_->set_ready(ready); }
void Reactor::drain(std::chrono::milliseconds window, std::function<void()> done) {
  loop_->drain(window, std::move(done));
}
void Reactor::take(ReactorOptions options) { loop_->take(std::move(options)); }
std::uint64_t Reactor::turns() const { return loop_->turns(); }
ReactorCounters Reactor::counters() const { return loop_->counters(); }
const Tally& Reactor::tally() const { return loop_->tally(); }

}  // namespace viewgate::gateway
