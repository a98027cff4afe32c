// Goal: the model and the tables under it change while views are open, and nobody gets wrong data: a view whose meaning is the
// same goes on and its cursor stays valid, one that changed starts anew, one that does not hold any more is unavailable alone.
// Method: the built gateway with a captured table of its own for each test, `viewgate model apply`, and ALTER TABLE.
#include <gmock/gmock.h>

#include "support/eventually.hpp"
#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const tables = R"(
create table public.tasks (space text, id int8 primary key, title text, done bool, rank int4);
create table public.notes (space text, id int8 primary key, body text)
)";

const char* const model = R"(
create table tasks (like public.tasks) with (space = 'space');
create table notes (like public.notes) with (space = 'space');
create view titles as select id, title from tasks where not done;
create view ranks as select id, rank from tasks where rank > 0;
create view bodies as select id, body from notes where id > 0;
create policy readers on titles using (claims.role = 'reader');
create policy readers on ranks using (claims.role = 'reader');
create policy readers on bodies using (claims.role = 'reader');
)";

class ModelChange : public ::testing::Test {
 protected:
  static LineOptions options() {
    LineOptions out;
    out.tables = tables;
    out.model = model;
    for (const char* each : {"--ledger-registry-check", "200ms"}) out.flags.emplace_back(each);
    return out;
  }
  Finished apply(const std::string& text) { return apply_model(text, line.database()); }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    return text;
  }
  std::string cursor_after(const Opened& opened, const Document& commit) {
    return opened.context() + "." + commit.plain("position");
  }
  /// Subscribes until the view is there again; the answers before that are `unavailable` with a time to come back.
  Opened open_again(WsClient& client, const std::string& view) {
    for (int i = 0;; ++i) {
      client.send(subscribe_text({.id = "again" + std::to_string(i), .space = "s", .view = view}));
      Document answer = client.next();
      if (answer.type() == "subscribed") {
        Opened out;
        out.subscribed = answer;
        for (Document each = client.next(); each.type() != "ready"; each = client.next())
          out.records.push_back(each.text);
        return out;
      }
      EXPECT_THAT(answer.text, AllOf(HasSubstr("unavailable"), HasSubstr("retry_after")));
      if (HasFailure() || i > 200) return {};
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  Line line{durable_cluster(), options()};
};

TEST_F(ModelChange, every_node_tells_its_readers_of_a_changed_view_and_serves_the_new_one) {
  GatewayProcess other(line.gateway_options());
  WsClient here(line.port(), line.reader()), there(other.port(), line.reader());
  for (WsClient* each : {&here, &there}) each->open({.space = "s", .view = "ranks"});
  ASSERT_EQ(apply(replaced(model, "rank > 0", "rank > 5")).status, 0);
  for (WsClient* each : {&here, &there}) {
    EXPECT_THAT(each->next_of("reset_required").text, HasSubstr("view_changed"));
    EXPECT_EQ(each->next_of("ready").type(), "ready");
  }
  line.sql("insert into tasks values ('s', 1, 'one', false, 3), ('s', 2, 'two', false, 7)");
  for (WsClient* each : {&here, &there}) {
    EXPECT_THAT(each->next_of("commit").text, AllOf(HasSubstr("\"rank\":7"), Not(HasSubstr("\"rank\":3"))));
  }
}

TEST_F(ModelChange, a_view_with_the_same_meaning_goes_on_and_a_changed_one_starts_anew) {
  line.sql("insert into tasks values ('s', 1, 'one', false, 1)");
  WsClient stays(line.port(), line.reader());
  WsClient changes(line.port(), line.reader());
  const Opened titles = stays.open({.space = "s", .view = "titles"});
  changes.open({.space = "s", .view = "ranks"});
  // The text moves, a view is new, another means something else; `titles` means what it meant.
  const std::string next = "-- a line more\n" + replaced(model, "rank > 0", "rank > 5") +
                           "create view all_notes as select id, body from notes where id >= 0;"
                           "create policy readers on all_notes using (claims.role = 'reader');";
  ASSERT_EQ(apply(next).status, 0);
  EXPECT_THAT(changes.next_of("reset_required").text, HasSubstr("view_changed"));
  EXPECT_EQ(changes.next_of("ready").type(), "ready");
  line.sql("insert into tasks values ('s', 2, 'two', false, 7)");
  const Document commit = stays.next();
  EXPECT_EQ(commit.type(), "commit") << commit.text;
  EXPECT_THAT(commit.text, HasSubstr("[2]"));
  EXPECT_THAT(changes.next().text, HasSubstr("\"rank\":7"));
  WsClient again(line.port(), line.reader());
  EXPECT_TRUE(again.open({.space = "s", .view = "titles", .cursor = cursor_after(titles, commit)}).resumed());
}

TEST_F(ModelChange, an_error_in_the_new_model_leaves_the_old_one_in_force) {
  WsClient client(line.port(), line.reader());
  client.open({.space = "s", .view = "titles"});
  const Finished refused = apply(replaced(model, "not done", "not finished"));
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.output, AllOf(HasSubstr(":4:"), HasSubstr("finished")));
  line.sql("insert into tasks values ('s', 1, 'one', false, 1)");
  EXPECT_EQ(client.next().type(), "commit");
}

