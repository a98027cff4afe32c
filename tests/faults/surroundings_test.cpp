// Rows about what stands around the socket: values that look like SQL, nodes that die, and paths that the
// public port does not have.
#include "row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class Surroundings : public Row {};

TEST_F(Surroundings, row_35_what_looks_like_sql_is_a_value) {
  const std::vector<std::string> values{"'; drop table items; --",
                                        "$1",
                                        "%",
                                        "_",
                                        "a%b",
                                        "\\",
                                        "\\'",
                                        "\"quoted\"",
                                        "NULL",
                                        "{}",
                                        "' or '1'='1",
                                        "${x}",
                                        "%s",
                                        "E'\\n'",
                                        "--",
                                        "/*"};
  int id = 3'500'000;
  for (const std::string& value : values) {
    const std::string space = line.new_space() + value;
    const auto write = [&](const std::string& x) {
      line.session().query("insert into items (space, id, x, status) values ($1, $2, $3, 'open')",
                           {space, std::to_string(++id), x});
    };
    write(value);
    write("another");
    WsClient client(line.port(), line.reader());
    SubscribeText what{.space = space, .view = "named"};
    what.params = "{\"name\":" + loadtest::quoted(value) + "}";
    const Opened opened = client.open(what);
    EXPECT_EQ(opened.records.size(), 1U) << value;
    write("another");
    write(value);
    EXPECT_THAT(client.next_of("commit").text, HasSubstr("[" + std::to_string(id) + "]")) << value;
    what.id = "none";
    what.params = "{\"name\":" + loadtest::quoted(value + value) + "}";
    EXPECT_EQ(client.open(what).records.size(), 0U) << value;
  }
  EXPECT_NE(line.value("select to_regclass('public.items')"), "NULL");
}

TEST_F(Surroundings, row_53_one_of_two_nodes_is_killed_and_its_clients_go_on_at_the_other) {
  GatewayProcess other(line.gateway_options());
  const std::string space = line.new_space();
  const auto write = [&](int id) {
    line.sql("insert into items (space, id, status) values ('" + space + "', " + std::to_string(id) + ", 'open')");
  };
  write(5301);
  WsClient client(other.port(), line.reader());
  const Opened opened = client.open({.space = space});
  write(5302);
  const Document commit = client.next();
  EXPECT_THAT(commit.text, HasSubstr("[5302]"));
  other.process().kill();
  write(5303);
  write(5304);
  WsClient again(line.port(), line.reader());
  const Opened resumed = again.open({.space = space, .cursor = opened.context() + "." + commit.plain("position")});
  EXPECT_TRUE(resumed.resumed());
  EXPECT_TRUE(resumed.records.empty());
  for (const int id : {5303, 5304}) {
    EXPECT_THAT(again.next_of("commit").text, HasSubstr("\"key\":[" + std::to_string(id) + "]"));
  }
}

TEST_F(Surroundings, row_66_what_is_for_operators_is_not_on_the_public_port) {
  for (const char* path : {"/metrics", "/admin", "/v1/admin", "/v1/revoke", "/debug", "/inspector", "/", "/v1",
                           "/healthz/", "/../metrics", "/readyz?verbose"}) {
    RawSocket socket(line.port());
    socket.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + line.reader() +
                "\r\n\r\n");
    EXPECT_TRUE(socket.read_until("\r\n").starts_with("HTTP/1.1 404 ")) << path;
  }
}

}  // namespace
}  // namespace viewgate::testing
