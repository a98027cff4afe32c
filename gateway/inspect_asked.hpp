// A question that is put to several threads: what came back, who is still awaited, and when that has lasted too long. Private
// to AdminInspect; on its thread but for `arrive`.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/admin_door.hpp"
#include "gateway/json_object.hpp"

namespace viewgate::gateway {

inline constexpr std::string_view json_type = "application/json";

[[nodiscard]] inline std::string inspect_refusal(int status, std::string_view error, std::string_view message) {
  const std::string body = JsonObject().text("error", error).text("message", message).str();
  return http_text(status, json_type, body + "\n", status == 503 ? "Retry-After: 1\r\n" : "");
}

class Asked : public std::enable_shared_from_this<Asked> {
 public:
  /// `on_end`: once, when it is answered.
  Asked(boost::asio::io_context& io, std::shared_ptr<HttpReply> reply, std::function<void()> on_end)
      : io_(io), timer_(io), reply_(std::move(reply)), on_end_(std::move(on_end)) {}

  void start(std::chrono::milliseconds time_max) {
    timer_.expires_after(time_max);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (!cancelled) self->refuse(503, "unavailable", "a part of this node did not answer in time: it is busy");
    });
  }

  /// `then` is called when so many have arrived.
  void await(std::size_t parts, std::function<void(const std::shared_ptr<Asked>&)> then) {
    awaited_ = parts;
    then_ = std::move(then);
    if (parts == 0) go_on();
  }

  /// From any thread; `take` puts what came to the rest, on the question's thread.
  void arrive(std::function<void()> take) {
    boost::asio::post(io_, [self = shared_from_this(), take = std::move(take)] {
      if (self->ended_) return;
      take();
      if (--self->awaited_ == 0) self->go_on();
    });
  }

  void answer(const std::string& json) { end(http_text(200, json_type, json + "\n")); }
  void refuse(int status, std::string_view error, std::string_view message) {
    end(inspect_refusal(status, error, message));
  }

 private:
  void go_on() { std::exchange(then_, nullptr)(shared_from_this()); }
  void end(std::string response) {
    if (std::exchange(ended_, true)) return;
    timer_.cancel();
    then_ = nullptr;
    answer_with(*reply_, std::move(response));
    on_end_();
  }

  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;
  const std::shared_ptr<HttpReply> reply_;
  const std::function<void()> on_end_;
  std::function<void(const std::shared_ptr<Asked>&)> then_;
  std::size_t awaited_ = 0;
  bool ended_ = false;
};
using AskedPtr = std::shared_ptr<Asked>;

}  // namespace viewgate::gateway
