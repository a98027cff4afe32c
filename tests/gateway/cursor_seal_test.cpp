// The cursor's two halves open exactly as they were sealed, and nothing else opens: every changed bit, cut, extension,
// foreign group and retired key is the same refusal. Sealing is deterministic, so the bytes are golden.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gateway/cursor.hpp"

namespace viewgate::gateway {
namespace {

CursorKeys::Key key(std::uint16_t id, char fill) { return {id, std::string(32, fill)}; }

const CursorKeys one_key({key(1, 'a')});

GroupId group(std::uint8_t fill) {
  GroupId id;
  id.bytes.fill(fill);
  return id;
}

const CursorContext context{.principal = digest16({"issuer", "ada"}),
                            .subscription = digest16({"7", "open_issues", "{}"}),
                            .view_version = 0x0102030405060708,
                            .claims = 42,
                            .group = group(7)};

const ledger::Position position{ledger::Sequence{41}, ledger::Stamp{0xFEDCBA9876543210}};

// Every text that differs from `token` in one bit of one of its bytes.
std::vector<std::string> one_bit_flipped(const std::string& token) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < token.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = token;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ 1U << bit);
      out.push_back(flipped);
    }
  }
  return out;
}

// `token` with another last character: other spare bits of base64, where it has some.
std::vector<std::string> other_last_characters(const std::string& token) {
  std::vector<std::string> out;
  for (const char last : std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")) {
    if (last != token.back()) out.push_back(token.substr(0, token.size() - 1) + last);
  }
  return out;
}

TEST(Cursor, a_context_opens_as_it_was_sealed) {
  EXPECT_EQ(open_context(one_key, seal_context(one_key, context)), context);
}

TEST(Cursor, a_position_opens_as_it_was_sealed) {
  const PositionSealer sealer(one_key, group(7));
  for (const std::int64_t sequence : {std::int64_t{0}, std::int64_t{1}, std::int64_t{41}, INT64_MAX}) {
    for (const std::uint64_t stamp : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
      const ledger::Position sealed{ledger::Sequence{sequence}, ledger::Stamp{stamp}};
      EXPECT_EQ(sealer.open(sealer.seal(sealed)), sealed);
    }
  }
}

TEST(Cursor, sealing_is_deterministic_and_the_bytes_are_golden) {
  EXPECT_EQ(PositionSealer(one_key, group(7)).seal(position), "AAEnzFa-YCe5o3Tj2YVT4vRltlKAgKDe6Amcf7MrJdWNHw");
  EXPECT_EQ(
      seal_context(one_key, context),
      "AAHVBW-ati7GhB4GCaE_yADyUe7ciVo2fC1x9ZNn91DcsDFQPDvFrevPPBD24FYOE1DL4yggTEstxO2doDeOjov3gXi3Dyi1bgbQ22wz9kVu1g");
  EXPECT_EQ(channel_of(group(7)), "b346e53afadb30d5");
}

TEST(Cursor, row_39_a_flipped_bit_a_cut_and_an_extension_are_refused) {
  const PositionSealer sealer(one_key, group(7));
  const std::string sealed_position = sealer.seal(position);
  const std::string sealed_context = seal_context(one_key, context);

  for (const std::string& changed : one_bit_flipped(sealed_position)) EXPECT_FALSE(sealer.open(changed)) << changed;
  for (const std::string& changed : one_bit_flipped(sealed_context)) {
    EXPECT_FALSE(open_context(one_key, changed)) << changed;
  }
  for (const std::string& changed : other_last_characters(sealed_position)) EXPECT_FALSE(sealer.open(changed));
  for (const std::string& changed : other_last_characters(sealed_context)) {
    EXPECT_FALSE(open_context(one_key, changed));
  }
  for (std::size_t cut = 0; cut < sealed_position.size(); ++cut) {
    EXPECT_FALSE(sealer.open(sealed_position.substr(0, cut)));
    EXPECT_FALSE(sealer.open(sealed_position.substr(cut + 1)));
  }
  for (std::size_t cut = 0; cut < sealed_context.size(); ++cut) {
    EXPECT_FALSE(open_context(one_key, sealed_context.substr(0, cut)));
  }
  for (const std::string more : {"A", "=", "==", ".", " ", "AA", "AAAA", "\n"}) {
    EXPECT_FALSE(sealer.open(sealed_position + more));
    EXPECT_FALSE(sealer.open(more + sealed_position));
    EXPECT_FALSE(open_context(one_key, sealed_context + more));
  }
  EXPECT_FALSE(sealer.open(std::string(1 << 20, 'A')));
  EXPECT_FALSE(open_context(one_key, std::string(1 << 20, 'A')));
  EXPECT_FALSE(sealer.open(sealed_context));
  EXPECT_FALSE(open_context(one_key, sealed_position));
  EXPECT_EQ(sealer.open(sealed_position), position);
}

