// The seam between a reactor's connections and what answers HTTP requests under /v1/ beside the socket: the connection reads a request
// and carries the answer's bytes, whoever answers knows no sockets. An answer may come from another thread and as slowly as
// its reader takes it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/correlation.hpp"
#include "gateway/http_head.hpp"

namespace viewgate::gateway {

struct HttpRequest {
  HttpHead head;
  std::string body;
};

/// Where the answer to one request goes. Thread-safe; may outlive its connection.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  /// Bytes of the response, the head first. `written` is called on the reactor's thread once the socket has taken them;
  /// false: the connection is gone, and nothing more is wanted.
  virtual void write(std::string bytes, std::function<void(bool)> written) = 0;
  /// The response is complete, and the connection ends with it.
  virtual void finish() = 0;
  /// The connection is closed at once: how a response that cannot be completed is told from a complete one.
  virtual void abort() = 0;
  /// Of its connection, for what is logged about the request. The response says its id by itself.
  [[nodiscard]] virtual const Correlation& correlation() const = 0;
};

class HttpApi {
 public:
  static constexpr std::string_view prefix = "/v1/spaces/";
  static constexpr std::string_view tickets_path = "/v1/tickets";

  [[nodiscard]] static bool has(std::string_view target) {
    return target == tickets_path || target.starts_with(prefix);
  }

  virtual ~HttpApi() = default;
  /// What the head alone forbids: the whole answer. Absent: a body may come, and is read before `answer` is called. On a
  /// reactor's thread.
  [[nodiscard]] virtual std::optional<std::string> refusal(const HttpHead& head, const Correlation& who) const = 0;
  /// On a reactor's thread; must not block. Every request is answered.
  virtual void answer(HttpRequest request, std::shared_ptr<HttpReply> reply) = 0;
  /// Larger bodies are refused with 413 before they are read.
  [[nodiscard]] virtual std::size_t body_bytes_max() const = 0;
};

/// A part of a path or query with its percent-escapes undone (RFC 3986). Absent: malformed, not UTF-8, or with a NUL.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

/// The query of a target, decoded, each name once. Absent: not name=value&…, or not UTF-8.
using QueryItems = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::optional<QueryItems> parse_query(std::string_view query);

/// A name that nobody knows, as a refusal repeats it: cut to 40 bytes, between characters.
[[nodiscard]] std::string shown_name(std::string_view name);

/// A whole response: status line, fields, body. `fields`: further ones, each ended by CRLF.
[[nodiscard]] std::string http_text(int status, std::string_view content_type, std::string_view body,
                                    std::string_view fields = {});
/// The answer to whoever brings no good token. `fields` as above.
[[nodiscard]] std::string http_unauthorized(std::string_view fields = {});
/// The head of a response whose body comes in chunks (RFC 9112 section 7.1), one chunk, and the end of the body.
[[nodiscard]] std::string http_chunked_head(std::string_view content_type);
[[nodiscard]] std::string http_chunk(std::string_view bytes);
inline constexpr std::string_view http_last_chunk = "0\r\n\r\n";

}  // namespace viewgate::gateway
