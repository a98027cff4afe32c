// Several gateways before one PostgreSQL are one: what a node has given out holds on every other, and a node may go at any moment,
// killed or asked to, without anybody losing a commit or having to begin anew.
#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "system/item_crowd.hpp"

namespace viewgate::testing {
namespace {

constexpr std::chrono::seconds long_time{120};

class Nodes : public ::testing::Test {
 protected:
  static constexpr std::size_t node_count = 3;

  void SetUp() override {
    line.gateway().process().kill();  // those that are tested have flags of their own
    for (std::size_t i = 0; i < node_count; ++i) {
      GatewayOptions options = line.gateway_options();
      options.listen = "127.0.0.1:" + std::to_string(free_port());
      options.set("--ledger-part-bytes", "16KiB");
      options.set("--time-drain", "1s");
      nodes.push_back(std::make_unique<GatewayProcess>(options));
    }
  }

  loadtest::SwarmOptions swarm_options(const ItemCrowd& crowd) const {
    loadtest::SwarmOptions out;
    out.address = {"127.0.0.1", nodes[0]->port()};
    for (std::size_t i = 1; i < nodes.size(); ++i) out.others.push_back({"127.0.0.1", nodes[i]->port()});
    out.members = crowd.members;
    out.calm = true;
    return out;
  }

  /// The writers stop, everyone comes to the head, every fold is what SQL gives, and no set had to be fetched a second time.
  void expect_all_exact(ItemWriters& writers, loadtest::Swarm& swarm, const ItemCrowd& crowd) {
    writers.stop();
    EXPECT_TRUE(swarm.wait_until_at(heads_of(crowd, line.database()), long_time));
    swarm.stop();
    EXPECT_EQ(judge(swarm, crowd, line.database()), "") << swarm.summary();
    EXPECT_EQ(swarm.totals().bootstraps, crowd.subscriptions()) << swarm.summary();
    EXPECT_EQ(swarm.totals().resets, 0U);
  }
  /// That nothing happened while nothing was written would prove nothing.
  static void wait_for_writes(const ItemWriters& writers, std::uint64_t more) {
    const std::uint64_t wanted = writers.written() + more;
    ASSERT_TRUE(eventually([&] { return writers.written() >= wanted; }, long_time));
  }

