// The strict reader: what is not one JSON object ends the connection (rows 30, 31), what is one but no message of this
// protocol is answered with the field's name (rows 32, 33), and nothing else is read from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "gateway/golden_files.hpp"
#include "gateway/json_text.hpp"
#include "gateway/protocol_json.hpp"
#include "support/seed.hpp"

namespace viewgate::gateway {
namespace {

// "bad message: …", "bad request [id]: …" or "accepted".
std::string outcome(std::string_view text) {
  const ParsedClientMessage parsed = parse_client_message(text);
  if (const auto* bad = std::get_if<BadMessage>(&parsed)) return "bad message: " + std::string(bad->reason);
  if (const auto* bad = std::get_if<BadRequest>(&parsed)) {
    return "bad request" + (bad->id ? " [" + *bad->id + "]" : std::string()) + ": " + bad->message;
  }
  return "accepted";
}

template <class Message>
Message accepted(std::string_view text) {
  return std::get<Message>(std::get<ClientMessage>(parse_client_message(text)));
}

std::string subscribe_with(const std::string& more) {
  return R"({"type":"subscribe","id":"a","space":"7","view":"v")" + more + "}";
}

TEST(ClientMessages, row_30_what_is_not_one_json_object_is_a_bad_message) {
  for (const std::string text : {"",
                                 " ",
                                 "hello",
                                 "{",
                                 "}",
                                 "[",
                                 "{]",
                                 R"({"type":"pong")",
                                 R"({"type":"pong"}})",
                                 R"({"type":"pong"}{"type":"pong"})",
                                 "{\"type\":\"pong\"}\n{\"type\":\"pong\"}",
                                 R"({"type":"pong"} x)",
                                 R"({"type":NaN})",
                                 R"({"type":Infinity})",
                                 R"({"type":-Infinity})",
                                 R"({"type":undefined})",
                                 R"({'type':'pong'})",
                                 R"({type:"pong"})",
                                 R"({"type":"pong",})",
                                 R"({,"type":"pong"})",
                                 R"({"type" "pong"})",
                                 R"({"type":})",
                                 R"({"type":"pong" /* comment */})",
                                 R"({"type":01})",
                                 R"({"type":1.})",
                                 R"({"type":.5})",
                                 R"({"type":+1})",
                                 R"({"type":1e})",
                                 R"({"type":0x10})",
                                 R"({"type":- 1})",
                                 R"({"type":tru})",
                                 R"({"type":True})",
                                 R"({"type":"\x41"})",
                                 R"({"type":"\u12"})",
                                 R"({"type":"\u12G4"})",
                                 R"({"type":"pong)",
                                 R"({"type":"pong\)",
                                 R"({"type":"pong\"})",
                                 "{\"type\":\"a\tb\"}",
                                 "{\"type\":\"a\nb\"}",
                                 "[]",
                                 "5",
                                 "null",
                                 R"("pong")",
                                 R"([{"type":"pong"}])",
                                 "[1,]",
                                 "[,1]"}) {
    EXPECT_THAT(outcome(text), ::testing::StartsWith("bad message: ")) << text;
  }
  EXPECT_EQ(outcome("\xEF\xBB\xBF{\"type\":\"pong\"}"), "bad message: a byte order mark");
  EXPECT_EQ(outcome("{\"type\":\"\xC3\x28\"}"), "bad message: not UTF-8");
  EXPECT_EQ(outcome(std::string("{\"type\":\"a\0b\"}", 14)), "bad message: a control character inside a string");
  EXPECT_EQ(outcome(std::string("{\"type\":\"pong\"}\0", 16)), "bad message: something follows the JSON value");
  EXPECT_EQ(outcome("[]"), "bad message: not a JSON object");
}

