// Cases that need the whole line: what users of other systems reported, end to end on the built program.
#include <gmock/gmock.h>

#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class Cases : public ::testing::Test {
 protected:
  void write(const std::string& sql) { line.sql(sql); }
  std::string insert(std::int64_t id, const std::string& columns, const std::string& values) const {
    return "insert into items (space, id, " + columns + ") values ('" + space + "', " + std::to_string(id) + ", " +
           values + ")";
  }
  /// The events of a commit document, without the array around them.
  static std::vector<std::string> events(const Document& commit) {
    const std::string text = commit.raw("events");
    std::vector<std::string_view> each;
    EXPECT_TRUE(loadtest::elements(text, each)) << commit.text;
    return {each.begin(), each.end()};
  }
  /// The keys of a snapshot's records.
  static std::vector<std::string> keys(const Opened& opened) {
    std::vector<std::string> out;
    for (const std::string& record : opened.records) out.push_back(Document{record}.raw("key"));
    return out;
  }

  Line& line = Line::shared();
  std::string space = line.new_space();
};

TEST_F(Cases, case_03_a_commit_does_not_wait_for_an_unrelated_transaction_that_stays_open) {
  line.sql("create table if not exists unrelated (n int)");
  PgSession idle(line.database());
  idle.run("begin");
  idle.run("insert into unrelated values (1)");
  WsClient client(line.port(), line.reader());
  client.open({.space = space});
  write(insert(301, "status", "'open'"));
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[301]"));
  idle.run("rollback");
}

TEST_F(Cases, case_04_a_commit_made_right_at_ready_always_arrives) {
  constexpr int times = 200;
  WsClient client(line.port(), line.reader());
  for (int i = 0; i < times; ++i) {
    const Opened opened = client.open({.id = "s" + std::to_string(i), .space = space});
    const int id = 4'000'000 + i;
    write(insert(id, "status", "'open'"));
    const Document commit = client.next();
    ASSERT_EQ(commit.type(), "commit") << i << ": " << commit.text;
    ASSERT_THAT(commit.text, HasSubstr("[" + std::to_string(id) + "]"))
        << "after ready at " << opened.ready.plain("sequence");
    client.send(R"({"type":"unsubscribe","id":"s)" + std::to_string(i) + "\"}");
    ASSERT_EQ(client.next().type(), "unsubscribed");
  }
}

TEST_F(Cases, case_04_also_when_every_view_is_a_new_group) {
  constexpr int times = 100;
  WsClient client(line.port(), line.reader());
  for (int i = 0; i < times; ++i) {
    const std::string params = R"({"low":)" + std::to_string(i) + R"(,"high":)" + std::to_string(i) + "}";
    client.open({.id = "s" + std::to_string(i), .space = space, .view = "between_n", .params = params});
    const int id = 4'100'000 + i;
    write(insert(id, "n", std::to_string(i)));
    const Document commit = client.next();
    ASSERT_EQ(commit.type(), "commit") << i << ": " << commit.text;
    ASSERT_THAT(commit.text, HasSubstr("[" + std::to_string(id) + "]"));
  }
}

TEST_F(Cases, case_06_the_cursor_of_a_quiet_view_moves_on_with_the_space) {
  constexpr int others = 10'000;
  write(insert(601, "status", "'open'"));
  WsClient client(line.port(), line.reader());
  const Opened opened = client.open({.space = space});
  ASSERT_THAT(keys(opened), ElementsAre("[601]"));
  write(insert(602, "a", "0"));
  PgSession quick(line.database());
  quick.run("set synchronous_commit = off");
  quick.run("do $$ begin for i in 1.." + std::to_string(others) +
            " loop update items set a = i where id = 602; commit; end loop; end $$");
  const std::int64_t head = line.settled_head(space);
  ASSERT_GE(head, others);
  Document progress;
  do {
    progress = client.next_of("progress");
  } while (!progress.text.empty() && progress.number("sequence") < head);
  ASSERT_EQ(progress.number("sequence"), head);
  // Everything but the last commits is gone: the cursor of the first ready would be below the horizon.
  line.session().query("select viewgate.prune($1, 5)", {space});
  WsClient again(line.port(), line.reader());
  const Opened resumed = again.open({.space = space, .cursor = opened.context() + "." + progress.plain("position")});
  EXPECT_TRUE(resumed.resumed()) << resumed.subscribed.text;
  EXPECT_GE(resumed.ready.number("sequence"), head);
}

