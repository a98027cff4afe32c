// A JSON Web Key Set (RFC 7517) as keys: read strictly, taking of each key the members that make a public key and nothing
// else, so that no certificate, no place of one and no private half ever comes in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/key_set.hpp"

namespace viewgate::auth {

inline constexpr std::size_t jwks_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t jwks_keys_max = 100;

struct Jwks {
  KeySet keys;
  std::vector<std::string> skipped;  ///< why a key was left out, one line each, without its material
};

/// `algorithms`: those that the issuer may use. A key is pinned to its own `alg`, which must be one of them; where it has
/// none, to the only one of them that its kind of key can be used with. Secrets never come from a key set. Throws
/// std::invalid_argument: not a key set, too large, or without one usable key.
[[nodiscard]] Jwks parse_jwks(std::string_view text, const std::vector<Algorithm>& algorithms);

}  // namespace viewgate::auth
