// Rows about frames and messages: bytes made by hand against the built program.
#include <set>

#include "row_test.hpp"

namespace viewgate::testing {
namespace {

using ::testing::HasSubstr;

class Frames : public Row {
 protected:
  std::string hello() { return R"({"type":"hello","protocol":1,"token":")" + line.reader() + "\"}"; }
};

TEST_F(Frames, row_06_a_binary_message_is_closed_with_1003) {
  RawWebSocket socket(line.port());
  socket.send({.opcode = binary}, "hello");
  EXPECT_EQ(socket.read_close(), 1003);
}

TEST_F(Frames, row_07_a_message_over_the_limit_is_closed_with_1009_before_it_has_come) {
  WsClient whole(line.port(), line.reader());
  whole.raw().send({.claimed_length = 64 * 1024 + 1}, "only the begin of it");
  EXPECT_EQ(whole.closed_with(), 1009);

  RawWebSocket stranger(line.port());
  stranger.send({.claimed_length = 16 * 1024 + 1}, "only the begin of it");
  EXPECT_EQ(stranger.read_close(), 1009);

  RawWebSocket huge(line.port());
  huge.send({.claimed_length = std::uint64_t{1} << 40}, "");
  EXPECT_EQ(huge.read_close(), 1009);

  RawWebSocket parts(line.port());
  const std::string piece(40 * 1024, ' ');
  parts.send({.final = false}, piece);
  parts.send({.opcode = continuation}, piece);
  EXPECT_EQ(parts.read_close(), 1009);
}

TEST_F(Frames, row_07_a_message_at_the_limit_is_read) {
  WsClient client(line.port(), line.reader());
  std::string text = R"({"type":"pong"})";
  text.insert(1, std::string(64 * 1024 - text.size(), ' '));
  client.send(text);
  client.send(subscribe_text({.space = line.new_space()}));
  EXPECT_EQ(client.next().type(), "subscribed");
}

TEST_F(Frames, row_10_what_comes_after_a_close_is_ignored_and_the_socket_goes_away) {
  WsClient client(line.port(), line.reader());
  client.raw().send({.opcode = Opcode::close}, close_payload(1000));
  client.send(subscribe_text({.space = line.new_space()}));
  EXPECT_EQ(client.raw().read_close(), 1000);
  client.send(subscribe_text({.space = line.new_space()}));
  EXPECT_TRUE(client.raw().socket().wait_closed());
}

TEST_F(Frames, row_20_silence_instead_of_hello_is_closed_with_4001) {
  RawWebSocket socket(line.port());
  EXPECT_EQ(socket.read_close(), 4001);
}

TEST_F(Frames, row_20_anything_before_hello_is_closed_with_4001) {
  for (const std::string& text :
       {subscribe_text({}), std::string(R"({"type":"pong"})"), std::string(R"({"type":"refresh","token":"x"})")}) {
    RawWebSocket socket(line.port());
    socket.send_text(text);
    EXPECT_EQ(socket.read_close(), 4001) << text;
  }
}

std::vector<Document> parts_of_a_commit(WsClient& client) {
  std::vector<Document> out;
  do out.push_back(client.next_of("commit"));
  while (out.back().raw("last") == "false");
  return out;
}

TEST_F(Frames, row_50_a_commit_above_the_frame_limit_comes_whole_and_moves_the_cursor_with_its_last_part_only) {
  constexpr int changes = 10'000;
  GatewayOptions options = line.gateway_options();
  options.set("--ledger-part-bytes", "64KiB");
  options.set("--ring-group-bytes", "64MiB");  // or a reader that is slow here is told to resume inside the commit
  GatewayProcess gateway(options);
  const SubscribeText what{.space = line.new_space(), .view = "everything"};
  WsClient client(gateway.port(), line.reader());
  const Opened opened = client.open(what);
  SubscribeText again = what;
  again.cursor = opened.cursor();
  line.session().query(
      "insert into items (space, id, x) select $1, 5000000 + i, repeat('x', 60) from generate_series(1, $2::int4) i",
      {what.space, std::to_string(changes)});
  const auto expect_whole = [&](WsClient& reader) {
    const std::vector<Document> parts = parts_of_a_commit(reader);
    EXPECT_GT(parts.size(), 3U);
    std::set<std::string> keys;
    int events = 0;
    for (const Document& part : parts) {
      EXPECT_LT(part.text.size(), 256U * 1024);
      EXPECT_EQ(part.number("sequence"), 1);
      const bool is_last = &part == &parts.back();
      EXPECT_EQ(part.plain("position").empty(), !is_last);
      EXPECT_EQ(part.plain("at").empty(), !is_last);
      const std::string mark = "\"key\":";
      for (std::size_t at = part.text.find(mark); at != std::string::npos; at = part.text.find(mark, at + 1)) {
        keys.insert(part.text.substr(at, part.text.find(']', at) - at));
        ++events;
      }
    }
    EXPECT_EQ(events, changes);
    EXPECT_EQ(keys.size(), std::size_t{changes});
    return parts.back().plain("position");
  };
  const std::string position = expect_whole(client);
  {
    // Who is cut off inside the commit has the cursor of before it still, and gets all of it.
    WsClient cut(gateway.port(), line.reader());
    cut.open(again);
    EXPECT_EQ(cut.next_of("commit").raw("last"), "false");
  }
  WsClient back(gateway.port(), line.reader());
  EXPECT_TRUE(back.open(again).resumed());
  EXPECT_EQ(expect_whole(back), position);
  again.cursor = opened.context() + "." + position;
  WsClient behind_it(gateway.port(), line.reader());
  EXPECT_TRUE(behind_it.open(again).resumed());
  line.session().query("insert into items (space, id) values ($1, 5099999)", {what.space});
  EXPECT_EQ(behind_it.next_of("commit").number("sequence"), 2);
}

struct Text {
  const char* name;
  std::string text;
};

std::string repeated(std::string_view what, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += what;
  return out;
}

std::string many_members() {
  std::string out = R"({"type":"subscribe","id":"s","space":"x","view":"open","params":{)";
  for (int i = 0; i < 5000; ++i) out += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
  return out + "}}";
}

std::vector<Text> not_messages() {
  return {
      {"not_json", "hello"},
      {"empty", ""},
      {"cut", R"({"type":"pong")"},
      {"an_array", R"([{"type":"pong"}])"},
      {"two_values", R"({"type":"pong"}{"type":"pong"})"},
      {"two_lines", "{\"type\":\"pong\"}\n{\"type\":\"pong\"}"},
      {"byte_order_mark", "\xef\xbb\xbf{\"type\":\"pong\"}"},
      {"not_a_number", R"({"type":"subscribe","id":"s","space":"x","view":"open","params":{"low":NaN}})"},
      {"too_deep", R"({"type":"subscribe","id":"s","space":"x","view":"open","params":)" + repeated("{\"a\":", 32) +
                       "1" + repeated("}", 33)},
      {"too_many_members", many_members()},
      {"key_twice", R"({"type":"pong","type":"pong"})"},
      {"key_twice_inside", R"({"type":"subscribe","id":"s","space":"x","view":"open","params":{"low":1,"low":2}})"},
      {"key_twice_escaped",
       R"({"type":"subscribe","id":"s","space":"x","view":"open","params":{"low":1,"lo\u0077":2}})"},
  };
}

TEST_F(Frames, row_30_and_row_31_what_is_not_one_json_object_with_unique_keys_is_closed_with_4000) {
  for (const Text& each : not_messages()) {
    WsClient client(line.port(), line.reader());
    client.send(each.text);
    EXPECT_EQ(client.closed_with(), 4000) << each.name;
  }
}

TEST_F(Frames, row_32_a_bad_request_is_told_by_name_and_the_third_closes_with_4000) {
  struct Request {
    const char* text;
    const char* names;
  };
  const std::vector<std::vector<Request>> rounds{
      {{R"({"type":"dance"})", "type"},
       {R"({"type":"subscribe","id":"s","space":"x","view":"open","wiew":"open"})", "wiew"},
       {R"({"type":"subscribe","id":"s","space":"x"})", "view"}},
      {{R"({"type":"subscribe","id":7,"space":"x","view":"open"})", "id"},
       {R"({"type":"unsubscribe"})", "id"},
       {R"({"id":"s"})", "type"}},
  };
  for (const auto& round : rounds) {
    WsClient client(line.port(), line.reader());
    for (std::size_t i = 0; i + 1 < round.size(); ++i) {
      client.send(round[i].text);
      const Document error = client.next();
      EXPECT_EQ(error.type(), "error") << round[i].text;
      EXPECT_EQ(error.plain("code"), "bad_request") << error.text;
      EXPECT_THAT(error.plain("message"), HasSubstr(round[i].names)) << error.text;
    }
    EXPECT_EQ(client.open({.id = "between", .space = line.new_space()}).ready.type(), "ready")
        << "the connection stays";
    client.send(round.back().text);
    EXPECT_EQ(client.closed_with(), 4000);
  }
}

TEST_F(Frames, row_37_an_id_in_use_is_refused_and_its_subscription_goes_on) {
  const std::string space = line.new_space();
  WsClient client(line.port(), line.reader());
  client.open({.id = "a", .space = space});
  client.send(subscribe_text({.id = "a", .space = space, .view = "everything"}));
  const Document error = client.next();
  EXPECT_EQ(error.plain("code"), "duplicate_subscription") << error.text;
  EXPECT_EQ(error.plain("id"), "a");
  line.sql("insert into items (space, id, status) values ('" + space + "', 3701, 'open')");
  const Document commit = client.next();
  EXPECT_EQ(commit.type(), "commit") << commit.text;
  EXPECT_THAT(commit.text, HasSubstr("[3701]"));
}

TEST_F(Frames, row_37_after_five_reconnects_each_commit_comes_once_per_id_and_unsubscribing_one_stops_only_it) {
  const std::string space = line.new_space();
  std::unique_ptr<WsClient> client;
  Opened a, b;
  std::optional<std::string> cursor_a, cursor_b;
  int id = 3710;
  const auto write = [&] {
    line.sql("insert into items (space, id, status, a) values ('" + space + "', " + std::to_string(++id) +
             ", 'open', 1)");
  };
  for (int round = 0; round < 5; ++round) {
    client = std::make_unique<WsClient>(line.port(), line.reader());
    a = client->open({.id = "A", .space = space, .view = "open", .cursor = cursor_a});
    b = client->open({.id = "B", .space = space, .view = "either", .cursor = cursor_b});
    EXPECT_EQ(a.resumed(), round > 0);
    EXPECT_EQ(b.resumed(), round > 0);
    write();
    for (int i = 0; i < 2; ++i) {
      const Document commit = client->next();
      ASSERT_EQ(commit.type(), "commit") << commit.text;
      EXPECT_THAT(commit.text, HasSubstr("[" + std::to_string(id) + "]")) << "one of an earlier round, again";
      const bool of_a = commit.plain("channel") == a.subscribed.plain("channel");
      (of_a ? cursor_a : cursor_b) = (of_a ? a : b).context() + "." + commit.plain("position");
    }
  }
  client->send(R"({"type":"unsubscribe","id":"A"})");
  EXPECT_EQ(client->next().plain("reason"), "requested");
  write();
  write();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client->next().plain("channel"), b.subscribed.plain("channel"));
}

}  // namespace
}  // namespace viewgate::testing