TEST_F(Cases, case_08_leaving_is_told_by_key_and_coming_back_with_the_whole_record) {
  write(insert(801, "status, owner, n", "'open', 'alice', 1.10"));
  WsClient client(line.port(), line.reader());
  client.open({.space = space});
  write("update items set status = 'closed', owner = 'secret' where id = 801");
  EXPECT_THAT(events(client.next()), ElementsAre(R"({"kind":"removed_from_scope","key":[801]})"));
  write("update items set status = 'open' where id = 801");
  const auto back = events(client.next());
  ASSERT_EQ(back.size(), 1U);
  EXPECT_THAT(back[0],
              AllOf(HasSubstr("\"entered\""), HasSubstr("\"secret\""), HasSubstr("1.10"), HasSubstr("\"open\"")));
  // Out and in again within one commit is no leave; the net effect is the change, or nothing.
  write(
      "begin; update items set status = 'closed' where id = 801; update items set status = 'open' where id = 801; "
      "commit");
  write(
      "begin; update items set status = 'closed' where id = 801; update items set status = 'open', n = 2 where id = "
      "801; commit");
  EXPECT_THAT(events(client.next()), ElementsAre(R"({"kind":"updated","key":[801],"changed":{"n":2}})"));
}

TEST_F(Cases, a_back_end_finds_its_own_write_in_the_view_by_its_tag) {
  WsClient client(line.port(), line.reader());
  const Opened before = client.open({.space = space});
  const std::string other = line.new_space();
  write("begin; select viewgate.tag('checkout-4711', '{\"by\": \"billing\"}'); " + insert(811, "status", "'open'") +
        "; insert into items (space, id, status) values ('" + other + "', 812, 'open'); commit");
  const Document tagged = client.next_of("commit");
  EXPECT_EQ(tagged.plain("request_id"), "checkout-4711");
  EXPECT_EQ(tagged.plain("at"), line.value("select to_char(at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') "
                                           "from viewgate.commits where request_id = 'checkout-4711' and space = '" +
                                           space + "'"));
  EXPECT_EQ(tagged.text.find("billing"), std::string::npos);
  write("begin; select viewgate.tag('unseen'); " + insert(813, "status", "'closed'") + "; commit");
  write(insert(814, "status", "'open'"));
  const Document plain = client.next_of("commit");
  EXPECT_THAT(plain.text, AllOf(HasSubstr("[814]"), ::testing::Not(HasSubstr("request_id"))));
  WsClient late(line.port(), line.reader());
  late.open({.space = space, .cursor = before.cursor()});
  EXPECT_EQ(late.next_of("commit").text, tagged.text) << "the same document, read later";
}

TEST_F(Cases, case_09_the_new_owner_gets_the_record_and_the_old_one_its_key) {
  write(insert(901, "owner, status", "'alice', 'a-secret'"));
  WsClient alice(line.port(), line.reader("alice")), bob(line.port(), line.reader("bob"));
  alice.open({.space = space, .view = "mine"});
  bob.open({.space = space, .view = "mine"});
  write("update items set owner = 'bob', status = 'of bob' where id = 901");
  const Document left = alice.next(), entered = bob.next();
  EXPECT_THAT(events(left), ElementsAre(R"({"kind":"removed_from_scope","key":[901]})"));
  EXPECT_THAT(entered.text, AllOf(HasSubstr("\"entered\""), HasSubstr("of bob")));
  EXPECT_EQ(left.plain("sequence"), entered.plain("sequence"));
}

TEST_F(Cases, case_10_a_record_stays_while_one_of_two_reasons_holds) {
  write(insert(1001, "a, b", "1, 1"));
  WsClient client(line.port(), line.reader());
  client.open({.space = space, .view = "either"});
  write("update items set a = 0 where id = 1001");
  EXPECT_THAT(events(client.next()), ElementsAre(R"({"kind":"updated","key":[1001],"changed":{"a":0}})"));
  write("update items set b = 0 where id = 1001");
  EXPECT_THAT(events(client.next()), ElementsAre(R"({"kind":"removed_from_scope","key":[1001]})"));
}

