// What the frame reader makes of each thing that RFC 6455 allows or forbids: rows 1 to 10 of the fault table, frame by
// frame.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/codec_support.hpp"

namespace viewgate::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace test;

const std::string good = masked_frame(fin_text, "good");

// A header with an explicit length field: 126 = 16 bits, 127 = 64 bits.
std::string header_with_length(unsigned first, unsigned field, std::uint64_t length) {
  std::string out{static_cast<char>(first), static_cast<char>(0x80 | field)};
  for (int shift = field == 126 ? 8 : 56; shift >= 0; shift -= 8) out += static_cast<char>(length >> shift & 0xFF);
  return out;
}

TEST(WsReader, reads_messages_pings_and_pongs_in_order) {
  EXPECT_THAT(read_all(good + masked_frame(fin_ping, "p") + masked_frame(fin_pong, "") + masked_frame(fin_text, "")),
              ElementsAre("message good", "ping p", "pong ", "message "));
}

TEST(WsReader, joins_fragments_with_control_frames_between_them) {
  EXPECT_THAT(read_all(masked_frame(more_text, "a") + masked_frame(fin_ping, "p") +
                       masked_frame(more_continuation, "") + masked_frame(fin_continuation, "b") + good),
              ElementsAre("ping p", "message ab", "message good"));
}

TEST(WsReader, row_1_unmasked_frames_reserved_bits_and_unknown_opcodes_end_with_1002) {
  std::string unmasked;
  append_ws_text(unmasked, "hello");
  EXPECT_THAT(read_all(unmasked), ElementsAre("failure 1002"));
  for (const unsigned bit : {0x40U, 0x20U, 0x10U}) {
    EXPECT_THAT(read_all(masked_frame(fin_text | bit, "x")), ElementsAre("failure 1002"));
    EXPECT_THAT(read_all(masked_frame(fin_ping | bit, "x")), ElementsAre("failure 1002"));
  }
  for (const unsigned opcode : {3U, 4U, 5U, 6U, 7U, 11U, 12U, 13U, 14U, 15U}) {
    EXPECT_THAT(read_all(masked_frame(0x80 | opcode, "x")), ElementsAre("failure 1002"));
  }
}

TEST(WsReader, row_2_control_frames_are_whole_and_short) {
  for (const unsigned opcode : {8U, 9U, 10U}) {
    EXPECT_THAT(read_all(masked_frame(opcode, "x")), ElementsAre("failure 1002"));
    EXPECT_THAT(read_all(masked_frame(0x80 | opcode, std::string(126, 'x'))), ElementsAre("failure 1002"));
  }
  const std::string longest(125, 'x');
  EXPECT_THAT(read_all(masked_frame(fin_ping, longest)), ElementsAre("ping " + longest));
}

TEST(WsReader, row_3_fragments_come_in_their_order) {
  EXPECT_THAT(read_all(masked_frame(fin_continuation, "x")), ElementsAre("failure 1002"));
  EXPECT_THAT(read_all(masked_frame(more_continuation, "x")), ElementsAre("failure 1002"));
  EXPECT_THAT(read_all(good + masked_frame(fin_continuation, "x")), ElementsAre("message good", "failure 1002"));
  EXPECT_THAT(read_all(masked_frame(more_text, "x") + good), ElementsAre("failure 1002"));
  EXPECT_THAT(read_all(masked_frame(more_text, "x") + masked_frame(fin_binary, "y")), ElementsAre("failure 1002"));
}

TEST(WsReader, row_4_lengths_are_minimal_and_judged_before_the_payload) {
  EXPECT_THAT(read_all(header_with_length(fin_text, 126, 125)), ElementsAre("failure 1002"));
  EXPECT_THAT(read_all(header_with_length(fin_text, 127, 125)), ElementsAre("failure 1002"));
  EXPECT_THAT(read_all(header_with_length(fin_text, 127, 0xFFFF)), ElementsAre("failure 1002"));
  EXPECT_THAT(read_all(header_with_length(fin_text, 127, 1ULL << 63)), ElementsAre("failure 1002"));
  EXPECT_THAT(read_all(header_with_length(fin_text, 126, 126)), IsEmpty());

  WsReader reader(WsRole::server);
  EXPECT_THAT(read_pieces(reader, {header_with_length(fin_text, 127, 1ULL << 40)}), ElementsAre("failure 1009"));
  EXPECT_LT(reader.held_bytes(), 64U);
}

