// The ring under every reader it can have: what is read from any position is exactly the documents after it, and what
// is gone is known to be gone. The property test compares it with a plain list under random appends, sizes and readers.
#include "gateway/ring.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace viewgate::gateway {
namespace {

ledger::Position at(std::int64_t sequence) {
  return {ledger::Sequence{sequence}, ledger::Stamp{static_cast<std::uint64_t>(sequence) * 1000 + 7}};
}

GroupFrame frame(std::int64_t sequence, std::size_t bytes = 10) {
  GroupFrame out;
  out.position = at(sequence);
  out.text = std::to_string(sequence) + ":";
  out.text.resize(std::max(bytes, out.text.size() + 1) - 1, '.');
  out.text += '\n';
  return out;
}

TEST(ring, an_empty_ring_covers_what_lies_above_its_begin) {
  Ring ring(1024);
  ring.restart(at(5));
  EXPECT_TRUE(ring.covers({5}));
  EXPECT_TRUE(ring.covers({9}));
  EXPECT_FALSE(ring.covers({4}));
  EXPECT_EQ(ring.offset_after({5}), ring.end());
  EXPECT_EQ(ring.last_sequence(), ledger::Sequence{5});
  EXPECT_TRUE(ring.slice(ring.end(), 100).text.empty());
}

TEST(ring, a_slice_ends_at_a_document_and_within_the_limit) {
  Ring ring(1 << 20);
  ring.restart(at(0));
  for (int i = 1; i <= 5; ++i) ring.append(frame(i, 10));
  const auto slice = ring.slice(ring.offset_after({1}), 25);
  EXPECT_EQ(slice.text, frame(2).text + frame(3).text);
  EXPECT_EQ(slice.position, at(3));
  EXPECT_EQ(ring.slice(slice.end, 1000).text, frame(4).text + frame(5).text);
  EXPECT_EQ(ring.slice(slice.end, 20).text, frame(4).text + frame(5).text);
  EXPECT_EQ(ring.slice(slice.end, 19).text, frame(4).text);
}

TEST(ring, what_is_forgotten_is_gone_and_who_had_read_it_reads_on) {
  Ring ring(1 << 20);
  ring.restart(at(0));
  for (int i = 1; i <= 6; ++i) ring.append(frame(i, 10));
  const auto behind = ring.offset_after({2});
  const auto at_four = ring.offset_after({4});
  ring.forget({4});
  EXPECT_FALSE(ring.holds(behind));
  EXPECT_FALSE(ring.covers({3}));
  EXPECT_EQ(ring.bytes(), 20U);
  EXPECT_EQ(ring.slice(at_four, 100).text, frame(5).text + frame(6).text);
  EXPECT_TRUE(ring.knows(at(4)));
  const auto end = ring.end();
  ring.forget({9});
  EXPECT_TRUE(ring.holds(end));
  EXPECT_EQ(ring.bytes(), 0U);
  EXPECT_EQ(ring.last_sequence(), ledger::Sequence{6});
  ring.append(frame(10));
  EXPECT_EQ(ring.slice(end, 100).text, frame(10).text);
}

TEST(ring, a_document_above_the_limit_comes_by_itself) {
  Ring ring(1 << 20);
  ring.restart(at(0));
  ring.append(frame(1, 500));
  ring.append(frame(2, 10));
  EXPECT_EQ(ring.slice(ring.offset_after({0}), 100).text, frame(1, 500).text);
}

TEST(ring, what_is_pushed_out_is_known_to_be_gone) {
  Ring ring(2048);
  ring.restart(at(0));
  for (int i = 1; i <= 1000; ++i) ring.append(frame(i, 64));
  EXPECT_LE(ring.bytes(), 2048U);
  EXPECT_GE(ring.bytes(), 1024U);
  EXPECT_FALSE(ring.covers({0}));
  EXPECT_TRUE(ring.covers(ring.begin_sequence()));
  const auto first = ring.slice(ring.offset_after(ring.begin_sequence()), 64);
  EXPECT_EQ(first.position.sequence, ring.begin_sequence().next());
  EXPECT_TRUE(ring.knows(at(1000)));
  EXPECT_TRUE(ring.knows(at(ring.begin_sequence().value)));
  EXPECT_FALSE(ring.knows(at(1)));
  EXPECT_FALSE(ring.knows({{1000}, {1}})) << "another stamp is another history";
}

TEST(ring, after_a_restart_no_old_reader_stands_in_it) {
  Ring ring(1024);
  ring.restart(at(0));
  ring.append(frame(1));
  const auto end = ring.end();
  ring.restart(at(7));
  EXPECT_FALSE(ring.holds(end));
  EXPECT_TRUE(ring.covers({7}));
  ring.append(frame(8));
  EXPECT_EQ(ring.slice(ring.offset_after({7}), 100).text, frame(8).text);
}

TEST(ring, any_reader_of_any_history_reads_exactly_what_follows_it) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Ring ring(512U << random() % 4);
    ring.restart(at(0));
    std::deque<GroupFrame> all;
    std::int64_t sequence = 0;
    Ring::Offset reader = ring.end();
    std::size_t read = 0;
    for (int step = 0; step < 600; ++step) {
      if (random() % 3 != 0) {
        sequence += 1 + random() % 3;
        all.push_back(frame(sequence, 8 + random() % 300));
        ring.append(all.back());
        continue;
      }
      if (!ring.holds(reader)) {  // falls off: goes on at the oldest frame held
        while (read < all.size() && all[read].position.sequence <= ring.begin_sequence()) ++read;
        reader = ring.offset_after(ring.begin_sequence());
      }
      const auto slice = ring.slice(reader, random() % 700);
      std::string expected;
      while (expected.size() < slice.text.size()) expected += all[read++].text;
      ASSERT_EQ(slice.text, expected);
      ASSERT_EQ(slice.text.empty(), reader == ring.end());
      reader = slice.end;
    }
  }
}

}  // namespace
}  // namespace viewgate::gateway
