// The opening request, one thing wrong at a time: rows 12 to 18 of the fault table, without a socket.
#include <gtest/gtest.h>

#include "gateway/handshake.hpp"
#include "gateway/protocol.hpp"

namespace viewgate::gateway {
namespace {

const HandshakePolicy policy{{"https://app.example", "http://localhost:8080"}};

// A good request, from lines that a test may change.
struct Request {
  std::string line = "GET /v1/socket HTTP/1.1";
  std::string host = "Host: gateway.example\r\n";
  std::string upgrade = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n";
  std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  std::string version = "Sec-WebSocket-Version: 13\r\n";
  std::string protocol = "Sec-WebSocket-Protocol: viewgate.v1\r\n";
  std::string more;

  [[nodiscard]] std::string text() const {
    return line + "\r\n" + host + upgrade + key + version + protocol + more + "\r\n";
  }
};

// 101, or the refusal's status.
int status_of(const std::string& head) {
  const HandshakeOutcome outcome = check_handshake(head, policy);
  const auto* const refused = std::get_if<HandshakeRefused>(&outcome);
  return refused == nullptr ? 101 : refused->answer.status;
}

int status_with(std::string Request::*member, const std::string& value) {
  Request request;
  request.*member = value;
  return status_of(request.text());
}

TEST(Handshake, the_example_of_the_rfc_is_accepted_with_its_answer) {
  const HandshakeOutcome outcome = check_handshake(Request{}.text(), policy);
  ASSERT_TRUE(std::holds_alternative<HandshakeAccepted>(outcome));
  EXPECT_EQ(handshake_response(std::get<HandshakeAccepted>(outcome)),
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: viewgate.v1\r\n\r\n");
}

TEST(Handshake, row_12_permessage_deflate_is_offered_and_not_negotiated) {
  const std::string offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n";
  EXPECT_EQ(status_with(&Request::more, offer), 101);
  EXPECT_EQ(handshake_response(HandshakeAccepted{"x"}).find("Extensions"), std::string::npos);
}

TEST(Handshake, row_13_what_cannot_begin_a_request_is_known_from_its_first_bytes) {
  const auto kind = [](std::string_view text) { return head_progress(text).kind; };
  using Kind = HeadProgress::Kind;
  EXPECT_EQ(kind("\x16"), Kind::garbage);
  EXPECT_EQ(kind(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", 11)), Kind::garbage);
  EXPECT_EQ(kind(std::string(1, '\0')), Kind::garbage);
  EXPECT_EQ(kind("\r\n"), Kind::garbage);
  EXPECT_EQ(kind(" GET"), Kind::garbage);
  EXPECT_EQ(kind("get / HTTP/1.1"), Kind::garbage);
  EXPECT_EQ(kind(std::string(21, 'G')), Kind::garbage);
  EXPECT_EQ(kind("HELO there\r\n"), Kind::garbage);
  EXPECT_EQ(kind("HELO there you\r\n"), Kind::garbage);
  EXPECT_EQ(kind(""), Kind::more);
  EXPECT_EQ(kind("GE"), Kind::more);
  EXPECT_EQ(kind("GET /v1/socket HT"), Kind::more);
}

TEST(Handshake, a_head_is_complete_at_its_empty_line_however_it_arrives) {
  const std::string head = Request{}.text();
  for (std::size_t size = 0; size < head.size(); ++size) {
    ASSERT_EQ(head_progress(head.substr(0, size)).kind, HeadProgress::Kind::more) << size;
  }
  const HeadProgress progress = head_progress(head + "frames");
  EXPECT_EQ(progress.kind, HeadProgress::Kind::complete);
  EXPECT_EQ(progress.bytes, head.size());
}

TEST(Handshake, row_14_the_key_must_be_sixteen_bytes_in_base64) {
  for (const std::string value :
       {"", "Sec-WebSocket-Key: \r\n", "Sec-WebSocket-Key: abc\r\n", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==\r\n", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"}) {
    EXPECT_EQ(status_with(&Request::key, value), 400) << value;
  }
}

TEST(Handshake, row_14_another_version_is_answered_426_with_the_right_one) {
  for (const std::string value : {"", "Sec-WebSocket-Version: 12\r\n", "Sec-WebSocket-Version: 13, 8\r\n",
                                  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Version: 13\r\n"}) {
    EXPECT_EQ(status_with(&Request::version, value), 426) << value;
  }
  const std::string answer = handshake_response(HttpRefused{426, "x"});
  EXPECT_NE(answer.find("\r\nSec-WebSocket-Version: 13\r\n"), std::string::npos);
  EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos);
}

TEST(Handshake, row_15_a_request_that_could_be_read_in_two_ways_is_refused) {
  EXPECT_EQ(status_with(&Request::line, "POST /v1/socket HTTP/1.1"), 400);
  EXPECT_EQ(status_with(&Request::line, "HEAD /v1/socket HTTP/1.1"), 400);
  EXPECT_EQ(status_with(&Request::line, "GET /v1/socket HTTP/1.0"), 400);
  EXPECT_EQ(status_with(&Request::line, "GET /v1/socket HTTP/2.0"), 400);
  EXPECT_EQ(status_with(&Request::line, "GET  /v1/socket HTTP/1.1"), 400);
  EXPECT_EQ(status_with(&Request::host, ""), 400);
  EXPECT_EQ(status_with(&Request::host, "Host: a\r\nHost: a\r\n"), 400);
  EXPECT_EQ(status_with(&Request::host, "Host : a\r\n"), 400);
  EXPECT_EQ(status_with(&Request::more, "X-Folded: a\r\n b\r\n"), 400);
  EXPECT_EQ(status_with(&Request::more, "X-Folded: a\r\n\tb\r\n"), 400);
  EXPECT_EQ(status_with(&Request::more, "Content-Length: 5\r\n"), 400);
  EXPECT_EQ(status_with(&Request::more, "Content-Length: 0\r\nContent-Length: 0\r\n"), 400);
  EXPECT_EQ(status_with(&Request::more, "Content-Length: 0\r\n"), 101);
  EXPECT_EQ(status_with(&Request::more, "Transfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(status_with(&Request::more, std::string("X-Nul: a\0b\r\n", 12)), 400);
  EXPECT_EQ(status_with(&Request::more, "X-Line: a\nb\r\n"), 400);
  EXPECT_EQ(status_with(&Request::more, "no colon\r\n"), 400);
}

TEST(Handshake, row_15_a_header_of_more_than_8192_bytes_is_431_before_it_is_complete) {
  Request request;
  request.more = "X-Large: " + std::string(limits::request_header_bytes, 'x') + "\r\n";
  EXPECT_EQ(status_of(request.text()), 431);
  EXPECT_EQ(head_progress(request.text()).kind, HeadProgress::Kind::too_large);
  EXPECT_EQ(head_progress(request.text().substr(0, limits::request_header_bytes + 1)).kind,
            HeadProgress::Kind::too_large);
  EXPECT_EQ(head_progress(Request{}.text() + std::string(20'000, 'f')).kind, HeadProgress::Kind::complete);
  EXPECT_EQ(handshake_response(head_too_large).find("HTTP/1.1 431 "), 0U);
}

TEST(Handshake, row_17_only_listed_origins_connect_from_a_browser) {
  EXPECT_EQ(status_with(&Request::more, "Origin: https://app.example\r\n"), 101);
  EXPECT_EQ(status_with(&Request::more, "Origin: http://localhost:8080\r\n"), 101);
  EXPECT_EQ(status_with(&Request::more, ""), 101);
  for (const std::string origin :
       {"null", "", "https://app.example.evil.example", "https://evilapp.example", "https://app.example:8443",
        "http://app.example", "https://app.example/", "HTTPS://APP.EXAMPLE", "https://app.example https://evil.example",
        "*", "https://app.exampl", "https://sub.app.example"}) {
    EXPECT_EQ(status_with(&Request::more, "Origin: " + origin + "\r\n"), 403) << origin;
  }
  EXPECT_EQ(status_with(&Request::more, "Origin: https://app.example\r\nOrigin: https://app.example\r\n"), 403);
  const HandshakePolicy careless{{"null"}};
  Request request;
  request.more = "Origin: null\r\n";
  EXPECT_TRUE(std::holds_alternative<HandshakeRefused>(check_handshake(request.text(), careless)));
}

TEST(Handshake, row_17_only_what_a_browser_can_send_is_an_origin) {
  for (const char* right :
       {"https://app.example", "http://localhost:3000", "https://app.example:8443", "http://app.example:443",
        "https://[::1]:8443", "https://[2001:db8::1]", "https://xn--bcher-kva.example", "capacitor://localhost",
        "chrome-extension://abcdefghijklmnop", "https://my_host"}) {
    EXPECT_TRUE(is_origin(right)) << right;
  }
  for (const char* wrong : {"",
                            "*",
                            "null",
                            "app.example",
                            "//app.example",
                            "://app.example",
                            "https://",
                            "https://app.example/",
                            "https://app.example/path",
                            "https://app.example?a",
                            "https://app.example#a",
                            "https://user@app.example",
                            "https://app.example:443",
                            "http://app.example:80",
                            "https://app.example:",
                            "https://app.example:x",
                            "https://app.example:0",
                            "https://app.example:08443",
                            "https://app.example:65536",
                            "HTTPS://app.example",
                            "https://App.example",
                            "https://b\u00fccher.example",
                            "https://*.app.example",
                            "https://app.example:1:2",
                            "https://a https://b",
                            "https://:80",
                            "https://[::1"}) {
    EXPECT_FALSE(is_origin(wrong)) << wrong;
  }
}

TEST(Handshake, row_17_a_refusal_says_what_an_operator_needs) {
  const auto refused = [](const std::string& more, const char* without = "") {
    Request request;
    request.more = more;
    std::string text = request.text();
    if (const auto at = text.find(without); *without != '\0' && at != std::string::npos) text.replace(at, 1, "X");
    return std::get<HandshakeRefused>(check_handshake(text, policy));
  };
  EXPECT_EQ(refused("Origin: https://evil.example\r\n").reason, RefusalReason::origin);
  EXPECT_EQ(refused("Origin: https://evil.example\r\n").origin, "https://evil.example");
  EXPECT_EQ(refused("Origin: https://a.example\r\nOrigin: https://b.example\r\n").origin,
            "https://a.example, https://b.example");
  EXPECT_EQ(refused("", "Upgrade: ").reason, RefusalReason::upgrade);
  EXPECT_EQ(refused("Content-Length: 5\r\n").reason, RefusalReason::malformed);
}

TEST(Handshake, row_18_the_path_is_compared_as_it_came) {
  for (const std::string target :
       {"/v1//socket", "/v1/socket/", "/v1/%73ocket", "/v1/socket?token=secret", "/v1/socket?", "//v1/socket",
        "/V1/socket", "/v1/./socket", "/v1/x/../socket", "/v1/socket#a", "/v1/socket;a",
        "http://gateway.example/v1/socket", "/", "*", "/metrics", "/v1/socket%00"}) {
    EXPECT_EQ(status_with(&Request::line, "GET " + target + " HTTP/1.1"), 404) << target;
  }
}

TEST(Handshake, row_18_a_refusal_quotes_nothing_of_the_request) {
  Request request;
  request.line = "GET /v1/socket?token=secret HTTP/1.1";
  const HandshakeOutcome outcome = check_handshake(request.text(), policy);
  EXPECT_EQ(handshake_response(std::get<HandshakeRefused>(outcome).answer).find("secret"), std::string::npos);
}

TEST(Handshake, a_request_that_asks_for_no_upgrade_is_told_what_would_be_right) {
  EXPECT_EQ(status_with(&Request::upgrade, ""), 426);
  EXPECT_EQ(status_with(&Request::upgrade, "Upgrade: h2c\r\nConnection: Upgrade\r\n"), 426);
  EXPECT_EQ(status_with(&Request::upgrade, "Upgrade: websocket\r\nConnection: close\r\n"), 426);
  EXPECT_EQ(status_with(&Request::upgrade, "Upgrade: WebSocket\r\nConnection: upgrade\r\n"), 101);
}

TEST(Handshake, the_subprotocol_must_be_offered) {
  EXPECT_EQ(status_with(&Request::protocol, ""), 400);
  EXPECT_EQ(status_with(&Request::protocol, "Sec-WebSocket-Protocol: viewgate.v2\r\n"), 400);
  EXPECT_EQ(status_with(&Request::protocol, "Sec-WebSocket-Protocol: viewgate.v10\r\n"), 400);
  EXPECT_EQ(status_with(&Request::protocol, "Sec-WebSocket-Protocol: chat, viewgate.v1\r\n"), 101);
  EXPECT_EQ(status_with(&Request::protocol, "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: viewgate.v1\r\n"),
            101);
}

TEST(Handshake, the_request_line_is_there_for_other_routes) {
  const auto line = request_line("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->method, "GET");
  EXPECT_EQ(line->target, "/healthz");
  EXPECT_FALSE(request_line("GET\r\n"));
  EXPECT_FALSE(request_line("GET /healthz\r\n"));
}

}  // namespace
}  // namespace viewgate::gateway
