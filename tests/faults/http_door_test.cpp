// The HTTP door for mutations: the same receipts as the socket's, each refusal by its status, and nothing read twice.
#include "row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Reply {
  int status = 0;
  std::string fields;
  Document document;
};

class HttpDoor : public Row {
 protected:
  Reply send(const std::string& request) {
    RawSocket socket(line.port());
    socket.send(request);
    const std::string head = socket.read_until("\r\n\r\n");
    Reply out;
    out.fields = head;
    if (head.starts_with("HTTP/1.1 ")) out.status = std::stoi(head.substr(9, 3));
    std::string text = socket.read_until("\n");
    if (text.ends_with('\n')) text.pop_back();
    out.document = Document{text};
    EXPECT_TRUE(socket.wait_closed()) << "one request on a connection";
    return out;
  }
  std::string head(const std::string& line_and_target, std::size_t body_bytes, const std::string& more = "") {
    return line_and_target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + line.reader() +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body_bytes) + "\r\n" + more +
           "\r\n";
  }
  Reply post(const std::string& body, const std::string& more = "") {
    return send(head("POST /v1/spaces/" + space + "/mutations", body.size(), more) + body);
  }
  Reply get(const std::string& target) {
    return send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + line.reader() +
                "\r\n\r\n");
  }
  /// The head of the answer.
  static std::string answer_of(std::uint16_t port, const std::string& line_and_target, const std::string& token) {
    RawSocket socket(port);
    socket.send(line_and_target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n");
    return socket.read_until("\r\n\r\n");
  }
  static std::string body(std::int64_t number, const std::string& mutations, const std::string& client = "importer") {
    return R"({"client":")" + client + R"(","number":")" + std::to_string(number) + R"(","mutations":)" + mutations +
           "}";
  }
  static std::string label(const std::string& name, const std::string& kind = "create") {
    return R"([{"kind":")" + kind + R"(","collection":"labels","key":[")" + name + R"("],"record":{"colour":"red"}}])";
  }

  std::string space = line.new_space();
};

