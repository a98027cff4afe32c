// Store over PostgreSQL: what it says where it refuses, and pages in parts. What any ledger promises of pull is in contract/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "ledger/loop.hpp"
#include "ledger/store.hpp"
#include "ledger/writers.hpp"
#include "support/eventually.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {
namespace {

using ledger::Commit;
using ledger::errc;
using ledger::PullPage;
using ledger::Sequence;
using ledger::Store;
using ledger::StoreOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ledger::pg::ConnectOptions connect_to(const std::string& conninfo) {
  ledger::pg::ConnectOptions out;
  out.conninfo = conninfo;
  return out;
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest()
      : conninfo_(PostgresCluster::shared().create_database()),
        session_(conninfo_),
        pool_(loop_.io().get_executor(), connect_to(conninfo_), 2),
        store_(pool_, {}) {}

  /// One commit of the space with so many changes.
  void commit(int changes, const std::string& space = "s1", int bytes = 1) {
    session_.query(
        "select viewgate.append($1, (select jsonb_agg(jsonb_build_object('collection', 'c', 'key', "
        "jsonb_build_array(nextval("
        "'viewgate.change_counter')), 'put', jsonb_build_object('n', repeat('x', $3::int)))) from generate_series(1, "
        "$2::int)))",
        {space, std::to_string(changes), std::to_string(bytes)});
    number_all(session_);
  }

  ledger::Result<PullPage> pull(std::int64_t after, std::int64_t limit, const std::string& space = "s1") {
    return loop_.await(store_.pull(space, Sequence{after}, limit));
  }

  static ledger::FollowerPtr follower_at(std::int64_t after) {
    return std::make_shared<ledger::Follower>("s1", ledger::Position{Sequence{after}, {}});
  }

  static std::vector<std::int64_t> sequences(const PullPage& page) {
    std::vector<std::int64_t> out;
    for (const Commit& one : page.commits) out.push_back(one.position.sequence.value);
    return out;
  }

  void expect_refused(const ledger::Result<PullPage>& result, errc code, const std::string& detail) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code);
    EXPECT_THAT(result.error().detail, HasSubstr(detail));
  }

  static void expect_refused_stream(const ledger::Result<ledger::LogPage>& result, errc code) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().detail;
  }

  const std::string conninfo_;
  PgSession session_;
  Loop loop_;
  ledger::pg::Pool pool_;
  Store store_;
};

TEST_F(StoreTest, a_page_holds_complete_commits_a_cursor_and_whether_more_waits) {
  commit(3);
  commit(2);
  const PullPage page = value_of(pull(0, 4));
  EXPECT_THAT(sequences(page), ElementsAre(1));
  EXPECT_EQ(page.commits[0].space, "s1");
  ASSERT_EQ(page.commits[0].changes.size(), 3U);
  EXPECT_EQ(page.commits[0].provenance.source, "append");
  EXPECT_THAT(page.commits[0].provenance.at, ::testing::MatchesRegex("....-..-..T..:..:..\\.......Z"));
  EXPECT_NE(page.commits[0].position.stamp.value, 0U);
  EXPECT_EQ(page.next_cursor, Sequence{1});
  EXPECT_TRUE(page.has_more);
  const PullPage rest = value_of(pull(1, 4));
  EXPECT_THAT(sequences(rest), ElementsAre(2));
  EXPECT_FALSE(rest.has_more);
}

TEST_F(StoreTest, ordinals_are_zero_based_and_dense) {
  session_.run(kCreateItems);
  session_.run(
      "begin; update public.items set balance = 0 where space = 's1'; savepoint a;"
      "update public.items set balance = 1 where space = 's1'; rollback to a;"
      "update public.items set balance = 2 where space = 's1'; commit");
  number_all(session_);
  const PullPage page = value_of(pull(0, 1000));
  ASSERT_EQ(page.commits.size(), 1U);
  std::int64_t next = 0;
  for (const ledger::Change& change : page.commits[0].changes) EXPECT_EQ(change.ordinal, next++);
  EXPECT_EQ(next, 40);
}

