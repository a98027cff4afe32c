// Cases about types and names, end to end: what a database holds reaches the client as it is, whatever it is called.
#include <gmock/gmock.h>

#include <map>

#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* tables = R"(
create type public.mood as enum ('sad', 'ok', 'happy');
create table public."OrderLine" (
  space text, "__proto__" int4 primary key, "A b" text, title text, at timestamptz, due date, feels public.mood,
  tags text[], doc jsonb, hidden text);
create table public.aliases (space text, id int4 primary key, r jsonb, t jsonb, x text, j text, n text))";

constexpr const char* model = R"(
create table "OrderLine" (like public."OrderLine") with (space = 'space');
create table aliases (like public.aliases) with (space = 'space');
create view named as select id, r, t, n from aliases where x is null and t is not null;
create policy readers on named using (claims.role = 'reader');
create table plain (id int4 primary key, label text);
create view lines as select "__proto__", "A b", lower(title) as slug, at, due, tags from "OrderLine"
  where (at >= '2024-01-01' or due < '0001-01-01') and coalesce(hidden, '') not like 'x%';
create view content as select "__proto__" from "OrderLine"
  where feels >= 'ok' and tags && params.tags and doc @> '{"kind": "bug"}' and (doc ->> 'n')::float8 > 0.5;
create policy readers on lines using (claims.role = 'reader');
create view plains as select id, label from plain;
create policy everyone on content using (claims.role = 'reader');
create policy readers on plains using (claims.role = 'reader');
)";

class Types : public ::testing::Test {
 protected:
  static Line& shared() {
    static Line line(durable_cluster(), {.tables = tables, .model = model});
    return line;
  }
  std::string insert(int key, const std::string& columns, const std::string& values) const {
    return "insert into public.\"OrderLine\" (space, \"__proto__\", " + columns + ") values ('" + space + "', " +
           std::to_string(key) + ", " + values + ")";
  }

  Line& line = shared();
  std::string space = line.new_space();
};

TEST_F(Types, case_33_an_instant_has_one_text_in_snapshot_and_stream_whatever_the_writer_s_time_zone) {
  WsClient live(line.port(), line.reader());
  live.open({.space = space, .view = "lines"});
  PgSession writer(line.database());
  writer.run("set timezone = 'Asia/Kolkata'; set datestyle = 'German'");
  writer.run(insert(1, "at, due", "'2024-01-02 08:34:05.6', '2024-01-02'"));
  std::map<std::string, std::string> streamed;
  streamed["[1]"] = live.next().text;
  EXPECT_THAT(streamed["[1]"], HasSubstr(R"("at":"2024-01-02T03:04:05.6+00:00","due":"2024-01-02")"));
  writer.run(insert(2, "at, due", "'infinity', '-infinity'"));
  streamed["[2]"] = live.next().text;
  EXPECT_THAT(streamed["[2]"], HasSubstr(R"("at":"infinity","due":"-infinity")"));
  writer.run(insert(3, "at, due", "'0044-03-15 12:00:00+00 BC', '0044-03-15 BC'"));
  streamed["[3]"] = live.next().text;
  EXPECT_THAT(streamed["[3]"], HasSubstr(R"("at":"0044-03-15T12:00:00+00:00 BC","due":"0044-03-15 BC")"));
  WsClient late(line.port(), line.reader());
  const Opened opened = late.open({.space = space, .view = "lines"});
  ASSERT_EQ(opened.records.size(), 3U);
  for (const std::string& record : opened.records) {
    EXPECT_THAT(streamed[Document{record}.raw("key")], HasSubstr(Document{record}.raw("record")));
  }
}

TEST_F(Types, case_35_names_are_taken_as_they_are_and_an_odd_one_stops_nothing) {
  WsClient client(line.port(), line.reader());
  client.open({.space = space, .view = "lines"});
  line.sql(insert(35, "\"A b\", title, at, tags", "'it''s', 'ÉTÉ Plus', 'infinity', '{a,NULL}'"));
  EXPECT_THAT(client.next().text,
              HasSubstr(R"("record":{"__proto__":35,"A b":"it's","slug":"ÉtÉ plus","at":"infinity",)"
                        R"("due":null,"tags":["a", null]})"));
  line.sql("update public.\"OrderLine\" set \"A b\" = 'b' where \"__proto__\" = 35");
  EXPECT_THAT(client.next().text, HasSubstr(R"({"kind":"updated","key":[35],"changed":{"A b":"b"}})"));
  WsClient other(line.port(), line.reader());
  other.open({.space = space, .view = "plains"});
  line.sql("select viewgate.append('" + space +
           R"(', '[{"collection": "plain", "key": [1], "put": {"id": 1, "label": "of another type"}}]'))");
  EXPECT_THAT(other.next().text, HasSubstr("of another type"));
}

