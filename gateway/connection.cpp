#include "gateway/connection.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "gateway/gathered_write.hpp"
#include "gateway/log_sparingly.hpp"

namespace viewgate::gateway {

namespace asio = boost::asio;

namespace {

constexpr std::size_t copied_bytes_max = 4096;  // up to here one copy is cheaper than gathering
constexpr int reads_per_turn = 4;
constexpr int messages_per_turn = 4;  // so that one who catches up leaves room for the others
constexpr std::chrono::seconds leaving_time{1};
constexpr std::string_view http_continue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string come_back() {
  return http_text(503, "application/json", "{\"error\":\"unavailable\"}\n", "Retry-After: 1\r\n");
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, ConnectionHost& host, Now now)
    : socket_(std::move(socket)),
      host_(host),
      opened_at_(now.steady),
      tls_(host.tls == nullptr
               ? nullptr
               : std::make_unique<TlsStream>(host.tls->context(), socket_.native_handle(), correlation_)),
      deadline_(now.steady + host.handshake_time) {}

void Connection::end() {
  if (std::exchange(ended_, true)) return;
  const auto self = shared_from_this();
  session_.reset();
  ticket_asker_.reset();
  host_.bodies_bytes -= std::exchange(reserved_, 0);
  boost::system::error_code ignored;
  socket_.close(ignored);
  tell_written(false);
  host_.on_ended(*this);
}

/// Ends without a word, in the middle of a frame: the other side gets none of what we or the kernel still hold.
void Connection::reset() {
  boost::system::error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  end();
}

// Reading.

void Connection::wait_readable() {
  if (ended_ || std::exchange(reading_, true)) return;
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->reading_ = false;
                       if (self->ended_) return;
                       if (error) return self->end();
                       self->on_readable();
                     });
}

void Connection::on_readable() {
  const Now now = Now::read();
  for (int i = 0; i < reads_per_turn; ++i) {
    const auto count = receive(host_.read_buffer, now);
    if (!count) return end();
    if (*count == 0) break;
    if (!take(std::span(host_.read_buffer).first(*count), now)) return;
    if (session_ && !session_->wants_input()) return;  // goes on when answers were written
    if (!tls_ && *count < host_.read_buffer.size()) break;
  }
  if (tls_ && tls_->wants_write()) return wait_writable();
  wait_readable();
}

/// Bytes that came, 0 where none are there. Absent: the connection has ended.
std::optional<std::size_t> Connection::receive(std::span<char> into, Now now) {
  if (tls_) return tls_->read(into, now.steady);
  boost::system::error_code error;
  const std::size_t count = socket_.read_some(asio::buffer(into.data(), into.size()), error);
  if (error == asio::error::would_block) return 0;
  if (error) return std::nullopt;
  return count;
}

bool Connection::take(std::span<char> bytes, Now now) {
  if ((leaving_ || replying_) && !session_) return true;
  if (admitted_) return take_body({bytes.data(), bytes.size()});
  if (!session_) return take_head(bytes, now);
  session_->on_bytes(bytes, now);
  return true;
}

bool Connection::take_head(std::span<char> bytes, Now now) {
  head_.append(bytes.data(), bytes.size());
  const auto progress = head_progress(head_);
  if (progress.kind == HeadProgress::Kind::more) return true;
  if (progress.kind == HeadProgress::Kind::garbage) {
    log::write_sparingly(log::Level::info, "not_http", {correlation_.connection_field(), {"bytes", head_.size()}});
    end();
    return false;
  }
  if (progress.kind == HeadProgress::Kind::too_large) {
    refuse_handshake({head_too_large}, now);
    return !ended_;
  }
  const auto head = std::string_view(head_).substr(0, progress.bytes);
  if (awaits_client) {
    const auto parsed = parse_http_head(head);
    if (const auto* request = std::get_if<HttpHead>(&parsed); request != nullptr && !host_.admit(*this, *request)) {
      end();
      return false;
    }
  }
  const auto line = request_line(head);
  if (line && host_.http_api != nullptr && HttpApi::has(line->target)) return take_request(head, now);
  if (line && line->target != socket_path) {
    answer_and_leave(http_response(*line, host_.readiness()), now);
    return !ended_;
  }
  const auto outcome = check_handshake(head, host_.handshake);
  if (const auto* refused = std::get_if<HandshakeRefused>(&outcome)) {
    refuse_handshake(*refused, now);
    return !ended_;
  }
  upgrade(std::get<HandshakeAccepted>(outcome), now);
  if (ended_) return false;
  auto rest = std::exchange(head_, {}).substr(progress.bytes);
  session_->on_bytes(rest, now);
  return true;
}