TEST(ClientMessages, row_30_nesting_of_32_is_read_and_of_33_is_not) {
  const auto nested = [](std::size_t depth) {  // with the message and params themselves
    return subscribe_with(R"(,"params":{"x":)" + std::string(depth - 2, '[') + std::string(depth - 2, ']') + "}");
  };
  EXPECT_EQ(outcome(nested(limits::json_depth)), "accepted");
  EXPECT_EQ(outcome(nested(limits::json_depth + 1)), "bad message: nested too deeply");
  EXPECT_EQ(outcome(std::string(60'000, '[')), "bad message: nested too deeply");
  EXPECT_THAT(outcome(R"({"a":)" + std::string(60'000, '{')), ::testing::StartsWith("bad message: "));
}

TEST(ClientMessages, row_30_4096_members_are_read_and_5000_are_not) {
  const auto with_members = [](std::size_t count) {  // four of the message, params, and the rest inside
    std::string params;
    for (std::size_t i = 0; i + 5 < count; ++i) params += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
    return subscribe_with(R"(,"params":{)" + params + "}");
  };
  EXPECT_EQ(outcome(with_members(limits::json_members)), "accepted");
  EXPECT_EQ(outcome(with_members(limits::json_members + 1)), "bad message: too many members");
  EXPECT_EQ(outcome(with_members(5000)), "bad message: too many members");
}

TEST(ClientMessages, row_31_a_name_twice_is_a_bad_message_at_any_depth_and_in_any_spelling) {
  for (const std::string text :
       {R"({"type":"pong","type":"pong"})", R"({"type":"pong","\u0074ype":"x"})",
        R"({"type":"pong","x":{"a":1,"b":2,"a":1}})", R"({"type":"pong","x":[[{"a":1,"\u0061":1}]]})",
        R"({"type":"pong","":1,"":2})", R"({"type":"pong","\ud83d\ude00":1,"😀":2})",
        R"({"type":"pong","\ud800":1,"\uD800":2})"}) {
    EXPECT_EQ(outcome(text), "bad message: a name twice in one object") << text;
  }
  EXPECT_EQ(outcome(subscribe_with(R"(,"params":{"a":{"a":1},"A":1,"b":{"a":1}})")), "accepted");
}

TEST(ClientMessages, row_32_unknown_types_and_members_are_named) {
  EXPECT_EQ(
      outcome(R"({"type":"mutate2"})"),
      "bad request: type: is not known; it must be hello, subscribe, unsubscribe, refresh, mutate, receipts or pong");
  EXPECT_EQ(
      outcome("{}"),
      "bad request: type: is missing; it must be hello, subscribe, unsubscribe, refresh, mutate, receipts or pong");
  EXPECT_EQ(outcome(R"({"type":7})"),
            "bad request: type: must be a string: hello, subscribe, unsubscribe, refresh, mutate, receipts or pong");
  EXPECT_EQ(outcome(R"({"type":"unsubscribe","id":"a","colour":1})"),
            "bad request: colour: is not known; the members are type, id");
  EXPECT_EQ(outcome(R"({"type":"pong","x":1})"), "bad request: x: is not known; this message has no members but type");
  EXPECT_EQ(outcome(R"({"type":"pong",")" + std::string(1000, 'x') + R"(":1})"),
            "bad request: " + std::string(64, 'x') + ": is not known; this message has no members but type");
  EXPECT_EQ(outcome(subscribe_with(R"(,"Cursor":"x")")),
            "bad request [a]: Cursor: is not known; the members are type, id, space, view, params, cursor");
}

TEST(ClientMessages, row_32_missing_and_wrongly_typed_members_are_named) {
  EXPECT_EQ(outcome(R"({"type":"hello","token":"t"})"), "bad request: protocol: is missing, it must be a number");
  EXPECT_EQ(outcome(R"({"type":"hello","protocol":1})"), "accepted") << "who has no token is nobody in particular";
  EXPECT_EQ(outcome(R"({"type":"hello","protocol":1,"token":null})"), "bad request: token: must be a string");
  EXPECT_EQ(outcome(R"({"type":"hello","protocol":"1","token":"t"})"), "bad request: protocol: must be a number");
  EXPECT_EQ(outcome(R"({"type":"refresh"})"), "bad request: token: is missing, it must be a string");
  EXPECT_EQ(outcome(R"({"type":"refresh","token":null})"), "bad request: token: must be a string");
  EXPECT_EQ(outcome(R"({"type":"unsubscribe"})"), "bad request: id: is missing, it must be a string");
  EXPECT_EQ(outcome(R"({"type":"unsubscribe","id":""})"), "bad request: id: must not be empty");
  EXPECT_EQ(outcome(R"({"type":"subscribe","id":"a","space":"7"})"),
            "bad request [a]: view: is missing, it must be a string");
  EXPECT_EQ(outcome(R"({"type":"subscribe","id":"a","space":7,"view":"v"})"),
            "bad request [a]: space: must be a string");
  EXPECT_EQ(outcome(subscribe_with(R"(,"params":[])")), "bad request [a]: params: must be an object");
  EXPECT_EQ(outcome(subscribe_with(R"(,"params":null)")), "bad request [a]: params: must be an object");
  EXPECT_EQ(outcome(subscribe_with(R"(,"cursor":null)")), "bad request [a]: cursor: must be a string");
}

TEST(ClientMessages, row_33_the_version_is_an_integer_that_every_client_can_hold) {
  for (const std::string number : {"9007199254740992", "-9007199254740992", "9007199254740993", "1.5", "1.0", "1e0",
                                   "-0", "-0.0", "99999999999999999999", "1e400"}) {
    EXPECT_EQ(outcome(R"({"type":"hello","token":"t","protocol":)" + number + "}"),
              "bad request: protocol: must be an integer within 2^53, without fraction, exponent or -0")
        << number;
  }
  EXPECT_EQ(accepted<Hello>(R"({"type":"hello","token":"t","protocol":9007199254740991})").protocol, 9007199254740991);
}

TEST(ClientMessages, a_hello_of_another_version_is_not_read_any_further) {
  const auto hello = accepted<Hello>(R"({"type":"hello","protocol":2,"token":{"kind":"new"},"extras":[]})");
  EXPECT_EQ(hello.protocol, 2);
  EXPECT_EQ(hello.token, "");
}

TEST(ClientMessages, text_that_no_database_can_hold_is_refused_by_field) {
  for (const std::string bad : {R"(\u0000)", R"(\ud800)", R"(\udc00)", R"(\ud800\u0041)"}) {
    EXPECT_EQ(outcome(R"({"type":"subscribe","id":"a","view":"v","space":")" + bad + R"("})"),
              "bad request [a]: space: must not hold U+0000 or half of a surrogate pair");
    EXPECT_EQ(outcome(R"({"type":"unsubscribe","id":")" + bad + R"("})"),
              "bad request: id: must not hold U+0000 or half of a surrogate pair");
  }
}

TEST(ClientMessages, the_sizes_of_members_are_bounded) {
  const auto unsubscribe = [](std::size_t size) {
    return R"({"type":"unsubscribe","id":")" + std::string(size, 'i') + R"("})";
  };
  EXPECT_EQ(outcome(unsubscribe(limits::id_bytes)), "accepted");
  EXPECT_EQ(outcome(unsubscribe(limits::id_bytes + 1)), "bad request: id: must be at most 64 bytes");
  const auto refresh = [](std::size_t size) {
    return R"({"type":"refresh","token":")" + std::string(size, 't') + R"("})";
  };
  EXPECT_EQ(outcome(refresh(limits::token_bytes)), "accepted");
  EXPECT_EQ(outcome(refresh(limits::token_bytes + 1)), "bad request: token: must be at most 8192 bytes");
  // Not the cursor: whatever is wrong with it has one answer, cursor_invalid, which is not this reader's to give.
  EXPECT_EQ(accepted<Subscribe>(subscribe_with(R"(,"cursor":")" + std::string(5000, 'c') + R"(")")).cursor->size(),
            5000U);
  EXPECT_EQ(accepted<Subscribe>(subscribe_with(R"(,"cursor":"")")).cursor, "");
}

TEST(ClientMessages, params_are_kept_as_the_text_that_came) {
  const std::string params = "{ \"b\" : 1.10,\t\"a\":[1e400, 9007199254740993,\"\\u00e9\\/\"]\n}";
  const auto message = accepted<Subscribe>(" \n" + subscribe_with(",\"params\":" + params + " ") + "\r\n");
  EXPECT_EQ(message.params, params);
  EXPECT_FALSE(message.cursor);
  EXPECT_EQ(accepted<Subscribe>(subscribe_with("")).params, "{}");
}

TEST(ClientMessages, escapes_are_read_as_the_characters_they_are) {
  const auto message = accepted<Subscribe>(
      R"({"\u0074ype":"sub\u0073cribe","id":"\"\\\/\b\f\n\r\t","space":"\u00e9\u20ac\ud83d\ude00","view":"v"})");
  EXPECT_EQ(message.id, "\"\\/\b\f\n\r\t");
  EXPECT_EQ(message.space, "é€😀");
}

TEST(ClientMessages, what_a_client_writes_is_read_as_it_was) {
  Subscribe sent{"i\"\\\n\x01", "é€😀/", "v", R"({"a":1})", "c.p"};
  std::string text;
  append_document(text, sent);
  EXPECT_EQ(
      text,
      "{\"type\":\"subscribe\",\"id\":\"i\\\"\\\\\\n\\u0001\",\"space\":\"é€😀/\",\"view\":\"v\",\"params\":{\"a\":1},"
      "\"cursor\":\"c.p\"}");
  const auto received = accepted<Subscribe>(text);
  EXPECT_EQ(received.id, sent.id);
  EXPECT_EQ(received.space, sent.space);
  EXPECT_EQ(received.params, sent.params);
  EXPECT_EQ(received.cursor, sent.cursor);
}

TEST(ClientMessages, any_cut_and_any_changed_byte_has_an_outcome_and_a_cut_is_never_accepted) {
  const unsigned seed = testing::seed_from_environment();
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (const test::GoldenFile& file : test::golden_files("client_")) {
    for (std::size_t cut = 0; cut < file.text.size(); ++cut) {
      // From a buffer of exactly that size, so that reading beyond it is seen.
      const std::vector<char> exact(file.text.begin(), file.text.begin() + static_cast<std::ptrdiff_t>(cut));
      EXPECT_THAT(outcome({exact.data(), exact.size()}), ::testing::StartsWith("bad message: "));
    }
    for (int round = 0; round < 2000; ++round) {
      std::string text = file.text;
      for (std::size_t i = 0; i <= random() % 3; ++i) text[random() % text.size()] = static_cast<char>(random());
      EXPECT_FALSE(outcome(text).empty());
    }
  }
}

}  // namespace
}  // namespace viewgate::gateway
