// Every algorithm that may be configured, against signatures that OpenSSL made; and each key under its own one only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/forge.hpp"
#include "auth/token_minter.hpp"
#include "auth/token_verifier.hpp"

namespace viewgate::auth {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using test::KeyKind;

const sys_seconds now{seconds{1'700'000'000}};
const std::string good = R"({"iss":"i","aud":"a","sub":"ada","exp":1700000060})";

struct Case {
  Algorithm algorithm;
  KeyKind kind;
};
const std::vector<Case> asymmetric{{Algorithm::rs256, KeyKind::rsa},
                                   {Algorithm::ps256, KeyKind::rsa_pss},
                                   {Algorithm::es256, KeyKind::p256},
                                   {Algorithm::eddsa, KeyKind::ed25519}};

std::string header_of(Algorithm algorithm) { return R"({"alg":")" + std::string(name(algorithm)) + R"(","kid":"k"})"; }

TokenVerifier verifier_of(Algorithm algorithm, const std::string& material) {
  return {VerifierConfig{"i", "a"}, KeySet(std::vector<KeyConfig>{{"k", algorithm, material}})};
}

std::string refusal_of(const TokenVerifier& verifier, const std::string& token) {
  const VerifiedToken outcome = verifier.verify(token, now);
  return outcome ? "accepted" : std::string(outcome.error().reason);
}

TEST(Algorithms, a_signature_of_each_is_accepted_and_a_changed_one_is_not) {
  for (const Case& each : asymmetric) {
    const test::SigningKey key = test::make_signing_key(each.kind);
    const TokenVerifier verifier = verifier_of(each.algorithm, key.public_pem);
    const std::string token = test::forge_signed(header_of(each.algorithm), good, key);
    EXPECT_EQ(refusal_of(verifier, token), "accepted") << name(each.algorithm);
    const std::size_t middle = token.rfind('.') + 20;
    std::string changed = token;
    changed[middle] = changed[middle] == 'A' ? 'B' : 'A';
    EXPECT_EQ(refusal_of(verifier, changed), "the signature does not hold") << name(each.algorithm);
    EXPECT_NE(refusal_of(verifier, token.substr(0, token.size() - 4)), "accepted") << name(each.algorithm);
    EXPECT_NE(refusal_of(verifier, token + "AAAA"), "accepted") << name(each.algorithm);
    const test::SigningKey another = test::make_signing_key(each.kind);
    EXPECT_EQ(refusal_of(verifier, test::forge_signed(header_of(each.algorithm), good, another)),
              "the signature does not hold");
  }
}

TEST(Algorithms, what_is_minted_with_the_private_half_is_accepted_by_the_public_one) {
  for (const Case& each : asymmetric) {
    const test::SigningKey key = test::make_signing_key(each.kind);
    const std::string token = TokenMinter({"k", each.algorithm, key.private_pem}).mint(good);
    EXPECT_EQ(refusal_of(verifier_of(each.algorithm, key.public_pem), token), "accepted") << name(each.algorithm);
    EXPECT_THROW(verifier_of(each.algorithm, key.private_pem), std::invalid_argument)
        << "the private half in a verifier";
  }
  for (const Algorithm algorithm : {Algorithm::hs256, Algorithm::hs384, Algorithm::hs512}) {
    const std::string secret(64, 's');
    EXPECT_EQ(refusal_of(verifier_of(algorithm, secret), TokenMinter({"k", algorithm, secret}).mint(good)), "accepted");
  }
}

TEST(Algorithms, row_21_a_key_serves_its_one_algorithm_whatever_the_header_says) {
  const test::SigningKey rsa = test::make_signing_key(KeyKind::rsa);
  const test::SigningKey pss{KeyKind::rsa_pss, rsa.private_pem, rsa.public_pem, rsa.jwk};
  const TokenVerifier verifier = verifier_of(Algorithm::rs256, rsa.public_pem);
  EXPECT_EQ(refusal_of(verifier, test::forge_signed(header_of(Algorithm::ps256), good, pss)),
            "no key of that id and algorithm");
  EXPECT_EQ(refusal_of(verifier, test::forge_signed(header_of(Algorithm::rs256), good, pss)),
            "the signature does not hold");
  // What CVE-2022-21449 let pass: both numbers zero.
  const test::SigningKey curve = test::make_signing_key(KeyKind::p256);
  std::string zeros = test::forge_signed(header_of(Algorithm::es256), good, curve);
  zeros.replace(zeros.rfind('.') + 1, std::string::npos, std::string(86, 'A'));
  EXPECT_EQ(refusal_of(verifier_of(Algorithm::es256, curve.public_pem), zeros), "the signature does not hold");
}

TEST(Algorithms, a_key_of_another_kind_or_a_short_secret_is_refused_by_name) {
  const test::SigningKey rsa = test::make_signing_key(KeyKind::rsa), curve = test::make_signing_key(KeyKind::p256),
                         edwards = test::make_signing_key(KeyKind::ed25519);
  const auto complaint = [](Algorithm algorithm, const std::string& material) -> std::string {
    try {
      static_cast<void>(verifier_of(algorithm, material));
      return "none";
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
  };
  EXPECT_EQ(complaint(Algorithm::es256, rsa.public_pem), "token key \"k\": must be an EC key on P-256");
  EXPECT_EQ(complaint(Algorithm::es256, edwards.public_pem), "token key \"k\": must be an EC key on P-256");
  EXPECT_EQ(complaint(Algorithm::eddsa, curve.public_pem), "token key \"k\": must be an Ed25519 key");
  EXPECT_EQ(complaint(Algorithm::ps256, curve.public_pem), "token key \"k\": must be an RSA key");
  EXPECT_EQ(complaint(Algorithm::hs384, std::string(47, 's')),
            "token key \"k\": the secret must have at least 48 bytes");
  EXPECT_EQ(complaint(Algorithm::hs512, std::string(63, 's')),
            "token key \"k\": the secret must have at least 64 bytes");
  EXPECT_EQ(complaint(Algorithm::hs512, rsa.public_pem), "token key \"k\": HS512 needs a secret, this is a key in PEM");
}

TEST(Algorithms, keys_are_looked_up_by_issuer_and_id_never_by_id_alone) {
  std::vector<TokenVerifier::Issuer> issuers;
  issuers.push_back(
      {VerifierConfig{"i", "a"}, KeySet(std::vector<KeyConfig>{{"k", Algorithm::hs256, std::string(32, '1')}})});
  issuers.push_back(
      {VerifierConfig{"j", "b"}, KeySet(std::vector<KeyConfig>{{"k", Algorithm::hs256, std::string(32, '2')}})});
  const TokenVerifier verifier(std::move(issuers));
  const std::string of_j = R"({"iss":"j","aud":"b","sub":"ada","exp":1700000060})";
  const std::string header = header_of(Algorithm::hs256);
  EXPECT_EQ(refusal_of(verifier, test::forge_hmac(header, good, std::string(32, '1'))), "accepted");
  EXPECT_EQ(refusal_of(verifier, test::forge_hmac(header, of_j, std::string(32, '2'))), "accepted");
  EXPECT_EQ(refusal_of(verifier, test::forge_hmac(header, of_j, std::string(32, '1'))), "the signature does not hold");
  EXPECT_EQ(refusal_of(verifier, test::forge_hmac(header, R"({"iss":"j","aud":"a","sub":"ada","exp":1700000060})",
                                                  std::string(32, '2'))),
            "another audience");
}

}  // namespace
}  // namespace viewgate::auth