TEST_F(ModelChange, a_dropped_column_stops_the_views_that_use_it_and_no_others_until_it_is_back) {
  line.sql("insert into tasks values ('s', 1, 'one', false, 1); insert into notes values ('s', 1, 'note')");
  WsClient ranks(line.port(), line.reader());
  WsClient titles(line.port(), line.reader());
  WsClient bodies(line.port(), line.reader());
  ranks.open({.space = "s", .view = "ranks"});
  titles.open({.space = "s", .view = "titles"});
  bodies.open({.space = "s", .view = "bodies"});
  line.sql("alter table tasks drop column rank");
  EXPECT_THAT(ranks.next_of("error").text, AllOf(HasSubstr("unavailable"), HasSubstr("retry_after")));
  line.sql("insert into notes values ('s', 2, 'more')");
  const Document commit = bodies.next();
  EXPECT_EQ(commit.type(), "commit") << commit.text;
  line.sql("insert into tasks values ('s', 2, 'two', false)");
  EXPECT_THAT(titles.next_of("commit").text, AllOf(HasSubstr("[2]"), Not(HasSubstr("rank"))));
  line.sql("alter table tasks add column rank int4 default 3");
  const Opened back = open_again(ranks, "ranks");
  ASSERT_FALSE(back.records.empty());
  EXPECT_THAT(back.records.front(), AllOf(HasSubstr("[1]"), HasSubstr("[2]"), HasSubstr("\"rank\":3")));
}

TEST_F(ModelChange, a_column_of_another_type_is_a_new_view_with_the_new_values) {
  line.sql("insert into tasks values ('s', 1, 'one', false, 12)");
  WsClient client(line.port(), line.reader());
  client.open({.space = "s", .view = "ranks"});
  line.sql("alter table tasks alter column rank type numeric using rank / 8.0");
  EXPECT_THAT(client.next_of("reset_required").text, HasSubstr("view_changed"));
  EXPECT_THAT(client.next_of("snapshot").text, HasSubstr("\"rank\":1.5000000000000000"));
  EXPECT_EQ(client.next_of("ready").type(), "ready");
  line.sql("update tasks set rank = 1.10 where id = 1");
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("\"rank\":1.10"));
}

