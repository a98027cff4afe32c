// From an error to the line of the log that says why: ids of connections, traces from outside, and what is left of a flood.
#include <gmock/gmock.h>

#include <regex>
#include <tuple>

#include "operators.hpp"
#include "support/http_client.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string traceparent = "00-" + trace + "-00f067aa0ba902b7-01";

class Correlation : public Operators {
 protected:
  /// Of an answer's fields; empty: none.
  static std::string id_in(const std::string& head) {
    std::smatch found;
    return std::regex_search(head, found, std::regex("\r\nX-Request-Id: ([^\r]*)\r\n")) ? found[1].str() : "";
  }
  std::string head_of(std::uint16_t port, const std::string& request) {
    RawSocket socket(port);
    socket.send(request);
    return socket.read_until("\r\n\r\n");
  }
  static std::string label(const std::string& name) {
    return R"([{"kind":"create","collection":"labels","key":[")" + name + R"("],"record":{"colour":"red"}}])";
  }
  /// The line of this event with this id: the log is written a moment later than the answer.
  static bool has_line(const GatewayProcess& gateway, const std::string& event, const std::string& id,
                       const std::string& more = "") {
    const std::regex line(" " + event + " connection=" + id + "[^\n]*" + more);
    return eventually([&] { return std::regex_search(gateway.log(), line); });
  }
};

TEST_F(Correlation, every_answer_over_http_says_its_connection) {
  GatewayProcess gateway(options());
  const std::uint16_t admin = admin_port(gateway);
  const auto get = [](const std::string& target, const std::string& more = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
  };
  const std::string bearer = std::string("Authorization: Bearer ") + credential + "\r\n";
  const std::string reader = "Authorization: Bearer " + line.reader() + "\r\n";
  std::set<std::string> ids;
  int asked = 0;
  const auto expect_id = [&](std::uint16_t port, const std::string& request) {
    const std::string head = head_of(port, request);
    EXPECT_THAT(id_in(head), MatchesRegex("[0-9a-f]{16}")) << head;
    ids.insert(id_in(head));
    ++asked;
  };
  for (const std::string& request :
       {get("/healthz"), get("/readyz"), get("/nothing"), get("/v1/spaces/s/nothing", reader),
        get("/v1/spaces/s/views/open"), get("/v1/spaces/s/views/open", reader),
        get("/v1/spaces/s/views/nothing", reader), get("/v1/tickets", reader), get("/v1/socket"), upgrade_bytes(),
        get("/healthz", "X-Long: " + std::string(9000, 'a')),
        std::string("POST /v1/spaces/s/mutations HTTP/1.1\r\nHost: localhost\r\n" + reader +
                    "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")}) {
    expect_id(gateway.port(), request);
  }
  for (const std::string& request :
       {get("/metrics"), get("/metrics", bearer), get("/nothing", bearer), get("/inspector"),
        get("/v1/inspect/overview", bearer), get("/v1/explain", bearer)}) {
    expect_id(admin, request);
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(asked)) << "no two are the same";
}

TEST_F(Correlation, an_error_leads_to_its_line) {
  GatewayProcess gateway(options());
  WsClient client(gateway.port(), line.reader());
  const std::string id = client.welcome().plain("connection");
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{16}"));
  client.send(subscribe_text({.id = "a", .space = "s", .view = "nothing"}));
  const Document error = client.next();
  EXPECT_EQ(error.plain("code"), "forbidden");
  EXPECT_EQ(error.plain("connection"), id);
  EXPECT_TRUE(has_line(gateway, "subscribe_refused", id)) << gateway.log();
  // What is its sender's own fault has no line and names none.
  client.send(R"({"type":"unsubscribe","id":1})");
  EXPECT_EQ(client.next_of("error").plain("connection"), "");

  const std::uint16_t admin = admin_port(gateway);
  EXPECT_THAT(ask(admin, "GET", "/v1/inspect/connections?q=" + id).body,
              AllOf(HasSubstr("\"matched\":1"), HasSubstr("\"connection\":\"" + id + "\"")));

  RawWebSocket stranger(gateway.port());
  stranger.send_text(R"({"type":"hello","protocol":1,"token":"none"})");
  EXPECT_EQ(stranger.read_close(), 4001);
  EXPECT_TRUE(has_line(gateway, "token_refused", "[0-9a-f]{16}"));
  const std::string refused = head_of(gateway.port(), get_text("/v1/spaces/s/views/open", "none"));
  EXPECT_TRUE(has_line(gateway, "http_refused", id_in(refused)));
  const std::string unseen = head_of(gateway.port(), get_text("/v1/spaces/s/views/nothing", line.reader()));
  EXPECT_TRUE(has_line(gateway, "view_refused", id_in(unseen)));
  EXPECT_TRUE(has_line(gateway, "admin_refused", id_in(ask(admin, "GET", "/metrics", "", "Bearer no").head)));
}

