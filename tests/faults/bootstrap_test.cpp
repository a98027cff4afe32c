// Rows about bootstraps: what takes too long ends and is told, and many at once are admitted by and by.
#include <array>
#include <thread>

#include "faults/row_test.hpp"
#include "support/eventually.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

LineOptions short_bootstraps() {
  LineOptions out;
  const std::string enough_for_the_honest = patient_flag(std::chrono::seconds(2));
  for (const std::string& each :
       {std::string("--snapshot-time"), enough_for_the_honest, std::string("--snapshot-concurrent"), std::string("1"),
        std::string("--snapshot-queue"), std::string("2")})
    out.flags.push_back(each);
  return out;
}

class Bootstrap : public Watched {
 protected:
  Line line{durable_cluster(), short_bootstraps()};
  std::string space = line.new_space();
};

TEST_F(Bootstrap, row_67_a_bootstrap_over_its_limit_is_told_and_its_snapshot_released) {
  line.session().query("insert into items (space, id, status) values ($1, 1, 'open')", {space});
  PgSession blocker(line.database());
  blocker.run("begin");
  blocker.run("lock table items in access exclusive mode");  // as a long ALTER TABLE would
  WsClient client(line.port(), line.reader());
  client.send(subscribe_text({.id = "a", .space = space}));
  const Document refused = client.next_of("error");
  EXPECT_THAT(refused.text, AllOf(HasSubstr("bootstrap_timeout"), HasSubstr("retry_after")));
  EXPECT_TRUE(eventually([&] {
    return line.value(
               "select count(*) from pg_stat_activity where datname = current_database() "
               "and backend_xmin is not null and pid <> pg_backend_pid() and application_name like 'viewgate%'") == "0";
  })) << "a transaction of the bootstrap is still open";
  blocker.run("rollback");
  EXPECT_EQ(client.open({.id = "b", .space = space}).records.size(), 1U);
}

TEST_F(Bootstrap, row_52_more_bootstraps_than_there_is_room_for_are_told_when_to_return_and_keep_their_sockets) {
  constexpr std::size_t clients = 60;
  std::vector<std::string> spaces;
  for (std::size_t i = 0; i < clients; ++i) {
    spaces.push_back(line.new_space());
    line.session().query("insert into items (space, id, status) values ($1, nextval('items_id'), 'open')",
                         {spaces.back()});
  }
  std::vector<std::unique_ptr<WsClient>> all;
  for (std::size_t i = 0; i < clients; ++i) all.push_back(std::make_unique<WsClient>(line.port(), line.reader()));
  for (std::size_t i = 0; i < clients; ++i) all[i]->send(subscribe_text({.id = "a", .space = spaces[i]}));
  std::size_t refused = 0;
  for (std::size_t i = 0; i < clients; ++i) {
    // The socket stays; a client asks again after the time that it was told.
    for (int attempt = 0; attempt < 300; ++attempt) {
      Document answer = all[i]->next();
      while (answer.type() != "error" && answer.type() != "ready") answer = all[i]->next();
      if (answer.type() == "ready") break;
      ++refused;
      ASSERT_THAT(answer.text, HasSubstr("retry_after"));
      std::this_thread::sleep_for(std::chrono::milliseconds(answer.number("retry_after")));
      all[i]->send(subscribe_text({.id = "a", .space = spaces[i]}));
      ASSERT_LT(attempt, 299) << "client " << i << " never got its view";
    }
  }
  EXPECT_GT(refused, 0U) << "else there was room for all, and the row says nothing";
}

class BootstrapTurns : public Watched {
 protected:
  static LineOptions one_at_a_time() {
    LineOptions out;
    for (const char* each : {"--snapshot-concurrent", "1", "--limit-messages", "100000"}) out.flags.emplace_back(each);
    return out;
  }
  /// Everything up to the answer to a question of now.
  static std::vector<Document> told_until_now(WsClient& client) {
    client.send(R"({"type":"unsubscribe","id":"nothing"})");
    std::vector<Document> out;
    for (Document next = client.next(); next.type() != "unsubscribed"; next = client.next()) {
      if (next.text.empty()) {
        ADD_FAILURE() << "a question is not answered";
        break;
      }
      out.push_back(std::move(next));
    }
    return out;
  }
  std::string range(int i) const {
    return subscribe_text({.id = std::to_string(i),
                           .space = space,
                           .view = "between_n",
                           .params = R"({"low":0,"high":)" + std::to_string(1000 + i) + "}"});
  }

  Line line{durable_cluster(), one_at_a_time()};
  std::string space = line.new_space();
};

TEST_F(BootstrapTurns, case_18_two_sockets_full_of_views_keep_another_principal_waiting_for_few_of_them) {
  constexpr int each = 128;
  constexpr std::size_t share = 128;  // limit.principal_bootstraps
  line.session().query(
      "insert into items (space, id, status, n) select $1, i, 'open', i % 1000 from generate_series(1, 500) i",
      {space});
  line.settled_head(space);
  std::array<std::unique_ptr<WsClient>, 2> greedy;
  for (auto& client : greedy) client = std::make_unique<WsClient>(line.port(), line.reader("greedy"));
  WsClient modest(line.port(), line.reader("modest"));
  PgSession blocker(line.database());
  blocker.run("begin");
  blocker.run("lock table items in access exclusive mode");
  for (int i = 0; i < 2 * each; ++i) greedy[static_cast<std::size_t>(i / each)]->send(range(i));
  // One is being read, and so many wait; the rest is told to come back, so all were asked for before the other comes.
  std::size_t refused = 0;
  EXPECT_TRUE(eventually([&] {
    for (auto& client : greedy) {
      for (const Document& told : told_until_now(*client)) {
        if (told.type() != "error") continue;
        EXPECT_EQ(told.plain("code"), "unavailable") << told.text;
        EXPECT_GT(told.number("retry_after"), 0);
        ++refused;
      }
    }
    return refused >= 2 * each - share - 1;
  }));
  EXPECT_EQ(refused, 2 * each - share - 1);
  modest.send(range(1'000'000));
  blocker.run("rollback");
  // Each bootstrap says at which commit it was read: while somebody writes, that tells the order in which they were.
  std::jthread writer([&](const std::stop_token& stop) {
    PgSession session(line.database());
    while (!stop.stop_requested()) {
      session.query("insert into items (space, id, status, n) values ($1, nextval('items_id'), 'open', 5000)", {space});
    }
  });
  const std::int64_t hers = modest.next_of("ready").number("sequence");
  std::size_t before = 0;
  std::size_t ready = 0;
  EXPECT_TRUE(eventually(
      [&] {
        for (auto& client : greedy) {
          for (const Document& told : told_until_now(*client)) {
            if (told.type() != "ready") continue;
            ++ready;
            before += told.number("sequence") < hers ? 1 : 0;
          }
        }
        return ready >= share + 1;
      },
      patient(std::chrono::seconds(60))));
  writer.request_stop();
  writer.join();
  EXPECT_EQ(ready, share + 1);
  EXPECT_LT(before, share / 2) << "in turn there is one, with those read before she was heard a few";
}

}  // namespace
}  // namespace viewgate::testing
