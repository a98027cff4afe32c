// Rows about frames that RFC 6455 does not allow, byte by byte, and about frames that it allows and nobody sends so often.
// Each says what the close code is; what every row demands besides stands in row_test.hpp.
#include "row_test.hpp"

namespace viewgate::testing {
namespace {

class AttackFrames : public Row {
 protected:
  /// The close code that these bytes bring, after the upgrade and before hello.
  std::uint16_t code_of(const std::string& bytes) {
    RawWebSocket socket(line.port());
    socket.socket().send(bytes);
    return socket.read_close();
  }
  /// The same on a socket with an open view, which must not matter.
  std::uint16_t code_inside_a_session(const std::string& bytes) {
    WsClient client(line.port(), line.reader());
    client.open({.space = line.new_space()});
    client.raw().socket().send(bytes);
    return client.closed_with();
  }
  void expect_code(std::uint16_t code, const char* name, const std::string& bytes) {
    EXPECT_EQ(code_of(bytes), code) << name;
    EXPECT_EQ(code_inside_a_session(bytes), code) << name << ", inside a session";
  }
};

TEST_F(AttackFrames, row_01_an_unmasked_frame_a_reserved_bit_and_an_unknown_opcode_are_closed_with_1002) {
  expect_code(1002, "not masked", frame_bytes({.masked = false}, "{}"));
  for (const std::uint8_t bit : std::initializer_list<std::uint8_t>{1, 2, 4})
    expect_code(1002, "reserved bit", frame_bytes({.reserved = bit}, "{}"));
  for (const std::uint8_t opcode : std::initializer_list<std::uint8_t>{3, 7, 11, 15})
    expect_code(1002, "opcode", frame_bytes({.opcode = opcode}, "{}"));
}

TEST_F(AttackFrames, row_02_a_fragmented_or_long_control_frame_is_closed_with_1002) {
  for (const std::uint8_t opcode : {Opcode::ping, Opcode::pong, Opcode::close}) {
    expect_code(1002, "fragmented", frame_bytes({.opcode = opcode, .final = false}, "a"));
    expect_code(1002, "of 126 bytes", frame_bytes({.opcode = opcode}, std::string(126, 'a')));
  }
}

TEST_F(AttackFrames, row_03_a_continuation_of_nothing_and_a_message_inside_another_are_closed_with_1002) {
  const std::string begun = frame_bytes({.final = false}, "{");
  expect_code(1002, "continuation", frame_bytes({.opcode = Opcode::continuation}, "}"));
  expect_code(1002, "message inside", begun + frame_bytes({}, "{}"));
  expect_code(1002, "binary inside", begun + frame_bytes({.opcode = Opcode::binary}, "{}"));
  const std::string ended = frame_bytes({.opcode = Opcode::continuation}, "}");
  EXPECT_EQ(code_inside_a_session(begun + ended + ended), 1002) << "continued after its end";
}

/// The two bytes of a masked text frame's head, then a length in so many bytes.
std::string head_with_length(char form, std::uint64_t length, int bytes) {
  std::string out{'\x81', static_cast<char>(0x80 | form)};
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(length >> (8 * i) & 0xff);
  return out + "abcd";
}

TEST_F(AttackFrames, row_04_a_length_in_more_bytes_than_it_needs_or_with_its_top_bit_is_closed_with_1002) {
  expect_code(1002, "125 in two bytes", head_with_length(126, 125, 2));
  expect_code(1002, "0 in two bytes", head_with_length(126, 0, 2));
  expect_code(1002, "65535 in eight bytes", head_with_length(127, 65535, 8));
  expect_code(1002, "top bit", head_with_length(127, std::uint64_t{1} << 63, 8));
}

TEST_F(AttackFrames, row_04_a_claimed_tebibyte_is_closed_with_1009_and_nothing_is_allocated) {
  GatewayOptions options = line.gateway_options();
  options.measure_memory();
  GatewayProcess gateway(options);
  const std::uint64_t before = gateway.rss_bytes();
  std::vector<std::unique_ptr<RawWebSocket>> sockets;
  for (int i = 0; i < 50; ++i) {
    sockets.push_back(std::make_unique<RawWebSocket>(gateway.port()));
    sockets.back()->socket().send(head_with_length(127, std::uint64_t{1} << 40, 8));
  }
  for (const auto& socket : sockets) EXPECT_EQ(socket->read_close(), 1009);
  constexpr std::uint64_t slack = std::uint64_t{32}
                                  << 20;  // fifty times what a claim of 64 KiB would take, ten times over
  EXPECT_LT(gateway.rss_bytes(), before + slack);
}

TEST_F(AttackFrames, row_05_text_that_is_not_utf_8_is_closed_with_1007_at_the_first_bad_byte) {
  const std::vector<std::pair<const char*, std::string>> bad{
      {"stray continuation", "\x80"},
      {"overlong slash", "\xc0\xaf"},
      {"overlong NUL", "\xe0\x80\x80"},
      {"surrogate", "\xed\xa0\x80"},
      {"beyond U+10FFFF", "\xf4\x90\x80\x80"},
      {"five bytes", "\xf8\x88\x80\x80\x80"},
      {"0xff", "\xff"},
  };
  for (const auto& [name, bytes] : bad) {
    expect_code(1007, name, frame_bytes({}, "{\"type\":\"" + bytes + "\"}"));
    // The message goes on for ever: the close comes for the byte, not for the end.
    expect_code(1007, name, frame_bytes({.final = false}, "{\"type\":\"" + bytes));
    expect_code(1007, name, frame_bytes({.claimed_length = 16'000}, "{\"type\":\"" + bytes));
  }
  expect_code(1007, "cut at the end of the message", frame_bytes({}, "{\"type\":\"\xe2\x82"));
  expect_code(1007, "cut at a fragment, and another follows",
              frame_bytes({.final = false}, "\xe2\x82") + frame_bytes({.opcode = Opcode::continuation}, "x"));
}

TEST_F(AttackFrames, row_05_a_character_cut_by_fragments_and_by_packets_is_whole) {
  WsClient client(line.port(), line.reader());
  const std::string text = subscribe_text({.id = "\xf0\x9f\x98\x80", .space = line.new_space()});
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 >= text.size();
    const std::string bytes =
        frame_bytes({.opcode = i == 0 ? Opcode::text : Opcode::continuation, .final = last}, text.substr(i, 4));
    for (const char byte : bytes) client.raw().socket().send({&byte, 1});
  }
  EXPECT_EQ(client.next().plain("id"), "\xf0\x9f\x98\x80");
}

TEST_F(AttackFrames, row_08_a_message_of_too_many_fragments_is_closed_with_1008) {
  std::string bytes = frame_bytes({.final = false}, "{");
  for (int i = 0; i < 64; ++i) bytes += frame_bytes({.opcode = Opcode::continuation, .final = false}, "");
  expect_code(1008, "empty continuations", bytes);
}

TEST_F(AttackFrames, row_08_a_message_that_does_not_end_in_time_is_closed_with_1008_also_when_bytes_keep_coming) {
  WsClient silent(line.port(), line.reader());
  silent.raw().socket().send(frame_bytes({.final = false}, "{"));
  EXPECT_EQ(silent.closed_with(), 1008);

  WsClient busy(line.port(), line.reader());
  const std::string endless = frame_bytes({}, std::string(60'000, ' '));
  std::size_t sent = 10;
  busy.raw().socket().send(endless.substr(0, sent));
  std::uint16_t code = 0;
  EXPECT_TRUE(eventually([&] {
    busy.raw().socket().send(endless.substr(sent++, 1));
    code = busy.closed_with(std::chrono::milliseconds(20));
    return code != 0;
  }));
  EXPECT_EQ(code, 1008);
}

TEST_F(AttackFrames, row_09_a_close_with_a_code_that_may_not_travel_is_answered_1002_and_a_bad_reason_1007) {
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535}) {
    expect_code(1002, "code", frame_bytes({.opcode = Opcode::close}, close_payload(static_cast<std::uint16_t>(code))));
  }
  expect_code(1002, "half a code", frame_bytes({.opcode = Opcode::close}, "\x03"));
  expect_code(1007, "reason", frame_bytes({.opcode = Opcode::close}, close_payload(1000, "\xff")));
  for (const int code : {1000, 1001, 3000, 4999}) {
    expect_code(static_cast<std::uint16_t>(code), "echoed",
                frame_bytes({.opcode = Opcode::close}, close_payload(static_cast<std::uint16_t>(code), "bye")));
  }
  expect_code(1000, "without a code", frame_bytes({.opcode = Opcode::close}, ""));
}

TEST_F(AttackFrames, row_11_a_flood_of_pings_or_pongs_is_closed_with_4029) {
  for (const std::uint8_t opcode : {Opcode::ping, Opcode::pong}) {
    std::string flood;
    for (int i = 0; i < 2000; ++i) flood += frame_bytes({.opcode = opcode}, "x");
    expect_code(4029, "flood", flood);
  }
}

TEST_F(AttackFrames, row_11_the_pong_answers_the_latest_ping) {
  WsClient client(line.port(), line.reader());
  client.raw().socket().send(frame_bytes({.opcode = Opcode::ping}, "first") +
                             frame_bytes({.opcode = Opcode::ping}, "last"));
  std::string payload;
  while (payload != "last") {
    const auto frame = client.raw().read_frame();
    ASSERT_TRUE(frame);
    if (frame->opcode == Opcode::pong) payload = frame->payload;
  }
}

}  // namespace
}  // namespace viewgate::testing