TEST_F(Correlation, row_65_a_hello_that_is_none_leads_to_one_escaped_line_that_says_why) {
  GatewayProcess gateway(options());
  const std::string forged = R"(x\r\n2026-01-01T00:00:00.000Z info forged_by_a_client)";
  const std::vector<std::tuple<std::string, std::uint16_t, std::string>> wrong{
      {R"({"type":"hello","protocol":1,"client":""})", 4001, "client: must not be empty"},
      {R"({"type":"hello","protocol":1,"client":7})", 4001, "client: must be a string"},
      {R"({"type":"hello","protocol":1,"client":")" + std::string(201, 'c') + "\"}", 4001, "client: must be at most"},
      {R"({"type":"hello","protocol":1,"client":"\u0000"})", 4001, "client: must not hold"},
      {R"({"type":"hello","protocol":1,"token":7})", 4001, "token: must be a string"},
      {R"({"type":"hello","protocol":1,")" + forged + R"(":"secret-of-this-test"})", 4001,
       R"(x\\u000d\\u000a2026-01-01)"},
      {R"({"type":"hello","protocol":2})", 4010, "protocol 2"},
      {R"({"type":"pong"})", 4001, "another message came first"}};
  for (const auto& [hello, code, reason] : wrong) {
    RawSocket socket(gateway.port());
    socket.send(upgrade_bytes());
    const std::string id = id_in(socket.read_until("\r\n\r\n"));
    socket.send(text_frame(hello));
    EXPECT_TRUE(has_line(gateway, "hello_refused", id, reason)) << hello << "\n" << gateway.log();
    const std::string close = socket.read_exactly(4).value_or("");
    ASSERT_EQ(close.size(), 4U);
    EXPECT_EQ((static_cast<unsigned char>(close[2]) << 8) | static_cast<unsigned char>(close[3]), code) << hello;
  }
  EXPECT_THAT(gateway.log(),
              AllOf(Not(HasSubstr("secret-of-this-test")), Not(HasSubstr("\n2026-01-01T00:00:00.000Z"))));
}

TEST_F(Correlation, who_writes_under_a_client_id_of_another_principal_leads_to_its_line) {
  GatewayProcess gateway(options());
  const std::string space = line.new_space(), client_id = R"(theirs\r\n\u001b)";
  WsClient first(gateway.port(), line.reader("bob"), client_id);
  first.mutate(space, 1, label("a"));
  EXPECT_THAT(first.receipt_of(1).text, HasSubstr("\"applied\""));
  const std::string says = "subject=ada space=" + space + R"( client="theirs\\u000d\\u000a\\u001b" cause=)";
  WsClient other(gateway.port(), line.reader("ada"), client_id);
  other.mutate(space, 1, label("b"));
  EXPECT_EQ(other.next_of("error").plain("code"), "forbidden");
  EXPECT_TRUE(has_line(gateway, "client_refused", other.welcome().plain("connection"), says)) << gateway.log();
  const std::string body = R"({"client":")" + client_id + R"(","number":"1","mutations":)" + label("b") + "}";
  const std::string refused = head_of(
      gateway.port(), "POST /v1/spaces/" + space + "/mutations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                          line.reader("ada") + "\r\nContent-Type: application/json\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_THAT(refused, HasSubstr("HTTP/1.1 403 "));
  EXPECT_TRUE(has_line(gateway, "client_refused", id_in(refused), says)) << gateway.log();
}

TEST_F(Correlation, row_17_a_page_of_another_origin_is_told_nothing_and_its_operator_all) {
  GatewayOptions with_pages = options();
  with_pages.set("--origins", "https://app.example");
  GatewayProcess gateway(with_pages);
  UpgradeRequest request;
  request.extra_headers = "Origin: https://app.example.evil\t\"a=b\r\n";
  const std::string refused = head_of(gateway.port(), upgrade_bytes(request));
  EXPECT_THAT(refused, HasSubstr("HTTP/1.1 403 "));
  EXPECT_TRUE(has_line(gateway, "socket_refused", id_in(refused),
                       "reason=\"the origin is not one that may connect\" "
                       "origin=\"https://app.example.evil"))
      << gateway.log();
  const std::string no_upgrade = head_of(gateway.port(), "GET /v1/socket HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(has_line(gateway, "socket_refused", id_in(no_upgrade), "reason=\"the request must upgrade"))
      << gateway.log();
  const std::string figures = metrics(admin_port(gateway)).body;
  EXPECT_THAT(figures, HasSubstr("viewgate_handshakes_refused_total{reason=\"origin\"} 1\n"));
  EXPECT_THAT(figures, HasSubstr("viewgate_handshakes_refused_total{reason=\"upgrade\"} 1\n"));
  EXPECT_THAT(figures, HasSubstr("viewgate_handshakes_refused_total{reason=\"malformed\"} 0\n"));
}

