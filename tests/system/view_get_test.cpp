// A view without a socket: its records as of one sequence, and a cursor that a socket goes on from.
#include <gmock/gmock.h>

#include <regex>

#include "support/eventually.hpp"
#include "support/http_client.hpp"
#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int many = 40'000;

LineOptions one_answer_at_a_time() {
  LineOptions out;
  out.model = std::string(items_model) + R"(
create view posters as select id, x from items where status = 'poster';
create policy anybody on posters using (true);
)";
  for (const char* each :
       {"--auth-anonymous", "admit", "--limit-view-answers", "1", "--snapshot-memory-bytes", "1MiB"}) {
    out.flags.emplace_back(each);
  }
  return out;
}

class ViewGet : public ::testing::Test {
 protected:
  static Line& the_line() {
    static Line line(durable_cluster(), one_answer_at_a_time());
    return line;
  }
  std::string target(const std::string& view) const { return "/v1/spaces/" + space + "/views/" + view; }
  HttpAnswer get(const std::string& view) { return ask(line.port(), get_text(target(view), line.reader())); }
  HttpAnswer get_as_nobody(const std::string& view) {
    return ask(line.port(), "GET " + target(view) + " HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  void insert(int id, const std::string& status = "open", const std::string& n = "1", const std::string& x = "") {
    line.session().query("insert into items (space, id, status, n, x) values ($1, $2, $3, $4, $5)",
                         {space, std::to_string(id), status, n, x});
  }
  void insert_many() {
    line.session().query(
        "insert into items (space, id, status, n) select $1, i, 'open', i from generate_series(1, $2::int) i",
        {space, std::to_string(many)});
  }
  /// Sends a question for the view of all the records, and reads the answer's first bytes only.
  void ask_and_stop_reading(RawSocket& socket) {
    socket.send(get_text(target("open"), line.reader()));
    ASSERT_THAT(socket.read_until("\"records\":["), HasSubstr("\"sequence\":"));
  }
  void TearDown() override {
    EXPECT_TRUE(line.gateway().process().running());
    line.sql("delete from items");  // an id is one record's in all spaces
  }

  Line& line = the_line();
  const std::string space = line.new_space();
};

TEST_F(ViewGet, gives_what_a_socket_would_get_and_a_cursor_that_it_goes_on_from_without_a_bootstrap) {
  insert(1);
  insert(2, "closed");
  insert(3, "open", "1.10");
  line.settled_head(space);
  const HttpAnswer answer = get("open");
  EXPECT_THAT(answer.head, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("application/json")));
  ASSERT_TRUE(answer.is_whole);
  ASSERT_THAT(answer.body, EndsWith("}\n"));
  const Document view{answer.body.substr(0, answer.body.size() - 1)};
  EXPECT_EQ(view.type(), "view");
  EXPECT_EQ(view.plain("space"), space);
  EXPECT_EQ(view.plain("view"), "open");
  EXPECT_EQ(view.plain("sequence"), "3");
  WsClient other(line.port(), line.reader("bob"));
  const Opened opened = other.open({.space = space});
  ASSERT_THAT(opened.records, SizeIs(2));
  EXPECT_EQ(view.raw("records"), "[" + opened.records[0] + "," + opened.records[1] + "]");

  insert(4);
  line.settled_head(space);
  WsClient client(line.port(), line.reader());
  const Opened resumed = client.open({.space = space, .cursor = view.plain("cursor")});
  EXPECT_TRUE(resumed.resumed());
  EXPECT_THAT(resumed.records, IsEmpty());
  EXPECT_EQ(resumed.ready.plain("sequence"), "3");
  EXPECT_THAT(client.next_of("commit").text, AllOf(HasSubstr("\"entered\""), HasSubstr("\"key\":[4]")));
  other.send(subscribe_text({.id = "x", .space = space, .cursor = view.plain("cursor")}));
  EXPECT_EQ(other.next_of("error").plain("code"), "cursor_invalid") << "it is another principal's";
}

TEST_F(ViewGet, of_a_space_without_a_commit_is_empty_at_0) {
  EXPECT_THAT(get("open").body, AllOf(HasSubstr("\"sequence\":\"0\""), EndsWith("\"records\":[]}\n")));
}

