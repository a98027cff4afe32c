// Tickets: a text that stands for a token once, on every node, for a short while, and is nowhere to be read afterwards.
#include <thread>

#include "row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Issued {
  std::string head;
  std::string body;
  std::string ticket;
};

class Tickets : public Row {
 protected:
  static Issued ask(std::uint16_t port, const std::string& token, const std::string& method = "POST",
                    const std::string& more = "") {
    RawSocket socket(port);
    socket.send(method + " /v1/tickets HTTP/1.1\r\nHost: localhost\r\n" +
                (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") + more + "\r\n");
    Issued out;
    out.head = socket.read_until("\r\n\r\n");
    out.body = socket.read_until("\n");
    EXPECT_TRUE(socket.wait_closed());
    if (out.head.starts_with("HTTP/1.1 200 ")) out.ticket = Document{out.body}.plain("ticket");
    return out;
  }
  /// The type of the first document after an upgrade with this ticket and a hello without a token; else the close code.
  static std::string answer_to(std::uint16_t port, const std::string& ticket,
                               const std::string& hello = R"({"type":"hello","protocol":1})") {
    RawSocket socket(port);
    UpgradeRequest request;
    request.extra_headers = "Sec-WebSocket-Protocol: viewgate.ticket." + ticket + "\r\n";
    socket.send(upgrade_bytes(request));
    const std::string head = socket.read_until("\r\n\r\n");
    if (!head.starts_with("HTTP/1.1 101 ")) return head.substr(0, 12);
    EXPECT_THAT(head, AllOf(HasSubstr("Sec-WebSocket-Protocol: viewgate.v1\r\n"), Not(HasSubstr(ticket))));
    socket.send(text_frame(hello));
    const auto first = socket.read_exactly(2);
    if (!first) return "nothing";
    const std::size_t length = static_cast<std::uint8_t>((*first)[1]);
    if (((*first)[0] & 0x0f) != Opcode::close)
      return socket.read_until("\"principal\":\"").empty() ? "nothing" : socket.read_until("\"");
    const std::string payload = socket.read_exactly(length).value_or(std::string(2, '\0'));
    return std::to_string(static_cast<std::uint8_t>(payload[0]) << 8 | static_cast<std::uint8_t>(payload[1]));
  }
};

TEST_F(Tickets, a_ticket_opens_one_socket_on_whichever_node_and_no_second_one) {
  GatewayProcess other(line.gateway_options());
  const Issued first = ask(line.port(), line.reader("alice"));
  EXPECT_THAT(first.head, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Cache-Control: no-store")));
  EXPECT_EQ(first.ticket.size(), 43U);
  EXPECT_EQ(Document{first.body}.number("expires_in"), 30);
  EXPECT_EQ(answer_to(other.port(), first.ticket), "alice\"");
  EXPECT_EQ(answer_to(other.port(), first.ticket), "4001");
  EXPECT_EQ(answer_to(line.port(), first.ticket), "4001");
  const Issued second = ask(other.port(), line.reader("bob"));
  EXPECT_EQ(answer_to(line.port(), second.ticket), "bob\"");
  for (const std::string& secret : {first.ticket, second.ticket, line.reader("alice")}) {
    EXPECT_THAT(line.gateway().log() + other.log(), Not(HasSubstr(secret)));
  }
}

TEST_F(Tickets, of_two_sockets_that_show_it_at_once_one_comes_in) {
  GatewayProcess other(line.gateway_options());
  for (int round = 0; round < 10; ++round) {
    const std::string ticket = ask(line.port(), line.reader("alice")).ticket;
    std::string here, there;
    std::thread at_once([&] { there = answer_to(other.port(), ticket); });
    here = answer_to(line.port(), ticket);
    at_once.join();
    EXPECT_EQ((here == "alice\"") + (there == "alice\""), 1) << here << " " << there;
    EXPECT_EQ((here == "4001") + (there == "4001"), 1) << here << " " << there;
  }
}

TEST_F(Tickets, what_is_no_good_ticket_is_refused_and_a_hello_has_no_token_beside_it) {
  const std::string unknown(43, 'A');
  EXPECT_EQ(answer_to(line.port(), unknown), "4001");
  for (const std::string& malformed :
       {std::string(), std::string("short"), std::string(44, 'A'), std::string(43, '!')}) {
    EXPECT_EQ(answer_to(line.port(), malformed), "HTTP/1.1 400") << malformed;
  }
  const std::string good = ask(line.port(), line.reader()).ticket;
  EXPECT_EQ(answer_to(line.port(), good + ", viewgate.ticket." + unknown), "HTTP/1.1 400");
  EXPECT_EQ(answer_to(line.port(), good, R"({"type":"hello","protocol":1,"token":")" + line.reader() + "\"}"), "4001");
  EXPECT_EQ(answer_to(line.port(), good), "4001") << "it was used all the same";
}

TEST_F(Tickets, it_is_asked_for_by_servers_with_a_good_token_and_by_nobody_else) {
  EXPECT_THAT(ask(line.port(), "").head, AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate: Bearer")));
  EXPECT_THAT(ask(line.port(), "no.such.token").head, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(ask(line.port(), line.reader(), "GET").head, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask(line.port(), line.reader(), "POST", "Origin: https://app.example\r\n").head,
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask(line.port(), line.reader(), "POST", "Content-Length: 2\r\n").head, StartsWith("HTTP/1.1 413 "));
  RawSocket in_url(line.port());
  in_url.send("POST /v1/tickets?token=" + line.reader() + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(in_url.read_until("\r\n").starts_with("HTTP/1.1 404 "));
}

TEST_F(Tickets, a_principal_has_a_bounded_number_and_time_takes_them_away) {
  GatewayOptions short_lived = line.gateway_options();
  short_lived.set("--auth-ticket-time", "1s");
  GatewayProcess gateway(short_lived);
  const std::string late = ask(gateway.port(), line.reader("dave")).ticket;
  EXPECT_TRUE(eventually([&] {
    return line.value("select count(*) from viewgate.tickets where until >= now() and principal like '%dave%'") == "0";
  }));
  EXPECT_EQ(answer_to(line.port(), late), "4001");
  int given = 0;
  Issued last;
  for (int i = 0; i < 40 && (last = ask(line.port(), line.reader("dave"))).ticket.size() == 43; ++i) ++given;
  EXPECT_EQ(given, 32);
  EXPECT_THAT(last.head, AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: ")));
  EXPECT_THAT(ask(line.port(), line.reader("erin")).ticket, Not("")) << "others have their own";
}

TEST_F(Tickets, what_ends_its_token_ends_it_and_what_the_database_keeps_opens_nothing) {
  const std::string ticket = ask(line.port(), line.reader("grace")).ticket;
  line.sql("select viewgate.revoke(principal => 'grace')");
  EXPECT_TRUE(eventually([&] { return ask(line.port(), line.reader("grace")).head.starts_with("HTTP/1.1 401 "); }));
  EXPECT_EQ(answer_to(line.port(), ticket), "4005");
  ask(line.port(), line.reader("heidi"));
  const std::string kept = line.value("select string_agg(t::text, ' ') from viewgate.tickets t");
  const std::string& token = line.reader("heidi");
  EXPECT_THAT(kept, Not(HasSubstr(token)));
  EXPECT_THAT(kept, Not(HasSubstr(token.substr(token.rfind('.') + 1))));
  const std::string digest = line.value("select digest from viewgate.tickets limit 1");
  EXPECT_EQ(answer_to(line.port(), digest), "4001");
}

TEST_F(Tickets, who_is_revoked_while_the_database_is_busy_gets_none) {
  PgSession holder(line.database());
  holder.run("begin; lock table viewgate.tickets in access exclusive mode");
  RawSocket asking(line.port());
  asking.send("POST /v1/tickets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + line.reader("niaj") +
              "\r\n\r\n");
  ASSERT_TRUE(eventually([&] {
    return line.value(
               "select count(*) from pg_stat_activity where query like '%issue_ticket%' and wait_event_type = "
               "'Lock'") == "1";
  }));
  line.sql("select viewgate.revoke(principal => 'niaj')");
  // By another door it is seen when the node knows.
  EXPECT_TRUE(eventually([&] {
    RawSocket other(line.port());
    other.send("GET /v1/spaces/none/views/none HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
               line.reader("niaj") + "\r\n\r\n");
    return other.read_until("\r\n\r\n").starts_with("HTTP/1.1 401 ");
  }));
  holder.run("rollback");
  EXPECT_THAT(asking.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 401 "));
}

TEST_F(Tickets, strangers_whose_tickets_cannot_be_looked_at_are_bounded_and_may_leave_at_any_time) {
  PgSession holder(line.database());
  holder.run("begin; lock table viewgate.tickets in access exclusive mode");
  UpgradeRequest request;
  request.extra_headers = "Sec-WebSocket-Protocol: viewgate.ticket." + std::string(43, 'A') + "\r\n";
  const std::string opening = upgrade_bytes(request) + text_frame(R"({"type":"hello","protocol":1})");
  std::vector<std::unique_ptr<RawSocket>> strangers;
  for (int i = 0; i < 256; ++i) {
    strangers.push_back(std::make_unique<RawSocket>(line.port()));
    strangers.back()->send(opening);
    EXPECT_THAT(strangers.back()->read_until("\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
  }
  // No more are looked up at once.
  EXPECT_EQ(answer_to(line.port(), std::string(43, 'A')), "1013");
  for (auto& each : strangers) each->reset();
  // Their answers come to sockets that are gone.
  holder.run("rollback");
  EXPECT_TRUE(eventually([&] { return answer_to(line.port(), std::string(43, 'A')) == "4001"; }));
  EXPECT_EQ(answer_to(line.port(), ask(line.port(), line.reader("alice")).ticket), "alice\"");
}

TEST_F(Tickets, those_who_left_before_the_database_was_asked_keep_their_tickets_and_nobody_waiting) {
  const auto looked_at = [&] {
    return line.value(
        "select count(*) from pg_stat_activity where application_name = 'viewgate access' and wait_event_type = "
        "'Lock'");
  };
  std::vector<std::string> tickets;
  for (int i = 0; i < 6; ++i) tickets.push_back(ask(line.port(), line.reader("ivan")).ticket);
  std::vector<std::unique_ptr<RawSocket>> sockets;
  const auto show = [&](const std::string& ticket) {
    UpgradeRequest request;
    request.extra_headers = "Sec-WebSocket-Protocol: viewgate.ticket." + ticket + "\r\n";
    sockets.push_back(std::make_unique<RawSocket>(line.port()));
    sockets.back()->send(upgrade_bytes(request));
    EXPECT_THAT(sockets.back()->read_until("\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
  };
  PgSession holder(line.database());
  holder.run("begin; lock table viewgate.tickets in access exclusive mode");
  // Two are at the database, which is as many as there may be; the others wait for their turn.
  for (int i = 0; i < 2; ++i) show(tickets[i]);
  EXPECT_TRUE(eventually([&] { return looked_at() == "2"; }));
  for (int i = 2; i < 6; ++i) show(tickets[i]);
  for (auto& each : sockets) each->reset();
  EXPECT_TRUE(eventually([&] { return line.gateway().client_sockets() == 0; }));
  holder.run("rollback");
  for (int i = 2; i < 6; ++i) EXPECT_EQ(answer_to(line.port(), tickets[i]), "ivan\"") << i;
}

}  // namespace
}  // namespace viewgate::testing
