// Identities: SHA-256 cut to 128 bits, over canonical bytes that are the same on every node and in every build.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace viewgate::projection {

struct Digest {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const Digest&, const Digest&) = default;
  [[nodiscard]] std::string hex() const;
};

[[nodiscard]] Digest digest(std::string_view bytes);

/// Any eight bytes of a digest are a hash.
struct DigestHash {
  std::size_t operator()(const Digest& digest) const noexcept {
    std::size_t out = 0;
    for (std::size_t i = 0; i < sizeof(out); ++i) out = out << 8 | digest.bytes[i];
    return out;
  }
};

/// Appends `bytes` behind its length, so that no two lists of fields give the same bytes.
void append_field(std::string& out, std::string_view bytes);

}  // namespace viewgate::projection