TEST_F(StoreTest, negative_and_future_cursors_are_invalid) {
  commit(1);
  expect_refused(pull(-1, 10), errc::invalid_cursor, "cursor -1 of space 's1'");
  expect_refused(pull(2, 10), errc::invalid_cursor, "the watermark, which is 1");
  expect_refused(pull(1, 10, "nowhere"), errc::invalid_cursor, "the watermark, which is 0");
}

TEST_F(StoreTest, limits_below_one_are_invalid) {
  expect_refused(pull(0, 0), errc::invalid_limit, "limit 0");
  expect_refused(pull(0, -5), errc::invalid_limit, "limit -5");
}

TEST_F(StoreTest, below_the_horizon_history_is_unavailable_and_pruning_does_not_renumber) {
  for (int i = 0; i < 5; ++i) commit(1);
  session_.run("select viewgate.prune('s1', 2)");
  expect_refused(pull(2, 10), errc::history_unavailable, "readable after cursor 3");
  EXPECT_THAT(sequences(value_of(pull(3, 10))), ElementsAre(4, 5));
  session_.run("select viewgate.prune_batch('s1', 100)");
  EXPECT_THAT(sequences(value_of(pull(3, 10))), ElementsAre(4, 5));
  EXPECT_EQ(value_of(loop_.await(store_.retained_from("s1"))), Sequence{4});
  EXPECT_EQ(value_of(loop_.await(store_.watermark("s1"))), Sequence{5});

  session_.run("select viewgate.prune('s1', 0)");
  EXPECT_THAT(value_of(pull(5, 10)).commits, IsEmpty());
  expect_refused(pull(4, 10), errc::history_unavailable, "readable after cursor 5");
  commit(1);
  EXPECT_THAT(sequences(value_of(pull(5, 10))), ElementsAre(6));
}

TEST_F(StoreTest, watermark_and_retained_from_are_pure_reads) {
  EXPECT_EQ(value_of(loop_.await(store_.watermark("nowhere"))), Sequence{0});
  EXPECT_EQ(value_of(loop_.await(store_.retained_from("nowhere"))), Sequence{1});
  EXPECT_EQ(session_.value("select count(*) from viewgate.spaces"), "0");
}

TEST_F(StoreTest, a_page_ends_before_its_byte_limit_and_a_larger_commit_is_refused_by_name) {
  StoreOptions small;
  small.page_bytes_max = 2500;
  Store store(pool_, small);
  commit(1, "s1", 400);
  commit(1, "s1", 400);
  commit(1, "s1", 400);
  commit(5, "s1", 400);
  const auto page = value_of(loop_.await(store.pull("s1", Sequence{0}, 100)));
  EXPECT_THAT(sequences(page), ElementsAre(1, 2));
  EXPECT_TRUE(page.has_more);
  EXPECT_THAT(sequences(value_of(loop_.await(store.pull("s1", Sequence{2}, 100)))), ElementsAre(3));
  expect_refused(loop_.await(store.pull("s1", Sequence{3}, 100)), errc::commit_too_large, "commit 4 of space 's1'");
  EXPECT_THAT(sequences(value_of(pull(3, 100))), ElementsAre(4)) << "and the pool works on";
}

