// The raw log by HTTP and on the command line, under a right of its own; and what the commands of retention and erasing do to
// who is connected.
#include <gmock/gmock.h>

#include <ctime>
#include <fstream>
#include <optional>
#include <set>

#include "support/http_client.hpp"
#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// A gateway that gives the raw log to tokens with the claim logs.
class RawLog : public ::testing::Test {
 protected:
  static GatewayProcess& gateway() {
    static GatewayProcess gateway([] {
      GatewayOptions options = Line::shared().gateway_options();
      options.set("--raw-log-claim", "logs");
      return options;
    }());
    return gateway;
  }
  static std::string token_for(const std::string& spaces) { return token("auditor", {"logs:=" + spaces}); }
  HttpAnswer log(const std::string& query = "", const std::string& token = token_for("[\"*\"]")) {
    return ask(gateway().port(), get_text("/v1/spaces/" + space + "/log" + query, token));
  }
  void insert(int id, const std::string& status = "open") {
    line.session().query("insert into items (space, id, status) values ($1, $2, $3)",
                         {space, std::to_string(id), status});
  }
  Finished command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program("viewgate"));
    arguments.insert(arguments.end(), {"--database", line.database()});
    return run(arguments);
  }
  void TearDown() override {
    EXPECT_TRUE(gateway().process().running());
    line.sql("delete from items");  // an id is one record's in all spaces
  }

  Line& line = Line::shared();
  std::string space = line.new_space();
};

TEST_F(RawLog, a_page_is_whole_commits_as_lines_and_its_end) {
  insert(1);
  line.session().query("update items set status = 'closed' where space = $1", {space});
  insert(2);
  ASSERT_EQ(line.settled_head(space), 3);
  const HttpAnswer all = log();
  EXPECT_THAT(all.head, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("application/x-ndjson")));
  EXPECT_TRUE(all.is_whole);
  const auto lines = all.lines();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[1],
              AllOf(StartsWith("{\"space\":\"" + space + "\",\"sequence\":\"2\",\"stamp\":\""),
                    HasSubstr(R"("source":"capture")"),
                    HasSubstr(R"("changes":[{"ordinal":0,"kind":"updated","collection":"public.items","key":[1],)"),
                    HasSubstr(R"("before":{"a": null,)"), HasSubstr(R"("last":true})")));
  EXPECT_EQ(lines[3], R"({"next_cursor":"3","has_more":false,"watermark":"3","retained_from":"1"})");
  const auto some = log("?after=1&limit=1").lines();
  ASSERT_THAT(some, SizeIs(2));
  EXPECT_EQ(some[0], lines[1]);
  EXPECT_EQ(some[1], R"({"next_cursor":"2","has_more":true,"watermark":"3","retained_from":"1"})");
  EXPECT_THAT(log("?after=3").lines(), SizeIs(1)) << "an empty page has an end, too";
}

