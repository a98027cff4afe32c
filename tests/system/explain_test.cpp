// Goal: `viewgate explain` and GET /v1/explain tell of the built program's own records what subscribers were sent and why.
// Method: a captured table and a managed one, changed by plain SQL; the command's output, and the operators' port.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "support/line.hpp"
#include "support/raw_socket.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const char* const tables = R"(
create table public.tasks (space text, id int8, part text, title text, status text, rank int4, secret text,
                           primary key (id, part))
)";

const char* const model = R"(
create table tasks (like public.tasks) with (space = 'space');
create table notes (id uuid primary key, body text);
create view board as select id, part, title, 10 / rank as share from tasks
  where status = 'open' and (rank > params.least or secret = claims.sub);
create view bodies as select id, body from notes where body <> '';
create policy members on board using (space.name = any(claims.spaces));
create policy everyone on bodies using (true);
create policy shown on tasks for select using (secret is distinct from 'hidden');
)";

constexpr const char* credential = "an-operators-credential-of-explain";

class Explain : public ::testing::Test {
 protected:
  static LineOptions options() {
    LineOptions out;
    out.tables = tables;
    out.model = model;
    return out;
  }
  static Line& line() {
    static Line shared(durable_cluster(), options());
    return shared;
  }

  Explain() { std::ofstream(credential_file) << credential << "\n"; }
  ~Explain() override {
    line().sql("delete from public.tasks");
    std::filesystem::remove(credential_file);
  }

  GatewayOptions operators_options() {
    GatewayOptions out = line().gateway_options();
    out.set("--admin-listen", "127.0.0.1:0");
    out.set("--admin-key-file", credential_file);
    return out;
  }
  static std::uint16_t admin_port(const GatewayProcess& gateway) {
    const std::string log = gateway.log();
    return static_cast<std::uint16_t>(std::stoi(log.substr(log.find("port=", log.find("admin_listening")) + 5)));
  }
  /// The answer, its head first.
  static std::string get(std::uint16_t port, const std::string& target, const std::string& bearer) {
    RawSocket socket(port);
    socket.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + bearer + "\r\n\r\n");
    const std::string head = socket.read_until("\r\n\r\n");
    return head + socket.read_until("\n");
  }

  Finished explain(std::vector<std::string> more) {
    std::vector<std::string> arguments{program("viewgate"), "explain", "--database",
                                       line().database(),   "--space", space};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  Finished board(const std::string& record, const std::string& claims = R"({"sub":"ann"})") {
    return explain({"--view", "board", "--params", R"({"least":5})", "--claims", claims, "--record", record});
  }
  void insert(const std::string& values) {
    line().sql("insert into public.tasks values ('" + space + "', " + values + ")");
    line().settled_head(space);
  }
  void set(const std::string& what) {
    line().sql("update public.tasks set " + what + " where space = '" + space + "'");
    line().settled_head(space);
  }

  const std::string space = line().new_space();
  const std::string credential_file = temporary_path("operators");
};

TEST_F(Explain, an_inside_record_is_told_with_the_pieces_that_hold_and_how_it_came_in) {
  insert("7, 'a', 'x', 'shut', 9, null");
  set("status = 'open'");
  set("title = 'y'");
  set("secret = 'of nobody'");
  const auto told = board(R"([7,"a"])", R"({"sub":"ann","spaces":[")" + space + "\"]}");
  ASSERT_EQ(told.status, 0) << told.output;
  EXPECT_EQ(told.output.substr(0, told.output.find('\n')),
            "record [7, \"a\"] of public.tasks is inside the view board of space " + space + " at sequence 4");
  EXPECT_THAT(told.output, AllOf(HasSubstr("* true  where: status = 'open'   status = \"open\"\n"),
                                 HasSubstr("* true  rank > params.least   which is rank > 5   rank = 9\n"),
                                 HasSubstr("  false secret = claims.sub"), HasSubstr("policy shown on tasks"),
                                 HasSubstr("such a caller is admitted"), HasSubstr("policy members on board")));
  const std::string history = told.output.substr(told.output.find("the log reaches"));
  EXPECT_THAT(history, StartsWith("the log reaches back to sequence 1; before that it was outside\n  2  entered  at "));
  EXPECT_THAT(history, AllOf(HasSubstr("(capture)\n      * true  where: status = 'open'"),
                             HasSubstr("  3  updated (title)"), Not(HasSubstr("  4  "))))
      << "what no subscriber was sent is no event";
}

