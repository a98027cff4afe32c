// A view that is larger than what one bootstrap may hold in memory, and than what one short snapshot reads: it comes whole and
// exact while others write, what is behind memory lies in a file without a name, and nothing of it stays.
#include <filesystem>
#include <thread>

#include "faults/row_test.hpp"
#include "loadtest/fold.hpp"
#include "support/eventually.hpp"

namespace viewgate::testing {
namespace {

constexpr int records = 40'000;
constexpr int last_record = 1'000'000;

LineOptions short_snapshots() {
  LineOptions out;
  for (const char* each : {"--snapshot-hold", "20ms", "--snapshot-memory-bytes", "1MiB"}) out.flags.emplace_back(each);
  return out;
}

/// Changes the space in all ways that a view can notice, one transaction each, until it is told to stop.
class Writer {
 public:
  Writer(Line& line, std::string space) : session_(line.database()), space_(std::move(space)) {}
  ~Writer() { stop(); }
  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int written() const { return written_; }

 private:
  void run() {
    for (int i = 1; !stopping_; ++i) {
      // Some behind the page that is being read, some before it: 7919 is a prime.
      const std::string id = std::to_string(i * 7919 % records + 1);
      const std::string behind = std::to_string(records + i);
      session_.query(
          "update items set n = n + 1, status = case when id % 3 = 0 then 'closed' else status end "
          "where space = $1 and id = $2",
          {space_, id});
      session_.query("insert into items (space, id, status, n) values ($1, $2, 'open', 1)", {space_, behind});
      session_.query("delete from items where space = $1 and id = $2",
                     {space_, std::to_string(i * 7907 % records + 1)});
      written_ += 3;
    }
  }

  PgSession session_;
  const std::string space_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> written_{0};
  std::thread thread_{[this] { run(); }};
};

class LargeView : public Watched {
 protected:
  /// Files without a name that the gateway has open.
  std::size_t nameless_files() {
    std::size_t out = 0;
    const auto directory = "/proc/" + std::to_string(line.gateway().process().pid()) + "/fd";
    for (const auto& each : std::filesystem::directory_iterator(directory)) {
      std::error_code gone;
      const auto target = std::filesystem::read_symlink(each.path(), gone).string();
      if (target.starts_with("/var/tmp/") && target.ends_with("(deleted)")) ++out;
    }
    return out;
  }

  /// What the database says now, folded as a snapshot.
  loadtest::Fold::Records expected() {
    const std::string text = line.value(
        R"(select '[' || string_agg('{"key":[' || id || '],"record":{"id":' || id || ',"owner":' ||
             coalesce(to_jsonb(owner)::text, 'null') || ',"status":' || to_jsonb(status)::text || ',"n":' ||
             coalesce(to_jsonb(n)::text, 'null') || '}}', ',') || ']'
           from items where space = $1 and status = 'open')",
        {space});
    loadtest::Violations none;
    loadtest::Fold fold("oracle", none);
    fold.subscribed("c", false);
    fold.snapshot(text);
    fold.ready(1, "p", 1);
    return fold.records();
  }

  static void take(loadtest::Fold& fold, const Document& document) {
    if (document.type() == "subscribed") fold.subscribed(document.plain("context"), false);
    if (document.type() == "snapshot") fold.snapshot(document.raw("records"));
    if (document.type() == "ready") {
      fold.ready(document.number("sequence"), document.plain("position"), document.number("head"));
    }
    if (document.type() == "commit") {
      const bool last = document.raw("last") != "false";
      fold.commit(document.number("sequence"), document.plain("position"), document.raw("events"), last);
    }
  }

  Line line{durable_cluster(), short_snapshots()};
  std::string space = line.new_space();
};

TEST_F(LargeView, is_exact_though_others_write_while_its_pages_are_read_and_leaves_nothing_behind) {
  line.session().query(
      "insert into items (space, id, status, n) select $1, i, 'open', i from generate_series(1, $2::int) i",
      {space, std::to_string(records)});
  loadtest::Violations violations;
  loadtest::Fold fold("large", violations);
  {
    WsClient client(line.port(), line.reader());
    Writer writer(line, space);
    ASSERT_TRUE(eventually([&] { return writer.written() > 0; }));
    client.send(subscribe_text({.id = "a", .space = space}));
    while (!fold.live()) {
      const Document document = client.next();
      ASSERT_NE(document.type(), "error") << document.text;
      take(fold, document);
    }
    writer.stop();
    line.session().query("insert into items (space, id, status, n) values ($1, $2, 'open', 0)",
                         {space, std::to_string(last_record)});
    while (!fold.records().contains("[" + std::to_string(last_record) + "]")) take(fold, client.next_of("commit"));
    EXPECT_GT(writer.written(), 3);
  }
  EXPECT_EQ(violations.count(), 0U) << violations.kept().front();
  EXPECT_EQ(fold.records(), expected());
  EXPECT_TRUE(eventually([&] { return nameless_files() == 0; })) << "a file stays open";
  expect_a_good_client_works(line, line.port());
}

TEST_F(LargeView, lies_in_a_file_as_long_as_somebody_reads_it) {
  line.session().query(
      "insert into items (space, id, status, n) select $1, i, 'open', i from generate_series(1, $2::int) i",
      {space, std::to_string(records)});
  {
    WsClient client(line.port(), line.reader());
    client.send(subscribe_text({.id = "a", .space = space}));
    static_cast<void>(client.next_of("snapshot"));
    EXPECT_EQ(nameless_files(), 1U);
  }
  EXPECT_TRUE(eventually([&] { return nameless_files() == 0; })) << "its reader is gone";
  expect_a_good_client_works(line, line.port());
}

}  // namespace
}  // namespace viewgate::testing
