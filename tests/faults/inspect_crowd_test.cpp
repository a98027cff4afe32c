// The Inspector of a node that many thousand are connected to: lists come by the page, sorted and searched in the node, each answer
// of bounded size, while commits go on to everybody. How long an answer took is printed, and nothing is judged by it.
#include <sys/resource.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "inspect.hpp"
#include "loadtest/swarm.hpp"
#include "loadtest/token.hpp"
#include "support/patience.hpp"

namespace viewgate::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::size_t connections_wanted = 5000 / slowness;
constexpr std::size_t descriptors_kept = 512;  // for all else
constexpr std::size_t page_rows = 200;         // the most that may be asked for
constexpr std::size_t row_bytes_max = 512;
constexpr std::chrono::seconds long_time{120 * slowness};

/// Each connection is a descriptor here, and one in the gateway, which has the limit of whoever starts it.
class Descriptors {
 protected:
  Descriptors() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    connections = std::min<std::size_t>(connections_wanted, limit.rlim_cur - descriptors_kept);
  }

  std::size_t connections = 0;
};

class InspectCrowd : private Descriptors, public Inspect {
 protected:
  /// reader-0, reader-1 …, all with one view of this space.
  loadtest::SwarmOptions crowd_of(const std::string& space) {
    loadtest::TokenMaker tokens;
    tokens.secret = file_text(key_file());
    loadtest::SwarmOptions out;
    out.address = {"127.0.0.1", gateway.port()};
    out.calm = true;
    for (std::size_t i = 0; i < connections; ++i) {
      const std::string name = "reader-" + std::to_string(i);
      loadtest::SwarmMember member{name, tokens.make(name, R"("role":"reader")"), {{"s", space, "open"}}};
      member.keep = loadtest::Client::Keep::count;
      out.members.push_back(std::move(member));
    }
    return out;
  }

  /// A page whose size is bounded whatever there is.
  Document page(const std::string& target) {
    const auto from = std::chrono::steady_clock::now();
    Document out = get(target);
    const auto took = std::chrono::steady_clock::now() - from;
    longest_ = std::max(longest_, std::chrono::duration_cast<std::chrono::milliseconds>(took));
    EXPECT_LE(out.text.size(), (page_rows + 2) * row_bytes_max) << target;
    return out;
  }

  std::size_t how_many() const { return connections; }
  std::chrono::milliseconds longest() const { return longest_; }

 private:
  std::chrono::milliseconds longest_{};
};

/// Commits to a space, one after the other, until this ends; at least one.
class Commits {
 public:
  Commits(Line& line, const std::string& space)
      : thread_([&database = line.database(), space](const std::stop_token& stop) {
          PgSession session(database);
          do {
            session.query("insert into items (space, id, status) values ($1, nextval('items_id'), 'open')", {space});
            std::this_thread::sleep_for(std::chrono::milliseconds(400));  // thousands are told each time
          } while (!stop.stop_requested());
        }) {}

 private:
  std::jthread thread_;
};

TEST_F(InspectCrowd, thousands_of_connections_come_by_the_page_each_once_while_commits_reach_them_all) {
  const std::string space = line.new_space();
  loadtest::Swarm swarm(crowd_of(space));
  swarm.start();
  ASSERT_TRUE(swarm.wait_until_live(long_time)) << swarm.summary();
  ASSERT_GE(how_many(), 400U) << "the limit of descriptors leaves no crowd";
  {
    const Commits commits(line, space);
    const std::string all = std::to_string(how_many());
    std::set<std::string> ids;
    std::string after;
    for (std::size_t pages = 0; pages <= how_many() / page_rows + 1; ++pages) {
      const Document one = page("connections?sort=age&limit=200" + after);
      EXPECT_EQ(one.plain("matched"), all);
      for (const auto& each : rows(one, "connections")) EXPECT_TRUE(ids.insert(each.plain("id")).second) << each.text;
      if (one.raw("next").empty()) break;
      after = "&after=" + percent_encoded(one.plain("next"));
    }
    EXPECT_EQ(ids.size(), how_many());

    for (const char* sort : {"age", "queue_bytes", "subscriptions", "behind", "principal", "address"}) {
      for (const char* way : {"", "-"}) {
        const Document first = page(std::string("connections?limit=200&sort=") + way + sort);
        EXPECT_EQ(rows(first, "connections").size(), page_rows) << way << sort;
        EXPECT_EQ(first.plain("matched"), all);
      }
    }
    const auto names = column(rows(page("connections?limit=3&sort=principal"), "connections"), "principal");
    EXPECT_THAT(names, ElementsAre("reader-0", "reader-1", "reader-10"));

    const Document found = page("connections?q=READER-39&limit=200");
    EXPECT_EQ(found.number("matched"), how_many() >= 4000 ? 111 : 11);
    EXPECT_THAT(column(rows(found, "connections"), "principal"), Each(StartsWith("reader-39")));
    const auto one = rows(page("connections?q=reader-397&limit=1&sort=principal"), "connections");
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one.front().plain("principal"), "reader-397");
    const Document whole = page("connection?id=" + one.front().plain("id"));
    EXPECT_EQ(rows(whole, "streams").size(), 1U);

    EXPECT_EQ(rows(page("groups?q=" + space), "groups").front().plain("subscribers"), all);
    EXPECT_EQ(rows(page("spaces?q=" + space), "spaces").size(), 1U);
    EXPECT_EQ(rows(page("views"), "views").front().plain("subscribers"), all);
    EXPECT_EQ(Document{page("overview").raw("subscriptions")}.plain("open"), all);
  }
  const std::int64_t head = line.settled_head(space);
  EXPECT_GT(head, 0);
  EXPECT_TRUE(swarm.wait_until_at({{space, head}}, long_time)) << swarm.summary();
  swarm.stop();
  EXPECT_THAT(swarm.violations().kept(), IsEmpty());
  EXPECT_EQ(swarm.totals().connections, how_many()) << "nobody was sent away: " << swarm.summary();
  std::cout << how_many() << " connections: the longest answer took " << longest().count() << " ms\n";
}

}  // namespace
}  // namespace viewgate::testing
