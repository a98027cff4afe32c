// A disk that is really full, to the last byte, under the whole line: with the tables on it, and with the write-ahead log on it too.
// Writers are told by PostgreSQL itself, the gateway lives, its clients keep their sockets and their sets, and once there is room
// everything goes on without anybody's help: who keeps the private PostgreSQL starts it again until it can.
#include <gmock/gmock.h>

#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>

#include "row_test.hpp"
#include "support/small_disk.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds long_time{60};
constexpr std::size_t mebibytes = 320;

/// Asked before the first thread is there.
const bool has_small_disks = SmallDisk::can_be_made();

class FullDiskOfTheDatabase : public Watched {
 protected:
  /// False, and says so, where there is nothing to test with.
  bool prepare() {
    if (!has_small_disks) {
      std::cout << "NOT TESTED HERE: this machine does not let us mount a file system of our own\n";
      return false;
    }
    disk.emplace(mebibytes);
    const char* const before = std::getenv("TMPDIR");
    const std::string kept = before == nullptr ? "" : before;
    ::setenv("TMPDIR", disk->path().c_str(), 1);
    cluster.emplace(ClusterOptions{.settings = {"max_wal_size=64MB", "min_wal_size=32MB"}});
    if (before == nullptr) {
      ::unsetenv("TMPDIR");
    } else {
      ::setenv("TMPDIR", kept.c_str(), 1);
    }
    return true;
  }
  void open_line() {
    LineOptions options;
    options.flags.insert(options.flags.end(), {"--ledger-fsync-off", "accept"});
    line.emplace(*cluster, options);
    client.emplace(line->port(), line->reader());
    client->open({.space = space, .view = "everything"});
    write(*writer());
    next_commit();
  }
  /// What comes before it, but other commits, is passed over; true: it was the notice that the database is away.
  bool next_commit() {
    for (Document next = client->next(long_time); !next.text.empty(); next = client->next(long_time)) {
      if (next.plain("kind") == "degraded") return true;
      if (next.type() != "commit") continue;
      EXPECT_EQ(next.number("sequence"), ++seen) << "no hole, nothing twice: " << next.text.substr(0, 200);
      return false;
    }
    ADD_FAILURE() << "nothing comes any more";
    seen = std::numeric_limits<std::int64_t>::max();
    return true;
  }
  PgSession* writer() {
    if (!session) session.emplace(line->database());
    return &*session;
  }
  /// About 8 kB that do not compress, in a transaction of its own; counted once PostgreSQL has said yes.
  void write(PgSession& to) {
    std::string text;
    for (int i = 0; i < 8000; ++i) text += static_cast<char>('a' + random() % 26);
    to.query("insert into items (space, id, x) values ($1, nextval('items_id'), $2)", {space, text});
    ++acknowledged;
  }
  /// What became of the first write that was refused.
  std::string refused() {
    for (int i = 0; i < 20'000; ++i) {
      try {
        write(*writer());
      } catch (const PgError& error) {
        is_unknown |= error.sqlstate != "53100";
        return error.sqlstate;
      } catch (const std::runtime_error& error) {
        is_unknown = true;
        return error.what();
      }
    }
    return "";
  }
  /// On the socket of before, to the last acknowledged write; and one more.
  void expect_that_it_goes_on() {
    session.emplace(line->database());
    write(*session);
    const std::int64_t head = line->settled_head(space);
    // A server that dies may have committed what it could not say yes to any more.
    EXPECT_GE(head, acknowledged);
    EXPECT_LE(head, acknowledged + (is_unknown ? 1 : 0));
    while (seen < head) next_commit();
    EXPECT_EQ(session->value("select count(*) from items where space = $1", {space}), std::to_string(head));
    EXPECT_TRUE(line->gateway().process().running());
    WsClient another(line->port(), line->reader());
    EXPECT_EQ(another.open({.space = space, .view = "everything"}).records.size(), static_cast<std::size_t>(head));
  }

  const std::string space = "full";
  std::optional<SmallDisk> disk;
  TemporaryDirectory elsewhere;
  std::optional<PostgresCluster> cluster;
  std::optional<Line> line;
  std::optional<PgSession> session;
  std::optional<WsClient> client;
  std::mt19937 random{59};
  std::int64_t acknowledged = 0;
  std::int64_t seen = 0;
  bool is_unknown = false;  ///< of one write, whether it was committed
};

TEST_F(FullDiskOfTheDatabase, row_59_of_the_tables_writers_are_refused_readers_are_not_and_it_goes_on) {
  if (!prepare()) return;
  // The write-ahead log lies elsewhere, as operators are advised to have it.
  const std::filesystem::path wal =
      PgSession(cluster->create_empty_database()).value("show data_directory") + "/pg_wal";
  ASSERT_TRUE(cluster->server().stop(ledger::Shutdown::fast));
  ASSERT_EQ(run({"/usr/bin/mv", wal.string(), (elsewhere.path() / "wal").string()}).status, 0);
  std::filesystem::create_directory_symlink(elsewhere.path() / "wal", wal);
  ASSERT_TRUE(cluster->server().restart(ledger::Shutdown::fast));
  open_line();
  disk->fill();
  EXPECT_EQ(refused(), "53100") << "PostgreSQL's own word for it: disk_full";
  EXPECT_EQ(refused(), "53100") << "and it stays so";
  WsClient reader(line->port(), line->reader("bob"));
  reader.send(R"({"type":"ping","id":"1"})");
  EXPECT_FALSE(reader.next().text.empty()) << "the gateway answers";
  disk->make_room();
  expect_that_it_goes_on();
}

TEST_F(FullDiskOfTheDatabase, row_59_of_the_write_ahead_log_postgresql_stops_and_after_its_start_it_goes_on) {
  if (!prepare()) return;
  open_line();
  client->also_show("notice");
  PgSession emitter(line->database());  // nobody logs in to a server whose disk is full
  disk->fill();
  // Until a segment of the log is needed; PostgreSQL gives up then, and says so to everybody.
  const auto is_down = [&] {
    try {
      emitter.run("select pg_logical_emit_message(true, 'test', repeat('x', 1000000))");
      return false;
    } catch (const PgError& error) {
      return error.sqlstate != "53100";
    } catch (const std::runtime_error&) {
      return true;
    }
  };
  EXPECT_NE(refused(), "");
  session.reset();
  ASSERT_TRUE(eventually(is_down, long_time)) << "it neither writes nor stops";
  while (!next_commit()) {
  }
  disk->make_room();
  ASSERT_TRUE(eventually(
      [&] {
        try {
          line->reconnect();
          return true;
        } catch (const std::runtime_error&) {
          return false;
        }
      },
      long_time));
  expect_that_it_goes_on();
}

}  // namespace
}  // namespace viewgate::testing
