// The gateway serves under a role that has what `viewgate grants` prints, and that cannot do what an owner can.
#include <sstream>

#include "row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class Grants : public Row {};

TEST_F(Grants, a_gateway_serves_under_the_role_that_was_granted_what_is_printed_and_no_more) {
  Line owned(line.cluster());
  owned.gateway().process().kill();
  owned.sql("create role gateway_of_the_test login");
  const Finished printed =
      run({program("viewgate"), "grants", "--role", "gateway_of_the_test", "--database", owned.database()});
  ASSERT_EQ(printed.status, 0) << printed.output;
  EXPECT_THAT(printed.output, HasSubstr("items to gateway_of_the_test;"));
  std::istringstream statements(printed.output);
  for (std::string each; std::getline(statements, each);) owned.sql(each);

  GatewayOptions options = owned.gateway_options();
  options.database = owned.database() + " user=gateway_of_the_test";
  options.set("--prune-interval", "20ms");
  GatewayProcess gateway(options);
  const std::string space = owned.new_space();
  WsClient client(gateway.port(), owned.reader());
  const std::string cursor = client.open({.space = space}).cursor();
  owned.sql("insert into items (space, id, status) values ('" + space + "', 1, 'open')");
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[1]"));
  WsClient back(gateway.port(), owned.reader());
  EXPECT_TRUE(back.open({.space = space, .cursor = cursor}).resumed());
  EXPECT_THAT(back.next_of("commit").text, HasSubstr("[1]"));
  // What it writes for its clients, it writes under that role: from the first mutation of a space on.
  const std::string fresh = owned.new_space();
  WsClient writer(gateway.port(), owned.reader(), "desk");
  writer.mutate(fresh, 1, R"([{"kind":"create","collection":"labels","key":["a"],"record":{"colour":"red"}}])");
  EXPECT_THAT(writer.receipt_of(1).text, HasSubstr("\"applied\""));
  writer.mutate(fresh, 2, R"([{"kind":"update","collection":"labels","key":["a"],"changed":{"colour":"blue"}}])");
  EXPECT_THAT(writer.receipt_of(2).text, HasSubstr("\"applied\""));
  writer.mutate(fresh, 3, R"([{"kind":"delete","collection":"labels","key":["a"]}])");
  EXPECT_THAT(writer.receipt_of(3).text, HasSubstr("\"applied\""));
  // Pruning is the gateway's, too.
  owned.sql("select viewgate.set_retention(null, 1, null)");
  for (int id = 2; id < 5; ++id) {
    owned.sql("insert into items (space, id, status) values ('" + space + "', " + std::to_string(id) + ", 'open')");
  }
  EXPECT_TRUE(eventually([&] { return owned.value("select viewgate.retained_from($1)", {space}) == "4"; }))
      << gateway.log();
  EXPECT_EQ(gateway.log().find("permission denied"), std::string::npos) << gateway.log();

  PgSession as_gateway(options.database);
  for (const char* forbidden :
       {"insert into items (space, id) values ('s', 99)", "select viewgate.revoke(principal => 'ada')",
        "select viewgate.uncapture('items')", "select viewgate.apply_model('', '')", "delete from viewgate.revocations",
        "update viewgate.model set text = ''", "drop schema viewgate cascade", "select * from pg_authid",
        "select viewgate.erase_space('s')", "create table viewgate.mine (a int)"}) {
    EXPECT_EQ(as_gateway.refusal(forbidden), "42501") << forbidden;
  }

  // Revoking over HTTP is a right that is asked for by name.
  const Finished more = run({program("viewgate"), "grants", "--role", "gateway_of_the_test", "--revocations",
                             "--database", owned.database()});
  std::istringstream with_revocations(more.output);
  for (std::string each; std::getline(with_revocations, each);) owned.sql(each);
  EXPECT_EQ(as_gateway.refusal("select viewgate.revoke(principal => 'ada')"), "");
}

}  // namespace
}  // namespace viewgate::testing
