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

/// How many changes the giant commit has: few enough for every run, or what the environment says.
int giant() {
  const char* const asked = std::getenv("VIEWGATE_GIANT_CHANGES");
  return asked == nullptr ? 20'000 : std::atoi(asked);
}

/// As an honest client does: keeps the parts of a commit aside until the last one, and where it was too slow for the ring inside
/// the commit, which closes it with 4008, resumes before it.
class Subscriber {
 public:
  Subscriber(std::uint16_t port, std::string token, SubscribeText what)
      : port_(port), token_(std::move(token)), what_(std::move(what)) {
    what_.cursor = open().cursor();
  }

  /// Reads one commit whole and counts its events. -1: it did not come.
  int events_of_a_commit() {
    for (int attempt = 0; attempt < resumes_max; ++attempt) {
      if (const auto events = try_commit()) return *events;
      if (client_->closed_with() != 4008) return -1;
      if (!open().resumed()) return -1;
      ++resumes_;
    }
    return -1;
  }
  [[nodiscard]] int resumes() const { return resumes_; }

 private:
  static constexpr int resumes_max = 100;

  Opened open() {
    client_ = std::make_unique<WsClient>(port_, token_);
    return client_->open(what_);
  }
  std::optional<int> try_commit() {
    constexpr std::chrono::minutes long_time{10};
    const std::string mark = R"("kind":"entered")";
    for (int out = 0;;) {
      const Document part = client_->next_of("commit", long_time);
      if (part.text.empty()) return std::nullopt;
      for (std::size_t at = part.text.find(mark); at != std::string::npos; at = part.text.find(mark, at + 1)) ++out;
      if (part.raw("last") == "false") continue;
      what_.cursor = what_.cursor->substr(0, what_.cursor->find('.') + 1) + part.plain("position");
      return out;
    }
  }

  const std::uint16_t port_;
  const std::string token_;
  SubscribeText what_;
  std::unique_ptr<WsClient> client_;
  int resumes_ = 0;
};

TEST_F(History, case_23_a_giant_commit_reaches_a_hundred_subscribers_whole_in_bounded_memory) {
  constexpr std::size_t subscribers = 100;
  constexpr std::uint64_t bound = memory_factor * 256 * 1024 * 1024;
  GatewayProcess gateway(line.gateway_options());
  std::vector<std::unique_ptr<Subscriber>> clients;
  for (std::size_t i = 0; i < subscribers; ++i) {
    clients.push_back(std::make_unique<Subscriber>(gateway.port(), line.reader(),
                                                   SubscribeText{.space = space, .view = "everything"}));
  }
  std::atomic<std::uint64_t> peak = 0;
  std::vector<int> giants(subscribers, 0), afterwards(subscribers, 0);
  {
    std::vector<std::jthread> readers;
    for (std::size_t i = 0; i < subscribers; ++i) {
      readers.emplace_back([&, i] {
        giants[i] = clients[i]->events_of_a_commit();
        afterwards[i] = clients[i]->events_of_a_commit();
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
        {space, std::to_string(giant())});
    line.session().query("insert into items (space, id) values ($1, 2200000000)", {space});
    for (std::jthread& each : readers) each.join();
  }
  EXPECT_THAT(giants, ::testing::Each(giant()));
  EXPECT_THAT(afterwards, ::testing::Each(1)) << "and it goes on";
  EXPECT_LT(peak, bound);
  int resumes = 0;
  for (const auto& each : clients) resumes += each->resumes();
  std::cout << "peak " << peak / 1024 / 1024 << " MiB, " << resumes << " resumes\n";
}

}  // namespace
}  // namespace viewgate::testing