/// Calls may come when the connection has ended, and from any thread.
class Connection::Reply final : public HttpReply {
 public:
  Reply(const std::shared_ptr<Connection>& connection, asio::any_io_executor executor)
      : connection_(connection), executor_(std::move(executor)), correlation_(connection->correlation_) {}
  void write(std::string bytes, std::function<void(bool)> written) override {
    asio::post(executor_, [connection = connection_, bytes = std::move(bytes), written = std::move(written)]() mutable {
      const auto alive = connection.lock();
      if (!alive || alive->ended_) return written(false);
      alive->write_reply(std::move(bytes), std::move(written));
    });
  }
  void finish() override {
    asio::post(executor_, [connection = connection_] {
      if (const auto alive = connection.lock(); alive && !alive->ended_) alive->finish_reply();
    });
  }
  void abort() override {
    asio::post(executor_, [connection = connection_] {
      if (const auto alive = connection.lock()) alive->end();
    });
  }
  [[nodiscard]] const Correlation& correlation() const override { return correlation_; }

 private:
  const std::weak_ptr<Connection> connection_;
  const asio::any_io_executor executor_;
  const Correlation correlation_;
};

/// Who may not send a body is told so before any of it is kept, or asked for.
bool Connection::take_request(std::string_view head, Now now) {
  if (host_.full()) {
    host_.fanout.tally().count_limit(Limit::connections);
    answer_and_leave(come_back(), now);
    return !ended_;
  }
  auto parsed = parse_http_head(head);
  if (const auto* wrong = std::get_if<HttpRefused>(&parsed)) {
    answer_and_leave(handshake_response(*wrong), now);
    return !ended_;
  }
  auto& request = std::get<HttpHead>(parsed);
  correlation_.traceparent = given_traceparent(request);
  const auto length = request.content_length();
  std::optional<std::string> refusal;
  if (!length) {
    refusal = handshake_response(HttpRefused{400, "the body must have a Content-Length"});
  } else if (*length > 0) {
    refusal = refuse_body(request, *length);
  }
  if (refusal) {
    answer_and_leave(*std::move(refusal), now);
    return !ended_;
  }
  const std::string rest = std::exchange(head_, {}).substr(head.size());
  body_bytes_ = *length;
  const bool is_awaited = request.only("expect") == "100-continue" && rest.size() < body_bytes_;
  admitted_ = std::move(request);
  if (is_awaited) write(std::span(&http_continue, 1));
  return !ended_ && take_body(rest);
}

/// Absent: the bytes are reserved.
std::optional<std::string> Connection::refuse_body(const HttpHead& head, std::size_t bytes) {
  if (bytes > host_.http_api->body_bytes_max()) return handshake_response(HttpRefused{413, "the body is too large"});
  if (auto refusal = host_.http_api->refusal(head, correlation_)) return refusal;
  if (bytes > host_.bodies_bytes_max - std::min(host_.bodies_bytes, host_.bodies_bytes_max)) {
    return come_back();
  }
  reserved_ = bytes;
  host_.bodies_bytes += bytes;
  return std::nullopt;
}

/// The body may still be on its way.
bool Connection::take_body(std::string_view bytes) {
  body_ += bytes.substr(0, body_bytes_ - body_.size());
  if (body_.size() < body_bytes_) return true;
  HttpRequest request{*std::move(admitted_), std::exchange(body_, {})};
  admitted_.reset();
  host_.bodies_bytes -= std::exchange(reserved_, 0);
  replying_ = true;
  host_.on_known(*this);
  deadline_ = Time::max();  // whoever answers has limits of its own
  host_.http_api->answer(std::move(request), std::make_shared<Reply>(shared_from_this(), socket_.get_executor()));
  return true;
}

/// A browser tells its page nothing of a refused upgrade: who runs the node must find it here.
void Connection::refuse_handshake(const HandshakeRefused& refused, Now now) {
  host_.fanout.tally().count(refused.reason);
  correlation_.traceparent = refused.traceparent;
  const bool is_page = refused.reason == RefusalReason::origin;
  log::write_sparingly(log::Level::info, "socket_refused",
                       {correlation_.connection_field(),
                        correlation_.trace_field(),
                        {"reason", refused.answer.text},
                        {is_page ? "origin" : "", refused.origin}});
  answer_and_leave(handshake_response(refused.answer), now);
}

void Connection::answer_and_leave(std::string response, Now now) {
  head_ = {};
  response = with_request_id(std::move(response), correlation_);
  const std::string_view piece = response;
  write(std::span(&piece, 1));
  if (ended_) return;
  leaving_ = true;
  deadline_ = now.steady + leaving_time;
  if (pending_.empty()) say_nothing_more();
}

void Connection::upgrade(const HandshakeAccepted& accepted, Now now) {
  correlation_.traceparent = accepted.traceparent;
  const std::string response = with_request_id(handshake_response(accepted), correlation_);
  const std::string_view piece = response;
  write(std::span(&piece, 1));
  if (ended_) return;
  session_.emplace(host_.fanout, *this, now);
  if (!accepted.ticket.empty()) use_ticket(accepted.ticket);
  // A browser cannot read a refused upgrade, so this is said by a close code.
  if (host_.full()) {
    host_.fanout.tally().count_limit(Limit::connections);
    session_->close(close_code::try_again_later, "no more connections fit on this node");
  }
  if (host_.readiness() == Readiness::not_ready) session_->close(close_code::try_again_later, "the node is not ready");
}