TEST_F(Explain, an_outside_record_is_told_by_what_does_not_hold_and_how_it_left) {
  insert("7, 'a', 'x', 'open', 9, null");
  set("rank = null");
  set("rank = 9, secret = 'hidden'");
  const auto told = board(R"([7,"a"])");
  ASSERT_EQ(told.status, 0) << told.output;
  EXPECT_THAT(told.output, AllOf(HasSubstr("is outside the view board"), HasSubstr("  true  where: status = 'open'"),
                                 HasSubstr("* false policy shown on tasks: secret is distinct from 'hidden'"),
                                 HasSubstr("such a caller is not admitted"), HasSubstr("null  policy members on board"),
                                 HasSubstr("  1  entered"), HasSubstr("  2  removed_from_scope"),
                                 HasSubstr("* null  rank > params.least")));
}

TEST_F(Explain, an_error_is_told_as_one) {
  insert("7, 'a', 'x', 'open', 0, 'ann'");
  const auto told = board(R"([7,"a"])");
  EXPECT_THAT(told.output, AllOf(HasSubstr("is outside"),
                                 HasSubstr("* error (division by zero) select list, as share: 10 / rank   rank = 0")));
}

TEST_F(Explain, a_record_that_is_gone_is_told_from_the_log) {
  insert("7, 'a', 'x', 'open', 9, null");
  line().sql("delete from public.tasks where space = '" + space + "'");
  line().settled_head(space);
  const auto told = board(R"([7,"a"])");
  ASSERT_EQ(told.status, 0) << told.output;
  EXPECT_THAT(told.output, AllOf(HasSubstr("is outside the view board"), HasSubstr("the space has no such record now"),
                                 HasSubstr("  1  entered"), HasSubstr("  2  deleted")));
}

TEST_F(Explain, one_transaction_of_many_statements_is_one_event) {
  insert("7, 'a', 'x', 'shut', 9, null");
  line().sql("begin; update public.tasks set status = 'open' where space = '" + space +
             "'; update public.tasks set title = 'z' where space = '" + space + "'; commit");
  line().settled_head(space);
  const auto told = board(R"([7,"a"])");
  EXPECT_THAT(told.output, AllOf(HasSubstr("  2  entered"), Not(HasSubstr("updated")))) << told.output;
}

TEST_F(Explain, the_end_of_the_log_is_told) {
  insert("7, 'a', 'x', 'open', 9, null");
  set("title = 'y'");
  set("title = 'z'");
  const auto pruned =
      run({program("viewgate"), "prune", "--database", line().database(), "--space", space, "--keep", "1"});
  ASSERT_EQ(pruned.status, 0) << pruned.output;
  const auto told = board(R"([7,"a"])");
  EXPECT_THAT(told.output,
              AllOf(HasSubstr("the log reaches back to sequence 3; before that it was inside\n  3  updated (title)"),
                    Not(HasSubstr("entered"))));
}

TEST_F(Explain, records_of_managed_collections_are_told_too) {
  const std::string id = "5f1c7f3e-0b1e-4b63-9d0b-2d3a6a1f0c11";
  const auto append = [&](const std::string& body) {
    line().sql("select viewgate.append('" + space + R"(', '[{"collection": "notes", "key": [")" + id +
               R"("], "put": {"id": ")" + id + R"(", "body": ")" + body + R"("}}]'))");
    line().settled_head(space);
  };
  append("");
  append("hello");
  const auto told = explain({"--view", "bodies", "--record", "[\"5F1C7F3E-0B1E-4B63-9D0B-2D3A6A1F0C11\"]"});
  ASSERT_EQ(told.status, 0) << told.output;
  EXPECT_THAT(told.output, AllOf(HasSubstr("record [\"" + id + "\"] of notes is inside"), HasSubstr("  2  entered"),
                                 HasSubstr("* true  where: body <> ''   body = \"hello\""), HasSubstr("(append)")));
}