TEST_F(StoreTest, a_page_in_parts_is_the_page) {
  for (const int changes : {2, 600, 1, 40}) commit(changes);
  for (const std::int64_t limit : {1, 3, 602, 643, 1000}) {
    for (const std::int64_t after : {0, 1, 3}) {
      const PullPage page = value_of(pull(after, limit));
      std::vector<Commit> commits;
      const auto take = [&](const ledger::CommitPartPtr& part) {
        if (part->first) commits.push_back(Commit{part->space, part->position, part->provenance, {}});
        auto& changes = commits.back().changes;
        changes.insert(changes.end(), part->changes.begin(), part->changes.end());
        std::ranges::sort(changes, {}, &ledger::Change::ordinal);
        return true;
      };
      const auto end = value_of(loop_.await(store_.stream(follower_at(after), limit, take)));
      EXPECT_EQ(end.next_cursor, page.next_cursor);
      EXPECT_EQ(end.has_more(), page.has_more);
      EXPECT_EQ(end.stamp, page.commits.back().position.stamp);
      ASSERT_EQ(commits.size(), page.commits.size()) << limit << " after " << after;
      for (std::size_t i = 0; i < commits.size(); ++i) {
        EXPECT_EQ(commits[i].position, page.commits[i].position);
        ASSERT_EQ(commits[i].changes.size(), page.commits[i].changes.size());
        for (std::size_t k = 0; k < commits[i].changes.size(); ++k) {
          EXPECT_EQ(commits[i].changes[k].key, page.commits[i].changes[k].key);
          EXPECT_EQ(commits[i].changes[k].after, page.commits[i].changes[k].after);
        }
      }
    }
  }
}

TEST_F(StoreTest, case_23_a_large_commit_streams_in_bounded_parts_at_its_takers_pace) {
  session_.run("create table big (id int primary key, space text, pad text); select viewgate.capture('big', 'space')");
  session_.run("insert into big select i, 's1', repeat('x', 900) from generate_series(1, 20000) i");
  number_all(session_);
  StoreOptions small;
  small.part_bytes_max = 50'000;
  Store store(pool_, small);
  /// Takes five parts, then nothing until the loop has turned.
  struct Taker final : ledger::pg::Pace {
    explicit Taker(Loop& loop) : timer(loop.io()) {}
    [[nodiscard]] bool is_full() const override { return held >= 5; }
    boost::asio::awaitable<void> wait_for_room() override {
      ++waits;
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(boost::asio::use_awaitable);
      held = 0;
    }
    boost::asio::steady_timer timer;
    int held = 0;
    int held_max = 0;
    int waits = 0;
  } taker(loop_);
  std::size_t changes = 0;
  const auto take = [&](const ledger::CommitPartPtr& part) {
    changes += part->changes.size();
    taker.held_max = std::max(taker.held_max, ++taker.held);
    EXPECT_LE(part->changes.size(), 60U);
    return true;
  };
  const auto end = value_of(loop_.await(store.stream(follower_at(0), 1, take, &taker)));
  EXPECT_EQ(end.next_cursor, Sequence{1});
  EXPECT_EQ(changes, 20000U);
  EXPECT_EQ(taker.held_max, 5) << "no row is read while the taker is full";
  EXPECT_GT(taker.waits, 50);
}

TEST_F(StoreTest, a_stream_that_was_left_inside_a_commit_goes_on_right_behind_it_in_another_transaction) {
  session_.run("create table big (id int primary key, space text, pad text); select viewgate.capture('big', 'space')");
  session_.run("insert into big select i, 's1', repeat('x', 900) from generate_series(1, 1000) i");
  commit(1);
  StoreOptions small;
  small.part_bytes_max = 50'000;
  Store store(pool_, small);
  const auto follower = follower_at(0);
  std::vector<std::int64_t> ordinals;
  int parts = 0;
  const auto take = [&](const ledger::CommitPartPtr& part) {
    EXPECT_EQ(part->first, ordinals.empty());
    for (const auto& change : part->changes) ordinals.push_back(change.ordinal);
    return ++parts % 4 != 0;
  };
  int sittings = 0;
  for (; follower->position.sequence < Sequence{1}; ++sittings) {
    const auto page = value_of(loop_.await(store.stream(follower, 1, take)));
    EXPECT_EQ(page.next_cursor, follower->position.sequence) << "only whole commits count";
    EXPECT_TRUE(eventually([&] {
      return session_.value("select count(*) from pg_stat_activity where state like 'idle in transaction%'") == "0";
    }));
  }
  EXPECT_GT(sittings, 3);
  std::ranges::sort(ordinals);
  ASSERT_EQ(ordinals.size(), 1000U);
  for (std::size_t i = 0; i < ordinals.size(); ++i) EXPECT_EQ(ordinals[i], static_cast<std::int64_t>(i));
}