TEST_F(Cases, case_11_a_key_change_is_a_leave_and_an_enter_in_one_commit) {
  write(insert(1101, "status", "'open'"));
  WsClient client(line.port(), line.reader());
  client.open({.space = space});
  write("update items set id = 1102 where id = 1101");
  const auto both = events(client.next());
  EXPECT_THAT(both, UnorderedElementsAre(AllOf(HasSubstr("[1101]"), HasSubstr("\"deleted\"")),
                                         AllOf(HasSubstr("[1102]"), HasSubstr("\"entered\""))));
}

TEST_F(Cases, case_12_a_delete_is_told_to_nobody_who_did_not_hold_the_record) {
  write(insert(1209, "owner", "'bob'"));
  WsClient alice(line.port(), line.reader("alice")), bob(line.port(), line.reader("bob"));
  alice.also_show("progress");
  alice.open({.space = space, .view = "mine"});
  bob.open({.space = space, .view = "mine"});
  write("delete from items where id = 1209");
  const Document deleted = bob.next();
  EXPECT_THAT(events(deleted), ElementsAre(R"({"kind":"deleted","key":[1209]})"));
  Document told;
  do {
    told = alice.next();
    EXPECT_EQ(told.type(), "progress") << told.text;
    EXPECT_THAT(told.text, Not(HasSubstr("1209")));
  } while (!told.text.empty() && told.number("sequence") < deleted.number("sequence"));
}

TEST_F(Cases, case_13_null_is_neither_true_nor_false_in_snapshot_and_stream_alike) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> views{
      {"unlike_a", {"b"}}, {"not_a", {"b"}}, {"distinct_from_a", {"null", "b"}}, {"not_in_null", {}}};
  const std::string rows =
      insert(1301, "x, a", "null, 1") + ";" + insert(1302, "x, a", "'a', 1") + ";" + insert(1303, "x, a", "'b', 1");
  const auto key = [](const std::string& x) { return x == "null" ? "[1301]" : "[1303]"; };
  std::vector<std::unique_ptr<WsClient>> live;
  for (const auto& [view, expected] : views) {
    live.push_back(std::make_unique<WsClient>(line.port(), line.reader()));
    live.back()->also_show("progress");
    EXPECT_THAT(live.back()->open({.space = space, .view = view}).records, ::testing::IsEmpty());
  }
  write(rows);
  line.settled_head(space);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto& [view, expected] = views[i];
    std::vector<std::string> wanted;
    for (const std::string& x : expected) wanted.push_back(key(x));
    WsClient late(line.port(), line.reader());
    EXPECT_THAT(keys(late.open({.space = space, .view = view})), ::testing::UnorderedElementsAreArray(wanted))
        << view << " in the snapshot";
    std::vector<std::string> entered;
    Document document = live[i]->next();
    if (document.type() == "commit") {
      for (const std::string& event : events(document)) entered.push_back(Document{event}.raw("key"));
    }
    EXPECT_THAT(entered, ::testing::UnorderedElementsAreArray(wanted)) << view << " in the stream: " << document.text;
  }
}

TEST_F(Cases, case_15_below_the_horizon_is_a_reset_that_replaces_the_set_and_at_it_a_resume) {
  write(insert(1501, "status", "'open'"));
  write(insert(1502, "status", "'open'"));
  WsClient client(line.port(), line.reader());
  const Opened opened = client.open({.space = space});
  const auto cursor_at = [&](const Document& commit) { return opened.context() + "." + commit.plain("position"); };
  std::vector<std::string> cursors;
  std::vector<std::int64_t> sequences;
  for (int i = 0; i < 10; ++i) {
    write("update items set n = " + std::to_string(i) + " where id = 1502");
    const Document commit = client.next_of("commit");
    cursors.push_back(cursor_at(commit));
    sequences.push_back(commit.number("sequence"));
  }
  write("delete from items where id = 1501");
  line.settled_head(space);
  // Retained from cursors[5] + 1: that cursor needs nothing below it, the one before needs one that is gone.
  const std::int64_t head = line.settled_head(space);
  line.session().query("select viewgate.prune($1, $2)", {space, std::to_string(head - sequences[5])});
  ASSERT_EQ(line.value("select viewgate.retained_from($1)", {space}), std::to_string(sequences[5] + 1));
  GatewayProcess fresh(line.gateway_options());
  WsClient at(fresh.port(), line.reader()), below(fresh.port(), line.reader());
  EXPECT_TRUE(at.open({.space = space, .cursor = cursors[5]}).resumed());
  below.send(subscribe_text({.space = space, .cursor = cursors[4]}));
  EXPECT_EQ(below.next().plain("reason"), "history_pruned");
  Document document = below.next();
  std::string records;
  for (; document.type() != "ready" && !document.text.empty(); document = below.next())
    records += document.raw("records");
  EXPECT_THAT(records, AllOf(HasSubstr("[1502]"), Not(HasSubstr("[1501]"))));
}