TEST_F(Explain, what_cannot_be_answered_is_named) {
  insert("7, 'a', 'x', 'open', 9, null");
  const auto fails = [&](const std::vector<std::string>& arguments, const std::string& text) {
    const auto told = explain(arguments);
    EXPECT_EQ(told.status, 1);
    EXPECT_THAT(told.output, StartsWith("viewgate: " + text));
  };
  fails({"--view", "none", "--record", "[7]"}, "unknown_view: the model in force has no view none");
  fails({"--view", "board", "--record", R"([7,"a"])"}, "invalid_params: ");
  fails({"--view", "board", "--params", R"({"least":"x"})", "--record", R"([7,"a"])"}, "invalid_params: ");
  fails({"--view", "board", "--params", R"({"least":5})", "--claims", "[]", "--record", R"([7,"a"])"},
        "invalid_claims: ");
  fails({"--view", "board", "--params", R"({"least":5})", "--record", "[7]"},
        "invalid_record: the key has 1 values; a record is named by a JSON array of its key: [id int8, part text]");
  fails({"--view", "board", "--params", R"({"least":5})", "--record", R"([8,"a"])"},
        "unknown_record: there is no record [8, \"a\"] in public.tasks of space " + space);
  const auto nowhere = run({program("viewgate"), "explain", "--database", line().database(), "--space", "nowhere",
                            "--view", "bodies", "--record", "[\"5f1c7f3e-0b1e-4b63-9d0b-2d3a6a1f0c11\"]"});
  EXPECT_THAT(nowhere.output,
              StartsWith("viewgate: unknown_space: the ledger has no space nowhere, since nothing was committed there, "
                         "and notes has no record [\"5f1c7f3e-0b1e-4b63-9d0b-2d3a6a1f0c11\"] in it now"));
  EXPECT_EQ(line().value("select count(*) from viewgate.horizons where name = 'nowhere'"), "0");
}

TEST_F(Explain, operators_ask_over_http_and_nobody_else_can) {
  insert("7, 'a', 'x', 'open', 9, null");
  GatewayProcess gateway(operators_options());
  const std::uint16_t admin = admin_port(gateway);
  const std::string target =
      "/v1/explain?space=" + space + "&view=board&params=%7B%22least%22:5%7D&record=%5B7,%22a%22%5D";
  const std::string told = get(admin, target, credential);
  EXPECT_THAT(
      told,
      AllOf(
          StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Type: application/json"),
          HasSubstr(R"("record":[7, "a"],"sequence":"1","exists":true,"inside":true)"),
          HasSubstr(
              R"({"of":"where","condition":"status = 'open'","value":"true","decides":true,"reads":{"status":"open"}})"),
          HasSubstr(R"("bound":"rank > 5")"), HasSubstr(R"("admitted":false)"),
          HasSubstr(
              R"("history":{"retained_from":"1","began":"outside","left_out":0,"events":[{"sequence":"1","what":"entered","at":")")));
  EXPECT_THAT(get(admin, target, line().reader()), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(get(gateway.port(), target, credential), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get(admin, "/v1/explain?space=" + space + "&view=none&record=%5B7%5D", credential),
              AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr(R"({"error":"unknown_view","message":")")));
  EXPECT_THAT(get(admin, "/v1/explain?space=" + space + "&view=board&record=7", credential),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("invalid_params")));
  EXPECT_THAT(get(admin, "/v1/explain?view=board&colour=red", credential),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("colour: is not known here")));
  EXPECT_THAT(get(admin, "/v1/explain?view=board", credential), HasSubstr("space, view and record must be there"));
  for (const char* wrong : {"", "0", "-1", "1x", "99999999999999999999"}) {
    EXPECT_THAT(get(admin, target + "&before=" + wrong, credential),
                AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("before must be a sequence")));
  }
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

TEST_F(Explain, a_history_that_is_too_long_is_cut_and_says_how_to_go_on) {
  insert("7, 'a', 'x', 'shut', 9, null");
  constexpr std::size_t comings = 255;
  line().sql("do $$ begin for i in 1 .. " + std::to_string(comings) +
             " loop update public.tasks set status = 'open' where space = '" + space +
             "'; commit; update public.tasks set status = 'shut' where space = '" + space +
             "'; commit; end loop; end $$");
  line().settled_head(space);
  const GatewayProcess gateway(operators_options());
  const std::string target =
      "/v1/explain?space=" + space + "&view=board&params=%7B%22least%22:5%7D&record=%5B7,%22a%22%5D";
  const std::string latest = get(admin_port(gateway), target, credential);
  ASSERT_THAT(latest.substr(0, 400), StartsWith("HTTP/1.1 200 "));
  // Created at sequence 1 and never inside then: the events are 2 to 511.
  EXPECT_THAT(latest, HasSubstr(R"("left_out":10,"next_before":"12","events":[{"sequence":"12","what":"entered")"));
  EXPECT_EQ(count_of(latest, "\"what\":"), 500U);
  const std::string older = get(admin_port(gateway), target + "&before=12", credential);
  EXPECT_THAT(older, HasSubstr(R"("left_out":0,"events":[{"sequence":"2","what":"entered")"));
  EXPECT_EQ(count_of(older, "\"what\":"), 10U);
  const std::vector<std::string> question{"--view", "board", "--params", R"({"least":5})", "--record", R"([7,"a"])"};
  EXPECT_THAT(explain(question).output, HasSubstr("\n  10 older events: --before 12 shows them\n  12  entered"));
  auto with_before = question;
  with_before.insert(with_before.end(), {"--before", "12", "--json"});
  EXPECT_EQ(explain(with_before).output, older.substr(older.find("\r\n\r\n") + 4)) << "the command says the same";
}

TEST_F(Explain, what_lies_before_the_model_in_force_is_marked_as_judged_by_it_all_the_same) {
  insert("7, 'a', 'x', 'open', 9, null");
  ASSERT_EQ(apply_model(std::string(model) + "-- said anew\n", line().database()).status, 0);
  set("title = 'y'");
  const std::vector<std::string> question{"--view", "board", "--params", R"({"least":5})", "--record", R"([7,"a"])"};
  auto as_json = question;
  as_json.emplace_back("--json");
  const std::string told = explain(as_json).output;
  const std::string version = line().value("select version from viewgate.model");
  EXPECT_THAT(told, HasSubstr(R"("model":{"version":)" + version + R"(,"hash":")" +
                              line().value("select hash from viewgate.model") + R"(","since":"20)"));
  const std::string history = told.substr(told.find("\"events\":"));
  const std::size_t second = history.find("\"sequence\":\"2\"");
  ASSERT_NE(second, std::string::npos) << history;
  EXPECT_THAT(history.substr(0, second), AllOf(HasSubstr("entered"), HasSubstr(R"("judged_by":"current")")));
  EXPECT_THAT(history.substr(second), AllOf(HasSubstr("updated"), Not(HasSubstr("judged_by"))));
  const std::string text = explain(question).output;
  EXPECT_THAT(text, HasSubstr(" of the view, of model " + version + " (hash "));
  EXPECT_EQ(count_of(text, "before this model: judged by it all the same\n"), 1U) << text;
  ASSERT_EQ(apply_model(model, line().database()).status, 0);
}

TEST_F(Explain, check_says_what_each_view_needs_and_who_is_admitted) {
  const std::string file = temporary_path("model.sql");
  std::ofstream(file) << model;
  const auto told = run({program("viewgate"), "check", file, "--database", line().database()});
  EXPECT_EQ(told.status, 0);
  EXPECT_THAT(told.output,
              AllOf(HasSubstr("view board over public.tasks\n"), HasSubstr("  parameters  least integer\n"),
                    HasSubstr("  claims      spaces text[], sub text\n"),
                    HasSubstr("  admits      policy members where space.name = any (claims.spaces)\n"),
                    HasSubstr("  limited by  policy shown where secret is distinct from 'hidden'\n"),
                    HasSubstr(": 2 views, no problems")));
  std::filesystem::remove(file);
}

/// All lines of the fenced blocks of that kind in docs/views.md.
std::string blocks_of_the_page(const std::string& kind) {
  std::ifstream file(std::string(VIEWGATE_SOURCE_DIR) + "/docs/views.md");
  std::string out;
  std::string open;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      open = open.empty() ? line.substr(3) : "";
    } else if (open == kind) {
      out += line + "\n";
    }
  }
  return out;
}

