// Rows about cursors: opaque, bound to everything that they were made from, and refused with one answer.
#include <set>

#include "row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class Cursors : public Row {
 protected:
  void write(const std::string& space, int id) {
    line.sql("insert into items (space, id, status, n, a) values ('" + space + "', " + std::to_string(id) +
             ", 'open', " + std::to_string(id % 10) + ", 1)");
  }
  /// A cursor of alice's on this view, above one commit.
  std::string cursor_of(const SubscribeText& what) { return WsClient(line.port(), line.reader()).open(what).cursor(); }

  /// The whole answer to a subscribe.
  std::string answer(const std::string& token, const SubscribeText& what, std::uint16_t port = 0) {
    WsClient client(port == 0 ? line.port() : port, token);
    client.send(subscribe_text(what));
    return client.next().text;
  }
};

constexpr const char* invalid = "cursor_invalid";

TEST_F(Cursors, row_39_a_cursor_that_was_touched_is_refused_with_the_same_bytes) {
  const std::string space = line.new_space();
  write(space, 3901);
  const std::string good = cursor_of({.space = space});
  ASSERT_THAT(answer(line.reader(), {.space = space, .cursor = good}), HasSubstr("\"resumed\":true"));
  std::vector<std::string> bad{"",
                               ".",
                               "x",
                               good.substr(0, good.size() - 1),
                               good.substr(1),
                               good + "A",
                               good + ".A",
                               "A" + good,
                               good.substr(0, good.find('.')),
                               good.substr(good.find('.')),
                               good + good,
                               std::string(2000, 'A'),
                               good + std::string(50'000, 'A'),
                               "\xc3\xa4.\xc3\xb6"};
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (good[i] == '.') continue;
    std::string flipped = good;
    flipped[i] = flipped[i] == 'A' ? 'B' : 'A';
    bad.push_back(flipped);
  }
  std::set<std::string> answers;
  WsClient client(line.port(), line.reader());
  for (const std::string& cursor : bad) {
    client.send(subscribe_text({.space = space, .cursor = cursor}));
    const Document document = client.next();
    EXPECT_EQ(document.plain("code"), invalid) << cursor.substr(0, 200) << " -> " << document.text;
    answers.insert(document.text);
    if (document.text.empty()) break;
  }
  EXPECT_EQ(answers.size(), 1U);
}

TEST_F(Cursors, row_39_the_unused_bits_of_the_last_character_are_not_another_spelling) {
  const std::string space = line.new_space();
  write(space, 3951);
  const std::string good = cursor_of({.space = space});
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (const std::size_t at : {good.size() - 1, good.find('.') - 1}) {
    for (const char c : alphabet) {
      std::string other = good;
      if (c == good[at]) continue;
      other[at] = c;
      EXPECT_THAT(answer(line.reader(), {.space = space, .cursor = other}), HasSubstr(invalid)) << other;
    }
  }
}

TEST_F(Cursors, row_39_a_cursor_of_a_megabyte_is_a_message_over_the_limit) {
  WsClient client(line.port(), line.reader());
  client.send(subscribe_text({.space = line.new_space(), .cursor = std::string(1 << 20, 'A')}));
  EXPECT_EQ(client.closed_with(), 1009);
}

TEST_F(Cursors, row_40_a_cursor_of_another_principal_space_view_or_parameters_is_refused_with_the_same_bytes) {
  const std::string space = line.new_space(), other_space = line.new_space();
  write(space, 4001);
  write(other_space, 4002);
  const SubscribeText wide{.space = space, .view = "between_n", .params = R"({"low":0,"high":9})"};
  const std::string cursor = cursor_of(wide);
  const auto with = [&](SubscribeText what) {
    what.cursor = cursor;
    return what;
  };
  ASSERT_THAT(answer(line.reader(), with(wide)), HasSubstr("\"resumed\":true"));
  const std::set<std::string> answers{
      answer(line.reader("bob"), with(wide)),
      answer(line.reader(), with({.space = other_space, .view = wide.view, .params = wide.params})),
      answer(line.reader(), with({.space = space, .view = "open"})),
      answer(line.reader(), with({.space = space, .view = wide.view, .params = R"({"low":0,"high":8})"})),
      answer(line.reader(), {.space = space,
                             .view = wide.view,
                             .params = wide.params,
                             .cursor = "touched." + cursor.substr(cursor.find('.') + 1)}),
  };
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_THAT(*answers.begin(), HasSubstr(invalid));
}

TEST_F(Cursors, row_40_the_context_of_one_view_with_the_position_of_another_is_refused) {
  const std::string space = line.new_space();
  write(space, 4011);
  const std::string open = cursor_of({.space = space}), either = cursor_of({.space = space, .view = "either"});
  const std::string mixed = open.substr(0, open.find('.')) + either.substr(either.find('.'));
  EXPECT_THAT(answer(line.reader(), {.space = space, .cursor = mixed}), HasSubstr(invalid));
  EXPECT_THAT(answer(line.reader(), {.space = space, .view = "either", .cursor = mixed}), HasSubstr(invalid));
}