TEST_F(Cases, case_31_numbers_keep_every_digit_in_snapshot_and_stream) {
  const std::string numbers = R"({"n": 9007199254740993, "big": 18446744073709551616, "money": 1.10, "exp": 0.1})";
  write(insert(1161380288898609914, "n, j", "1e400, '" + numbers + "'"));
  WsClient snapshot(line.port(), line.reader()), stream(line.port(), line.reader());
  const Opened opened = snapshot.open({.space = space, .view = "everything"});
  ASSERT_EQ(opened.records.size(), 1U);
  const std::string stored = line.value("select to_jsonb(i)::text from items i where space = $1", {space});
  const Document record{Document{opened.records[0]}.raw("record")};
  const Document truth{stored};
  EXPECT_EQ(Document{opened.records[0]}.raw("key"), "[1161380288898609914]");
  for (const char* column : {"id", "n", "j"}) EXPECT_EQ(record.raw(column), truth.raw(column)) << column;
  EXPECT_THAT(record.text, AllOf(HasSubstr("9007199254740993"), HasSubstr("18446744073709551616"), HasSubstr("1.10")));
  stream.open({.space = space, .view = "everything"});
  write("update items set space = '" + space + "', n = 2.50, j = j || '{\"n\": 9007199254740995}' where space = '" +
        space + "'");
  EXPECT_THAT(stream.next().text, AllOf(HasSubstr("\"n\":2.50"), HasSubstr("9007199254740995")));
}

TEST_F(Cases, two_views_of_a_space_are_told_where_they_moved_together) {
  WsClient client(line.port(), line.reader());
  client.open({.id = "a", .space = space, .view = "open"});
  client.open({.id = "b", .space = space, .view = "either"});
  client.also_show("at");
  write(insert(5001, "status, a", "'open', 1"));
  const Document first = client.next_of("commit"), second = client.next_of("commit");
  EXPECT_EQ(first.plain("sequence"), second.plain("sequence"));
  Document at;
  do {
    at = client.next();
    ASSERT_EQ(at.type(), "at") << at.text;
    EXPECT_EQ(at.plain("space"), space);
  } while (!at.text.empty() && at.number("sequence") < first.number("sequence"));
}

TEST_F(Cases, two_subscriptions_of_one_group_share_its_set_and_the_documents_come_once) {
  WsClient client(line.port(), line.reader());
  const Opened one = client.open({.id = "one", .space = space, .view = "between_n", .params = R"({"low":1,"high":5})"});
  const Opened two =
      client.open({.id = "two", .space = space, .view = "between_n", .params = R"({"high":5.0,"low":1.0})"});
  EXPECT_EQ(two.subscribed.plain("same_as"), "one");
  EXPECT_EQ(two.subscribed.plain("channel"), one.subscribed.plain("channel"));
  write(insert(5101, "n", "3"));
  EXPECT_THAT(client.next().text, HasSubstr("[5101]"));
  client.send(R"({"type":"unsubscribe","id":"one"})");
  EXPECT_EQ(client.next().type(), "unsubscribed") << "the commit came once";
  write(insert(5102, "n", "4"));
  EXPECT_THAT(client.next().text, HasSubstr("[5102]")) << "the other one goes on";
}

}  // namespace
}  // namespace viewgate::testing