TEST_F(HttpDoor, row_38_a_principal_has_its_number_of_requests_and_of_connections_over_all_doors) {
  GatewayOptions options = line.gateway_options();
  options.set("--limit-principal-requests", "1");
  options.set("--limit-principal-connections", "3");
  GatewayProcess gateway(options);
  const auto receipt = [&](const std::string& subject) {
    return answer_of(gateway.port(), "GET /v1/spaces/" + space + "/clients/importer/receipts/1", line.reader(subject));
  };
  PgSession holder(line.database());
  holder.run("begin");
  holder.run("select viewgate.lock_space('" + space + "')");
  RawSocket waiting(gateway.port());
  const std::string text = body(1, label("a"));
  waiting.send(head("POST /v1/spaces/" + space + "/mutations", text.size()) + text);
  ASSERT_TRUE(eventually([&] {
    return line.value(
               "select count(*) from pg_stat_activity where datname = current_database() and "
               "application_name = 'viewgate write' and wait_event_type = 'Lock'") != "0";
  }));
  EXPECT_THAT(receipt("alice"), AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: 1\r\n")));
  EXPECT_THAT(receipt("bob"), StartsWith("HTTP/1.1 404 "));
  holder.run("commit");
  EXPECT_THAT(waiting.read_until("\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(eventually([&] { return receipt("alice").starts_with("HTTP/1.1 200 "); }));
  std::vector<std::unique_ptr<WsClient>> sockets;
  // The place of a request is given back a moment after its answer has come.
  const auto gets_in = [&] {
    try {
      sockets.push_back(std::make_unique<WsClient>(gateway.port(), line.reader()));
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(eventually(gets_in));
  EXPECT_THAT(receipt("alice"), StartsWith("HTTP/1.1 429 "));
  sockets.pop_back();
  EXPECT_TRUE(eventually([&] { return receipt("alice").starts_with("HTTP/1.1 200 "); }));
}

TEST_F(HttpDoor, row_38_where_no_more_connections_fit_requests_are_told_to_come_back) {
  GatewayOptions options = line.gateway_options();
  options.set("--threads", "1");
  options.set("--limit-connections", "2");
  GatewayProcess gateway(options);
  const WsClient first(gateway.port(), line.reader()), second(gateway.port(), line.reader());
  const std::string target = "/v1/spaces/" + space + "/clients/importer/receipts/1";
  EXPECT_THAT(answer_of(gateway.port(), "GET " + target, line.reader("bob")),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1\r\n")));
  EXPECT_THAT(answer_of(gateway.port(), "GET /healthz", line.reader("bob")), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpDoor, a_mutation_is_answered_with_its_receipt_and_reaches_the_views) {
  WsClient watcher(line.port(), line.reader());
  watcher.open({.space = space, .view = "all_labels"});
  const Reply first = post(body(1, label("a")));
  EXPECT_EQ(first.status, 200) << first.fields << first.document.text;
  EXPECT_THAT(first.document.text, AllOf(StartsWith("{\"type\":\"receipts\""), HasSubstr("\"applied\"")));
  EXPECT_EQ(first.document.plain("sequence"), "1");
  EXPECT_THAT(watcher.next_of("commit").text, HasSubstr("[\"a\"]"));
  EXPECT_EQ(post(body(1, label("a"))).document.text, first.document.text) << "a replay";
  EXPECT_EQ(get("/v1/spaces/" + space + "/clients/importer/receipts/1").document.text, first.document.text);
  // The socket's door knows the same numbers.
  WsClient socket(line.port(), line.reader(), "importer");
  socket.mutate(space, 2, label("a"));
  EXPECT_THAT(socket.receipt_of(2).text, HasSubstr("\"already_exists\""));
  const Reply rejected = post(body(2, label("a")));
  EXPECT_EQ(rejected.status, 200) << "a rejection is a receipt, too";
}

TEST_F(HttpDoor, each_refusal_has_its_status_and_its_name) {
  const auto expect = [](const Reply& reply, int status, const std::string& code) {
    EXPECT_EQ(reply.status, status) << reply.fields << reply.document.text;
    EXPECT_EQ(reply.document.plain("code"), code) << reply.document.text;
  };
  expect(post(body(2, label("a"))), 409, "sequence_gap");
  expect(post(body(1, label("a"))), 200, "");
  expect(post(body(1, label("b"))), 409, "sequence_conflict");
  expect(post("{}"), 400, "bad_request");
  expect(post("not json"), 400, "bad_request");
  expect(post(body(0, label("a"))), 400, "bad_request");
  expect(post(body(2, R"([{"kind":"create","collection":"labels","key":["x"],"record":{"colour":5}}])")), 400,
         "invalid_value");
  const std::string no_name(201, 'x');
  expect(post(body(2, R"([{"kind":"delete","collection":")" + no_name + R"(","key":[1]}])")), 400, "not_writable");
  expect(get("/v1/spaces/" + space + "/clients/importer/receipts/2"), 404, "sequence_gap");
  expect(get("/v1/spaces/" + space + "/clients/importer/receipts/0"), 400, "bad_request");
  expect(get("/v1/spaces/" + space + "/mutations"), 405, "bad_request");
  for (const std::string& nothing :
       {space, space + "/mutations?token=x", std::string("/mutations"), std::string("%00/mutations"),
        std::string("%f/mutations"), space + "/mutations/", space + "/clients/importer/receipts/1/2"}) {
    EXPECT_EQ(get("/v1/spaces/" + nothing).status, 404) << nothing;
  }
  expect(post(body(2, label("b")), "Origin: https://app.example\r\n"), 403, "forbidden");
  WsClient taken(line.port(), line.reader("bob"), "theirs");
  taken.mutate(space, 1, label("c"));
  EXPECT_THAT(taken.receipt_of(1).text, HasSubstr("\"applied\""));
  expect(post(body(1, label("d"), "theirs")), 403, "forbidden");
  const Reply theirs = get("/v1/spaces/" + space + "/clients/theirs/receipts/1");
  expect(theirs, 404, "sequence_gap");
  EXPECT_EQ(theirs.document.text, get("/v1/spaces/" + space + "/clients/nobodys/receipts/1").document.text)
      << "which client ids others use is theirs to know";
}

TEST_F(HttpDoor, without_a_good_token_there_is_one_answer) {
  const std::string target =
      "POST /v1/spaces/" + space + "/mutations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n";
  const Reply none = send(target + "\r\n{}");
  EXPECT_EQ(none.status, 401) << none.fields;
  EXPECT_THAT(none.fields, HasSubstr("WWW-Authenticate: Bearer\r\n"));
  const std::vector<std::string> values{"Bearer x.y.z", "Basic YTpi", "Bearer", "Bearer " + line.reader() + "x"};
  for (const std::string& value : values) {
    const Reply bad = send(target + "Authorization: " + value + "\r\n\r\n{}");
    EXPECT_EQ(bad.status, 401) << value;
    EXPECT_EQ(bad.document.text, none.document.text);
  }
}

TEST_F(HttpDoor, a_body_is_bounded_in_size_and_time_and_has_one_length) {
  EXPECT_EQ(send(head("POST /v1/spaces/" + space + "/mutations", std::size_t{64} * 1024 * 1024)).status, 413);
  const std::string target = "POST /v1/spaces/" + space +
                             "/mutations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + line.reader() +
                             "\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(send(target + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status, 400);
  EXPECT_EQ(send(target + "\r\n").status, 400);
  EXPECT_EQ(send("POST /v1/spaces/x/mutations HTTP/1.0\r\nHost: localhost\r\n\r\n").status, 400);
  RawSocket slow(line.port());
  slow.send(head("POST /v1/spaces/" + space + "/mutations", 1000) + "{");
  EXPECT_TRUE(slow.wait_closed()) << "the time for a message is over";
}

TEST_F(HttpDoor, what_the_head_forbids_is_said_before_the_body_is_asked_for) {
  const std::string target = "/v1/spaces/" + space + "/mutations";
  const auto status = [&](const std::string& line_of_request, const std::string& token, const std::string& more = "",
                          const std::string& type = "application/json") {
    return send(line_of_request + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
                "\r\nContent-Type: " + type + "\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n" + more + "\r\n")
        .status;
  };
  EXPECT_EQ(status("POST " + target, "x.y.z"), 401);
  EXPECT_EQ(status("POST " + target, line.reader(), "Origin: https://app.example\r\n"), 403);
  EXPECT_EQ(status("POST " + target + "/", line.reader()), 404);
  EXPECT_EQ(status("PUT " + target, line.reader()), 405);
  EXPECT_EQ(status("GET /v1/spaces/" + space + "/clients/c/receipts/1", line.reader()), 413);
  EXPECT_EQ(status("POST " + target, line.reader(), "", "text/plain"), 415);
}

TEST_F(HttpDoor, bodies_that_do_not_come_take_a_bounded_amount_of_memory_and_others_are_told_to_come_back) {
  GatewayOptions options = line.gateway_options();
  options.set("--time-handshake", "60s");
  GatewayProcess fresh(options);
  const std::string announced =
      head("POST /v1/spaces/" + space + "/mutations", 1000 * 1000, "Expect: 100-continue\r\n");
  // Two threads read sixteen of the largest at a time.
  constexpr int sockets = 40;
  std::vector<std::unique_ptr<RawSocket>> waiting;
  int refused = 0;
  for (int i = 0; i < sockets; ++i) {
    waiting.push_back(std::make_unique<RawSocket>(fresh.port()));
    waiting.back()->send(announced);
    const std::string answer = waiting.back()->read_until("\r\n\r\n");
    if (answer.starts_with("HTTP/1.1 100 ")) continue;
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1\r\n")));
    ++refused;
  }
  EXPECT_GE(refused, sockets - 2 * 17);
  waiting.clear();
  const std::string text = body(1, label("a"));
  EXPECT_TRUE(eventually([&] {
    RawSocket again(fresh.port());
    again.send(head("POST /v1/spaces/" + space + "/mutations", text.size()) + text);
    return again.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 ");
  })) << "and what they took is given back";
}

TEST_F(HttpDoor, a_large_body_in_small_pieces_is_taken_whole_and_asked_for_by_continue) {
  const std::string text = body(1, R"([{"kind":"create","collection":"labels","key":["big"],"record":{"colour":")" +
                                       std::string(200'000, 'x') + "\"}}]");
  RawSocket socket(line.port());
  socket.send(head("POST /v1/spaces/" + space + "/mutations", text.size(), "Expect: 100-continue\r\n"));
  EXPECT_THAT(socket.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100 "));
  for (std::size_t at = 0; at < text.size(); at += 7000) socket.send(text.substr(at, 7000));
  EXPECT_THAT(socket.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(socket.read_until("\n"), HasSubstr("\"applied\""));
}

TEST_F(HttpDoor, the_space_in_the_path_may_have_any_name) {
  const std::string text = body(1, label("a"));
  const Reply reply = send(head("POST /v1/spaces/" + space + "%2F%C3%A9%20x/mutations", text.size()) + text);
  EXPECT_EQ(reply.status, 200) << reply.document.text;
  EXPECT_EQ(reply.document.plain("space"), space + "/é x");
}

}  // namespace
}  // namespace viewgate::testing
