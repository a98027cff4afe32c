// Rows about the request that opens a socket: what no honest browser sends is refused before the upgrade, in the same few
// words, and what is no HTTP at all is not answered.
#include <sys/resource.h>

#include <map>
#include <sstream>

#include "row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AttackRequests : public Row {
 protected:
  /// Everything that comes back until the gateway closes.
  std::string answer(const std::string& bytes) {
    RawSocket socket(line.port());
    socket.send(bytes);
    std::string out = socket.read_until("never comes");
    EXPECT_TRUE(socket.wait_closed()) << out;
    return out;
  }
  void expect_refused(const char* name, const std::string& bytes, const std::string& status) {
    const std::string got = answer(bytes);
    EXPECT_TRUE(got.starts_with("HTTP/1.1 " + status + " ")) << name << ": " << got;
    EXPECT_THAT(got, HasSubstr("\r\nConnection: close\r\n")) << name;
    EXPECT_THAT(got, Not(HasSubstr(" 101 "))) << name;
  }
  std::size_t count_in_log(const std::string& what) {
    const std::string log = line.gateway().log();
    std::size_t out = 0;
    for (std::size_t at = log.find(what); at != std::string::npos; at = log.find(what, at + 1)) ++out;
    return out;
  }
};

/// The honest request with one piece replaced.
std::string but(const std::string& piece, const std::string& by) {
  std::string out = upgrade_bytes();
  const std::size_t at = out.find(piece);
  if (at == std::string::npos) throw std::logic_error("the honest request has no " + piece);
  return out.replace(at, piece.size(), by);
}