TEST_F(ViewGet, parameters_are_the_names_of_the_query) {
  insert(1, "open", "5");
  insert(2, "open", "7", "7 & \"8\"");
  line.settled_head(space);
  EXPECT_THAT(get("between_n?low=6&high=1e1").body, AllOf(HasSubstr("[2]"), Not(HasSubstr("[1]"))));
  EXPECT_THAT(get("named?name=7%20%26%20%228%22").body, AllOf(HasSubstr("[2]"), Not(HasSubstr("[1]"))));
  const HttpAnswer wrong = get("between_n?low=six&high=7");
  EXPECT_THAT(wrong.head, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(wrong.body, AllOf(HasSubstr("\"code\":\"invalid_view\""), HasSubstr("low")));
  EXPECT_THAT(get("between_n?low=1").body, HasSubstr("high")) << "the one that is missing";
  EXPECT_THAT(get("open?colour=red").body, HasSubstr("colour"));
}

TEST_F(ViewGet, policies_decide_and_what_is_no_question_is_refused) {
  insert(1, "poster");
  line.settled_head(space);
  EXPECT_THAT(get_as_nobody("posters").body, HasSubstr("\"key\":[1]"));
  const HttpAnswer not_for_nobody = get_as_nobody("open");
  EXPECT_THAT(not_for_nobody.head, StartsWith("HTTP/1.1 403 "));
  const auto told = [](const HttpAnswer& answer) {  // but for the request's own id
    return std::regex_replace(answer.body, std::regex(R"(,"connection":"[0-9a-f]{16}")"), "");
  };
  EXPECT_EQ(told(not_for_nobody), told(get_as_nobody("no_such_view"))) << "one answer";
  EXPECT_EQ(told(not_for_nobody), told(get("walled")));
  const auto status = [&](const std::string& request) { return ask(line.port(), request).head.substr(9, 3); };
  const std::string authorised = " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + line.reader() + "\r\n";
  EXPECT_EQ(status(get_text(target("posters"), "nonsense")), "401") << "a bad token is not none";
  EXPECT_EQ(status("GET " + target("open") + authorised + "Origin: https://app.example\r\n\r\n"), "403");
  EXPECT_EQ(status("PUT " + target("open") + authorised + "\r\n"), "405");
  EXPECT_EQ(status("GET " + target("open") + authorised + "Content-Length: 2\r\n\r\n{}"), "413");
  for (const char* nothing : {"", "open/more", "%ff", "open?a", "open?a=1&a=2"}) {
    EXPECT_EQ(status("GET " + target(nothing) + authorised + "\r\n"), "404") << nothing;
  }
  EXPECT_THAT(line.gateway().log(), Not(HasSubstr("Bearer")));
}

TEST_F(ViewGet, where_nobody_in_particular_is_not_admitted_a_token_is_asked_for) {
  GatewayOptions options = line.gateway_options();
  options.set("--auth-anonymous", "refuse");
  const GatewayProcess strict(options);
  EXPECT_THAT(ask(strict.port(), "GET " + target("posters") + " HTTP/1.1\r\nHost: a\r\n\r\n").head,
              AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate: Bearer")));
}

TEST_F(ViewGet, a_large_one_comes_whole_and_one_more_than_are_answered_at_a_time_is_told_to_come_back) {
  insert_many();
  line.settled_head(space);
  RawSocket slow(line.port(), 4096);
  ask_and_stop_reading(slow);
  const HttpAnswer another = get("open");
  EXPECT_THAT(another.head, AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1")));
  EXPECT_THAT(another.body, HasSubstr("\"code\":\"unavailable\""));
  const std::string rest = slow.read_until("\r\n0\r\n\r\n", patient(std::chrono::seconds(60)));
  EXPECT_THAT(rest, EndsWith("]}\n\r\n0\r\n\r\n"));
  HttpAnswer whole;
  ASSERT_TRUE(eventually([&] { return (whole = get("open")).is_whole && whole.head.starts_with("HTTP/1.1 200 "); }));
  std::size_t keys = 0;
  for (auto at = whole.body.find("{\"key\":["); at != std::string::npos; at = whole.body.find("{\"key\":[", at + 1))
    ++keys;
  EXPECT_EQ(keys, many);
}

TEST_F(ViewGet, values_that_are_erased_while_it_is_read_are_not_sent_any_more) {
  insert_many();
  line.settled_head(space);
  RawSocket slow(line.port(), 4096);
  ask_and_stop_reading(slow);
  const std::string last = std::to_string(many);
  line.session().query("delete from items where space = $1 and id = $2", {space, last});
  line.settled_head(space);
  const Finished erased = run({program("viewgate"), "erase", "--space", space, "--collection", "public.items", "--key",
                               "[" + last + "]", "--database", line.database()});
  ASSERT_EQ(erased.status, 0) << erased.output;
  ASSERT_TRUE(eventually([&] { return line.gateway().log().find("values_erased") != std::string::npos; }));
  ASSERT_TRUE(eventually([&] { return line.gateway().client_sockets() == 0; })) << "it is cut off";
  const std::string rest = slow.read_until("\r\n0\r\n\r\n", patient(std::chrono::seconds(60)));
  EXPECT_THAT(rest, Not(HasSubstr("\"key\":[" + last + "]")));
  EXPECT_THAT(rest, Not(EndsWith("0\r\n\r\n"))) << "and is told from a complete one";
  EXPECT_THAT(get("open").head, StartsWith("HTTP/1.1 200 ")) << "and it works again";
}

}  // namespace
}  // namespace viewgate::testing