TEST(Cursor, row_40_another_group_and_a_retired_key_are_refused) {
  const std::string token = PositionSealer(one_key, group(7)).seal(position);
  EXPECT_FALSE(PositionSealer(one_key, group(8)).open(token));
  EXPECT_FALSE(PositionSealer(CursorKeys({key(1, 'b')}), group(7)).open(token));
  EXPECT_FALSE(PositionSealer(CursorKeys({key(2, 'a')}), group(7)).open(token));
  EXPECT_FALSE(open_context(CursorKeys({key(1, 'b')}), seal_context(one_key, context)));
  EXPECT_FALSE(open_context(CursorKeys({key(2, 'a')}), seal_context(one_key, context)));
}

TEST(Cursor, the_newest_key_seals_and_every_key_opens) {
  const CursorKeys rotated({key(1, 'a'), key(2, 'b')});
  const PositionSealer before(one_key, group(7));
  const PositionSealer after(rotated, group(7));
  EXPECT_EQ(after.open(before.seal(position)), position);
  EXPECT_NE(after.seal(position), before.seal(position));
  EXPECT_EQ(after.open(after.seal(position)), position);
  EXPECT_FALSE(before.open(after.seal(position)));
  EXPECT_EQ(open_context(rotated, seal_context(one_key, context)), context);
  EXPECT_FALSE(open_context(one_key, seal_context(rotated, context)));
}

TEST(Cursor, each_bound_value_changes_the_context) {
  std::set<std::string> sealed{seal_context(one_key, context)};
  CursorContext changed = context;
  changed.principal = digest16({"issuer", "bob"});
  sealed.insert(seal_context(one_key, changed));
  changed = context;
  changed.subscription = digest16({"8", "open_issues", "{}"});
  sealed.insert(seal_context(one_key, changed));
  changed = context;
  ++changed.view_version;
  sealed.insert(seal_context(one_key, changed));
  changed = context;
  ++changed.claims;
  sealed.insert(seal_context(one_key, changed));
  changed = context;
  changed.group = group(8);
  sealed.insert(seal_context(one_key, changed));
  EXPECT_EQ(sealed.size(), 6U);
}

TEST(Cursor, parts_of_a_digest_do_not_run_together) {
  EXPECT_NE(digest16({"ab", "c"}), digest16({"a", "bc"}));
  EXPECT_NE(digest16({"abc"}), digest16({"abc", ""}));
  EXPECT_NE(digest8({"ab", "c"}), digest8({"a", "bc"}));
}

TEST(Cursor, row_39_a_cursor_splits_at_its_only_dot_and_is_bounded) {
  const auto parts = split_cursor("context.position");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->context, "context");
  EXPECT_EQ(parts->position, "position");
  EXPECT_EQ(join_cursor(parts->context, parts->position), "context.position");
  for (const std::string bad : {"", ".", "a.", ".b", "ab", "a.b.c", "a..b"}) EXPECT_FALSE(split_cursor(bad)) << bad;
  const std::string longest = "c." + std::string(limits::cursor_bytes - 2, 'p');
  EXPECT_TRUE(split_cursor(longest));
  EXPECT_FALSE(split_cursor(longest + 'p'));
}

TEST(Cursor, channels_are_sixteen_digits_and_differ) {
  std::set<std::string> channels;
  for (int i = 0; i < 256; ++i) channels.insert(channel_of(group(static_cast<std::uint8_t>(i))));
  EXPECT_EQ(channels.size(), 256U);
  for (const std::string& channel : channels) {
    EXPECT_EQ(channel.size(), 16U);
    EXPECT_EQ(channel.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

TEST(Cursor, unusable_keys_are_refused_by_name) {
  EXPECT_THROW(CursorKeys({}), std::invalid_argument);
  EXPECT_THROW(CursorKeys({{3, std::string(31, 'x')}}), std::invalid_argument);
  EXPECT_THROW(CursorKeys({key(3, 'a'), key(3, 'b')}), std::invalid_argument);
}

}  // namespace
}  // namespace viewgate::gateway
