// Whose tokens are accepted: the issuer table, from `auth.issuers` (a TOML file) or, for one issuer with one key, from the
// other `auth.` settings.
//
//     [[issuer]]
//     name = "https://id.example"                # iss, compared exactly
//     audience = "viewgate"
//     algorithms = ["RS256"]                     # what keys of a key set may be pinned to
//     jwks_url = "https://id.example/jwks.json"  # or jwks_file = "keys.json", or keys by hand:
//
//     [[issuer]]
//     name = "legacy"
//     audience = "viewgate"
//       [[issuer.key]]
//       id = "2026"                              # kid
//       algorithm = "HS512"
//       file = "secret.key"                      # a secret, or a public key in PEM
//
// Files are named relative to the table's own.
#pragma once

#include <string>
#include <vector>

#include "auth/key_source.hpp"
#include "auth/token_verifier.hpp"
#include "gateway/config.hpp"

namespace viewgate::gateway {

struct Identity {
  std::vector<auth::TokenVerifier::Issuer> issuers;
  std::vector<auth::KeyPlace> key_places;  ///< of the issuers whose keys are fetched, or read from a file again
};

/// Throws Stop: config (what is wrong and where), no_input (a file cannot be read).
[[nodiscard]] Identity read_identity(const Config& config);

}  // namespace viewgate::gateway