TEST_F(RawLog, no_view_and_no_policy_gives_the_right) {
  insert(1);
  line.settled_head(space);
  const std::string reader = line.reader();
  EXPECT_THAT(log("", reader).head, StartsWith("HTTP/1.1 403 ")) << "who may read every record in views";
  EXPECT_THAT(log("", token_for("[\"other\", \"space\"]")).head, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(log("", token_for("true")).head, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(log("", token_for("{\"" + space + "\": true}")).head, StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(log("", token_for("[\"other\"]")).body, log("", reader).body) << "one answer";
  EXPECT_THAT(log("", token_for("[1, \"" + space + "\"]")).head, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(log("", "nonsense").head, AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate: Bearer")));
  EXPECT_THAT(ask(gateway().port(), "GET /v1/spaces/x/log HTTP/1.1\r\nHost: a\r\n\r\n").head,
              StartsWith("HTTP/1.1 401 "));
  const std::string target = "/v1/spaces/" + space + "/log";
  EXPECT_THAT(ask(line.port(), get_text(target, token_for("[\"*\"]"))).head, StartsWith("HTTP/1.1 404 "))
      << "where no claim is configured, it is not there";
  EXPECT_THAT(gateway().log(), Not(HasSubstr("Bearer")));
}

TEST_F(RawLog, what_is_not_a_question_is_refused_by_name) {
  insert(1);
  line.settled_head(space);
  for (const char* wrong : {"?after=2", "?after=-1", "?after=x", "?after=", "?limit=0", "?limit=99999999999999999999",
                            "?before=1", "?after=1&after=1", "?after"}) {
    const HttpAnswer answer = log(wrong);
    EXPECT_THAT(answer.head, AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.1 404 "))) << wrong;
    EXPECT_TRUE(answer.is_whole);
  }
  const std::string bearer = "Host: a\r\nAuthorization: Bearer " + token_for("[\"*\"]") + "\r\n";
  for (const std::string target : {"/v1/spaces//log", "/v1/spaces/a/log/", "/v1/spaces/a", "/v1/spaces/%ff/log",
                                   "/v1/spaces/%0/log", "/v1/spaces/%00/log", "/v1/spaces/a/logs"}) {
    EXPECT_THAT(ask(gateway().port(), "GET " + target + " HTTP/1.1\r\n" + bearer + "\r\n").head,
                StartsWith("HTTP/1.1 404 "))
        << target;
  }
  const std::string post = "POST /v1/spaces/a/log HTTP/1.1\r\n" + bearer;
  EXPECT_THAT(ask(gateway().port(), post + "\r\n").head, StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(gateway().port(), post + "Content-Length: 99999999999\r\n\r\n").head, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask(gateway().port(), post + "Transfer-Encoding: chunked\r\n\r\n").head, StartsWith("HTTP/1.1 400 "));
}

TEST_F(RawLog, a_space_of_any_name_is_asked_for) {
  space = "ä/b?c%";
  insert(1);
  line.settled_head(space);
  space = "%C3%A4%2Fb%3Fc%25";
  EXPECT_THAT(log("", token_for("[\"ä/b?c%\"]")).body, HasSubstr("{\"space\":\"ä/b?c%\",\"sequence\":\"1\""));
  space = "nobody-wrote-here";
  EXPECT_THAT(log().lines(),
              ElementsAre(R"({"next_cursor":"0","has_more":false,"watermark":"0","retained_from":"1"})"));
}

TEST_F(RawLog, row_42_below_the_horizon_it_says_where_it_begins) {
  for (int i = 1; i <= 5; ++i) insert(i);
  line.settled_head(space);
  EXPECT_EQ(command({"prune", "--space", space, "--keep", "2"}).status, 0);
  const HttpAnswer gone = log("?after=2");
  EXPECT_THAT(gone.head, StartsWith("HTTP/1.1 410 "));
  EXPECT_EQ(gone.body, "{\"error\":\"history_pruned\",\"retained_from\":\"4\"}\n");
  EXPECT_THAT(log("?after=3").lines(), SizeIs(3));
}

TEST_F(RawLog, row_50_a_large_commit_comes_in_lines_of_bounded_size_with_an_end_mark) {
  line.session().query(
      "insert into items (space, id, status, x) select $1, 1000000 + i, 'open', repeat('x', 300) from "
      "generate_series(1, "
      "20000) i",
      {space});
  line.settled_head(space);
  const HttpAnswer answer = log("?limit=1");
  EXPECT_TRUE(answer.is_whole);
  const auto lines = answer.lines();
  EXPECT_GT(lines.size(), 5U);
  std::size_t changes = 0;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_LT(lines[i].size(), 3U * 1024 * 1024);
    EXPECT_THAT(lines[i].substr(lines[i].size() - 15),
                HasSubstr(i + 2 == lines.size() ? "\"last\":true" : "\"last\":false"));
    for (std::size_t at = lines[i].find("\"ordinal\""); at != std::string::npos;
         at = lines[i].find("\"ordinal\"", at + 1))
      ++changes;
  }
  EXPECT_EQ(changes, 20000U);
  EXPECT_THAT(lines.back(), HasSubstr(R"("next_cursor":"1")"));
}

TEST_F(RawLog, case_23_a_reader_that_stops_costs_a_bounded_amount_of_memory_and_is_let_go) {
  line.session().query(
      "insert into items (space, id, status, x) select $1, 2000000 + i, 'open', repeat('x', 2000) from "
      "generate_series(1, "
      "40000) i",
      {space});  // 80 MB
  line.settled_head(space);
  GatewayOptions options = line.gateway_options();
  options.set("--raw-log-claim", "logs");
  options.set("--time-no-progress", "1s");
  options.measure_memory();
  GatewayProcess fresh(options);
  const std::uint64_t before = fresh.rss_bytes();
  RawSocket stuck(fresh.port(), 4096);
  stuck.send(get_text("/v1/spaces/" + space + "/log?limit=100000", token_for("[\"*\"]")));
  EXPECT_THAT(stuck.read_until("\r\n"), HasSubstr("200"));
  EXPECT_TRUE(eventually([&] { return fresh.client_sockets() == 0; })) << "no progress for the set time";
  EXPECT_LT(fresh.rss_bytes(), before + 32U * 1024 * 1024);
  EXPECT_TRUE(eventually([&] {
    return line.value(
               "select count(*) from pg_stat_activity where application_name = 'viewgate log' and state = 'active'") ==
           "0";
  })) << "its snapshot is let go, too";
  const auto whole = ask(fresh.port(), get_text("/v1/spaces/" + space + "/log?limit=100000", token_for("[\"*\"]")));
  EXPECT_TRUE(whole.is_whole) << "and it works again";
}

/// A reader of one large commit that has read the head of its answer and nothing more.
class SlowReader : public RawLog {
 protected:
  static constexpr std::size_t changes = 10000;  // of 2000 bytes each: far more than kernels keep for one connection

  void SetUp() override {
    line.session().query(
        "insert into items (space, id, status, x) select $1, 3000000 + i, 'open', repeat('x', 2000) from "
        "generate_series(1, $2::int) i",
        {space, std::to_string(changes)});
    line.settled_head(space);
  }
  void ask(const std::string& token) {
    socket.emplace(fresh.port(), 4096);
    socket->send(get_text("/v1/spaces/" + space + "/log", token));
    EXPECT_THAT(socket->read_until("\r\n\r\n"), HasSubstr("200"));
  }
  std::string rest() { return socket->read_until("never in it", patient(std::chrono::seconds(60))); }
  std::size_t open_transactions() {
    return std::stoul(line.value(
        "select count(*) from pg_stat_activity where application_name = 'viewgate log' and state <> 'idle'"));
  }
  void expect_cut_off(const std::string& reason) {
    EXPECT_TRUE(eventually([&] { return fresh.client_sockets() == 0; }));
    EXPECT_THAT(fresh.log(), HasSubstr("reason=" + reason));
    bool is_whole = false;
    EXPECT_LT(unchunked(rest(), is_whole).size(), changes * 2000);
    EXPECT_FALSE(is_whole);
  }

  GatewayProcess fresh = [this] {
    GatewayOptions options = line.gateway_options();
    options.set("--raw-log-claim", "logs");
    options.set("--time-no-progress", "60s");
    return GatewayProcess(options);
  }();
  std::optional<RawSocket> socket;
};

TEST_F(SlowReader, row_27_who_is_revoked_gets_no_more_of_the_log) {
  ask(token("mallory-of-the-log", {"logs:=[\"*\"]"}));
  line.sql("select viewgate.revoke(principal => 'mallory-of-the-log', issuer => 'viewgate')");
  expect_cut_off("revoked");
}

TEST_F(SlowReader, row_25_whose_token_expires_gets_no_more_of_the_log) {
  constexpr int leeway = 5;
  ask(token_of_claims(R"({"iss":"viewgate","aud":"viewgate","sub":"late","logs":["*"],"exp":)" +
                      std::to_string(std::time(nullptr) - leeway + 8) + "}"));
  expect_cut_off("auth_expired");
}

TEST_F(SlowReader, case_23_no_transaction_waits_for_it_and_it_gets_the_rest_all_the_same) {
  ask(token_for("[\"*\"]"));
  EXPECT_TRUE(eventually([&] { return open_transactions() == 0; }));
  EXPECT_EQ(fresh.client_sockets(), 1U);
  bool is_whole = false;
  const std::string body = unchunked(rest(), is_whole);
  EXPECT_TRUE(is_whole);
  std::set<std::string> keys;
  std::size_t count = 0;
  const std::string name = "\"key\":";
  for (auto at = body.find(name); at != std::string::npos; at = body.find(name, at + 1), ++count)
    keys.insert(body.substr(at, body.find(']', at) - at));
  EXPECT_EQ(count, changes) << "none twice";
  EXPECT_EQ(keys.size(), changes);
  EXPECT_THAT(body, HasSubstr(R"("next_cursor":"1","has_more":false)"));
}

TEST_F(RawLog, a_page_is_bounded_in_bytes_and_says_that_there_is_more) {
  constexpr int commits = 20;
  for (int i = 0; i < commits; ++i) {
    line.session().query("insert into items (space, id, x) values ($1, $2, repeat('x', 1000000))",
                         {space, std::to_string(2300 + i)});
  }
  line.settled_head(space);
  const auto first = log("?limit=1000000").lines();
  ASSERT_GT(first.size(), 1U);
  ASSERT_LT(first.size(), 1U + commits);
  const auto through = std::to_string(first.size() - 1);
  EXPECT_THAT(first.back(), StartsWith("{\"next_cursor\":\"" + through + "\",\"has_more\":true"));
  EXPECT_THAT(log("?limit=1000000&after=" + through).lines(), SizeIs(commits - first.size() + 2));
}

TEST_F(RawLog, case_34_a_change_of_a_small_column_holds_the_large_one_that_did_not_change) {
  line.session().query("insert into items (space, id, n, x) values ($1, 3400, 1, repeat('x', 1000000))", {space});
  line.session().query("update items set n = 2 where space = $1", {space});
  line.settled_head(space);
  const auto lines = log("?after=1").lines();
  ASSERT_THAT(lines, SizeIs(2));
  const std::string large = "\"x\": \"" + std::string(1'000'000, 'x') + "\"";
  const auto before = lines[0].find(large);
  ASSERT_NE(before, std::string::npos);
  EXPECT_NE(lines[0].find(large, before + 1), std::string::npos) << "before and after";
}

TEST_F(RawLog, the_command_prints_the_same_lines_and_follows) {
  insert(1);
  insert(2);
  line.settled_head(space);
  const Finished printed = command({"log", "--space", space});
  ASSERT_EQ(printed.status, 0) << printed.output;
  auto lines = log().lines();
  lines.pop_back();
  EXPECT_EQ(printed.output, lines[0] + "\n" + lines[1] + "\n");
  EXPECT_EQ(command({"log", "--space", space, "--after", "1"}).output, lines[1] + "\n");
  EXPECT_EQ(command({"log", "--space", space, "--limit", "1"}).output, lines[0] + "\n");
  const Finished beyond = command({"log", "--space", space, "--after", "3"});
  EXPECT_EQ(beyond.status, 64);
  EXPECT_THAT(beyond.output, HasSubstr("the watermark, which is 2"));

  ChildOptions child;
  child.arguments = {program("viewgate"), "log",        "--space",      space, "--after", "1",
                     "--follow",          "--database", line.database()};
  child.output_file = temporary_path("followed");
  ChildProcess follower(child);
  insert(3);
  EXPECT_TRUE(eventually([&] { return file_text(child.output_file).find("\"sequence\":\"3\"") != std::string::npos; }));
  EXPECT_THAT(file_text(child.output_file), StartsWith(lines[1]));
  // A log that lost what was printed, and gave its number to another commit.
  line.sql(
      "begin; alter table viewgate.commits disable trigger user; update viewgate.commits set stamp = 77 where space = "
      "'" +
      space +
      "' and sequence = 3; alter table viewgate.commits enable always trigger append_only;"
      "alter table viewgate.commits enable always trigger only_pruned; commit");
  EXPECT_EQ(follower.wait(patience), 1);
  EXPECT_THAT(file_text(child.output_file), HasSubstr("the ledger has another commit there"));
  std::remove(child.output_file.c_str());
}

TEST_F(RawLog, the_command_numbers_what_waits_where_no_node_runs) {
  const std::string database = line.cluster().create_database();
  PgSession(database).run("select viewgate.append('s', '[{\"collection\": \"notes\", \"key\": [1], \"put\": {}}]')");
  const Finished printed = run({program("viewgate"), "log", "--space", "s", "--database", database});
  EXPECT_THAT(printed.output, HasSubstr("\"sequence\":\"1\"")) << printed.output;
}

TEST_F(RawLog, rules_of_retention_are_set_shown_applied_and_taken_back) {
  const std::string database = line.cluster().create_database();
  const auto say = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program("viewgate"));
    arguments.insert(arguments.end(), {"--database", database});
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 0) << finished.output;
    return finished.output;
  };
  EXPECT_EQ(say({"retention", "show"}), "no rule: every space keeps all its commits\n");
  EXPECT_EQ(say({"retention", "set", "--commits", "3"}), "every other space: 3 commits, kept for ever\n");
  EXPECT_EQ(say({"retention", "set", "--space", "s", "--age", "2 hours"}),
            "every other space: 3 commits, kept for ever\nspace s: any number of commits, kept for 02:00:00\n");
  PgSession session(database);
  for (int i = 1; i <= 5; ++i) {
    for (const std::string of : {"s", "t"}) {
      session.run("select viewgate.append('" + of + "', '[{\"collection\": \"notes\", \"key\": [" + std::to_string(i) +
                  "], \"put\": {}}]')");
    }
    session.run("select viewgate.look()");
  }
  EXPECT_EQ(say({"prune"}), "space t is kept from commit 3\n");
  EXPECT_EQ(say({"prune", "--space", "s", "--keep", "1", "--age", "1 day"}), "space s is kept from commit 5\n");
  EXPECT_EQ(session.value("select count(*) from viewgate.commits"), "4");
  EXPECT_EQ(say({"retention", "clear"}), "space s: any number of commits, kept for 02:00:00\n");
}

TEST_F(RawLog, what_is_asked_of_a_space_that_is_not_there_is_refused_and_makes_none) {
  for (const std::vector<std::string>& asked : {std::vector<std::string>{"log"},
                                                {"prune"},
                                                {"prune", "--keep", "1"},
                                                {"erase"},
                                                {"erase", "--collection", "public.items", "--key", "[1]"}}) {
    std::vector<std::string> arguments = asked;
    arguments.insert(arguments.end(), {"--space", "nosuch"});
    const Finished refused = command(arguments);
    EXPECT_EQ(refused.status, 1) << asked[0];
    EXPECT_THAT(refused.output, HasSubstr("the ledger has no space nosuch: nothing was committed there")) << asked[0];
  }
  EXPECT_EQ(line.value("select count(*) from viewgate.spaces where name = 'nosuch'"), "0");
}

TEST_F(RawLog, the_log_of_a_space_whose_rows_are_all_from_before_its_capture_is_empty_and_nothing_of_it_is_pruned) {
  const std::string database = line.cluster().create_database();
  PgSession session(database);
  session.run(
      "create table named (board text, id int4 primary key); create table counted (tenant int8, id int4 primary key);"
      "insert into named values ('quiet', 1); insert into counted values (7, 1);"
      "select viewgate.capture('named', 'board'), viewgate.capture('counted', 'tenant')");
  const auto say = [&](const std::vector<std::string>& words, const std::string& of) {
    std::vector<std::string> arguments{program("viewgate")};
    arguments.insert(arguments.end(), words.begin(), words.end());
    arguments.insert(arguments.end(), {"--space", of, "--database", database});
    return run(arguments);
  };
  const auto refused = [&](const std::vector<std::string>& words, const std::string& of) {
    const Finished told = say(words, of);
    EXPECT_EQ(told.status, 1) << told.output;
    EXPECT_THAT(told.output, StartsWith("viewgate: the ledger has no space " + of + ": nothing was committed there"));
  };
  for (const std::string of : {"quiet", "7"}) {
    const Finished log = say({"log"}, of);
    EXPECT_EQ(log.status, 0) << log.output;
    EXPECT_THAT(log.output, IsEmpty());
    refused({"prune", "--keep", "1"}, of);
    refused({"erase"}, of);
  }
  refused({"log"}, "07");
  EXPECT_EQ(session.value("select count(*) from viewgate.horizons"), "0");
  session.run("insert into named values ('quiet', 2)");
  EXPECT_THAT(say({"log"}, "quiet").output, StartsWith(R"({"space":"quiet","sequence":"1",)"));
}

TEST_F(RawLog, flags_of_pruning_and_erasing_that_are_none_are_refused_by_what_would_be_right) {
  insert(1401);
  line.settled_head(space);
  for (const char* keep : {"-1", "1.5", "99999999999999999999"}) {
    const Finished refused = command({"prune", "--space", space, "--keep", keep});
    EXPECT_EQ(refused.status, 64);
    EXPECT_THAT(refused.output,
                AllOf(HasSubstr("--keep: must be a number of commits, 0 or more, not "), HasSubstr(keep)));
    EXPECT_LT(refused.output.size(), 400U);
  }
  for (const char* key : {"57", "[57", "[]", R"({"id": 57})"}) {
    const Finished refused = command({"erase", "--space", space, "--collection", "notes", "--key", key});
    EXPECT_EQ(refused.status, 64) << key;
    EXPECT_THAT(refused.output, HasSubstr("--key: must be the JSON array of the key's columns, for example '[7]'"));
  }
}

TEST_F(RawLog, erasing_a_record_resets_who_stands_before_it_and_nobody_else) {
  WsClient client(line.port(), line.reader());
  const Opened opened = client.open({.space = space});
  const auto cursor_at = [&](const Document& commit) { return opened.context() + "." + commit.plain("position"); };
  insert(1501, "open");
  const std::string before = cursor_at(client.next_of("commit"));
  line.session().query("update items set owner = 'secret' where space = $1", {space});
  const std::string inside = cursor_at(client.next_of("commit"));
  line.session().query("delete from items where space = $1", {space});
  const std::string after = cursor_at(client.next_of("commit"));
  insert(1502, "open");
  client.next_of("commit");
  ASSERT_EQ(command({"erase", "--space", space, "--collection", "public.items", "--key", "[1502]"}).status, 1)
      << "it still exists";
  const Finished erased = command({"erase", "--space", space, "--collection", "public.items", "--key", "[1501]"});
  EXPECT_EQ(erased.output, "erased the values of 3 changes of public.items [1501] in space " + space + "\n");
  const HttpAnswer raw = log();
  EXPECT_THAT(raw.body, AllOf(Not(HasSubstr("secret")),
                              HasSubstr(R"({"ordinal":0,"kind":"erased","collection":"public.items","key":[1501]})")));

  insert(1503, "open");
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[1503]")) << "who was at the head goes on";
  // The node that had it all in memory has also looked since, and one that starts reads the ledger.
  GatewayProcess fresh(line.gateway_options());
  for (const std::uint16_t port : {line.port(), fresh.port()}) {
    for (const std::string& cursor : {before, inside}) {
      WsClient returning(port, line.reader());
      returning.send(subscribe_text({.space = space, .cursor = cursor}));
      EXPECT_EQ(returning.next().plain("reason"), "state_unavailable");
      EXPECT_EQ(returning.next_of("ready").plain("sequence"), "5");
    }
    WsClient returning(port, line.reader());
    EXPECT_TRUE(returning.open({.space = space, .cursor = after}).resumed());
    EXPECT_THAT(returning.next().text, HasSubstr("[1502]"));
  }
}

TEST_F(RawLog, erasing_a_space_leaves_nothing_of_it_and_who_shows_it_learns_that) {
  WsClient client(line.port(), line.reader());
  client.open({.space = space});
  insert(1601, "open");
  client.next_of("commit");
  line.session().query("delete from items where space = $1", {space});
  client.next_of("commit");
  const Finished erased = command({"erase", "--space", space});
  EXPECT_EQ(erased.output, "erased space " + space + " up to commit 3\n");
  EXPECT_EQ(client.next_of("reset_required").plain("reason"), "history_pruned");
  EXPECT_EQ(client.next_of("ready").plain("sequence"), "3");
  for (const char* table : {"commits", "changes", "records", "waiting"}) {
    EXPECT_EQ(line.value(std::string("select count(*) from viewgate.") + table + " where space = $1", {space}), "0")
        << table;
  }
  insert(1602, "open");
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[1602]"));
}

}  // namespace
}  // namespace viewgate::testing
