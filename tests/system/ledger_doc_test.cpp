// docs/ledger.md shows how a back-end writes, and how a dump is restored: each example runs as it stands there.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/line.hpp"
#include "viewgate_paths.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// The fenced blocks of a language, in order.
std::vector<std::string> examples(const std::string& language) {
  std::ifstream file(std::string(VIEWGATE_SOURCE_DIR) + "/docs/ledger.md");
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```" + language) {
      out.emplace_back();
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      out.back() += line + "\n";
    }
  }
  return out;
}

constexpr const char* kModel = R"(
create table orders (like public.orders) with (space = 'space');
create view paid as select id, status from orders where status = 'paid';
create policy all_of_us on paid using (true);
)";

class LedgerDoc : public ::testing::Test {
 protected:
  LedgerDoc() : database(durable_cluster().create_empty_database()), session(database) {
    session.run(
        "create table public.orders (id int primary key, space text, status text);"
        "insert into public.orders values (7, 'acme', 'open'); create table jobs (what text)");
    const Finished applied = apply_model(kModel, database);
    if (applied.status != 0) throw std::runtime_error(applied.output);
  }
  std::string log(const std::string& of) {
    return run({program("viewgate"), "log", "--space", "acme", "--database", of}).output;
  }

  /// Changes the log as nobody may.
  void damage(const std::string& sql) {
    session.run(
        "begin; set local session_replication_role = replica; alter table viewgate.commits disable trigger all;"
        "alter table viewgate.changes disable trigger all;" +
        sql +
        "; alter table viewgate.commits enable always trigger append_only;"
        "alter table viewgate.changes enable always trigger append_only; commit");
  }

  const std::string database;
  PgSession session;
};

TEST_F(LedgerDoc, the_examples_of_sql_and_python_write_what_they_say) {
  const auto sql = examples("sql");
  ASSERT_THAT(sql, SizeIs(4));
  session.run(sql[0]);
  EXPECT_THAT(log(database), HasSubstr(R"("request_id":"checkout-4711","fields":{"by": "billing"})"));
  session.run(R"(select viewgate.append('acme', '[{"collection": "issues", "key": [2], "put": {"id": 2}},
                                                  {"collection": "issues", "key": [3], "put": {"id": 3, "status": "open"}}]'))");
  session.run(sql[1]);
  EXPECT_THAT(log(database), HasSubstr(R"("kind":"deleted","collection":"issues","key":[2])"));
  session.run("drop role if exists backend; create role backend login");
  session.run(sql[2]);

  const auto python = examples("python");
  ASSERT_THAT(python, SizeIs(1));
  const std::string file = temporary_path("example.py");
  std::ofstream(file) << python[0];
  // Debian's own, for which Debian's psycopg2 is made; as the role that has just been granted its rights.
  const Finished ran = run({"/usr/bin/env", "DATABASE=" + database + " user=backend", "/usr/bin/python3", file});
  std::remove(file.c_str());
  EXPECT_EQ(ran.output, "1 changes\n");
  EXPECT_THAT(log(database), HasSubstr(R"("after":{"id": 8, "price": 1.1, "title": "Order ink"})"));

  const std::string exported = session.run(sql[3]).at(0).at(0).value();
  session.query("select viewgate.append('copy', $1::jsonb)", {exported});
  EXPECT_EQ(session.value("select count(*) from viewgate.records r where r.space = 'copy'"), "3");
  session.run("drop owned by backend; drop role backend");
}

TEST_F(LedgerDoc, a_dump_that_is_restored_elsewhere_goes_on) {
  session.run("update orders set status = 'paid'");
  const std::string before = log(database);
  const std::string restored = durable_cluster().create_empty_database();
  const std::string model = temporary_path("model.sql");
  std::ofstream(model) << kModel;
  const auto shell = examples("shell");
  ASSERT_THAT(shell, SizeIs(1));
  std::string script = shell[0];
  for (const auto& [name, place] :
       {std::pair<std::string, std::string>{"acme.dump", temporary_path("acme.dump")}, {"model.sql", model}}) {
    for (auto at = script.find(name); at != std::string::npos; at = script.find(name, at + place.size()))
      script.replace(at, name.size(), place);
  }
  const std::string programs =
      std::string(VIEWGATE_BINARY_DIR) + "/bin:" + durable_cluster().server().programs().string();
  const auto in_order = script.find("viewgate model apply");
  const auto shell_run = [&](const std::string& lines) {
    return run({"/usr/bin/env", "DATABASE=" + database, "RESTORED=" + restored, "PATH=" + programs + ":/usr/bin:/bin",
                "sh", "-ec", lines});
  };
  const Finished dumped = shell_run(script.substr(0, in_order));
  ASSERT_EQ(dumped.status, 0) << dumped.output;
  const Finished halfway = run({program("viewgate"), "doctor", "--database", restored});
  EXPECT_EQ(halfway.status, 1);
  EXPECT_THAT(halfway.output,
              HasSubstr("fail captures: public.orders: a trigger of it is missing, disabled, or of another database"));
  const Finished whole = shell_run(script.substr(in_order));
  EXPECT_EQ(whole.status, 0) << whole.output;
  EXPECT_THAT(whole.output, HasSubstr("ok   log: "));
  EXPECT_THAT(whole.output, HasSubstr("ok   history: "));
  EXPECT_THAT(whole.output, HasSubstr("ok   captures: public.orders: every write of it is recorded"));
  EXPECT_THAT(whole.output, HasSubstr("ok   wake-ups: a notification arrives"));
  EXPECT_EQ(log(restored), before) << "numbers and stamps came along";
  PgSession there(restored);
  there.run("update orders set status = 'sent'");
  EXPECT_THAT(log(restored), HasSubstr("\"sequence\":\"2\""));
  std::remove(model.c_str());
}

TEST_F(LedgerDoc, the_doctor_names_what_is_wrong) {
  const auto examine = [&] { return run({program("viewgate"), "doctor", "--database", database}); };
  for (int i = 1; i <= 5; ++i) {
    session.run("update orders set status = 'state " + std::to_string(i) + "'");
    session.run("select viewgate.look()");
  }
  Finished found = examine();
  EXPECT_EQ(found.status, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr("warn retention: no rule"));
  EXPECT_THAT(found.output, HasSubstr("ok   log: 1 spaces, 5 commits looked at"));
  EXPECT_THAT(found.output, HasSubstr("ok   disk: the ledger takes "));
  EXPECT_THAT(found.output, HasSubstr("nobody has said how much it may take"));
  const Finished large = run({program("viewgate"), "doctor", "--database", database, "--ledger-disk-bytes", "20GiB"});
  EXPECT_THAT(large.output, HasSubstr("of the 20 GB that it may"));
  EXPECT_THAT(large.output, HasSubstr("days if nothing is pruned"));
  EXPECT_EQ(large.status, 0);
  const Finished small = run({program("viewgate"), "doctor", "--database", database, "--ledger-disk-bytes", "100KiB"});
  EXPECT_THAT(small.output, HasSubstr("fail disk: the ledger takes "));
  EXPECT_EQ(small.status, 1);
  const auto descriptors = [&](const std::string& connections) {
    return run({program("viewgate"), "doctor", "--database", database, "--threads", "2", "--limit-connections",
                connections})
        .output;
  };
  EXPECT_THAT(descriptors("10"), HasSubstr("ok   descriptors: "));
  EXPECT_THAT(descriptors("500000000"),
              HasSubstr("limit.connections lets 1000000000 sockets in, on 2 reactors: raise the limit"));
  damage("update viewgate.changes set before = '{}' where counter = (select max(counter) from viewgate.changes)");
  damage("delete from viewgate.commits where sequence = 2");
  session.run("alter table orders disable trigger viewgate_update; grant select on viewgate.changes to public");
  found = examine();
  EXPECT_EQ(found.status, 1);
  for (const char* line : {"fail log: space 'acme': of commits 1 to 5 1 are missing",
                           "fail history: space 'acme', commit 5: the change of public.orders [7] does not begin where",
                           "fail captures: public.orders: a trigger of it is missing",
                           "warn roles: everybody may select on viewgate.changes"}) {
    EXPECT_THAT(found.output, HasSubstr(line));
  }
  const Finished none = run({program("viewgate"), "doctor", "--database", durable_cluster().create_empty_database()});
  EXPECT_THAT(none.output, HasSubstr("warn schema: there is no ledger here yet"));
  EXPECT_EQ(none.status, 0);
}

TEST_F(LedgerDoc, the_doctor_says_for_whom_numbers_wait) {
  const auto examine = [&] { return run({program("viewgate"), "doctor", "--database", database}).output; };
  session.run("update orders set status = 'paid'");
  session.run("select viewgate.look()");
  EXPECT_THAT(examine(), Not(HasSubstr("waiting:")));
  session.run("update orders set status = 'sent'");
  const std::string waits = " waiting: 1 transactions wait for their numbers, the oldest, of space 'acme', began at ";
  EXPECT_THAT(examine(), HasSubstr("ok  " + waits));
  session.run("update viewgate.waiting set at = at - interval '2 minutes'");
  EXPECT_THAT(examine(), AllOf(HasSubstr("warn" + waits), HasSubstr(": does a node run?")));
  PgSession holder(database);
  holder.run("set application_name = 'a migration'; begin; select from viewgate.horizons for update");
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_THAT(examine(), AllOf(HasSubstr("warn" + waits),
                               HasSubstr(": rows of spaces are locked by process " +
                                         holder.value("select pg_backend_pid()") + " (a migration, "),
                               HasSubstr(", idle in transaction, since ")));
  holder.run("rollback");
}

TEST_F(LedgerDoc, the_doctor_takes_an_altered_table_for_no_break_of_its_history) {
  const auto examine = [&] { return run({program("viewgate"), "doctor", "--database", database}); };
  const auto write = [&](const std::string& status) {
    session.run("update orders set status = '" + status + "'");
    session.run("select viewgate.look()");
  };
  write("paid");
  int altered_so_far = 0;
  // A column more, another name, another type, one less.
  for (const char* altered : {"alter table orders add extra int default 5", "alter table orders rename extra to more",
                              "alter table orders alter more type numeric(10, 2)", "alter table orders drop more"}) {
    session.run(altered);
    session.run("select viewgate.check_captures()");
    write(std::string("after ") + altered);
    const Finished found = examine();
    EXPECT_EQ(found.status, 0) << found.output;
    EXPECT_THAT(found.output, HasSubstr(std::to_string(++altered_so_far) +
                                        " of them but for columns that came, went or got another type in between"));
  }
  const std::string newest = " where counter = (select max(counter) from viewgate.changes)";
  const std::string broken =
      "fail history: space 'acme', commit 6: the change of public.orders [7] does not begin where";
  // The column that the next commit finds altered explains nothing about another one, and no text that is not there.
  session.run("alter table orders add extra int default 5");
  session.run("select viewgate.check_captures()");
  write("sent");
  EXPECT_THAT(examine().output, HasSubstr("ok   history: 6 changes looked at"));
  for (const char* before : {R"('{"id": 7, "extra": 5, "space": "acme", "status": "lost"}')", "'{}'", "null"}) {
    damage("update viewgate.changes set before = " + std::string(before) + newest);
    const Finished found = examine();
    EXPECT_EQ(found.status, 1) << before;
    EXPECT_THAT(found.output, HasSubstr(broken)) << before;
  }
}

TEST_F(LedgerDoc, the_doctor_takes_what_was_altered_before_a_number_was_given_for_no_break_of_its_history) {
  const auto examine = [&] { return run({program("viewgate"), "doctor", "--database", database}); };
  const auto write = [&](const std::string& status) {
    session.run("update orders set status = '" + status + "'");
    session.run("select viewgate.look()");
  };
  // Between the write and its number; in the transaction that wrote; inside one transaction, of which both changes are; and a
  // column that came, and a label of its type that has another name.
  const std::vector<std::pair<int, std::string>> altered{
      {1, "update orders set status = 'waits'; alter table orders add extra int default 5"},
      {2, "begin; update orders set status = 'too'; alter table orders alter extra type numeric(10, 2); commit"},
      {3,
       "begin; update orders set status = 'one'; alter table orders rename extra to more; update orders set status = "
       "'two'; commit"},
      {5,
       "create type mood as enum ('good', 'bad'); alter table orders add moods mood[] default '{good,bad}'; update "
       "orders "
       "set status = 'moody'; alter type mood rename value 'good' to 'fine'"}};
  for (const auto& [explained, sql] : altered) {
    session.run(sql);
    session.run("select viewgate.check_captures()");
    write("after the " + std::to_string(explained) + "th");
    const Finished found = examine();
    EXPECT_EQ(found.status, 0) << sql << "\n" << found.output;
    EXPECT_THAT(found.output, HasSubstr(std::to_string(explained) +
                                        " of them but for columns that came, went or got another type in between"))
        << sql;
  }
  // A label that is new explains nothing where it is not, and the one that was renamed nothing about another column.
  session.run("alter type mood add value 'odd'; alter type mood rename value 'bad' to 'poor'");
  session.run("select viewgate.check_captures()");
  write("sent");
  EXPECT_THAT(examine().output, HasSubstr("ok   history: "));
  const std::string newest = " where counter = (select max(counter) from viewgate.changes)";
  for (const char* wrong :
       {R"(jsonb_set(before::jsonb, '{status}', '"lost"'))", R"(jsonb_set(before::jsonb, '{moods}', '["fine"]'))"}) {
    const std::string right = session.value("select before from viewgate.changes" + newest);
    damage("update viewgate.changes set before = " + std::string(wrong) + "::text" + newest);
    EXPECT_THAT(examine().output, HasSubstr("fail history: space 'acme', commit ")) << wrong;
    damage("update viewgate.changes set before = '" + right + "'" + newest);
    EXPECT_EQ(examine().status, 0) << wrong;
  }
}

TEST_F(LedgerDoc, the_doctor_takes_a_table_that_was_dropped_and_captured_anew_for_no_break_of_its_history) {
  const auto examine = [&] { return run({program("viewgate"), "doctor", "--database", database}); };
  session.run("insert into orders values (8, 'acme', 'open'), (9, 'acme', 'open'); update orders set status = 'paid'");
  session.run("select viewgate.look()");
  session.run(
      "drop table orders; create table orders (id int primary key, space text, status text); select "
      "viewgate.capture('orders', 'space')");
  session.run("insert into orders values (8, 'acme', 'anew'), (9, 'acme', 'anew')");
  session.run("select viewgate.look(); update orders set status = 'sent' where id = 8");
  session.run("select viewgate.look()");
  const Finished found = examine();
  EXPECT_EQ(found.status, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr(", and 2 follow one from before their table was captured anew"));
  damage("update viewgate.changes set before = null where counter = (select max(counter) from viewgate.changes)");
  const Finished broken = examine();
  EXPECT_EQ(broken.status, 1);
  EXPECT_THAT(broken.output, HasSubstr("the change of public.orders [8] does not begin where"));
}

}  // namespace
}  // namespace viewgate::testing
