#include "gateway/admin_door.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "gateway/handshake.hpp"
#include "gateway/log_sparingly.hpp"

namespace viewgate::gateway {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::string_view json = "application/json";
constexpr std::size_t read_bytes = 4096;
constexpr std::size_t unsent_bytes_max = std::size_t{16} * 1024 * 1024;  // of an answer; its writer waits to be told

using Digest = std::array<unsigned char, 32>;

Digest digest_of(std::string_view text) {
  Digest out{};
  EVP_Digest(text.data(), text.size(), out.data(), nullptr, EVP_sha256(), nullptr);
  return out;
}

std::string refused(int status, std::string_view error, std::string_view fields = {}) {
  return http_text(status, json, "{\"error\":\"" + std::string(error) + "\"}\n", fields);
}

}  // namespace

void answer_with(HttpReply& reply, std::string response) {
  reply.write(std::move(response), [](bool) {});
  reply.finish();
}

class AdminDoor::Loop {
 public:
  explicit Loop(AdminOptions options) : options_(std::move(options)), credential_(digest_of(options_.credential)) {}

  void add(std::string_view method, std::string_view path, Handler handler) {
    routes_.insert_or_assign(std::string(path), Route{std::string(method), std::move(handler)});
  }

  void add_page(std::string_view target, std::string response) {
    pages_.insert_or_assign(std::string(target), std::move(response));
  }

  void start() {
    try {
      const tcp::endpoint endpoint(asio::ip::make_address(options_.address), options_.port);
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(tcp::acceptor::reuse_address(true));
      acceptor_.bind(endpoint);
      acceptor_.listen();
      port_ = acceptor_.local_endpoint().port();
    } catch (const boost::system::system_error& error) {
      throw std::system_error(error.code(), "cannot listen on " + options_.address + ":" +
                                                std::to_string(options_.port) + " (admin.listen)");
    }
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    asio::post(io_, [this] { end_all(); });
    thread_.join();
  }

  void take_credential(const std::string& credential) {
    asio::post(io_, [this, digest = digest_of(credential)] { credential_ = digest; });
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  class Visit;
  class Reply;
  struct Route {
    std::string method;
    Handler handler;
  };

  void accept();
  [[nodiscard]] bool has_place();
  void end_all();
  [[nodiscard]] bool is_operator(const HttpHead& head) const {
    const Digest shown = digest_of(head.bearer());
    return CRYPTO_memcmp(shown.data(), credential_.data(), shown.size()) == 0;
  }
  [[nodiscard]] const Route* find(std::string_view target) const {
    const auto found = routes_.find(target.substr(0, target.find('?')));
    return found == routes_.end() ? nullptr : &found->second;
  }

  const AdminOptions options_;
  Digest credential_;
  std::map<std::string, Route, std::less<>> routes_;
  std::map<std::string, std::string, std::less<>> pages_;  // with their heads
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  std::uint16_t port_ = 0;
  std::list<std::shared_ptr<Visit>> visits_;  // the oldest first
  std::thread thread_;
};

/// One connection: reads a request, then carries the answer. It lives as long as an operation of its is pending.
class AdminDoor::Loop::Visit final : public std::enable_shared_from_this<Visit> {
 public:
  Visit(tcp::socket socket, Loop& loop) : socket_(std::move(socket)), timer_(loop.io_), loop_(loop) {}

  void start() {
    wait_at_most();
    read();
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    timer_.cancel();
    boost::system::error_code ignored;
    socket_.close(ignored);
    for (auto& [bytes, written] : std::exchange(unsent_, {})) written(false);
    loop_.visits_.remove(shared_from_this());
  }

  /// Has shown the credential.
  [[nodiscard]] bool is_operators() const { return is_operators_; }

  [[nodiscard]] const Correlation& correlation() const { return correlation_; }

  void write(std::string bytes, std::function<void(bool)> written) {
    if (!std::exchange(reply_begun_, true)) bytes = with_request_id(std::move(bytes), correlation_);
    unsent_bytes_ += bytes.size();
    if (ended_ || unsent_bytes_ > unsent_bytes_max) return written(false);
    unsent_.emplace_back(std::move(bytes), std::move(written));
    if (unsent_.size() == 1) write_next();
  }

  void finish() {
    finished_ = true;
    if (unsent_.empty()) leave();
  }