  Line line{durable_cluster(), {.flags = quick_deadlines(std::chrono::seconds(60))}};
  std::vector<std::unique_ptr<GatewayProcess>> nodes;
};

/// What a subscriber is told from `ready` up to the commit `head`, byte for byte.
std::string stream_up_to(WsClient& client, std::int64_t head) {
  for (std::string out;;) {
    const Document commit = client.next_of("commit", long_time);
    if (commit.text.empty()) return out + "nothing more came";
    out += commit.text + "\n";
    if (commit.number("sequence") == head && commit.raw("last") != "false") return out;
  }
}

TEST_F(Nodes, a_cursor_of_one_works_on_the_others_and_all_go_on_from_it_with_the_same_bytes) {
  const std::string space = line.new_space();
  const SubscribeText what{.space = space, .view = "everything"};
  const auto write = [&](const std::string& sql) { line.session().query(sql, {space}); };
  WsClient live(nodes[0]->port(), line.reader());
  const Opened opened = live.open(what);
  std::vector<std::string> cursors{opened.cursor()};
  std::vector<std::string> stream;  // after each of these cursors, up to the next
  std::int64_t head = 0;
  const auto take = [&] {
    stream.push_back(stream_up_to(live, ++head));
    const std::string last = stream.back().substr(stream.back().rfind('\n', stream.back().size() - 2) + 1);
    cursors.push_back(opened.context() + "." + Document{last}.plain("position"));
  };
  for (const char* sql :
       {"insert into items (space, id, status, n) values ($1, 1, 'open', 1.10), ($1, 2, null, 1e400)",
        "update items set x = 'a', n = n + 1 where space = $1 and id = 1",
        // As many as go in several parts, and in an order of their own.
        "insert into items (space, id, x) select $1, i, repeat('x', 100) from generate_series(3, 900) i",
        "update items set x = x || i from generate_series(3, 900) i where space = $1 and id = i",
        "delete from items where space = $1 and id % 2 = 0", "update items set id = -id where space = $1 and id < 20",
        "update items set n = 7 where space = $1 and id > 20"}) {
    write(sql);
    take();
  }
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    std::string expected;
    for (std::size_t from = cursors.size(); from-- > 0;) {
      if (from < stream.size()) expected = stream[from] + expected;
      WsClient client(nodes[node]->port(), line.reader());
      SubscribeText resume = what;
      resume.cursor = cursors[from];
      const Opened resumed = client.open(resume);
      EXPECT_TRUE(resumed.resumed()) << node << " " << from;
      EXPECT_EQ(resumed.context(), opened.context());
      const std::string told = from < stream.size() ? stream_up_to(client, head) : "";
      EXPECT_EQ(told, expected) << node << " " << from;
    }
  }
  // And a set that is fetched anew has the same place on each.
  for (const auto& node : nodes) {
    EXPECT_EQ(WsClient(node->port(), line.reader()).open(what).cursor(), cursors.back());
  }
}

TEST_F(Nodes, one_that_is_killed_under_load_costs_nobody_a_commit) {
  const ItemCrowd crowd(60, {line.new_space(), line.new_space(), line.new_space()});
  loadtest::Swarm swarm(swarm_options(crowd));
  ItemWriters writers(line.database(), crowd.spaces);
  swarm.start();
  ASSERT_TRUE(swarm.wait_until_live(long_time));
  wait_for_writes(writers, 100);
  nodes[0]->process().kill();
  wait_for_writes(writers, 300);
  expect_all_exact(writers, swarm, crowd);
  EXPECT_GT(swarm.totals().resumptions, 0U) << swarm.summary();
}

/// Prunes the spaces to their newest commits, and erases records in them that no view has ever shown, over and over until it is told to stop.
class Housekeeping {
 public:
  Housekeeping(const std::string& database, const std::vector<std::string>& spaces)
      : thread_([this, database, spaces] {
          PgSession session(database);
          for (std::int64_t id = 1'000'000; !stopping_; ++id) {
            const std::string& space = spaces[static_cast<std::size_t>(id) % spaces.size()];
            const std::string key = std::to_string(id);
            session.query("insert into items (space, id, x) values ($1, $2, 'secret')", {space, key});
            session.query("delete from items where id = $1", {key});
            erased_ += std::stoi(
                session.value("select viewgate.erase_record($1, 'public.items', $2)", {space, "[" + key + "]"}));
            session.query("select viewgate.prune($1, 20)", {space});
            session.query("select viewgate.prune_batch($1, 1000)", {space});
          }
        }) {}
  ~Housekeeping() { stopping_ = true; }
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;
  /// Returns how many changes it has erased.
  int stop() {
    stopping_ = true;
    thread_.join();
    return erased_;
  }

 private:
  std::atomic<bool> stopping_{false};
  int erased_ = 0;
  std::jthread thread_;
};

// I7: who reads through it holds exactly what SQL gives, whether it went on or was told to start anew.
TEST_F(Nodes, pruning_and_erasing_under_load_leave_every_set_exact_also_of_who_comes_back) {
  const ItemCrowd crowd(60, {line.new_space(), line.new_space(), line.new_space()});
  loadtest::Swarm swarm(swarm_options(crowd));
  ItemWriters writers(line.database(), crowd.spaces);
  swarm.start();
  ASSERT_TRUE(swarm.wait_until_live(long_time));
  Housekeeping housekeeping(line.database(), crowd.spaces);
  for (const auto& node : nodes) {
    wait_for_writes(writers, 200);
    node->process().kill();
    wait_for_writes(writers, 200);
    node->start_again();
  }
  EXPECT_GT(housekeeping.stop(), 0);
  writers.stop();
  EXPECT_TRUE(swarm.wait_until_at(heads_of(crowd, line.database()), long_time));
  swarm.stop();
  EXPECT_EQ(judge(swarm, crowd, line.database()), "") << swarm.summary();
  EXPECT_GT(swarm.totals().resets, 0U) << swarm.summary();
}

TEST_F(Nodes, a_rolling_restart_under_load_costs_nobody_a_commit) {
  const ItemCrowd crowd(60, {line.new_space(), line.new_space(), line.new_space()});
  loadtest::Swarm swarm(swarm_options(crowd));
  ItemWriters writers(line.database(), crowd.spaces);
  swarm.start();
  ASSERT_TRUE(swarm.wait_until_live(long_time));
  for (const auto& node : nodes) {
    wait_for_writes(writers, 100);
    node->process().signal(SIGTERM);
    EXPECT_EQ(node->process().wait(std::chrono::seconds(60)), 0) << node->log();
    wait_for_writes(writers, 100);
    node->start_again();
  }
  expect_all_exact(writers, swarm, crowd);
  EXPECT_GT(swarm.totals().drains, 0U) << swarm.summary();
  EXPECT_GE(swarm.totals().resumptions, crowd.subscriptions()) << swarm.summary();
}

}  // namespace
}  // namespace viewgate::testing