TEST_F(AttackRequests, row_12_permessage_deflate_is_not_negotiated_and_the_connection_works) {
  RawSocket socket(line.port());
  socket.send(
      upgrade_bytes({.extra_headers = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"}));
  const std::string answer = socket.read_until("\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr(" 101 "));
  EXPECT_THAT(answer, Not(HasSubstr("Extensions")));
  socket.send(text_frame(R"({"type":"hello","protocol":1,"token":")" + line.reader() + "\"}"));
  EXPECT_THAT(socket.read_until("}"), HasSubstr("welcome"));
}

TEST_F(AttackRequests, row_13_tls_or_garbage_on_the_plain_port_is_closed_without_a_reply_and_with_one_line) {
  const std::string client_hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (const std::string& bytes :
       {client_hello + std::string(500, 'x'), std::string(2000, '\0'), std::string("SSH-2.0-OpenSSH_9.2\r\n"),
        std::string("\x05\x01\x00", 3), std::string("get /v1/socket HTTP/1.1\r\n\r\n"), std::string("\r\n\r\n")}) {
    const std::size_t lines = count_in_log("not_http");
    EXPECT_EQ(answer(bytes), "");
    EXPECT_TRUE(eventually([&] { return count_in_log("not_http") == lines + 1; }));
  }
}

TEST_F(AttackRequests, row_14_a_missing_short_or_undecodable_key_is_400_and_another_version_426) {
  const std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  expect_refused("no key", but(key, ""), "400");
  for (const char* value : {"", "abc", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ==A",
                            "!!!!IHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZR=="}) {
    expect_refused(value, but(key, "Sec-WebSocket-Key: " + std::string(value) + "\r\n"), "400");
  }
  expect_refused("two keys", but(key, key + key), "400");
  for (const char* version : {"12", "14", "13, 8", "", "0x0d"}) {
    const std::string got = answer(but("Version: 13", "Version: " + std::string(version)));
    EXPECT_TRUE(got.starts_with("HTTP/1.1 426 ")) << version << got;
    EXPECT_THAT(got, HasSubstr("Sec-WebSocket-Version: 13\r\n"));
  }
}

TEST_F(AttackRequests, row_15_what_is_not_one_plain_http_1_1_get_without_a_body_is_refused) {
  expect_refused("POST", but("GET ", "POST "), "400");
  expect_refused("HTTP/1.0", but("HTTP/1.1", "HTTP/1.0"), "400");
  expect_refused("HTTP/1.2", but("HTTP/1.1", "HTTP/1.2"), "400");
  expect_refused("HTTP/2.0", but("HTTP/1.1", "HTTP/2.0"), "400");
  expect_refused("no Host", but("Host: localhost\r\n", ""), "400");
  expect_refused("two Hosts", but("Host: localhost\r\n", "Host: localhost\r\nHost: localhost\r\n"), "400");
  expect_refused("folded", but("Host: localhost\r\n", "Host: localhost\r\nX-A: b\r\n c\r\n"), "400");
  expect_refused("folded by a tab", but("Host: localhost\r\n", "Host: localhost\r\nX-A: b\r\n\tc\r\n"), "400");
  expect_refused("blank before the colon", but("Host: localhost", "Host : localhost"), "400");
  expect_refused("body", upgrade_bytes({.extra_headers = "Content-Length: 5\r\n"}) + "hello", "400");
  expect_refused("two lengths", upgrade_bytes({.extra_headers = "Content-Length: 0\r\nContent-Length: 5\r\n"}), "400");
  expect_refused("chunked", upgrade_bytes({.extra_headers = "Transfer-Encoding: chunked\r\n"}) + "0\r\n\r\n", "400");
  expect_refused("NUL in a value", but("localhost", std::string("loc\0host", 8)), "400");
  expect_refused("8 KiB of header", upgrade_bytes({.extra_headers = "X-A: " + std::string(9000, 'a') + "\r\n"}), "431");
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "a:\r\n";
  expect_refused("2000 headers", upgrade_bytes({.extra_headers = many}), "431");
  expect_refused("a path of 8 KiB", upgrade_bytes({.path = "/" + std::string(9000, 'a')}), "431");
}

TEST_F(AttackRequests, row_16_a_second_request_behind_the_upgrade_is_never_answered_as_http) {
  RawSocket socket(line.port());
  socket.send(upgrade_bytes() + "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(socket.read_until("\r\n\r\n"), HasSubstr(" 101 "));
  const std::string rest = socket.read_until("never comes");
  EXPECT_THAT(rest, Not(HasSubstr("HTTP/")));
  EXPECT_TRUE(rest.starts_with("\x88")) << "a close frame";
  // And none behind a request that was refused.
  const std::string refused = answer(but("Version: 13", "Version: 12") + "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(refused.find("HTTP/1.1", 1), std::string::npos) << refused;
}

TEST_F(AttackRequests, row_17_only_an_origin_that_is_listed_letter_by_letter_may_connect) {
  GatewayOptions options = line.gateway_options();
  options.set("--origins", "https://app.example,http://localhost:3000");
  GatewayProcess gateway(options);
  const auto status = [&](const std::string& headers) {
    RawSocket socket(gateway.port());
    socket.send(upgrade_bytes({.extra_headers = headers}));
    return socket.read_until("\r\n").substr(0, 12);
  };
  EXPECT_EQ(status("Origin: https://app.example\r\n"), "HTTP/1.1 101");
  EXPECT_EQ(status("Origin: http://localhost:3000\r\n"), "HTTP/1.1 101");
  EXPECT_EQ(status(""), "HTTP/1.1 101") << "no browser";
  for (const char* origin :
       {"null", "", "*", "http://app.example", "https://app.example:443", "https://app.example/", "https://APP.example",
        "https://app.example.evil.example", "https://evil-app.example", "https://evil.example/https://app.example",
        "https://app.example https://evil.example", "https://app.example, https://evil.example",
        "https://localhost:3000", "http://localhost:30000", "https://app\xd0\xb5xample"}) {
    EXPECT_EQ(status("Origin: " + std::string(origin) + "\r\n"), "HTTP/1.1 403") << origin;
  }
  EXPECT_EQ(status("Origin: https://app.example\r\nOrigin: https://evil.example\r\n"), "HTTP/1.1 403") << "two of them";
  // Where none is listed, none is let in.
  EXPECT_THAT(answer(upgrade_bytes({.extra_headers = "Origin: https://app.example\r\n"})), HasSubstr(" 403 "));
}

TEST_F(AttackRequests, row_18_the_path_is_compared_as_it_came_and_a_token_in_the_address_is_refused_and_not_logged) {
  for (const char* path : {"/v1//socket", "/v1/socket/", "/v1/%73ocket", "/V1/socket", "//v1/socket", "/v1/./socket",
                           "/v1/x/../socket", "/v1/socket%00", "/v1/socket?", "/v1/socket#a", "v1/socket", "*",
                           "http://localhost/v1/socket", "/v1\\socket", "/v1/socket;a=b"}) {
    expect_refused(path, upgrade_bytes({.path = path}), "404");
  }
  const std::string token = line.reader("in-the-address");
  for (const char* name : {"token", "access_token", "authorization"}) {
    expect_refused(name, upgrade_bytes({.path = "/v1/socket?" + std::string(name) + "=" + token}), "404");
  }
  expect_refused("elsewhere", upgrade_bytes({.path = "/healthz?token=" + token}), "404");
  EXPECT_EQ(count_in_log(token), 0U);
  EXPECT_EQ(count_in_log(token.substr(token.rfind('.'))), 0U);
}

/// A thousand sockets of ours need as many descriptors.
void allow_descriptors(rlim_t wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

TEST_F(AttackRequests,
       row_19_a_thousand_who_send_their_request_byte_by_byte_are_cut_and_an_honest_client_gets_in_meanwhile) {
  allow_descriptors(4096);
  const std::string request = upgrade_bytes();
  std::vector<std::unique_ptr<RawSocket>> slow;
  for (int i = 0; i < 1000; ++i) {
    slow.push_back(std::make_unique<RawSocket>(line.port()));
    slow.back()->send(request.substr(0, 1 + static_cast<std::size_t>(i) % 100));
  }
  const auto opened = std::chrono::steady_clock::now();  // the last of them
  // Within a second; where the machine itself was held up, the next one shows it.
  EXPECT_TRUE(eventually([&] {
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(WsClient(line.port(), line.reader()).welcome().type(), "welcome");
    return std::chrono::steady_clock::now() - begun < patient(std::chrono::seconds(1));
  }));
  expect_a_good_client_works(line, line.port());
  std::size_t at = 101;
  for (const auto& socket : slow) socket->send(request.substr(at++ % 100, 1));
  for (const auto& socket : slow) {
    EXPECT_EQ(socket->read_until("never comes"), "");
    EXPECT_TRUE(socket->wait_closed());
  }
  // time.handshake is half a second here: a byte now and then does not prolong it.
  EXPECT_LT(std::chrono::steady_clock::now() - opened, patience);
}

TEST_F(AttackRequests, row_65_control_characters_and_long_values_leave_one_escaped_capped_line) {
  const std::string forged = "x\r\n2026-01-01T00:00:00.000Z info forged_by_a_client";
  const std::string escape = "\x1b[2J\x1b]0;title\x07";
  GatewayProcess gateway(line.gateway_options());  // of its own: such lines are written sparingly
  for (const std::string& what : {forged, escape, std::string(60'000, 'A')}) {
    // In a header, where it may not even be; in the id, space and view of a subscription; in the reason of a close.
    RawSocket upgrading(gateway.port());
    upgrading.send(upgrade_bytes({.extra_headers = "X-A: " + what + "\r\n"}));
    static_cast<void>(upgrading.read_until("\r\n"));
    WsClient client(gateway.port(), line.reader());
    for (const SubscribeText& each :
         {SubscribeText{.id = what}, SubscribeText{.id = "b", .space = what}, SubscribeText{.id = "c", .view = what}}) {
      client.send(subscribe_text(each));
      const std::string code = client.next().plain("code");
      EXPECT_TRUE(code == "forbidden" || code == "bad_request" || code == "") << code;
    }
    RawWebSocket leaving(gateway.port());
    leaving.send({.opcode = Opcode::close}, close_payload(4000, what.substr(0, 100)));
    leaving.read_close();
  }
  constexpr std::size_t line_bytes_max = 4096;
  // As a view's name each of them is told to operators: once, in one line, escaped and cut.
  const std::string told = "the model has no view ";
  std::map<std::string, int> lines{{told + R"(x\u000d\u000a2026-01-01T00:00:00.000Z info forged_by_a_client")", 0},
                                   {told + R"(\u001b[2J\u001b]0;title\u0007")", 0},
                                   {told + std::string(400 - told.size(), 'A') + "...\"", 0}};
  EXPECT_TRUE(eventually([&] {
    const std::string log = gateway.log();
    return std::ranges::all_of(lines,
                               [&](const auto& each) { return log.find(each.first + "\n") != std::string::npos; });
  }));
  std::istringstream log(gateway.log());
  for (std::string each; std::getline(log, each);) {
    EXPECT_LT(each.size(), line_bytes_max);
    EXPECT_FALSE(each.starts_with("2026-01-01T00:00:00.000Z")) << "a line of the client's own making";
    EXPECT_EQ(each.find('\x1b'), std::string::npos) << each;
    for (auto& [end, count] : lines)
      count += each.ends_with(end) && each.find(" subscribe_refused ") < each.size() ? 1 : 0;
  }
  for (const auto& [end, count] : lines) EXPECT_EQ(count, 1) << end;
}

}  // namespace
}  // namespace viewgate::testing