 private:
  void wait_at_most() {
    timer_.expires_after(loop_.options_.time_max);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (!cancelled) self->end();
    });
  }

  void read() {
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](const boost::system::error_code& error, std::size_t count) {
                              if (self->ended_) return;
                              if (error) return self->end();
                              self->take({self->buffer_.data(), count});
                            });
  }

  void take(std::string_view bytes) {
    if (finished_) return read();  // what comes behind the request is nobody's
    received_ += bytes;
    if (!request_) take_head();
    if (request_) take_body();
    if (!ended_ && (!answering_ || finished_)) read();
  }

  void take_head() {
    const auto progress = head_progress(received_);
    if (progress.kind == HeadProgress::Kind::more) return;
    if (progress.kind == HeadProgress::Kind::garbage) return end();
    if (progress.kind == HeadProgress::Kind::too_large) return answer_at_once(handshake_response(head_too_large));
    auto parsed = parse_http_head(std::string_view(received_).substr(0, progress.bytes));
    if (const auto* wrong = std::get_if<HttpRefused>(&parsed)) return answer_at_once(handshake_response(*wrong));
    auto& head = std::get<HttpHead>(parsed);
    if (const auto page = loop_.pages_.find(head.target); page != loop_.pages_.end() && head.method == "GET") {
      return answer_at_once(page->second);
    }
    if (!loop_.is_operator(head)) {
      log::write_sparingly(log::Level::info, "admin_refused", {correlation_.connection_field()});
      return answer_at_once(refused(401, "auth_required", "WWW-Authenticate: Bearer\r\n"));
    }
    is_operators_ = true;
    const Route* const route = loop_.find(head.target);
    if (route == nullptr) return answer_at_once(refused(404, "not_found"));
    if (head.method != route->method) return answer_at_once(refused(405, "bad_request"));
    const auto length = head.content_length();
    if (!length) return answer_at_once(refused(400, "bad_request"));
    if (*length > loop_.options_.body_bytes) return answer_at_once(refused(413, "bad_request"));
    received_.erase(0, progress.bytes);
    body_bytes_ = *length;
    request_ = HttpRequest{std::move(head), {}};
  }

  void take_body();

  void answer_at_once(std::string response) {
    answering_ = true;
    write(std::move(response), [](bool) {});
    finish();
  }

  void write_next() {
    wait_at_most();
    asio::async_write(socket_, asio::buffer(unsent_.front().first),
                      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                        if (self->ended_) return;
                        if (error) return self->end();
                        self->on_written();
                      });
  }

  void on_written() {
    auto done = std::move(unsent_.front());
    unsent_.pop_front();
    unsent_bytes_ -= done.first.size();
    timer_.cancel();
    if (!unsent_.empty()) write_next();
    if (unsent_.empty() && finished_) leave();
    done.second(true);
  }

  /// Our side ends; the other's end is awaited, since closing a socket with unread bytes would destroy what was said last.
  void leave() {
    wait_at_most();
    boost::system::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    if (request_) read();  // whoever was refused is read anyway
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  Loop& loop_;
  std::array<char, read_bytes> buffer_{};
  std::string received_;
  std::optional<HttpRequest> request_;
  std::size_t body_bytes_ = 0;
  std::deque<std::pair<std::string, std::function<void(bool)>>> unsent_;
  std::size_t unsent_bytes_ = 0;
  const Correlation correlation_ = new_correlation();
  bool is_operators_ = false;
  bool reply_begun_ = false;
  bool answering_ = false;
  bool finished_ = false;
  bool ended_ = false;
};

/// Calls may come when the connection has ended, and from any thread.
class AdminDoor::Loop::Reply final : public HttpReply {
 public:
  Reply(const std::shared_ptr<Visit>& visit, asio::any_io_executor executor)
      : visit_(visit), executor_(std::move(executor)), correlation_(visit->correlation()) {}
  void write(std::string bytes, std::function<void(bool)> written) override {
    asio::post(executor_, [visit = visit_, bytes = std::move(bytes), written = std::move(written)]() mutable {
      const auto alive = visit.lock();
      if (!alive) return written(false);
      alive->write(std::move(bytes), std::move(written));
    });
  }
  void finish() override {
    asio::post(executor_, [visit = visit_] {
      if (const auto alive = visit.lock()) alive->finish();
    });
  }
  void abort() override {
    asio::post(executor_, [visit = visit_] {
      if (const auto alive = visit.lock()) alive->end();
    });
  }
  [[nodiscard]] const Correlation& correlation() const override { return correlation_; }

 private:
  const std::weak_ptr<Visit> visit_;
  const asio::any_io_executor executor_;
  const Correlation correlation_;
};

void AdminDoor::Loop::Visit::take_body() {
  if (answering_ || received_.size() < body_bytes_) return;
  answering_ = true;
  timer_.cancel();  // whoever answers has limits of its own
  request_->body = received_.substr(0, body_bytes_);
  const Route* const route = loop_.find(request_->head.target);
  route->handler(*request_, std::make_shared<Reply>(shared_from_this(), socket_.get_executor()));
}

void AdminDoor::Loop::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (!error) {
      // Where there is no place, the end of `socket` closes it.
      if (has_place()) {
        visits_.push_back(std::make_shared<Visit>(std::move(socket), *this));
        visits_.back()->start();
      }
      return accept();
    }
    constexpr std::chrono::milliseconds accept_pause{100};  // when descriptors or memory ran out
    pause_.expires_after(accept_pause);
    pause_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) accept();
    });
  });
}

/// Where all places are taken, the oldest visitor who is not known as an operator makes room: nobody keeps operators out by
/// being silent. An operator's request comes with the connection, so it is read long before so many newer ones have come.
bool AdminDoor::Loop::has_place() {
  if (visits_.size() < options_.connections) return true;
  const auto oldest =
      std::find_if(visits_.begin(), visits_.end(), [](const auto& each) { return !each->is_operators(); });
  if (oldest == visits_.end()) return false;
  const auto visit = *oldest;  // its end takes it out of the list
  visit->end();
  return true;
}

void AdminDoor::Loop::end_all() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (const auto& each : std::list(visits_)) each->end();
}

AdminDoor::AdminDoor(AdminOptions options) : loop_(std::make_unique<Loop>(std::move(options))) {}
AdminDoor::~AdminDoor() { stop(); }
void AdminDoor::add(std::string_view method, std::string_view path, Handler handler) {
  loop_->add(method, path, std::move(handler));
}
void AdminDoor::add_page(std::string_view target, std::string response) {
  loop_->add_page(target, std::move(response));
}
void AdminDoor::start() { loop_->start(); }
std::uint16_t AdminDoor::port() const { return loop_->port(); }
void AdminDoor::take_credential(const std::string& credential) { loop_->take_credential(credential); }
void AdminDoor::stop() { loop_->stop(); }

}  // namespace viewgate::gateway