TEST_F(Cursors, row_40_a_cursor_of_a_retired_key_is_refused_with_the_same_bytes) {
  Line other(line.cluster());
  const std::string space = other.new_space();
  const std::string cursor = WsClient(other.port(), other.reader()).open({.space = space}).cursor();
  const auto ask = [&](const std::string& with) {
    return answer(other.reader(), {.space = space, .cursor = with}, other.port());
  };
  ASSERT_THAT(ask(cursor), HasSubstr("\"resumed\":true"));
  const std::string refused = ask(cursor + "A");
  other.gateway().process().kill();
  other.sql("delete from viewgate.keys");
  other.gateway().start_again();
  EXPECT_THAT(refused, HasSubstr(invalid));
  EXPECT_EQ(ask(cursor), refused);
}

TEST_F(Cursors, row_41_parameters_of_the_same_meaning_are_the_same) {
  const std::string space = line.new_space();
  write(space, 4101);
  const std::string cursor = cursor_of({.space = space, .view = "between_n", .params = R"({"low":0,"high":9})"});
  for (const char* params :
       {R"({"high":9,"low":0})", R"( { "low" : 0.0 , "high" : 9.00 } )", R"({"lo\u0077":0,"high":9e0})"}) {
    EXPECT_THAT(answer(line.reader(), {.space = space, .view = "between_n", .params = params, .cursor = cursor}),
                HasSubstr("\"resumed\":true"))
        << params;
  }
}

TEST_F(Cursors, row_42_a_cursor_below_the_horizon_is_reset_with_its_reason_and_a_bootstrap_follows) {
  const std::string space = line.new_space();
  write(space, 4201);
  line.settled_head(space);
  const std::string cursor = cursor_of({.space = space});
  for (int id = 4202; id < 4220; ++id) write(space, id);
  line.sql("delete from items where id = 4201");
  line.settled_head(space);
  line.session().query("select viewgate.prune($1, 2)", {space});
  line.session().query("select viewgate.prune_batch($1, 1000)", {space});
  // The gateway may still hold what the ledger has lost; another one, which never saw these commits, must not.
  GatewayProcess fresh(line.gateway_options());
  WsClient client(fresh.port(), line.reader());
  client.send(subscribe_text({.space = space, .cursor = cursor}));
  const Document reset = client.next_of("reset_required");
  EXPECT_EQ(reset.plain("reason"), "history_pruned") << reset.text;
  EXPECT_EQ(reset.plain("id"), "s");
  std::string records;
  Document document = client.next();
  for (; document.type() != "ready" && !document.text.empty(); document = client.next()) {
    EXPECT_TRUE(document.type() == "subscribed" || document.type() == "snapshot") << document.text;
    records += document.raw("records");
  }
  EXPECT_EQ(document.type(), "ready");
  EXPECT_THAT(records, ::testing::AllOf(HasSubstr("[4219]"), ::testing::Not(HasSubstr("[4201]"))))
      << "the bootstrap replaces the set";
  write(space, 4230);
  EXPECT_THAT(client.next_of("commit").text, HasSubstr("[4230]"));
}

TEST_F(Cursors, row_44_a_prune_that_passes_a_slow_reader_resets_that_one_and_no_other) {
  GatewayOptions options = line.gateway_options();
  options.set("--ring-group-bytes", "4KiB");
  options.set("--ring-space-bytes", "4KiB");
  options.set("--history-bytes", "4KiB");
  GatewayProcess gateway(options);
  const std::string space = line.new_space();
  WsClient slow(gateway.port(), line.reader());
  WsClient live(gateway.port(), line.reader());
  slow.open({.space = space, .view = "everything"});
  live.open({.space = space, .view = "everything"});
  // More than the two sockets' buffers hold, so the slow one's position falls far behind the ring.
  constexpr int commits = 400;
  for (int id = 4401; id < 4401 + commits; ++id) {
    line.session().query("insert into items (space, id, x) values ($1, $2, repeat('x', 20000))",
                         {space, std::to_string(id)});
    if (id % 20 == 0) {
      line.settled_head(space);
      live.next_of("commit");
    }
  }
  const std::int64_t head = line.settled_head(space);
  std::int64_t told = 0;
  while (told < head) told = live.next_of("commit").number("sequence");
  line.session().query("select viewgate.prune($1, 1)", {space});
  while (line.session().query("select viewgate.prune_batch($1, 1000)", {space}).at(0).at(0) != "0") {
  }
  const Document reset = slow.next_of("reset_required");
  EXPECT_EQ(reset.plain("reason"), "history_pruned") << reset.text;
  EXPECT_EQ(slow.next_of("ready").number("sequence"), head);
  write(space, 4999);
  EXPECT_THAT(slow.next_of("commit").text, HasSubstr("[4999]"));
  const Document next = live.next();
  EXPECT_EQ(next.type(), "commit") << next.text;
  EXPECT_THAT(next.text, HasSubstr("[4999]"));
}

}  // namespace
}  // namespace viewgate::testing
