// Rows about bootstraps: what takes too long ends and is told, and many at once are admitted by and by.
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

class Bootstrap : public ::testing::Test {
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

}  // namespace
}  // namespace viewgate::testing
