// Rows about the database under the built program's writers: a disk that is full, a process that stands still, and what
// PostgreSQL takes back. Each with more than one gateway where somebody else must not notice.
#include <csignal>
#include <random>

#include "row_test.hpp"
#include "support/full_disk.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const FullDisk& disk() {
  static const FullDisk made([] { static_cast<void>(durable_cluster()); });
  return made;
}

/// Before the first test asks for the line.
class Environment : public ::testing::Environment {
 public:
  void SetUp() override { disk(); }
};
const ::testing::Environment* const environment = ::testing::AddGlobalTestEnvironment(new Environment);

constexpr std::chrono::seconds long_time{60};

class Writing : public Row {
 protected:
  void TearDown() override {
    disk().make_room();
    Row::TearDown();
  }
  static std::string one(const std::string& kind, int key, const std::string& title) {
    const std::string member = kind == "update" ? "changed" : "record";
    const std::string owner = kind == "update" ? "" : R"(,"owner":"alice")";
    return R"([{"kind":")" + kind + R"(","collection":"notes","key":[)" + std::to_string(key) + R"(],")" + member +
           R"(":{"title":")" + title + "\"" + owner + "}}]";
  }
  std::int64_t head() { return std::stoll(line.value("select viewgate.watermark($1)", {space})); }
  /// Waits until a session of this database does this.
  bool a_session(const std::string& condition) {
    return eventually([&] { return has_session(condition); }, long_time);
  }
  bool has_session(const std::string& condition) {
    return line.value("select exists (select from pg_stat_activity where datname = current_database() and (" +
                      condition + "))") == "t";
  }
  bool a_writer_waits_for_a_lock() {
    return a_session("application_name = 'viewgate write' and wait_event_type = 'Lock'");
  }

  const std::string space = line.new_space();
};

TEST_F(Writing, row_59_on_a_full_disk_mutations_are_unavailable_and_afterwards_the_head_is_what_was_acknowledged) {
  WsClient watcher(line.port(), line.reader("bob"));
  watcher.open({.space = space, .view = "all_notes"});
  WsClient client(line.port(), line.reader(), "c");
  std::mt19937 random(59);
  int acknowledged = 0;
  const auto next = [&] {
    std::string title;  // about 8 kB that do not compress
    for (int i = 0; i < 8000; ++i) title += static_cast<char>('a' + random() % 26);
    client.mutate(space, acknowledged + 1, one("create", acknowledged + 1, title));
    for (;;) {
      Document answer = client.next(long_time);
      if (answer.type() == "receipts" || answer.type() == "error") return answer;
    }
  };
  ASSERT_EQ(next().type(), "receipts");
  ++acknowledged;
  disk().fill();
  // What tables have allocated is used up first.
  Document answer = next();
  for (int i = 0; i < 500 && answer.type() == "receipts"; ++i) {
    ++acknowledged;
    answer = next();
  }
  EXPECT_THAT(answer.text, AllOf(HasSubstr(R"("code":"unavailable")"), HasSubstr("retry_after")));
  EXPECT_EQ(next().plain("code"), "unavailable") << "and stays so";
  EXPECT_EQ(head(), acknowledged);
  EXPECT_EQ(WsClient(line.port(), line.reader()).open({.space = space, .view = "all_notes"}).records.size(),
            static_cast<std::size_t>(acknowledged))
      << "reading goes on";
  disk().make_room();
  EXPECT_EQ(head(), acknowledged) << "nothing half-written appears";
  answer = next();
  EXPECT_EQ(answer.number("sequence"), ++acknowledged) << "the number that was refused was not used: " << answer.text;
  for (int sequence = 1; sequence <= acknowledged; ++sequence) {
    ASSERT_EQ(watcher.next_of("commit", long_time).number("sequence"), sequence);
  }
}

