// How the byte stream is cut makes no difference: every stream below, cut at every byte, in every pair of places, byte
// by byte and at random, gives the same events as in one piece.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gateway/codec_support.hpp"
#include "support/seed.hpp"

namespace viewgate::gateway {
namespace {

using namespace test;

std::vector<std::string> streams() {
  const std::string text = "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80 and plain text of some length";
  return {
      masked_frame(fin_text, text) + masked_frame(fin_text, ""),
      masked_frame(more_text, text.substr(0, 3)) + masked_frame(fin_ping, "ping!") +
          masked_frame(more_continuation, text.substr(3, 5)) + masked_frame(fin_continuation, text.substr(8)),
      masked_frame(fin_ping, "") + masked_frame(fin_pong, "xyz") + masked_frame(fin_close, close_payload(4000, text)) +
          masked_frame(fin_text, "ignored"),
      masked_frame(fin_text, std::string(200, 'x')) + masked_frame(fin_text, "ok") + masked_frame(fin_binary, "b"),
      masked_frame(fin_text, "good") + masked_frame(fin_text, "bad \xED\xA0\x80") + masked_frame(fin_text, "ignored"),
      masked_frame(more_text, "\xF0\x9F") + masked_frame(fin_continuation, "\x98"),
      masked_frame(fin_text, "a") + masked_frame(fin_close, close_payload(1005, "")),
      masked_frame(fin_text, "a") + masked_frame(fin_close, close_payload(1000, "\xFF")),
      masked_frame(fin_text, "a") + std::string("\x81\xFF\x00\x00\x01\x00\x00\x00\x00\x00rest", 14),
      masked_frame(fin_text, "a") + std::string("\x81\x05hello", 7),
  };
}

std::vector<std::string> cut(const std::string& stream, std::vector<std::size_t> places) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (const std::size_t place : places) {
    out.push_back(stream.substr(begin, place - begin));
    begin = place;
  }
  out.push_back(stream.substr(begin));
  return out;
}

std::vector<std::string> events_of(const std::vector<std::string>& pieces) {
  WsReader reader(WsRole::server);
  return read_pieces(reader, pieces);
}

TEST(WsReaderSplit, every_cut_and_every_pair_of_cuts_gives_the_same_events) {
  for (const std::string& stream : streams()) {
    const auto expected = events_of({stream});
    for (std::size_t first = 0; first <= stream.size(); ++first) {
      for (std::size_t second = first; second <= stream.size(); ++second) {
        ASSERT_EQ(events_of(cut(stream, {first, second})), expected) << first << ' ' << second;
      }
    }
  }
}

TEST(WsReaderSplit, byte_by_byte_gives_the_same_events) {
  for (const std::string& stream : streams()) {
    std::vector<std::size_t> places(stream.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    EXPECT_EQ(events_of(cut(stream, places)), events_of({stream}));
  }
}

TEST(WsReaderSplit, random_bytes_cut_at_random_give_the_same_events_and_never_more_than_one_end) {
  const unsigned seed = testing::seed_from_environment();
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> seeds = streams();
  for (int round = 0; round < 3000; ++round) {
    std::string stream = seeds[random() % seeds.size()] + seeds[random() % seeds.size()];
    const std::size_t changes = random() % 4;
    for (std::size_t i = 0; i < changes; ++i) stream[random() % stream.size()] = static_cast<char>(random());
    std::vector<std::size_t> places(random() % 6);
    for (std::size_t& place : places) place = random() % (stream.size() + 1);
    std::sort(places.begin(), places.end());
    const auto events = events_of({stream});
    ASSERT_EQ(events_of(cut(stream, places)), events);
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      ASSERT_FALSE(events[i].starts_with("failure") || events[i].starts_with("close"));
    }
  }
}

}  // namespace
}  // namespace viewgate::gateway
