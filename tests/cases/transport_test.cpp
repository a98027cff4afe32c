// Cases about wake-ups, slow readers and windows: what users of other systems reported, end to end on the built program.
#include <gmock/gmock.h>

#include "support/eventually.hpp"
#include "support/line.hpp"

namespace viewgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Transport : public ::testing::Test {
 protected:
  void insert(std::int64_t id, const std::string& text = "") {
    line.session().query("insert into items (space, id, status, x) values ($1, $2, 'open', $3)",
                         {space, std::to_string(id), text});
  }

  Line& line = Line::shared();
  std::string space = line.new_space();
};

TEST_F(Transport, case_14_a_window_is_refused_when_the_model_is_applied_and_never_flickers) {
  const std::string windowed = std::string(items_model) +
                               "create view top_two as select id, n from items where id >= 0 order by n limit 2;\n"
                               "create policy readers on top_two using (claims.role = 'reader');\n";
  const Finished refused = apply_model(windowed, line.database());
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.output, AllOf(HasSubstr("ORDER BY is not supported"), HasSubstr("LIMIT is not supported")));
}

TEST_F(Transport, case_24_a_reader_that_stops_costs_a_bounded_memory_and_misses_nothing) {
  constexpr int commits = 200;
  constexpr std::size_t record_bytes = 500'000;
  // Kernel buffers hold some megabytes of what is on its way to the slow one; the rest is what the rings are bounded by.
  constexpr std::size_t growth_max = memory_factor * 80 * 1024 * 1024;
  WsClient slow(line.port(), line.reader());
  WsClient healthy(line.port(), line.reader());
  for (WsClient* each : {&slow, &healthy}) each->open({.space = space, .view = "everything"});
  const std::uint64_t before = line.gateway().rss_bytes();
  for (int i = 1; i <= commits; ++i) {
    line.session().query(
        "insert into items (space, id, status, x) values ($1, $2::int8, 'open', repeat(md5($2::text), $3::int))",
        {space, std::to_string(2'400'000 + i), std::to_string(record_bytes / 32)});
    ASSERT_EQ(healthy.next().number("sequence"), i) << "the healthy one does not wait for the other";
  }
  EXPECT_LT(line.gateway().rss_bytes(), before + growth_max);
  for (int i = 1; i <= commits; ++i) {
    const Document commit = slow.next();
    ASSERT_EQ(commit.number("sequence"), i) << commit.text.substr(0, 200);
    ASSERT_GT(commit.text.size(), record_bytes / 32 * 32);
  }
}

/// Larger than any bound of a message, of what a mutation may write (1 MiB), of a view's ring and of a space's recent commits: no
/// placeholder stands for it anywhere, and it costs nobody the socket.
TEST_F(Transport, case_25_a_captured_record_above_every_limit_of_a_message_arrives_whole) {
  std::int64_t id = 2'500'000;
  for (const std::size_t bytes : {std::size_t{1'048'577}, std::size_t{6} << 20}) {
    SCOPED_TRACE(bytes);
    ++id;
    SubscribeText what{.space = line.new_space(), .view = "everything"};
    WsClient client(line.port(), line.reader());
    const Opened opened = client.open(what);
    const auto expect_it = [&](const std::string& text, char letter) {
      EXPECT_THAT(text.substr(0, 300), HasSubstr("[" + std::to_string(id) + "]"));
      EXPECT_NE(text.find('"' + std::string(bytes, letter) + '"'), std::string::npos) << text.size() << " bytes came";
    };
    line.session().query(
        "insert into items (space, id, status, x) values ($1, $2::int8, 'open', repeat('x', $3::int4))",
        {what.space, std::to_string(id), std::to_string(bytes)});
    expect_it(client.next_of("commit").text, 'x');
    line.session().query("update items set x = repeat('y', $2::int4) where id = $1::int8",
                         {std::to_string(id), std::to_string(bytes)});
    const Document updated = client.next_of("commit");
    expect_it(updated.text, 'y');
    // The same socket goes on, and its cursor is behind the record.
    line.session().query("update items set status = 'done' where id = $1::int8", {std::to_string(id)});
    const Document small = client.next_of("commit");
    EXPECT_EQ(small.number("sequence"), 3);
    EXPECT_LT(small.text.size(), 1000U);

    WsClient anew(line.port(), line.reader());
    const Opened whole = anew.open(what);
    ASSERT_EQ(whole.records.size(), 1U);
    expect_it(whole.records.front(), 'y');
    what.cursor = opened.cursor();
    WsClient back(line.port(), line.reader());
    EXPECT_TRUE(back.open(what).resumed());
    std::int64_t sequence = 0;
    std::string told;
    while (sequence < 3) {
      const Document commit = back.next_of("commit");
      ASSERT_GT(commit.number("sequence"), sequence) << commit.text.substr(0, 300);
      sequence = commit.number("sequence");
      told += commit.text;
    }
    expect_it(told, 'y');
    what.cursor = opened.context() + "." + updated.plain("position");
    WsClient after(line.port(), line.reader());
    EXPECT_TRUE(after.open(what).resumed());
    EXPECT_EQ(after.next_of("commit").text.substr(small.text.find("\"sequence\"")),
              small.text.substr(small.text.find("\"sequence\"")));
  }
}

TEST_F(Transport, case_28_a_listener_that_is_killed_costs_no_commit) {
  WsClient client(line.port(), line.reader());
  client.open({.space = space});
  for (int i = 1; i <= 5; ++i) {
    const std::string killed = line.value(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity "
        "where datname = current_database() and application_name = 'viewgate listen'");
    insert(2'800'000 + i);
    const Document commit = client.next();
    ASSERT_EQ(commit.type(), "commit") << commit.text;
    ASSERT_EQ(commit.number("sequence"), i);
    if (i == 1) {
      EXPECT_EQ(killed, "1");
    }
  }
  // It listens again by itself.
  EXPECT_TRUE(eventually([&] {
    return line.value(
               "select count(*) from pg_stat_activity where datname = current_database() "
               "and application_name = 'viewgate listen'") == "1";
  }));
}

TEST_F(Transport, case_29_a_space_of_two_thousand_emoji_is_written_and_seen) {
  space.clear();
  for (int i = 0; i < 2000; ++i) space += "😀";
  WsClient client(line.port(), line.reader());
  client.open({.space = space});
  insert(2'900'000);
  EXPECT_THAT(client.next().text, AllOf(HasSubstr("\"commit\""), HasSubstr("[2900000]")));
}

TEST_F(Transport, case_30_many_quiet_clients_cost_little_each) {
  constexpr std::size_t clients = 500;
  constexpr std::uint64_t each_max = memory_factor * 64 * 1024;
  const std::string token = line.reader();
  std::vector<std::unique_ptr<WsClient>> all;
  const auto connect = [&](std::size_t count) {
    while (all.size() < count) {
      all.push_back(std::make_unique<WsClient>(line.port(), token));
      all.back()->open({.space = space});
    }
  };
  connect(20);
  const std::uint64_t before = line.gateway().rss_bytes();
  connect(clients);
  EXPECT_LT(line.gateway().rss_bytes(), before + each_max * (clients - 20));
  insert(3'000'000);
  for (const auto& client : all) ASSERT_EQ(client->next().number("sequence"), 1);
}

}  // namespace
}  // namespace viewgate::testing
