// Makes tokens that an honest issuer would never make: any header over any claims, signed or not, without the library
// that verifies them.
#pragma once

#include <string>
#include <string_view>

namespace viewgate::test {

/// A 2048-bit RSA key of this test run, in PEM.
struct RsaKey {
  std::string private_pem;
  std::string public_pem;
};
[[nodiscard]] RsaKey make_rsa_key(unsigned bits = 2048);

/// header.claims.signature by HMAC-SHA-256 with `secret`, whatever the header says.
[[nodiscard]] std::string forge_hmac(std::string_view header, std::string_view claims, std::string_view secret);
/// The same by RSASSA-PKCS1-v1_5 with SHA-256.
[[nodiscard]] std::string forge_rsa(std::string_view header, std::string_view claims, const RsaKey& key);
/// With an empty signature.
[[nodiscard]] std::string forge_unsigned(std::string_view header, std::string_view claims);

/// A key pair of any of the asymmetric algorithms.
enum class KeyKind { rsa, rsa_pss, p256, ed25519 };
struct SigningKey {
  KeyKind kind;
  std::string private_pem;
  std::string public_pem;
  std::string jwk;  ///< the public half as a JSON Web Key without kid, for example {"kty":"OKP",…}
};
[[nodiscard]] SigningKey make_signing_key(KeyKind kind);
/// Signed as RS256, PS256, ES256 or EdDSA, whatever the header says.
[[nodiscard]] std::string forge_signed(std::string_view header, std::string_view claims, const SigningKey& key);

}  // namespace viewgate::test
