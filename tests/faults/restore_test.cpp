// A database that lost its tail while the gateway runs: a copy of its files put back. Whoever saw what was lost starts anew; nothing
// of the new line is ever applied to what came from the old one. (A promoted standby: system/failover_test.)
#include <gmock/gmock.h>

#include "row_test.hpp"
#include "support/tcp_gate.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void must(const Finished& finished) {
  if (finished.status != 0) throw std::runtime_error(finished.output);
}

/// What a client shows, folded from what it was told.
class Shown {
 public:
  Shown(std::uint16_t port, Line& line, const std::string& space, std::optional<std::string> cursor = {})
      : client_(port, line.reader()), space_(space) {
    const Opened opened = client_.open({.space = space, .view = "everything", .cursor = std::move(cursor)});
    context_ = opened.context();
    position_ = opened.ready.plain("position");
    resumed_ = opened.resumed();
  }
  bool resumed() const { return resumed_; }
  std::string cursor() const { return context_ + "." + position_; }
  WsClient& client() { return client_; }
  /// Reads commits up to this sequence.
  void reach(std::int64_t sequence) {
    for (std::int64_t at = 0; at < sequence;) {
      const Document commit = client_.next_of("commit");
      at = commit.number("sequence");
      position_ = commit.plain("position");
    }
  }
  /// What comes next must be the reset; then the records of the set that replaces the old one, as one text.
  std::string anew(const std::string& reason) {
    const Document reset = client_.next();
    EXPECT_EQ(reset.type(), "reset_required") << reset.text;
    EXPECT_EQ(reset.plain("reason"), reason);
    std::string records;
    for (Document next = client_.next(); !next.text.empty(); next = client_.next()) {
      if (next.type() == "subscribed") context_ = next.plain("context");
      if (next.type() == "snapshot") records += next.raw("records");
      if (next.type() != "ready") continue;
      position_ = next.plain("position");
      break;
    }
    return records;
  }

 private:
  WsClient client_;
  const std::string space_;
  std::string context_;
  std::string position_;
  bool resumed_ = false;
};

class Restore : public Watched {
 protected:
  Restore() : line(cluster()), gate((line.cluster().server().socket_directory() / ".s.PGSQL.5432").string()) {
    line.gateway().process().kill();  // one of its own, behind the gate, is what is tested
  }
  /// Those that are stopped and copied are not the program's shared one.
  static PostgresCluster& cluster() {
    static PostgresCluster own({.durability = ledger::Durability::durable});
    return own;
  }
  void write(PgSession& session, int first, int count, const std::string& text) {
    for (int i = first; i < first + count; ++i) {
      session.query("insert into items (space, id, x) values ($1, $2, $3)", {space, std::to_string(i), text});
      // Each a commit of its own, numbered when this returns: a look passes by where a node's has the space's lock.
      session.query("select viewgate.number($1)", {space});
    }
  }
  static std::int64_t head(PgSession& session, const std::string& of_space) {
    return std::stoll(session.value("select viewgate.watermark($1)", {of_space}));
  }
  /// Where the files are, and a copy of them as they are while nothing runs.
  void copy_files(const std::string& from, const std::string& to) { must(run({"/usr/bin/cp", "-a", from, to})); }

  Line line;
  TcpGate gate;
  TemporaryDirectory directory;
  const std::string space = "restored";
};

// row_43, case_16, case_17: the head of the copy is lower than what readers have, equal to it, or higher.
TEST_F(Restore, row_43_case_16_case_17_a_copy_of_the_files_put_back_under_a_running_gateway) {
  const std::string data = line.value("show data_directory");
  ledger::Embedded& server = line.cluster().server();
  GatewayOptions options = line.gateway_options();
  options.database = "host=127.0.0.1 port=" + std::to_string(gate.port()) +
                     " user=" + line.value("select current_user") +
                     " dbname=" + line.value("select current_database()") + " sslmode=disable gssencmode=disable";
  GatewayProcess gateway(options);
  int id = 1;
  std::int64_t before = 0;
  for (const int written_after : {0, 5, 9}) {
    SCOPED_TRACE("commits on the new line: " + std::to_string(written_after));
    write(line.session(), id, 5, "kept");
    const std::int64_t kept = head(line.session(), space);
    ASSERT_EQ(kept, before + 5);
    Shown live(gateway.port(), line, space);
    const std::string old_cursor = live.cursor();

    gate.shut();
    ASSERT_TRUE(server.stop(ledger::Shutdown::fast));
    const std::string copy = (directory.path() / ("copy" + std::to_string(written_after))).string();
    copy_files(data, copy);
    ASSERT_TRUE(server.restart(ledger::Shutdown::fast));
    line.reconnect();
    gate.open();
    write(line.session(), id + 5, 5, "lost");
    live.reach(kept + 5);
    const std::string lost_cursor = live.cursor();

    gate.shut();
    ASSERT_TRUE(server.stop(ledger::Shutdown::fast));
    std::filesystem::remove_all(data);
    copy_files(copy, data);
    ASSERT_TRUE(server.restart(ledger::Shutdown::fast));
    line.reconnect();
    write(line.session(), id + 5, written_after, "new line");
    ASSERT_EQ(head(line.session(), space), kept + written_after);
    gate.open();

    const std::string records = live.anew("history_diverged");
    EXPECT_THAT(records, Not(HasSubstr("lost")));
    EXPECT_EQ(records.find("new line") != std::string::npos, written_after > 0);
    EXPECT_THAT(records, HasSubstr("kept"));

    Shown shared(gateway.port(), line, space, old_cursor);
    EXPECT_TRUE(shared.resumed()) << "what both lines have in common is no loss";
    WsClient ahead(gateway.port(), line.reader());
    ahead.send(subscribe_text({.space = space, .view = "everything", .cursor = lost_cursor}));
    EXPECT_EQ(ahead.next().plain("reason"), "history_diverged") << "never waits for the head to catch up";

    write(line.session(), id + 20, 1, "goes on");
    EXPECT_THAT(live.client().next_of("commit").text, HasSubstr("goes on"));
    id += 30;
    before = head(line.session(), space);
  }
}

}  // namespace
}  // namespace viewgate::testing