TEST_F(StoreTest, who_takes_no_more_parts_ends_the_stream_and_the_pool_works_on) {
  for (int i = 0; i < 3; ++i) commit(1);
  const auto take = [](const ledger::CommitPartPtr&) { return false; };
  const auto page = value_of(loop_.await(store_.stream(follower_at(0), 100, take)));
  EXPECT_EQ(page.next_cursor, Sequence{1});
  EXPECT_TRUE(page.has_more());
  expect_refused_stream(loop_.await(store_.stream(follower_at(4), 100, take)), errc::invalid_cursor);
  session_.run("select viewgate.prune('s1', 1)");
  expect_refused_stream(loop_.await(store_.stream(follower_at(1), 100, take)), errc::history_unavailable);
  EXPECT_THAT(sequences(value_of(pull(2, 100))), ElementsAre(3));
}

TEST_F(StoreTest, erased_values_are_told_as_such) {
  session_.run("select viewgate.append('s1', '[{\"collection\": \"c\", \"key\": [1], \"put\": {\"n\": \"secret\"}}]')");
  number_all(session_);
  session_.run("delete from viewgate.records; select viewgate.erase_record('s1', 'c', '[1]')");
  const PullPage page = value_of(pull(0, 10));
  ASSERT_EQ(page.commits.at(0).changes.size(), 1U);
  const ledger::Change& change = page.commits[0].changes[0];
  EXPECT_EQ(change.kind, ledger::ChangeKind::erased);
  EXPECT_EQ(change.key, "[1]");
  EXPECT_FALSE(change.before || change.after);
}

TEST_F(StoreTest, a_large_commit_comes_in_the_order_of_its_ordinals) {
  session_.run("create table big (id int primary key, space text); select viewgate.capture('big', 'space')");
  session_.run("insert into big select 10000 - i, 's1' from generate_series(1, 6000) i");
  number_all(session_);
  const PullPage page = value_of(pull(0, 1));
  ASSERT_EQ(page.commits.size(), 1U);
  ASSERT_EQ(page.commits[0].changes.size(), 6000U);
  for (std::size_t i = 0; i < 6000; ++i) {
    ASSERT_EQ(page.commits[0].changes[i].ordinal, static_cast<std::int64_t>(i));
    ASSERT_EQ(page.commits[0].changes[i].key, "[" + std::to_string(9999 - i) + "]");
  }
}

TEST_F(StoreTest, paging_gives_every_commit_once_while_others_write) {
  session_.run(kCreateItems);
  Writers writers(conninfo_, 3, 31);
  std::vector<std::int64_t> seen;
  Sequence cursor;
  bool done = false;
  for (int round = 0; round < 5000 && !done; ++round) {
    if (writers.committed() > 150) {
      writers.stop();
      number_all(session_);
    } else {
      session_.run("select count(*) from viewgate.look()");
    }
    const PullPage page = value_of(pull(cursor.value, 10));
    for (const Commit& one : page.commits) seen.push_back(one.position.sequence.value);
    cursor = page.next_cursor;
    done = writers.committed() > 150 && !page.has_more && cursor == value_of(loop_.await(store_.watermark("s1")));
  }
  ASSERT_FALSE(seen.empty());
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<std::int64_t>(i + 1));
  EXPECT_EQ(std::to_string(seen.size()), session_.value("select viewgate.watermark('s1')"));
}

}  // namespace
}  // namespace viewgate::testing
