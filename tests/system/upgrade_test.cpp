// Two versions of the gateway before one database, as in a rolling deploy: what one gives out the other takes, cursors and receipts,
// and both tell the same events. VIEWGATE_OLDER names the program of the earlier version (./dev upgrade builds one); without it this
// build plays both.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "faults/row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

std::string older_program() {
  const char* const named = std::getenv("VIEWGATE_OLDER");
  return named == nullptr ? program("viewgate") : named;
}

class Upgrade : public Watched {
 protected:
  /// The database is made by the older version, and its model is put in force by it. The newer one starts while the older one
  /// serves, and brings the schema to its own version: after that the older one would not start.
  Upgrade() : database(durable_cluster().create_empty_database()), session(database) {
    session.run(items_table);
    const std::string file = temporary_path("model.sql");
    std::ofstream(file) << items_model;
    const Finished applied =
        run({older_program(), "model", "apply", file, "--database", database}, std::chrono::minutes(1));
    std::filesystem::remove(file);
    if (applied.status != 0) throw std::runtime_error(applied.output);
    GatewayOptions options;
    options.database = database;
    options.flags = quick_deadlines();
    options.program = older_program();
    older = std::make_unique<GatewayProcess>(options);
    options.program = GatewayOptions().program;
    newer = std::make_unique<GatewayProcess>(options);
  }
  void write(int id) {
    session.query("insert into items (space, id, status, n, j) values ('s1', $1, 'open', 1.10, '{\"a\": 1e400}')",
                  {std::to_string(id)});
  }
  static std::string events_of(WsClient& client, int id) {
    for (Document next = client.next_of("commit"); !next.text.empty(); next = client.next_of("commit")) {
      if (next.raw("events").find("[" + std::to_string(id) + "]") != std::string::npos) return next.raw("events");
    }
    return "nothing came";
  }

  const std::string database;
  PgSession session;
  const std::string reader = token("alice", {"role=reader"});
  std::unique_ptr<GatewayProcess> older;
  std::unique_ptr<GatewayProcess> newer;
};

TEST_F(Upgrade, row_68_both_tell_the_same_and_a_cursor_of_one_is_good_at_the_other) {
  write(1);
  for (const auto& [from, to] : {std::pair(older.get(), newer.get()), std::pair(newer.get(), older.get())}) {
    WsClient here(from->port(), reader), there(to->port(), reader);
    const Opened opened = here.open({.view = "everything"}), also = there.open({.view = "everything"});
    EXPECT_EQ(opened.records, also.records);
    const int id = from == older.get() ? 2 : 4;
    write(id);
    EXPECT_EQ(events_of(here, id), events_of(there, id));
    write(id + 1);
    WsClient again(to->port(), reader);
    const Opened resumed = again.open({.view = "everything", .cursor = opened.cursor()});
    EXPECT_TRUE(resumed.resumed()) << resumed.subscribed.text;
    EXPECT_TRUE(resumed.records.empty());
    EXPECT_THAT(events_of(again, id + 1), HasSubstr("entered"));
  }
}

TEST_F(Upgrade, row_47_a_mutation_that_one_has_processed_is_a_replay_at_the_other) {
  const std::string text = R"([{"kind":"create","collection":"labels","key":["x"],"record":{"colour":"red"}}])";
  WsClient here(older->port(), reader, "c");
  here.mutate("s1", 1, text);
  const Document receipt = here.receipt_of(1);
  EXPECT_THAT(receipt.text, HasSubstr("applied"));
  WsClient there(newer->port(), reader, "c");
  there.mutate("s1", 1, text);
  EXPECT_EQ(there.receipt_of(1).raw("receipts"), receipt.raw("receipts"));
  there.mutate("s1", 2, R"([{"kind":"delete","collection":"labels","key":["x"]}])");
  const Document second = there.receipt_of(2);
  EXPECT_THAT(second.text, HasSubstr("applied"));
  here.mutate("s1", 2, R"([{"kind":"delete","collection":"labels","key":["x"]}])");
  EXPECT_EQ(here.receipt_of(2).raw("receipts"), second.raw("receipts"));
}

TEST_F(Upgrade, row_68_the_older_is_ended_and_its_clients_go_on_at_the_newer) {
  WsClient client(older->port(), reader);
  const Opened opened = client.open({.view = "everything"});
  older->process().signal(SIGTERM);
  EXPECT_EQ(client.closed_with(std::chrono::minutes(1)), 1012);
  EXPECT_EQ(older->process().wait(std::chrono::minutes(1)), 0);
  write(7);
  WsClient again(newer->port(), reader);
  EXPECT_TRUE(again.open({.view = "everything", .cursor = opened.cursor()}).resumed());
  EXPECT_THAT(events_of(again, 7), HasSubstr("entered"));
}

TEST_F(Upgrade, row_58_a_schema_that_moves_on_under_a_running_node_is_served_and_keeps_an_older_one_from_starting) {
  WsClient client(older->port(), reader);
  client.open({.view = "everything"});
  session.run(
      "insert into viewgate.schema_version (version, hash) select max(version) + 1, 'of a later version' from "
      "viewgate.schema_version");
  write(8);
  EXPECT_THAT(events_of(client, 8), HasSubstr("entered")) << "a later version changes nothing that this one uses";
  const Finished refused =
      run({older_program(), "serve", "--database", database, "--listen", "127.0.0.1:0", "--auth-key-file", key_file()},
          std::chrono::minutes(1));
  EXPECT_EQ(refused.status, 75) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("run the newer program"));
}

}  // namespace
}  // namespace viewgate::testing
