// The opening of a socket: from the bytes of one HTTP request head to "switch" or a refusal. Pure; the session does the
// I/O.
//
// What an honest browser never sends is refused here, before 101, because a browser cannot read a refused upgrade; what
// the SDK must understand (version, not ready, limits) is a close code after it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateway/http_head.hpp"

namespace viewgate::gateway {

/// How far a request head has arrived. `garbage` is known from the first bytes that cannot begin one (a TLS
/// ClientHello): close without a reply. `too_large`: answer 431.
struct HeadProgress {
  enum class Kind : std::uint8_t { more, complete, too_large, garbage };
  Kind kind = Kind::more;
  std::size_t bytes =
      0;  ///< complete: of the head with its empty line; what follows are frames, never a second request
};
[[nodiscard]] HeadProgress head_progress(std::string_view received);

/// The request line of a complete head, for the routes beside the socket. Absent: it has not that shape.
struct RequestLine {
  std::string_view method;
  std::string_view target;
};
[[nodiscard]] std::optional<RequestLine> request_line(std::string_view head);

/// Whether a browser can send it as Origin (RFC 6454): scheme://host[:port], lower case, no path, and no port that is its
/// scheme's own. "null" is no origin: any page can have it.
[[nodiscard]] bool is_origin(std::string_view text);

struct HandshakePolicy {
  std::vector<std::string> origins;  ///< compared exactly, for example "https://app.example:8443"; "null" never matches
};

struct HandshakeAccepted {
  std::string accept;       ///< the value of Sec-WebSocket-Accept
  std::string ticket;       ///< shown beside the subprotocol, as "viewgate.ticket.…"; empty: none
  std::string traceparent;  ///< given_traceparent of the request
};

inline constexpr std::string_view ticket_prefix = "viewgate.ticket.";

/// What an operator is told of it, and counts.
enum class RefusalReason : std::uint8_t {
  origin,    ///< of a page that is not listed
  upgrade,   ///< no upgrade to this version of WebSocket: often a proxy that does not pass it on
  malformed  ///< what no browser and no client of ours sends
};
/// As metrics call them.
inline constexpr std::array<std::string_view, 3> refusal_reasons{"origin", "upgrade", "malformed"};

struct HandshakeRefused {
  HttpRefused answer;
  RefusalReason reason = RefusalReason::malformed;
  std::string origin = {};       ///< as it came, if that is the reason
  std::string traceparent = {};  ///< as it came, well-formed; empty: none came
};
using HandshakeOutcome = std::variant<HandshakeAccepted, HandshakeRefused>;

/// `head`: complete, with its empty line.
[[nodiscard]] HandshakeOutcome check_handshake(std::string_view head, const HandshakePolicy& policy);

/// The bytes to send. A refusal ends with the connection.
[[nodiscard]] std::string handshake_response(const HandshakeAccepted& accepted);
[[nodiscard]] std::string handshake_response(const HttpRefused& refused);

inline constexpr HttpRefused head_too_large{431, "the request header is larger than 8192 bytes"};

}  // namespace viewgate::gateway
