// Cases about how much history there is: a transaction older than all that is kept, and a commit larger than anybody holds.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class History : public ::testing::Test {
 protected:
  Line& line = Line::shared();
  std::string space = line.new_space();
};

TEST_F(History, case_05_a_transaction_open_for_longer_than_everything_is_kept_reaches_who_resumes_before_it) {
  const auto insert = [&](PgSession& session, int id) {
    session.query("insert into items (space, id, status) values ($1, $2, 'open')", {space, std::to_string(id)});
  };
  insert(line.session(), 501);
  insert(line.session(), 502);
  const std::int64_t head = line.settled_head(space);
  const std::string cursor = WsClient(line.port(), line.reader()).open({.space = space}).cursor();
  PgSession old(line.database());
  old.run("begin");
  insert(old, 503);
  // As if the transaction had begun that long ago, and the commits before it had been numbered then.
  old.query("update viewgate.waiting set at = at - interval '25 hours' where space = $1", {space});
  line.sql(
      "begin; alter table viewgate.commits disable trigger user; update viewgate.commits set numbered_at = "
      "clock_timestamp() - interval '25 hours' where space = '" +
      space +
      "'; alter table viewgate.commits enable always trigger append_only; alter table viewgate.commits enable always "
      "trigger "
      "only_pruned; commit");
  line.session().query("select viewgate.set_retention($1, null, '24 hours')", {space});
  old.run("commit");
  ASSERT_EQ(line.settled_head(space), head + 1);
  const Finished pruned = run({program("viewgate"), "prune", "--database", line.database()});
  EXPECT_THAT(pruned.output, HasSubstr("space " + space + " is kept from commit " + std::to_string(head + 1)));
  WsClient client(line.port(), line.reader());
  const Opened resumed = client.open({.space = space, .cursor = cursor});
  EXPECT_TRUE(resumed.resumed());
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[503]"));
}

int from_environment(const char* name, int otherwise) {
  const char* const asked = std::getenv(name);
  return asked == nullptr ? otherwise : std::atoi(asked);
}

/// Reads one commit whole, as an honest client does: the parts are kept aside until the last one. Counts its events; -1: it did not
/// come.
int events_of_a_commit(WsClient& client) {
  constexpr std::chrono::minutes long_time{10};
  const std::string mark = R"("kind":"entered")";
  for (int out = 0;;) {
    const Document part = client.next_of("commit", long_time);
    if (part.text.empty()) return -1;
    for (std::size_t at = part.text.find(mark); at != std::string::npos; at = part.text.find(mark, at + 1)) ++out;
    if (part.raw("last") != "false") return out;
  }
}

TEST_F(History, case_23_a_giant_commit_reaches_every_subscriber_whole_in_bounded_memory_and_closes_nobody) {
  const int changes = from_environment("VIEWGATE_GIANT_CHANGES", 100'000);
  const auto subscribers = static_cast<std::size_t>(from_environment("VIEWGATE_GIANT_SUBSCRIBERS", 10));
  constexpr std::uint64_t bound = memory_factor * 256 * 1024 * 1024;
  GatewayProcess gateway(line.gateway_options());
  std::vector<std::unique_ptr<WsClient>> clients;
  for (std::size_t i = 0; i < subscribers; ++i) {
    clients.push_back(std::make_unique<WsClient>(gateway.port(), line.reader()));
    clients.back()->open({.space = space, .view = "everything"});
  }
  std::atomic<std::uint64_t> peak = 0;
  std::vector<int> giants(subscribers, 0), afterwards(subscribers, 0);
  {
    std::vector<std::jthread> readers;
    for (std::size_t i = 0; i < subscribers; ++i) {
      readers.emplace_back([&, i] {
        giants[i] = events_of_a_commit(*clients[i]);
        afterwards[i] = events_of_a_commit(*clients[i]);
      });
    }
    std::jthread watch([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        peak = std::max<std::uint64_t>(peak, gateway.rss_bytes());
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    line.session().query(
        "insert into items (space, id, x) select $1, g, repeat('x', 60) from generate_series(2000000001, 2000000000 + "
        "$2::int8) g",
        {space, std::to_string(changes)});
    line.session().query("insert into items (space, id) values ($1, 2200000000)", {space});
    for (std::jthread& each : readers) each.join();
  }
  EXPECT_THAT(giants, ::testing::Each(changes));
  EXPECT_THAT(afterwards, ::testing::Each(1)) << "and it goes on";
  EXPECT_LT(peak, bound);
  std::cout << "peak " << peak / 1024 / 1024 << " MiB\n";
}

}  // namespace
}  // namespace viewgate::testing