TEST_F(Types, case_35_columns_called_as_the_aliases_of_our_queries_are_the_record_s_own) {
  const std::string forged = R"('{"space": "elsewhere", "id": 99, "t": 1, "x": null}')";
  const std::string sent =
      R"("record":{"id":35,"r":{"t": 1, "x": null, "id": 99, "space": "elsewhere"},"t":{"t": 1, "x": null,)"
      R"( "id": 99, "space": "elsewhere"},"n":null})";
  WsClient live(line.port(), line.reader());
  live.open({.space = space, .view = "named"});
  line.sql("insert into public.aliases (space, id, r, t) values ('" + space + "', 35, " + forged + ", " + forged + ")");
  EXPECT_THAT(live.next().text, AllOf(HasSubstr("\"key\":[35]"), HasSubstr(sent)));
  WsClient late(line.port(), line.reader());
  const Opened opened = late.open({.space = space, .view = "named"});
  ASSERT_EQ(opened.records.size(), 1U);
  EXPECT_THAT(opened.records.front(), AllOf(HasSubstr("\"key\":[35]"), HasSubstr(sent)));
  line.sql("update public.aliases set r = null, n = 'n' where id = 35");
  EXPECT_THAT(live.next().text, HasSubstr(R"({"kind":"updated","key":[35],"changed":{"r":null,"n":"n"}})"));
}

TEST_F(Types, a_change_of_what_the_view_does_not_show_is_no_event) {
  WsClient client(line.port(), line.reader());
  client.open({.space = space, .view = "lines"});
  line.sql(insert(7, "title, at, hidden", "'Title', 'infinity', 'a secret'"));
  EXPECT_THAT(client.next().text, AllOf(HasSubstr("\"slug\":\"title\""), Not(HasSubstr("secret"))));
  line.sql("update public.\"OrderLine\" set hidden = 'another secret', title = 'TITLE' where \"__proto__\" = 7");
  line.sql("update public.\"OrderLine\" set hidden = 'x' where \"__proto__\" = 7");
  const Document next = client.next();
  EXPECT_THAT(next.text, AllOf(HasSubstr(R"({"kind":"removed_from_scope","key":[7]})"), Not(HasSubstr("secret"))));
}

TEST_F(Types, enums_arrays_and_documents_decide_in_snapshot_and_stream_alike) {
  const std::string rows = insert(101, "feels, tags, doc", R"('sad', '{a}', '{"kind": "bug", "n": 1}')") + ";" +
                           insert(102, "feels, tags, doc", R"('happy', '{b,a}', '{"kind": "bug", "n": 0.75}')") + ";" +
                           insert(103, "feels, tags, doc", R"('ok', '{c}', '{"kind": "bug", "n": 1}')") + ";" +
                           insert(104, "feels, tags, doc", R"('ok', '{a}', '{"kind": "wish", "n": 1}')") + ";" +
                           insert(105, "feels, tags, doc", R"('ok', '{a}', '{"kind": "bug", "n": "many"}')");
  const std::string params = R"({"tags":["a","z"]})";
  WsClient live(line.port(), line.reader());
  live.open({.space = space, .view = "content", .params = params});
  line.sql(rows);
  EXPECT_THAT(live.next().text, AllOf(HasSubstr("\"key\":[102]"), Not(HasSubstr("\"key\":[105]"))));
  WsClient late(line.port(), line.reader());
  const Opened opened = late.open({.space = space, .view = "content", .params = params});
  ASSERT_EQ(opened.records.size(), 1U);
  EXPECT_EQ(Document{opened.records[0]}.raw("key"), "[102]");
}

}  // namespace
}  // namespace viewgate::testing
