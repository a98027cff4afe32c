// The failover drill: a primary with a streaming standby, a writer at full speed and live clients; the primary is killed, the standby
// promoted, and nobody touches the gateway, which knows both addresses. With synchronous replication nothing is lost and every view
// goes on; with a tail that never reached the standby, everybody who saw it starts anew. Both times clients end up equal to SQL.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "system/item_crowd.hpp"
#include "system/standby_pair.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::seconds long_time{60};
constexpr std::size_t clients = 6;
constexpr const char* space = "drill";

/// Inserts a record and changes an older one, a transaction each time, at full speed; goes on by itself after an error, never
/// knowing what became of the transaction that met it.
class Writer {
 public:
  explicit Writer(std::string conninfo, int first = 1)
      : conninfo_(std::move(conninfo)), first_(first), thread_([this] { run(); }) {}
  ~Writer() { stop(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  void stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int acknowledged_count() const { return count_; }
  bool reaches(int count) const {
    return eventually([&] { return count_ >= count; }, long_time);
  }
  /// After stop.
  const std::vector<int>& acknowledged() const { return acknowledged_; }

 private:
  void run() {
    std::optional<PgSession> session;
    for (int id = first_; !stopped_; ++id) {
      try {
        if (!session) session.emplace(conninfo_);
        session->query(
            "with added as (insert into items (space, id, owner, status, n) "
            "values ('drill', $1::int8, 'ann', 'open', $1::int8 % 800)) "
            "update items set status = case when id % 2 = 0 then 'closed' else 'open' end, n = n + 1 "
            "where id = $1::int8 - 20",
            {std::to_string(id)});
        acknowledged_.push_back(id);
        ++count_;
      } catch (const std::runtime_error&) {
        session.reset();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }

  const std::string conninfo_;
  const int first_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> count_ = 0;
  std::vector<int> acknowledged_;
  std::thread thread_;
};

class Failover : public ::testing::Test {
 protected:
  Failover() {
    tell("the application's table and model", "viewgate model apply model.sql --database PRIMARY");
    PgSession(pair.primary_database()).run(items_table);
    const Finished applied = apply_model(items_model, pair.primary_database());
    if (applied.status != 0) throw std::runtime_error(applied.output);
    GatewayOptions options;
    options.database = pair.either_database();
    options.flags = quick_deadlines();
    options.set("--ledger-fsync-off", "accept");
    tell("the gateway, which knows both",
         "viewgate serve --database 'postgresql://PRIMARY,STANDBY/app?target_session_attrs=read-write'");
    gateway = std::make_unique<GatewayProcess>(options);
    loadtest::SwarmOptions of_all{.address = {"127.0.0.1", gateway->port()}, .members = crowd.members, .calm = true};
    swarm = std::make_unique<loadtest::Swarm>(std::move(of_all));
    for (std::size_t i = 0; i < clients; ++i) {
      swarm->observe(i, [this](std::string_view text, const auto&) {
        if (text.find(R"("type":"reset_required")") == std::string_view::npos) return;
        ++resets;
        if (text.find("history_diverged") != std::string_view::npos) ++diverged;
      });
    }
    tell("clients and a writer");
    swarm->start();
    EXPECT_TRUE(swarm->wait_until_live(long_time));
  }

  std::string token_of_reader() { return token("reader", {"role=reader"}); }
  /// A cursor at the head of now, of a client that goes away with it.
  std::string cursor_of_now() {
    return WsClient(gateway->port(), token_of_reader()).open({.space = space, .view = "everything"}).cursor();
  }

  void expect_everybody_equal_to_sql() {
    const auto heads = heads_of(crowd, pair.standby_database());
    EXPECT_TRUE(swarm->wait_until_at(heads, long_time)) << swarm->summary();
    swarm->stop();
    EXPECT_EQ(judge(*swarm, crowd, pair.standby_database()), "") << swarm->summary();
    tell("every view of " + std::to_string(crowd.subscriptions()) + " shows what SQL gives, at commit " +
         std::to_string(heads.at(space)));
  }

  /// Of these, how many the promoted standby does not have.
  std::size_t lost(const std::vector<int>& acknowledged) {
    const auto rows = PgSession(pair.standby_database()).run("select id from items");
    std::set<int> there;
    for (const auto& row : rows) there.insert(std::stoi(row.at(0).value()));
    return static_cast<std::size_t>(std::ranges::count_if(acknowledged, [&](int id) { return !there.contains(id); }));
  }

  StandbyPair pair;
  const ItemCrowd crowd{clients, {space}};
  std::unique_ptr<GatewayProcess> gateway;
  std::unique_ptr<loadtest::Swarm> swarm;
  std::atomic<std::size_t> resets = 0;
  std::atomic<std::size_t> diverged = 0;
};

TEST_F(Failover, synchronous_nothing_is_lost_and_every_cursor_goes_on) {
  pair.be_synchronous();
  EXPECT_THAT(run({program("viewgate"), "doctor", "--database", pair.primary_database()}).output,
              HasSubstr("streams, synchronously"));
  Writer writer(pair.either_database());
  ASSERT_TRUE(writer.reaches(60));
  const std::string cursor = cursor_of_now();
  ASSERT_TRUE(writer.reaches(120));
  pair.kill_primary();
  pair.promote();
  ASSERT_TRUE(writer.reaches(writer.acknowledged_count() + 60)) << "the writer goes on at the other one";
  writer.stop();
  EXPECT_EQ(lost(writer.acknowledged()), 0U);
  expect_everybody_equal_to_sql();
  EXPECT_EQ(resets, 0U);
  EXPECT_TRUE(WsClient(gateway->port(), token_of_reader())
                  .open({.space = space, .view = "everything", .cursor = cursor})
                  .resumed());
  EXPECT_TRUE(gateway->process().running());
  tell("nothing of " + std::to_string(writer.acknowledged().size()) +
       " acknowledged transactions is lost, and no view started anew");
}

TEST_F(Failover, row_43_asynchronous_who_saw_what_was_lost_starts_anew_and_all_are_equal) {
  Writer writer(pair.either_database());
  ASSERT_TRUE(writer.reaches(60));
  const std::string shared = cursor_of_now();
  PgSession primary(pair.primary_database());
  ASSERT_TRUE(eventually(
      [&] {
        return primary.value("select (select replay_lsn from pg_stat_replication) >= $1::pg_lsn",
                             {primary.value("select pg_current_wal_lsn()")}) == "t";
      },
      long_time));
  pair.cut_off();
  const int before = writer.acknowledged_count();
  ASSERT_TRUE(writer.reaches(before + 60));
  writer.stop();
  ASSERT_TRUE(swarm->wait_until_at(heads_of(crowd, pair.primary_database()), long_time))
      << "seen, and about to be lost";
  const std::string ahead = cursor_of_now();
  EXPECT_EQ(resets, 0U);
  pair.kill_primary();
  pair.promote();
  EXPECT_TRUE(eventually([&] { return diverged == crowd.subscriptions(); }, long_time)) << swarm->summary();
  const std::size_t missing = lost(writer.acknowledged());
  EXPECT_GE(missing, 60U);
  tell(std::to_string(missing) +
       " acknowledged transactions never reached the standby: each view that showed them starts anew");
  // The keys that were lost are used again, and mean something else now.
  Writer again(pair.either_database(), writer.acknowledged().back() - 40);
  ASSERT_TRUE(again.reaches(50));
  again.stop();
  expect_everybody_equal_to_sql();
  EXPECT_EQ(resets, crowd.subscriptions()) << "once each";

  WsClient old(gateway->port(), token_of_reader());
  EXPECT_TRUE(old.open({.space = space, .view = "everything", .cursor = shared}).resumed())
      << "what both have in common";
  WsClient lost_one(gateway->port(), token_of_reader());
  lost_one.send(subscribe_text({.space = space, .view = "everything", .cursor = ahead}));
  EXPECT_EQ(lost_one.next().plain("reason"), "history_diverged");
  tell("what the doctor says", "viewgate doctor --database STANDBY");
  const Finished doctor = run({program("viewgate"), "doctor", "--database", pair.standby_database()});
  EXPECT_THAT(doctor.output, HasSubstr("timeline 2: it was promoted"));
  EXPECT_TRUE(gateway->process().running());
}

}  // namespace
}  // namespace viewgate::testing