TEST(WsReader, row_5_text_ends_with_1007_at_the_first_byte_that_is_not_utf8) {
  const std::vector<std::string> bad{"\xFF",     "a\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                     "\xE2\x82", "\x80",      "\xF5"};
  for (const std::string& text : bad) {
    EXPECT_THAT(read_all(masked_frame(fin_text, text)), ElementsAre("failure 1007"));
    EXPECT_THAT(read_all(masked_frame(more_text, text) + masked_frame(fin_continuation, "")),
                ElementsAre("failure 1007"));
  }
  // The frame announces 100 bytes; the sixth is wrong and the rest never comes.
  const std::string frame = masked_frame(fin_text, "hello\xFF" + std::string(94, 'x'));
  const std::size_t header_bytes = 6;
  EXPECT_THAT(read_all(frame.substr(0, header_bytes + 5)), IsEmpty());
  EXPECT_THAT(read_all(frame.substr(0, header_bytes + 6)), ElementsAre("failure 1007"));
}

TEST(WsReader, row_5_a_character_may_be_cut_between_fragments) {
  EXPECT_THAT(read_all(masked_frame(more_text, "\xE2\x82") + masked_frame(fin_ping, "") +
                       masked_frame(fin_continuation, "\xAC")),
              ElementsAre("ping ", "message \xE2\x82\xAC"));
}

TEST(WsReader, row_6_a_binary_frame_ends_with_1003) {
  EXPECT_THAT(read_all(good + masked_frame(fin_binary, "x")), ElementsAre("message good", "failure 1003"));
  EXPECT_THAT(read_all(masked_frame(0x02, "x")), ElementsAre("failure 1003"));
}

TEST(WsReader, row_7_a_message_over_the_limit_ends_with_1009_whole_or_in_fragments) {
  const std::string most(limits::client_message_bytes, 'x');
  EXPECT_THAT(read_all(masked_frame(fin_text, most)), ElementsAre("message " + most));
  EXPECT_THAT(read_all(masked_frame(fin_text, most + 'x')), ElementsAre("failure 1009"));
  EXPECT_THAT(read_all(masked_frame(more_text, most) + masked_frame(fin_continuation, "")),
              ElementsAre("message " + most));
  EXPECT_THAT(read_all(masked_frame(more_text, most) + masked_frame(fin_continuation, "x")),
              ElementsAre("failure 1009"));
}

TEST(WsReader, row_8_too_many_fragments_end_with_1008_also_when_they_are_empty) {
  const auto fragments = [](std::size_t count, const std::string& payload) {
    std::string out = masked_frame(more_text, payload);
    for (std::size_t i = 1; i + 1 < count; ++i) out += masked_frame(more_continuation, payload);
    return out + masked_frame(fin_continuation, payload);
  };
  const std::string most(limits::client_message_fragments, 'x');
  EXPECT_THAT(read_all(fragments(limits::client_message_fragments, "x")), ElementsAre("message " + most));
  EXPECT_THAT(read_all(fragments(limits::client_message_fragments + 1, "x")), ElementsAre("failure 1008"));
  std::string endless = masked_frame(more_text, "");
  for (int i = 0; i < 10'000; ++i) endless += masked_frame(more_continuation, "");
  EXPECT_THAT(read_all(endless), ElementsAre("failure 1008"));
}

TEST(WsReader, row_8_an_unfinished_message_is_visible_from_its_first_byte_to_its_last) {
  WsReader reader(WsRole::server);
  EXPECT_FALSE(reader.inside_message());
  for (const std::string& stream : {masked_frame(more_text, "ab") + masked_frame(fin_continuation, "c"), good}) {
    for (std::size_t at = 0; at < stream.size(); ++at) {
      const auto events = read_pieces(reader, {stream.substr(at, 1)});
      EXPECT_EQ(events.empty(), at + 1 < stream.size());
      EXPECT_EQ(reader.inside_message(), events.empty()) << at;
    }
  }
}

TEST(WsReader, row_9_close_frames_are_checked) {
  EXPECT_THAT(read_all(masked_frame(fin_close, "")), ElementsAre("close 0 "));
  EXPECT_THAT(read_all(masked_frame(fin_close, "\x03")), ElementsAre("failure 1002"));
  for (const unsigned code : {0U, 999U, 1004U, 1005U, 1006U, 1015U, 1016U, 2999U, 5000U, 65535U}) {
    EXPECT_THAT(read_all(masked_frame(fin_close, close_payload(code, "bye"))), ElementsAre("failure 1002")) << code;
  }
  for (const unsigned code : {1000U, 1001U, 1003U, 1007U, 1011U, 1012U, 1014U, 3000U, 4000U, 4999U}) {
    EXPECT_THAT(read_all(masked_frame(fin_close, close_payload(code, "bye"))),
                ElementsAre("close " + std::to_string(code) + " bye"));
  }
  EXPECT_THAT(read_all(masked_frame(fin_close, close_payload(1000, "\xC3"))), ElementsAre("failure 1007"));
  EXPECT_THAT(read_all(masked_frame(fin_close, close_payload(1000, "\xED\xA0\x80"))), ElementsAre("failure 1007"));
}

TEST(WsReader, row_10_everything_after_a_close_or_a_failure_is_ignored) {
  EXPECT_THAT(read_all(masked_frame(fin_close, close_payload(1000, "")) + good + "garbage"),
              ElementsAre("close 1000 "));
  EXPECT_THAT(read_all(masked_frame(fin_binary, "") + good), ElementsAre("failure 1003"));
  WsReader reader(WsRole::server);
  EXPECT_THAT(read_pieces(reader, {masked_frame(fin_close, ""), good, good}), ElementsAre("close 0 "));
  EXPECT_TRUE(reader.ended());
}

TEST(WsReader, row_16_an_http_request_where_frames_belong_is_a_protocol_error) {
  EXPECT_THAT(read_all("GET /v1/socket HTTP/1.1\r\nHost: a\r\n\r\n"), ElementsAre("failure 1002"));
}

TEST(WsReader, whole_frames_are_read_in_place_and_nothing_is_held_between_messages) {
  WsReader reader(WsRole::server);
  const std::size_t idle = reader.held_bytes();
  std::string buffer = good + masked_frame(fin_ping, std::string(100, 'p'));
  std::span<char> input{buffer};
  const auto message = reader.next(input);
  ASSERT_TRUE(message);
  EXPECT_GE(message->text.data(), buffer.data());
  EXPECT_LE(message->text.data() + message->text.size(), buffer.data() + buffer.size());
  ASSERT_TRUE(reader.next(input));
  EXPECT_EQ(reader.held_bytes(), idle);

  const std::string large = masked_frame(fin_text, std::string(60'000, 'x'));
  EXPECT_EQ(read_pieces(reader, {large.substr(0, 50'000)}).size(), 0U);
  EXPECT_LT(reader.held_bytes(), 150'000U);
  EXPECT_EQ(read_pieces(reader, {large.substr(50'000)}).size(), 1U);
  EXPECT_EQ(reader.held_bytes(), idle);
}

TEST(WsReader, a_client_reads_what_a_server_writes_and_refuses_masked_frames) {
  std::string stream;
  append_ws_text(stream, "hello");
  append_ws_ping(stream, "p");
  append_ws_close(stream, 1012, "restart");
  EXPECT_THAT(read_all(stream, WsRole::client), ElementsAre("message hello", "ping p", "close 1012 restart"));
  EXPECT_THAT(read_all(good, WsRole::client), ElementsAre("failure 1002"));
}

}  // namespace
}  // namespace viewgate::gateway