void Connection::use_ticket(const std::string& ticket) {
  session_->await_ticket();
  if (host_.tickets == nullptr) return session_->on_ticket({}, Now::read());
  ticket_asker_ = std::make_shared<char>();
  auto on_used = [weak = weak_from_this(), executor = socket_.get_executor()](UsedTicket used) {
    asio::post(executor, [weak, used = std::move(used)]() mutable {
      const auto self = weak.lock();
      if (!self || !self->session_) return;
      if (used.unavailable) return self->session_->on_ticket_unavailable();
      self->session_->on_ticket(std::move(used.token), Now::read());
    });
  };
  host_.tickets->use(ticket, correlation_, ticket_asker_, std::move(on_used));
}

// Writing.

void Connection::flush(Now now) {
  // While nothing is read or awaited, the host is its only owner, and lets go of it when it ends in here.
  const auto self = shared_from_this();
  if (ended_ || !session_) return;
  if (!pending_.empty()) {
    if (session_->revoked()) reset();
    return;
  }
  for (int i = 0; i < messages_per_turn; ++i) {
    const auto pieces = session_->produce(now);
    if (pieces.empty()) break;
    ++host_.messages_written;
    write(pieces);
    if (ended_) return;
    if (!pending_.empty()) return session_->on_blocked(now);
    if (i + 1 == messages_per_turn) session_->mark_due();
  }
  if (session_->said_goodbye()) say_nothing_more();
  if (session_->wants_input()) wait_readable();
}

void Connection::write(std::span<const std::string_view> pieces) {
  const std::size_t total = bytes_of(pieces);
  std::optional<std::size_t> written;
  if (total <= copied_bytes_max) {
    host_.write_buffer.clear();
    for (const auto piece : pieces) host_.write_buffer += piece;
    const std::string_view all = host_.write_buffer;
    written = send(std::span(&all, 1));
  } else {
    written = send(pieces);
  }
  if (!written) return end();
  host_.bytes_written += *written;
  if (*written < total) keep(pieces, *written);
}

void Connection::keep(std::span<const std::string_view> pieces, std::size_t written) {
  pending_.reserve(bytes_of(pieces) - written);
  for (const auto piece : pieces) {
    const std::size_t skipped = std::min(written, piece.size());
    pending_ += piece.substr(skipped);
    written -= skipped;
  }
  pending_written_ = 0;
  wait_writable();
}

/// Bytes that the socket took, 0 where it would block. Absent: the connection is broken.
std::optional<std::size_t> Connection::send(std::span<const std::string_view> pieces) {
  if (tls_) return tls_->write(pieces);
  return gathered_write(socket_.native_handle(), pieces);
}

void Connection::wait_writable() {
  if (ended_ || std::exchange(writing_, true)) return;
  socket_.async_wait(asio::ip::tcp::socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->writing_ = false;
                       if (self->ended_) return;
                       if (error) return self->end();
                       self->on_writable();
                     });
}

void Connection::on_writable() {
  if (pending_.empty()) return on_readable();  // it was TLS that had to write before it could read on
  if (session_ && session_->revoked()) return reset();
  const Now now = Now::read();
  const std::string_view rest = std::string_view(pending_).substr(pending_written_);
  const auto written = send(std::span(&rest, 1));
  if (!written) return end();
  host_.bytes_written += *written;
  pending_written_ += *written;
  if (session_ && *written > 0) session_->on_written(now);
  if (replying_ && *written > 0) deadline_ = now.steady + host_.no_progress;
  if (pending_written_ < pending_.size()) {
    if (session_) session_->on_blocked(now);
    return wait_writable();
  }
  pending_ = {};
  if (session_) return flush(now);
  if (replying_) deadline_ = Time::max();
  tell_written(true);
  if (leaving_) say_nothing_more();
}

void Connection::write_reply(std::string bytes, std::function<void(bool)> written) {
  if (!std::exchange(reply_begun_, true)) bytes = with_request_id(std::move(bytes), correlation_);
  on_written_.push_back(std::move(written));
  if (!pending_.empty()) {
    pending_ += bytes;
    return;
  }
  const std::string_view piece = bytes;
  write(std::span(&piece, 1));
  if (ended_) return;
  if (pending_.empty()) return tell_written(true);
  deadline_ = Now::read().steady + host_.no_progress;
}

void Connection::finish_reply() {
  replying_ = false;
  leaving_ = true;
  deadline_ = Now::read().steady + (pending_.empty() ? leaving_time : host_.no_progress);
  if (pending_.empty()) say_nothing_more();
}

void Connection::tell_written(bool alive) {
  for (const auto& written : std::exchange(on_written_, {})) written(alive);
}

/// Our side of the connection ends; what the other still sends is read and dropped, since closing a socket with unread
/// bytes would destroy what we said last.
void Connection::say_nothing_more() {
  leaving_ = true;
  if (!session_) host_.on_strange(*this);  // nothing is owed to it
  if (tls_) tls_->close();
  boost::system::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void Connection::on_tick(Now now) {
  if (ended_) return;
  if (!session_) {
    if (now.steady >= deadline_) end();
    return;
  }
  session_->on_tick(now);
  if (session_->over()) end();
}

}  // namespace viewgate::gateway