TEST_F(Writing, row_60_a_gateway_that_is_stopped_with_the_spaces_lock_holds_up_nobody_for_long) {
  GatewayOptions options = line.gateway_options();
  options.set("--write-lock-time", "1s");
  GatewayProcess stopped(options);
  WsClient alice(stopped.port(), line.reader(), "a"), bob(line.port(), line.reader("alice"), "b");
  alice.mutate(space, 1, one("create", 1, "first"));
  alice.receipt_of(1);
  // It has the space's lock and waits for the record's; then it stands still, and its session idles in the transaction.
  PgSession holder(line.database());
  holder.run("begin");
  holder.query("select from viewgate.records where space = $1 for update", {space});
  alice.mutate(space, 2, one("update", 1, "second"));
  ASSERT_TRUE(a_writer_waits_for_a_lock());
  stopped.process().signal(SIGSTOP);
  holder.run("rollback");
  ASSERT_TRUE(a_session("application_name = 'viewgate write' and state = 'idle in transaction'"));
  bob.mutate(space, 1, one("update", 1, "third"));
  EXPECT_THAT(bob.receipt_of(1).text, HasSubstr(R"("sequence":"2")")) << "while the other one still stands";
  stopped.process().signal(SIGCONT);
  EXPECT_THAT(alice.receipt_of(2, long_time).text, AllOf(HasSubstr("applied"), HasSubstr(R"("sequence":"3")")))
      << "its session was ended: it decides anew";
  EXPECT_EQ(line.value("select value->>'title' from viewgate.records where space = $1", {space}), "second");
}

TEST_F(Writing, row_60_a_gateway_that_is_stopped_in_the_middle_of_a_large_result_holds_up_nobody) {
  line.session().query(
      "insert into items (space, id, x) select $1, g, repeat('x', 500) from generate_series(6000001, 6020000) g",
      {space});
  line.settled_head(space);
  WsClient other(line.port(), line.reader("bob"), "b");
  other.open({.space = space, .view = "everything"});
  GatewayProcess stopped(line.gateway_options());
  WsClient client(stopped.port(), line.reader());
  const SubscribeText large{.id = "large", .space = space, .view = "everything"};
  const std::string reads = "application_name = 'viewgate read' and ";
  const std::string streams = reads + "query like '%items%' and query not like 'lock%'";
  // A result that came to its end before the process stood still is asked for again.
  bool is_caught = false;
  for (int attempt = 0; attempt < 50; ++attempt) {
    const std::string begin = line.value("select clock_timestamp()");
    client.send(subscribe_text(large));
    ASSERT_TRUE(a_session(streams + " or " + reads + "query = 'commit' and query_start > '" + begin + "'"));
    stopped.process().signal(SIGSTOP);
    // What the process has not taken fills the socket, unless nothing more is to come.
    ASSERT_TRUE(eventually(
        [&] {
          return has_session(streams + " and wait_event = 'ClientWrite'") || !has_session(reads + "state = 'active'");
        },
        long_time));
    is_caught = has_session(streams + " and wait_event = 'ClientWrite'");
    if (is_caught) break;
    stopped.process().signal(SIGCONT);
    client.next_of("ready", long_time);
    client.send(R"({"type":"unsubscribe","id":"large"})");
  }
  ASSERT_TRUE(is_caught);
  line.session().query("insert into items (space, id) values ($1, 6030000)", {space});
  EXPECT_THAT(other.next_of("commit").text, HasSubstr("[6030000]"));
  other.mutate(space, 1, R"([{"kind":"create","collection":"labels","key":["x"],"record":{"colour":"red"}}])");
  EXPECT_THAT(other.receipt_of(1).text, HasSubstr("applied"));
  EXPECT_EQ(WsClient(line.port(), line.reader()).open({.space = space, .view = "everything"}).records.size(), 20001U);
  stopped.process().signal(SIGCONT);
  // It comes with the snapshot, whose pages go on after the stop, or as a commit behind it.
  bool has_come = false;
  for (Document each; !has_come && !(each = client.next(long_time)).text.empty();) {
    has_come = each.text.find("6030000") != std::string::npos;
  }
  EXPECT_TRUE(has_come);
}

