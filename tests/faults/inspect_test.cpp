// What the operators' port tells of a node: who is connected, with what, how far; by the page, to nobody without the
// credential, and to nobody who puts it into an address.
#include "inspect.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(Inspect, row_66_without_the_credential_nothing_is_told_and_in_an_address_it_is_none) {
  const std::string key(credential);
  for (const char* name : {"overview", "nodes", "spaces", "views", "groups", "connections", "connection", "commits"}) {
    const std::string path = std::string("/v1/inspect/") + name;
    EXPECT_THAT(ask(port, "GET", path, "", "").head, StartsWith("HTTP/1.1 401 ")) << path;
    EXPECT_THAT(ask(port, "GET", path, "", "Bearer " + line.reader()).head, StartsWith("HTTP/1.1 401 ")) << path;
    EXPECT_THAT(ask(port, "GET", path + "?key=" + key, "", "").head, StartsWith("HTTP/1.1 401 ")) << path;
    EXPECT_THAT(ask(port, "GET", path + "?key=" + key).head, StartsWith("HTTP/1.1 400 ")) << path;
    EXPECT_THAT(ask(port, "POST", path).head, StartsWith("HTTP/1.1 405 ")) << path;
    EXPECT_THAT(ask(gateway.port(), "GET", path).head, StartsWith("HTTP/1.1 404 ")) << "the public port has it not";
  }
  EXPECT_THAT(gateway.log(), Not(HasSubstr(key)));
}