TEST(ExplainPage, its_example_is_what_the_program_prints) {
  LineOptions options;
  options.tables =
      "create table public.pgbench_accounts (aid int4 primary key, bid int4, abalance int4, filler char(84))";
  options.model = blocks_of_the_page("sql");
  Line line(durable_cluster(), options);
  const std::string id = "0d9b5b5e-7c4b-4a86-9a57-6c6b2f1b7a10";
  for (const std::string assignee : {"ann", "bob"}) {
    line.sql(
        R"(select viewgate.append('s', '[{"collection": "issues", "key": [")" + id + R"("], "put": {"id": ")" + id +
        R"(", "title": "The pump fails", "status": "open", "priority": 5, "opened": "2026-11-03T08:00:00+00:00", "assignee": ")" +
        assignee + R"("}}]'))");
    line.settled_head("s");
  }
  const auto told = run({program("viewgate"), "explain", "--database", line.database(), "--space", "s", "--view",
                         "urgent", "--record", "[\"" + id + "\"]", "--params",
                         R"({"least": 3, "since": "2026-01-01", "team": null})", "--claims", R"({"sub": "ann"})"});
  const std::regex passing("at [^ ]+Z  as [^ ]+|version [0-9a-f]+|hash [0-9a-f]+|since [^ ]+Z");
  EXPECT_EQ(std::regex_replace(told.output, passing, "…"),
            std::regex_replace(blocks_of_the_page("explain"), passing, "…"));
}

}  // namespace
}  // namespace viewgate::testing
