#include "gateway/handshake.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "auth/ticket.hpp"
#include "gateway/http_api.hpp"
#include "gateway/protocol.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::size_t method_bytes_max = 20;

// RFC 6455 section 1.3.
constexpr std::string_view accept_salt = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// Whether the bytes can still become "METHOD SP". A request in a browser's or a proxy's form always begins so; what
// does not is another protocol, and an HTTP answer would only confuse it.
bool may_begin_a_request(std::string_view received) {
  const std::string_view method = received.substr(0, received.find(' '));
  if (method.size() > method_bytes_max || !std::all_of(method.begin(), method.end(), is_upper)) return false;
  return !method.empty() || received.empty();
}

std::string_view first_line(std::string_view head) { return head.substr(0, head.find(line_end)); }

// Sixteen bytes in base64, padded: 24 characters of which the 22nd has only zeros behind its two bits.
bool is_key(std::string_view key) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (key.size() != 24 || !key.ends_with("==")) return false;
  if (key.substr(0, 22).find_first_not_of(alphabet) != std::string_view::npos) return false;
  return std::string_view{"AQgw"}.find(key[21]) != std::string_view::npos;
}

/// Small letters, digits, and `more`.
bool has_only(std::string_view text, std::string_view more) {
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  });
}

std::string accept_value(std::string_view key) {
  std::string salted(key);
  salted += accept_salt;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_bytes = 0;
  EVP_Digest(salted.data(), salted.size(), digest.data(), &digest_bytes, EVP_sha1(), nullptr);
  std::array<unsigned char, std::size_t{2} * EVP_MAX_MD_SIZE> text{};
  const int text_bytes = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest_bytes));
  return {text.begin(), text.begin() + text_bytes};
}

std::optional<HandshakeRefused> check_origin(const HttpHead& request, const HandshakePolicy& policy) {
  if (request.count("origin") == 0) return std::nullopt;  // not a browser
  const std::string_view origin = request.only("origin");
  const bool listed = origin != "null" && std::count(policy.origins.begin(), policy.origins.end(), origin) > 0;
  if (listed) return std::nullopt;
  HandshakeRefused refused{{403, "the origin is not one that may connect"}, RefusalReason::origin};
  for (const auto& [name, value] : request.fields) {
    if (name == "origin") refused.origin += (refused.origin.empty() ? "" : ", ") + value;
  }
  return refused;
}

/// A browser's WebSocket can say nothing beside its address but subprotocols. Absent: there are two, or one of another form.
std::optional<std::string> shown_ticket(const HttpHead& request) {
  std::string out;
  for (const auto& [name, value] : request.fields) {
    if (name != "sec-websocket-protocol") continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      item.remove_prefix(std::min(item.size(), item.find_first_not_of(" \t")));
      item = item.substr(0, item.find_last_not_of(" \t") + 1);
      if (!item.starts_with(ticket_prefix)) continue;
      item.remove_prefix(ticket_prefix.size());
      if (!out.empty() || !auth::ticket_digest(item)) return std::nullopt;
      out = item;
    }
  }
  return out;
}

HandshakeOutcome check_upgrade(const HttpHead& request) {
  if (!request.names_token("upgrade", "websocket") || !request.names_token("connection", "upgrade")) {
    return HandshakeRefused{{426, "the request must upgrade to websocket"}, RefusalReason::upgrade};
  }
  if (request.only("sec-websocket-version") != "13") {
    return HandshakeRefused{{426, "Sec-WebSocket-Version must be 13"}, RefusalReason::upgrade};
  }
  const std::string_view key = request.only("sec-websocket-key");
  if (!is_key(key)) return HandshakeRefused{{400, "Sec-WebSocket-Key must be 16 bytes in base64"}};
  if (!request.names_token("sec-websocket-protocol", subprotocol)) {
    return HandshakeRefused{{400, "Sec-WebSocket-Protocol must name viewgate.v1"}};
  }
  auto ticket = shown_ticket(request);
  if (!ticket) return HandshakeRefused{{400, "Sec-WebSocket-Protocol names more than one ticket, or one that is none"}};
  return HandshakeAccepted{accept_value(key), *std::move(ticket), std::string(given_traceparent(request))};
}

HandshakeOutcome check_request(const HttpHead& request, const HandshakePolicy& policy) {
  if (request.has_body()) return HandshakeRefused{{400, "the request must have no body"}};
  // The target is compared as it came: no decoding, no collapsing, no query. What is not the path is not here.
  if (request.target != socket_path) return HandshakeRefused{{404, "there is nothing here"}};
  if (request.method != "GET") return HandshakeRefused{{400, "the socket is opened by GET"}};
  if (const auto refused = check_origin(request, policy)) return *refused;
  return check_upgrade(request);
}

}  // namespace

bool is_origin(std::string_view text) {
  constexpr std::string_view mark = "://";
  const auto scheme = text.substr(0, text.find(mark));
  if (scheme.size() == text.size() || scheme.empty() || !has_only(scheme, "+-.")) return false;
  auto host = text.substr(scheme.size() + mark.size());
  if (const auto colon = host.rfind(':'); colon != std::string_view::npos && !host.ends_with(']')) {
    const auto port = host.substr(colon + 1);
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc{} || end != port.data() + port.size() || port.starts_with('0')) return false;
    if ((scheme == "https" && number == 443) || (scheme == "http" && number == 80)) return false;
    host = host.substr(0, colon);
  }
  const bool is_v6 = host.starts_with('[') && host.ends_with(']');
  return is_v6 ? has_only(host.substr(1, host.size() - 2), ":.") : !host.empty() && has_only(host, "-._");
}

HeadProgress head_progress(std::string_view received) {
  if (!may_begin_a_request(received)) return {HeadProgress::Kind::garbage};
  const std::size_t end = received.find(head_end);
  const std::size_t head_bytes = end == std::string_view::npos ? received.size() : end + head_end.size();
  const std::size_t line_bytes = received.find(line_end);
  if (line_bytes != std::string_view::npos && !request_line(received)) return {HeadProgress::Kind::garbage};
  if (head_bytes > limits::request_header_bytes) return {HeadProgress::Kind::too_large};
  if (end == std::string_view::npos) return {HeadProgress::Kind::more};
  return {HeadProgress::Kind::complete, head_bytes};
}

std::optional<RequestLine> request_line(std::string_view head) {
  const std::string_view line = first_line(head);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  if (!line.substr(last + 1).starts_with("HTTP/")) return std::nullopt;
  return RequestLine{line.substr(0, first), line.substr(first + 1, last - first - 1)};
}

HandshakeOutcome check_handshake(std::string_view head, const HandshakePolicy& policy) {
  const auto parsed = parse_http_head(head);
  if (const auto* refused = std::get_if<HttpRefused>(&parsed)) return HandshakeRefused{*refused};
  const auto& request = std::get<HttpHead>(parsed);
  auto outcome = check_request(request, policy);
  if (auto* refused = std::get_if<HandshakeRefused>(&outcome)) refused->traceparent = given_traceparent(request);
  return outcome;
}

std::string handshake_response(const HandshakeAccepted& accepted) {
  std::string out = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
  out.append("Sec-WebSocket-Accept: ").append(accepted.accept).append(line_end);
  out.append("Sec-WebSocket-Protocol: ").append(subprotocol).append(head_end);
  return out;
}

std::string handshake_response(const HttpRefused& refused) {
  const std::string_view fields = refused.status == 426 ? "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" : "";
  return http_text(refused.status, "text/plain", std::string(refused.text) + "\n", fields);
}

}  // namespace viewgate::gateway