TEST_F(Inspect, the_page_says_nothing_of_the_node_and_may_do_nothing_but_ask_it) {
  const Answer page = ask(port, "GET", "/inspector", "", "");
  EXPECT_THAT(page.head, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/html"));
  EXPECT_THAT(page.head, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_THAT(page.head, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(page.head, HasSubstr("X-Content-Type-Options: nosniff"));
  EXPECT_THAT(ask(port, "GET", "/inspector/main.mjs", "", "").head, HasSubstr("Content-Type: text/javascript"));
  EXPECT_THAT(ask(port, "GET", "/inspector?key=x", "", "").head, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(ask(port, "POST", "/inspector", "", "").head, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(ask(port, "GET", "/inspector/../../etc/passwd", "", "").head, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(ask(gateway.port(), "GET", "/inspector", "", "").head, StartsWith("HTTP/1.1 404 "));
}

TEST_F(Inspect, connections_come_by_the_page_in_any_order_each_once) {
  const std::string space = line.new_space();
  std::vector<std::unique_ptr<WsClient>> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(std::make_unique<WsClient>(gateway.port(), line.reader("reader-" + std::to_string(i % 10))));
    for (int view = 0; view < i % 3; ++view) clients.back()->open({.id = std::to_string(view), .space = space});
  }
  const auto by_age = all_rows("connections?sort=age&limit=7", "connections");
  EXPECT_EQ(by_age.size(), clients.size());
  const auto ids = column(by_age, "id");
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
  const auto by_name = column(all_rows("connections?sort=-principal&limit=4", "connections"), "principal");
  EXPECT_EQ(by_name.size(), clients.size());
  EXPECT_TRUE(std::ranges::is_sorted(by_name, std::greater()));
  const auto by_views = column(all_rows("connections?sort=-subscriptions&limit=8", "connections"), "subscriptions");
  EXPECT_TRUE(std::ranges::is_sorted(by_views, std::greater()));

  const Document some = get("connections?q=READER-7&limit=2");
  EXPECT_EQ(some.number("matched"), 3);
  for (const auto& each : rows(some, "connections")) {
    EXPECT_EQ(each.plain("principal"), "reader-7");
    EXPECT_EQ(each.plain("address"), "127.0.0.1");
    EXPECT_EQ(each.plain("state"), "open");
    EXPECT_EQ(each.number("queue_bytes"), 0);
  }
  EXPECT_EQ(get("connections?q=127.0.0.1&limit=1").number("matched"), 30);
  EXPECT_EQ(get("connections?behind=only").number("matched"), 0);
  EXPECT_EQ(rows(get("connections?limit=200"), "connections").size(), clients.size());
}

TEST_F(Inspect, one_connection_is_shown_with_its_subscriptions_until_it_ends) {
  const std::string space = line.new_space();
  line.session().query("insert into items (space, id, status) values ($1, nextval('items_id'), 'open')", {space});
  const std::int64_t head = line.settled_head(space);
  auto client = std::make_unique<WsClient>(gateway.port(), line.reader("ruth"), "ruths-phone");
  client->open({.id = "mine", .space = space});
  const auto found = rows(get("connections?q=ruth"), "connections");
  ASSERT_EQ(found.size(), 1U);
  const std::string id = found.front().plain("id");
  const Document whole = get("connection?id=" + id);
  EXPECT_EQ(whole.plain("client"), "ruths-phone");
  EXPECT_THAT(whole.raw("claims"), HasSubstr("\"sub\":\"ruth\""));
  const auto streams = rows(whole, "streams");
  ASSERT_EQ(streams.size(), 1U);
  EXPECT_EQ(streams.front().plain("space"), space);
  EXPECT_EQ(streams.front().plain("view"), "open");
  EXPECT_EQ(streams.front().plain("stage"), "following");
  EXPECT_EQ(streams.front().plain("through"), std::to_string(head));
  EXPECT_THAT(streams.front().raw("names"), HasSubstr("\"id\":\"mine\""));
  client.reset();
  EXPECT_TRUE(eventually(
      [&] { return ask(port, "GET", "/v1/inspect/connection?id=" + id).head.starts_with("HTTP/1.1 404 "); }));
}

TEST_F(Inspect, a_reader_who_takes_nothing_is_behind_and_the_others_are_not) {
  const std::string space = line.new_space();
  WsClient quick(gateway.port(), line.reader("quick"));
  WsClient stuck(gateway.port(), 4096);
  stuck.send(R"({"type":"hello","protocol":1,"token":")" + line.reader("stuck") + "\"}");
  ASSERT_EQ(stuck.next().type(), "welcome");
  quick.open({.space = line.new_space()});
  stuck.open({.space = space});
  EXPECT_EQ(get("overview").raw("caught_up"), "true");
  // More than the kernel holds for a socket of which nobody reads.
  line.session().query(
      "insert into items (space, id, status, owner) select $1, nextval('items_id'), 'open', repeat(i::text, 1000) "
      "from generate_series(1000, 1149) i",
      {space});
  const auto is_told = [&] {
    const auto behind = rows(get("connections?behind=only"), "connections");
    return behind.size() == 1 && behind.front().plain("principal") == "stuck" &&
           !behind.front().raw("blocked_ms").empty() && behind.front().number("queue_bytes") > 0;
  };
  EXPECT_TRUE(eventually(is_told));
  EXPECT_TRUE(eventually([&] { return get("overview").raw("caught_up") == "false"; }));
  EXPECT_EQ(get("overview").number("blocked"), 1);
}

TEST_F(Inspect, nobody_is_caught_up_while_a_session_holds_a_space_in_which_something_waits_for_its_number) {
  const std::string space = line.new_space();
  WsClient client(gateway.port(), line.reader());
  client.open({.space = space});
  line.session().query("insert into items (space, id, status) values ($1, nextval('items_id'), 'open')", {space});
  client.next_of("commit");
  EXPECT_TRUE(eventually([&] { return get("overview").raw("caught_up") == "true"; }));
  PgSession holder(line.database());
  holder.run("begin; select viewgate.lock_space('" + space + "')");
  line.session().query("insert into items (space, id, status) values ($1, nextval('items_id'), 'open')", {space});
  EXPECT_TRUE(eventually([&] { return get("overview").raw("caught_up") == "false"; }));
  EXPECT_THAT(get("overview").text, HasSubstr("\"furthest\":[{\"space\":\"" + space + "\""));
  holder.run("rollback");
  client.next_of("commit");
  EXPECT_TRUE(eventually([&] { return get("overview").raw("caught_up") == "true"; }));
}

TEST_F(Inspect, spaces_views_and_groups_tell_what_they_cost) {
  const std::string space = line.new_space();
  WsClient one(gateway.port(), line.reader("one"));
  WsClient two(gateway.port(), line.reader("two"));
  for (WsClient* each : {&one, &two}) each->open({.space = space});
  line.session().query("insert into items (space, id, status) values ($1, nextval('items_id'), 'open')", {space});
  one.next_of("commit");
  const auto groups = rows(get("groups?view=open&q=" + space), "groups");
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups.front().number("subscribers"), 2);
  EXPECT_EQ(groups.front().number("documents"), 1);
  EXPECT_GT(groups.front().number("document_bytes"), 0);
  EXPECT_THAT(groups.front().plain("condition"), HasSubstr("status"));
  EXPECT_EQ(get("groups?view=nobodys").number("matched"), 0);
  const auto views = rows(get("views"), "views");
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views.front().plain("view"), "open");
  EXPECT_EQ(views.front().number("subscribers"), 2);
  const auto spaces = rows(get("spaces?q=" + space), "spaces");
  ASSERT_EQ(spaces.size(), 1U);
  EXPECT_EQ(spaces.front().plain("head"), "1");
  EXPECT_EQ(spaces.front().number("lag_commits"), 0);
  const Document all = get("overview");
  EXPECT_EQ(Document{all.raw("subscriptions")}.number("open"), 2);
  EXPECT_EQ(Document{all.raw("spaces")}.number("followed"), 1);
  EXPECT_EQ(rows(all, "reactors").size(), 2U);
}

TEST_F(Inspect, commits_are_told_without_what_records_hold) {
  const std::string space = line.new_space();
  for (int i = 0; i < 3; ++i) {
    line.session().query(
        "insert into items (space, id, status, owner) select $1, nextval('items_id'), 'open', 'secret' "
        "from generate_series(1, 30)",
        {space});
  }
  line.settled_head(space);
  const Document page = get("commits?space=" + space + "&limit=2");
  EXPECT_EQ(page.plain("head"), "3");
  EXPECT_THAT(column(rows(page, "commits"), "sequence"), ::testing::ElementsAre("2", "3"));
  const Document commit = rows(page, "commits").front();
  EXPECT_EQ(commit.number("changes"), 30);
  EXPECT_EQ(rows(commit, "first").size(), 20U);
  EXPECT_EQ(rows(commit, "first").front().plain("collection"), "public.items");
  EXPECT_THAT(page.text, Not(HasSubstr("secret")));
  EXPECT_THAT(column(rows(get("commits?space=" + space + "&after=0"), "commits"), "sequence"),
              ::testing::ElementsAre("1", "2", "3"));
  EXPECT_THAT(rows(get("commits?space=" + space + "&after=3"), "commits"), ::testing::IsEmpty());
  EXPECT_EQ(get("commits?space=nobodys").plain("head"), "0");
}

TEST_F(Inspect, nodes_that_follow_the_log_are_known_by_their_names) {
  const auto nodes = rows(get("nodes"), "nodes");
  EXPECT_THAT(column(nodes, "node"), ::testing::Contains(HasSubstr(":" + std::to_string(gateway.port()))));
  EXPECT_THAT(column(nodes, "node"), ::testing::Contains(HasSubstr(":" + std::to_string(line.port()))));
  EXPECT_EQ(std::ranges::count(column(nodes, "this"), "true"), 1);
}

TEST_F(Inspect, a_wrong_question_is_told_what_would_be_right) {
  const auto refused = [&](const std::string& target, const char* status, const char* text) {
    const Answer answer = ask(port, "GET", "/v1/inspect/" + target);
    EXPECT_THAT(answer.head, StartsWith(std::string("HTTP/1.1 ") + status)) << target;
    EXPECT_THAT(answer.body, HasSubstr(text)) << target;
  };
  refused("connections?sort=colour", "400", "age, queue_bytes, subscriptions");
  refused("connections?limit=100000", "400", "from 1 to 200");
  refused("connections?behind=maybe", "400", "behind: may be only");
  refused("connections?after=0", "400", "told as next");
  refused("connection", "400", "as 0-17");
  refused("connection?id=7-1", "404", "there is no connection 7-1");
  refused("connection?id=0-999999", "404", "any more");
  refused("commits", "400", "space: must be there");
  refused("commits?space=s&after=-1", "400", "after: must be");
  refused("commits?space=s&limit=1000", "400", "from 1 to 200");
  refused("overview?x=1", "400", "nothing may be asked");
  EXPECT_THAT(ask(port, "GET", "/v1/inspect/everything").head, StartsWith("HTTP/1.1 404 "));
}

}  // namespace
}  // namespace viewgate::testing