TEST_F(Writing, row_61_a_lock_that_is_not_got_in_time_is_told_and_nothing_is_written) {
  GatewayOptions options = line.gateway_options();
  options.set("--write-lock-time", "100ms");
  GatewayProcess gateway(options);
  PgSession holder(line.database());
  holder.run("begin; select viewgate.lock_space('" + space + "')");
  WsClient client(gateway.port(), line.reader(), "c");
  client.mutate(space, 1, one("create", 1, "x"));
  EXPECT_THAT(client.next_of("error", long_time).text, AllOf(HasSubstr("unavailable"), HasSubstr("retry_after")));
  holder.run("rollback");
  EXPECT_EQ(head(), 0);
  client.mutate(space, 1, one("create", 1, "x"));
  EXPECT_THAT(client.receipt_of(1).text, HasSubstr("applied"));
}

TEST_F(Writing, row_61_a_statement_that_is_cancelled_and_a_session_that_is_ended_are_run_again) {
  WsClient client(line.port(), line.reader(), "c");
  int number = 0;
  for (const std::string end : {"pg_cancel_backend", "pg_terminate_backend"}) {
    PgSession holder(line.database());
    holder.run("begin; select viewgate.lock_space('" + space + "')");
    ++number;
    client.mutate(space, number, one("create", number, "x"));
    ASSERT_TRUE(a_writer_waits_for_a_lock());
    line.sql("select " + end +
             "(pid) from pg_stat_activity where application_name = 'viewgate write' and wait_event_type = 'Lock' and "
             "datname = current_database()");
    holder.run("rollback");
    EXPECT_THAT(client.receipt_of(number, long_time).text, HasSubstr("applied")) << end;
    EXPECT_EQ(head(), number);
  }
}

TEST_F(Writing, row_61_a_deadlock_with_a_back_end_is_resolved_and_the_mutation_is_applied_once) {
  WsClient client(line.port(), line.reader(), "c");
  client.mutate(space, 1, one("create", 1, "x"));
  client.receipt_of(1);
  PgSession other(line.database());
  other.run("begin");
  other.query("select from viewgate.records where space = $1 for update", {space});
  client.mutate(space, 2, one("update", 1, "y"));
  ASSERT_TRUE(a_writer_waits_for_a_lock());
  other.start("select viewgate.lock_space('" + space + "')");
  ASSERT_TRUE(eventually([&] { return !other.is_busy(); }, long_time)) << "one of the two is the victim";
  try {
    other.finish();
    other.run("commit");
  } catch (const PgError& error) {
    EXPECT_EQ(error.sqlstate, "40P01");
    other.run("rollback");
  }
  EXPECT_THAT(client.receipt_of(2, long_time).text, AllOf(HasSubstr("applied"), HasSubstr(R"("sequence":"2")")));
  EXPECT_EQ(head(), 2);
}

TEST_F(Writing, row_61_a_record_that_a_back_end_makes_meanwhile_is_read_anew) {
  PgSession other(line.database());
  other.run("begin");
  other.query(
      "select viewgate.append($1, '[{\"collection\": \"notes\", \"key\": [1], \"put\": {\"title\": \"theirs\"}}]')",
      {space});
  WsClient client(line.port(), line.reader(), "c");
  client.mutate(space, 1, one("create", 1, "ours"));
  ASSERT_TRUE(a_writer_waits_for_a_lock());
  other.run("commit");
  EXPECT_THAT(client.receipt_of(1, long_time).text, AllOf(HasSubstr("already_exists"), HasSubstr(R"("sequence":"2")")));
  EXPECT_EQ(line.value("select value->>'title' from viewgate.records where space = $1", {space}), "theirs");
}

}  // namespace
}  // namespace viewgate::testing