TEST_F(Correlation, an_id_from_outside_is_taken_from_a_trusted_proxy_alone) {
  UpgradeRequest request;
  request.extra_headers = "X-Request-Id: of-the-proxy.7\r\n";
  GatewayOptions trusting = options();
  trusting.set("--proxy-trusted", "127.0.0.1");
  GatewayProcess behind(trusting);
  EXPECT_EQ(id_in(head_of(behind.port(), upgrade_bytes(request))), "of-the-proxy.7");
  EXPECT_EQ(id_in(head_of(behind.port(), "GET /nothing HTTP/1.1\r\nHost: h\r\nX-Request-Id: another\r\n\r\n")),
            "another");
  request.extra_headers = "X-Request-Id: a line\r\n";
  EXPECT_THAT(id_in(head_of(behind.port(), upgrade_bytes(request))), MatchesRegex("[0-9a-f]{16}"));

  request.extra_headers = "X-Request-Id: of-a-client\r\n";
  EXPECT_THAT(id_in(head_of(line.port(), upgrade_bytes(request))), MatchesRegex("[0-9a-f]{16}"));
}

TEST_F(Correlation, a_trace_is_in_the_lines_and_goes_on_with_the_mutation) {
  GatewayProcess gateway(options());
  const std::string space = line.new_space();
  const auto post = [&](int number, const std::string& more_of_body) {
    const std::string body = R"({"client":"t","number":")" + std::to_string(number) +
                             R"(","mutations":[{"kind":"put","collection":"labels","key":["a"],"record":{"colour":"c)" +
                             std::to_string(number) + "\"}}]" + more_of_body + "}";
    return head_of(gateway.port(),
                   "POST /v1/spaces/" + space + "/mutations HTTP/1.1\r\nHost: h\r\ntraceparent: " + traceparent +
                       "\r\nAuthorization: Bearer " + line.reader() +
                       "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                       "\r\n\r\n" + body);
  };
  EXPECT_THAT(post(1, ""), HasSubstr(" 200 "));
  EXPECT_THAT(post(2, R"(,"provenance":{"page":"board"})"), HasSubstr(" 200 "));
  EXPECT_THAT(post(3, R"(,"provenance":{"traceparent":"my own"})"), HasSubstr(" 200 "));
  const auto fields = [&](int number) {
    return line.value("select fields from viewgate.commits where space = viewgate.space_key($1) and number = $2::int8",
                      {space, std::to_string(number)});
  };
  EXPECT_THAT(fields(1), AllOf(HasSubstr("\"traceparent\""), HasSubstr(traceparent)));
  EXPECT_THAT(fields(2), AllOf(HasSubstr(traceparent), HasSubstr("board")));
  EXPECT_THAT(fields(3), AllOf(HasSubstr("my own"), Not(HasSubstr(traceparent))));
  // The same number with the same content under another trace is the same mutation.
  EXPECT_THAT(post(3, ""), HasSubstr(" 200 "));

  RawSocket socket(gateway.port());
  UpgradeRequest request;
  request.extra_headers = "traceparent: " + traceparent + "\r\n";
  socket.send(upgrade_bytes(request));
  const std::string id = id_in(socket.read_until("\r\n\r\n"));
  socket.send(text_frame(R"({"type":"hello","protocol":1,"token":"none"})"));
  EXPECT_TRUE(has_line(gateway, "token_refused", id, "trace=" + trace));
  request.extra_headers += "Origin: https://elsewhere.example\r\n";
  EXPECT_TRUE(
      has_line(gateway, "socket_refused", id_in(head_of(gateway.port(), upgrade_bytes(request))), "trace=" + trace));
}

TEST_F(Correlation, a_flood_leaves_a_few_lines_and_their_number) {
  GatewayProcess gateway(options());
  constexpr std::size_t refused = 300;
  const auto refuse_one = [&] { head_of(gateway.port(), get_text("/v1/spaces/s/views/open", "none")); };
  const auto count = [&](const std::string& what) {
    const std::string log = gateway.log();
    const std::regex wanted(what);
    return static_cast<std::size_t>(std::distance(std::sregex_iterator(log.begin(), log.end(), wanted), {}));
  };
  const auto left_out = [&] {
    const std::string log = gateway.log();
    const std::regex wanted(" lines_left_out of=http_refused lines=([0-9]+)");
    std::size_t out = 0;
    for (std::sregex_iterator each(log.begin(), log.end(), wanted); each != std::sregex_iterator(); ++each) {
      out += std::stoul((*each)[1]);
    }
    return out;
  };
  for (std::size_t i = 0; i < refused; ++i) refuse_one();
  // The next line tells what was left out before it; one of a later second is such.
  std::size_t more = 0;
  EXPECT_TRUE(eventually([&] {
    refuse_one();
    ++more;
    return count(" http_refused ") + left_out() == refused + more;
  }));
  EXPECT_LT(count(" http_refused "), refused + more) << "not all were written";
  EXPECT_GT(left_out(), 0U);
  // Another event has its own lines.
  WsClient client(gateway.port(), line.reader());
  client.send(subscribe_text({.id = "a", .space = "s", .view = "nothing"}));
  EXPECT_EQ(client.next().plain("code"), "forbidden");
  EXPECT_TRUE(has_line(gateway, "subscribe_refused", client.welcome().plain("connection")));
}

}  // namespace
}  // namespace viewgate::testing