TEST_F(ModelChange, what_becomes_of_columns_that_a_view_does_not_use_is_nothing_to_it_nor_to_its_cursors) {
  line.sql("insert into tasks values ('s', 1, 'one', false, 1)");
  WsClient titles(line.port(), line.reader());
  WsClient ranks(line.port(), line.reader());
  const Opened opened = titles.open({.space = "s", .view = "titles"});
  ranks.open({.space = "s", .view = "ranks"});
  int id = 1;
  // Each by itself would be enough for a new bootstrap, were it a column of the view.
  for (const char* change :
       {"alter table tasks add column due date default '1984-05-06'", "alter table tasks add column mood text",
        "alter table tasks rename column mood to temper", "alter table tasks alter column temper type int using 1",
        "alter table tasks alter column due set not null", "alter table tasks drop column temper"}) {
    line.sql(change);
    // Both readers have what was written since, also once the nodes have looked at the table anew.
    for (int i = 0; i < 2; ++i) {
      ++id;
      line.sql("insert into tasks (space, id, title, done, rank) values ('s', " + std::to_string(id) +
               ", 'more', false, 2)");
      for (WsClient* each : {&titles, &ranks}) {
        const Document next = each->next();
        EXPECT_EQ(next.type(), "commit") << change << ": " << next.text;
        EXPECT_THAT(next.text, AllOf(HasSubstr("[" + std::to_string(id) + "]"), Not(HasSubstr("1984-05-06"))));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    }
  }
  WsClient again(line.port(), line.reader());
  EXPECT_TRUE(again.open({.space = "s", .view = "titles", .cursor = opened.cursor()}).resumed());
  ASSERT_EQ(apply(replaced(model, "select id, title from", "select id, title, due from")).status, 0);
  EXPECT_THAT(titles.next_of("reset_required").text, HasSubstr("view_changed"));
  EXPECT_THAT(titles.next_of("snapshot").text, HasSubstr("\"due\":\"1984-05-06\""));
  line.sql("insert into tasks values ('s', 100, 'last', false, 1)");
  EXPECT_EQ(ranks.next().type(), "commit") << "a view that did not change heard of nothing";
  // Its own column, rewritten without a trigger and to the same type, is another matter.
  line.sql("alter table tasks alter column rank type int4 using rank * 10");
  EXPECT_THAT(ranks.next_of("reset_required").text, HasSubstr("view_changed"));
  EXPECT_THAT(ranks.next_of("snapshot").text, HasSubstr("\"rank\":20"));
  EXPECT_EQ(ranks.next_of("ready").type(), "ready");
}

TEST_F(ModelChange, a_renamed_column_stops_the_views_that_use_it_under_its_old_name) {
  line.sql("insert into tasks values ('s', 1, 'one', false, 4)");
  WsClient ranks(line.port(), line.reader());
  WsClient titles(line.port(), line.reader());
  ranks.open({.space = "s", .view = "ranks"});
  titles.open({.space = "s", .view = "titles"});
  line.sql("alter table tasks rename column rank to weight");
  EXPECT_THAT(ranks.next_of("error").text, AllOf(HasSubstr("unavailable"), HasSubstr("retry_after")));
  line.sql("update tasks set weight = 5");
  line.sql("insert into tasks values ('s', 2, 'two', false, 6)");
  EXPECT_THAT(titles.next_of("commit").text, HasSubstr("[2]"));
  const std::string renamed =
      replaced(replaced(model, "select id, rank from", "select id, weight from"), "where rank > 0", "where weight > 0");
  ASSERT_EQ(apply(renamed).status, 0);
  const Opened back = open_again(ranks, "ranks");
  ASSERT_FALSE(back.records.empty());
  EXPECT_THAT(back.records.front(), AllOf(HasSubstr("\"weight\":5"), HasSubstr("\"weight\":6")));
}

TEST_F(ModelChange, a_dropped_table_stops_its_views_alone_and_a_new_one_of_its_name_brings_them_back) {
  line.sql("insert into tasks values ('s', 1, 'one', false, 1)");
  WsClient titles(line.port(), line.reader());
  WsClient bodies(line.port(), line.reader());
  titles.open({.space = "s", .view = "titles"});
  bodies.open({.space = "s", .view = "bodies"});
  line.sql("drop table tasks");
  EXPECT_THAT(titles.next_of("error").text, AllOf(HasSubstr("unavailable"), HasSubstr("retry_after")));
  line.sql("insert into notes values ('s', 1, 'note')");
  EXPECT_EQ(bodies.next().type(), "commit");
  line.sql(
      "create table public.tasks (space text, id int8 primary key, title text, done bool, rank int4);"
      "insert into tasks values ('s', 9, 'nine', false, 1)");
  ASSERT_EQ(apply(model).status, 0);
  const Opened back = open_again(titles, "titles");
  ASSERT_EQ(back.records.size(), 1U);
  EXPECT_THAT(back.records.front(), AllOf(HasSubstr("[9]"), Not(HasSubstr("[1]"))));
  line.sql("insert into tasks values ('s', 10, 'ten', false, 1)");
  EXPECT_THAT(titles.next_of("commit").text, HasSubstr("[10]"));
}

TEST_F(ModelChange, a_changed_primary_key_is_a_view_with_other_keys) {
  line.sql("insert into tasks values ('s', 1, 'one', false, 1)");
  WsClient titles(line.port(), line.reader());
  WsClient bodies(line.port(), line.reader());
  titles.open({.space = "s", .view = "titles"});
  bodies.open({.space = "s", .view = "bodies"});
  line.sql("alter table tasks drop constraint tasks_pkey; alter table tasks add primary key (title, id)");
  EXPECT_THAT(titles.next_of("reset_required").text, HasSubstr("view_changed"));
  EXPECT_THAT(titles.next_of("snapshot").text, HasSubstr("\"key\":[\"one\", 1]"));
  EXPECT_EQ(titles.next_of("ready").type(), "ready");
  line.sql("update tasks set title = 'uno'");
  EXPECT_THAT(titles.next_of("commit").text,
              AllOf(HasSubstr(R"({"kind":"deleted","key":["one", 1]})"), HasSubstr(R"("key":["uno", 1])")));
  // A view that does not select its key's new column does not hold.
  line.sql("alter table tasks drop constraint tasks_pkey; alter table tasks add primary key (id, space)");
  EXPECT_THAT(titles.next_of("error").text, AllOf(HasSubstr("unavailable"), HasSubstr("retry_after")));
  line.sql("alter table tasks drop constraint tasks_pkey");
  line.sql("insert into notes values ('s', 1, 'note')");
  EXPECT_EQ(bodies.next().type(), "commit");
  line.sql("alter table tasks add primary key (id)");
  ASSERT_EQ(apply(model).status, 0);
  EXPECT_THAT(open_again(titles, "titles").records, ::testing::ElementsAre(HasSubstr("\"key\":[1]")));
}

}  // namespace
}  // namespace viewgate::testing
