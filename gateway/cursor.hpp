// The view cursor: context + "." + position (I8). Opaque, authenticated, deterministic.
//
// `context` is made once per subscription and binds everything that makes a stored set this caller's set of this view.
// `position` rides in every shared document, so it knows no subscriber: its key is derived from the group, and a
// position of another group does not open. Both are sealed by AES-SIV (RFC 5297): the same input gives the same bytes
// on every node, which is what lets nodes share documents, and a nonce can never be repeated because there is none.
//
// Form: base64url(key id, 2 bytes | SIV, 16 bytes | ciphertext), one spelling only. All functions are pure and
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/ports.hpp"
#include "ledger/commit.hpp"

namespace viewgate::gateway {

/// The secrets of one deployment, shared by its nodes. The last key seals, all of them open; a retired key is one that
/// is no longer here.
class CursorKeys {
 public:
  struct Key {
    std::uint16_t id = 0;
    std::string secret;  ///< at least 32 bytes
  };

  /// Oldest first. Throws std::invalid_argument: no key, an id twice, a secret that is too short.
  explicit CursorKeys(std::vector<Key> keys);

  [[nodiscard]] const std::vector<Key>& all() const { return keys_; }
  [[nodiscard]] const Key& newest() const { return keys_.back(); }

 private:
  std::vector<Key> keys_;
};

using Digest16 = std::array<std::uint8_t, 16>;

/// The first bytes of SHA-256 over the parts, each preceded by its length, so that no two lists of parts are one text.
[[nodiscard]] Digest16 digest16(std::initializer_list<std::string_view> parts);
[[nodiscard]] std::uint64_t digest8(std::initializer_list<std::string_view> parts);

/// What a set on a client's disk belongs to. Another principal or subscription is a foreign cursor (cursor_invalid);
/// another view version or other claims make a reset by their reasons.
struct CursorContext {
  Digest16 principal{};            ///< of issuer and subject
  Digest16 subscription{};         ///< of space, view and canonical parameters
  std::uint64_t view_version = 0;  ///< of the view, its policies and the captures
  std::uint64_t claims = 0;        ///< of the claim values that the view and its policies use
  GroupId group;
  friend bool operator==(const CursorContext&, const CursorContext&) = default;
};

[[nodiscard]] std::string seal_context(const CursorKeys& keys, const CursorContext& context);

/// Absent: not sealed by one of these keys, or not exactly as it was sealed.
[[nodiscard]] std::optional<CursorContext> open_context(const CursorKeys& keys, std::string_view token);

/// Seals and opens the positions of one group. Made once per group: it holds the derived keys, not the secrets.
class PositionSealer {
 public:
  PositionSealer(const CursorKeys& keys, const GroupId& group);

  [[nodiscard]] std::string seal(const ledger::Position& position) const;

  /// Absent: another group's, a retired key's, or not exactly as it was sealed.
  [[nodiscard]] std::optional<ledger::Position> open(std::string_view token) const;

 private:
  struct DerivedKey {
    std::uint16_t id = 0;
    std::array<std::uint8_t, 64> bytes{};
  };
  std::vector<DerivedKey> keys_;  // oldest first, as in CursorKeys
};

/// The two halves of a cursor, views into it.
struct CursorParts {
  std::string_view context;
  std::string_view position;
};

/// Absent: longer than limits::cursor_bytes, not exactly one ".", or an empty half.
[[nodiscard]] std::optional<CursorParts> split_cursor(std::string_view cursor);
[[nodiscard]] std::string join_cursor(std::string_view context, std::string_view position);

/// The channel of a group: 16 hexadecimal digits, the same on every node and under every key.
[[nodiscard]] std::string channel_of(const GroupId& group);

}  // namespace viewgate::gateway
