// What each side writes is what the other side reads, and the headers are the bytes of RFC 6455.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/codec_support.hpp"

namespace viewgate::gateway {
namespace {

using ::testing::ElementsAre;
using namespace test;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += digits[static_cast<unsigned char>(byte) >> 4U];
    out += digits[static_cast<unsigned char>(byte) & 0xFU];
  }
  return out;
}

TEST(WsWrite, the_header_of_a_text_has_the_shortest_length) {
  EXPECT_EQ(hex(ws_text_header(0).view()), "8100");
  EXPECT_EQ(hex(ws_text_header(125).view()), "817d");
  EXPECT_EQ(hex(ws_text_header(126).view()), "817e007e");
  EXPECT_EQ(hex(ws_text_header(0xFFFF).view()), "817effff");
  EXPECT_EQ(hex(ws_text_header(0x10000).view()), "817f0000000000010000");
  EXPECT_EQ(hex(ws_text_header(0x0102030405060708).view()), "817f0102030405060708");
}

TEST(WsWrite, control_frames_are_the_bytes_of_the_rfc) {
  std::string out;
  append_ws_ping(out, "Hello");
  append_ws_pong(out, "");
  append_ws_close(out, 1000, "");
  EXPECT_EQ(hex(out),
            "890548656c6c6f"
            "8a00"
            "880203e8");
}

TEST(WsWrite, the_masked_example_of_the_rfc_comes_out_as_printed_there) {
  std::string out;
  append_ws_masked(out, WsOpcode::text, "Hello", 0x3D21FA37);  // the bytes 37 fa 21 3d on a little-endian machine
  EXPECT_EQ(hex(out), "818537fa213d7f9f4d5158");
}

TEST(WsWrite, a_close_reason_that_is_too_long_is_cut_between_characters) {
  std::string reason;
  while (reason.size() < 200) reason += "\xE2\x82\xAC";
  std::string out;
  append_ws_close(out, 4000, reason);
  EXPECT_EQ(out.size(), 2U + 2U + 123U);
  EXPECT_THAT(read_all(out, WsRole::client), ElementsAre("close 4000 " + reason.substr(0, 123)));
  out.clear();
  append_ws_close(out, 4000, "ab" + reason);
  EXPECT_THAT(read_all(out, WsRole::client), ElementsAre("close 4000 ab" + reason.substr(0, 120)));
}

TEST(WsWrite, texts_of_every_length_around_the_limits_arrive) {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 125U, 126U, 127U, 1000U, 65'535U, 65'536U}) {
    const std::string text(size, 'x');
    std::string from_server;
    append_ws_text(from_server, text);
    WsReader client(WsRole::client, WsLimits{.message_bytes = 1 << 20});
    EXPECT_THAT(read_pieces(client, {from_server}), ElementsAre("message " + text));
    std::string from_client;
    append_ws_masked(from_client, WsOpcode::text, text, 0xDEADBEEF);
    EXPECT_THAT(read_all(from_client), ElementsAre("message " + text));
  }
}

}  // namespace
}  // namespace viewgate::gateway
