// Only a token that an accepted key signed under its one pinned algorithm, for us, and in time, is a principal. Each
// forged token below differs from a good one in one thing, and the outside sees the same refusal for all.
#include "auth/token_verifier.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "auth/forge.hpp"
#include "auth/token_minter.hpp"

namespace viewgate::auth {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using test::forge_hmac;
using test::forge_rsa;
using test::forge_unsigned;

const std::string secret(32, 's');
const sys_seconds now{seconds{1'700'000'000}};

const test::RsaKey& rsa_key() {
  static const test::RsaKey key = test::make_rsa_key();
  return key;
}

TokenVerifier make_verifier(seconds leeway = seconds{10}) {
  return {VerifierConfig{"https://issuer.example", "viewgate", leeway},
          KeySet({{"h1", Algorithm::hs256, secret}, {"r1", Algorithm::rs256, rsa_key().public_pem}})};
}

const std::string hs_header = R"({"alg":"HS256","kid":"h1"})";
const std::string rs_header = R"({"alg":"RS256","kid":"r1"})";

std::string claims(const std::string& exp = "1700000060", const std::string& more = "") {
  return R"({"iss":"https://issuer.example","aud":"viewgate","sub":"ada","exp":)" + exp + more + "}";
}

std::string refusal_of(const std::string& token, const TokenVerifier& verifier = make_verifier()) {
  const VerifiedToken outcome = verifier.verify(token, now);
  return outcome ? "accepted" : std::string(outcome.error().reason);
}

std::string refusal_of_claims(const std::string& text) { return refusal_of(forge_hmac(hs_header, text, secret)); }

std::string refusal_of_header(const std::string& header) { return refusal_of(forge_hmac(header, claims(), secret)); }

TEST(TokenVerifier, a_good_token_is_a_principal_with_its_claims_byte_for_byte) {
  const std::string text =
      claims("1700000060", R"(, "jti":"t-1", "spaces":["1","2"], "price":1.10, "n":9007199254740993)");
  for (const std::string& token : {forge_hmac(hs_header, text, secret), forge_rsa(rs_header, text, rsa_key())}) {
    const VerifiedToken outcome = make_verifier(seconds{5}).verify(token, now);
    ASSERT_TRUE(outcome) << outcome.error().reason;
    EXPECT_EQ(outcome->issuer, "https://issuer.example");
    EXPECT_EQ(outcome->subject, "ada");
    EXPECT_EQ(outcome->token_id, "t-1");
    EXPECT_EQ(outcome->claims, text);
    EXPECT_EQ(outcome->expires_at, sys_seconds{seconds{1'700'000'065}});
  }
}

TEST(TokenVerifier, a_token_without_kid_is_tried_with_every_key_of_its_algorithm) {
  const TokenVerifier verifier(
      VerifierConfig{"https://issuer.example", "viewgate"},
      KeySet({{"old", Algorithm::hs256, std::string(32, 'o')}, {"new", Algorithm::hs256, secret}}));
  EXPECT_EQ(refusal_of(forge_hmac(R"({"alg":"HS256"})", claims(), secret), verifier), "accepted");
  EXPECT_EQ(refusal_of(forge_hmac(R"({"alg":"HS256","kid":"new"})", claims(), secret), verifier), "accepted");
  EXPECT_NE(refusal_of(forge_hmac(R"({"alg":"HS256","kid":"old"})", claims(), secret), verifier), "accepted");
}

TEST(TokenVerifier, another_table_counts_at_once_and_ends_those_of_issuers_that_it_has_not) {
  TokenVerifier verifier;
  const std::string token = forge_hmac(hs_header, claims(), secret);
  EXPECT_EQ(refusal_of(token, verifier), "another issuer");
  const auto table = [](const std::string& name, KeySet keys) {
    std::vector<TokenVerifier::Issuer> out;
    out.push_back({VerifierConfig{name, "viewgate"}, std::move(keys)});
    return out;
  };
  const KeyConfig key{"h1", Algorithm::hs256, secret};
  verifier.replace_table(table("https://issuer.example", KeySet({key})), Anonymous::admit, {});
  const VerifiedToken ada = verifier.verify(token, now);
  const VerifiedToken nobody = verifier.anonymous();
  ASSERT_TRUE(ada && nobody);
  EXPECT_FALSE(verifier.is_revoked(*ada, now));

  // The same issuer: with the keys that it had where they are kept, without any where they are not.
  verifier.replace_table(table("https://issuer.example", KeySet()), Anonymous::refuse, {"https://issuer.example"});
  EXPECT_TRUE(verifier.verify(token, now));
  EXPECT_FALSE(verifier.is_revoked(*ada, now));
  EXPECT_TRUE(verifier.is_revoked(*nobody, now));
  EXPECT_FALSE(verifier.anonymous());
  verifier.replace_table(table("https://issuer.example", KeySet()), Anonymous::refuse, {"https://other.example"});
  EXPECT_EQ(refusal_of(token, verifier), "no key of that id and algorithm");

  verifier.replace_table(table("https://other.example", KeySet({key})), Anonymous::refuse, {});
  EXPECT_EQ(refusal_of(token, verifier), "another issuer");
  EXPECT_TRUE(verifier.is_revoked(*ada, now));
  EXPECT_THROW(verifier.replace_table({}, Anonymous::admit, {}), std::invalid_argument);
  EXPECT_FALSE(verifier.anonymous());
}

TEST(TokenVerifier, row_21_the_algorithm_is_the_configured_one_whatever_the_header_says) {
  EXPECT_EQ(refusal_of(forge_unsigned(R"({"alg":"none"})", claims())), "an algorithm that is not accepted");
  EXPECT_EQ(refusal_of(forge_unsigned(R"({"alg":"none","kid":"h1"})", claims())), "an algorithm that is not accepted");
  EXPECT_EQ(refusal_of(forge_unsigned(R"({"alg":"None"})", claims())), "an algorithm that is not accepted");
  EXPECT_EQ(refusal_of(forge_unsigned(hs_header, claims())), "the signature does not hold");
  // The public key of RS256 as the secret of HS256.
  for (const char* const header : {R"({"alg":"HS256","kid":"r1"})", R"({"alg":"HS256"})"}) {
    EXPECT_NE(refusal_of(forge_hmac(header, claims(), rsa_key().public_pem)), "accepted");
  }
  EXPECT_EQ(refusal_of(forge_hmac(R"({"alg":"RS256","kid":"h1"})", claims(), secret)),
            "no key of that id and algorithm");
  for (const char* const unknown :
       {"RS384", "RS512", "ES384", "ES512", "PS512", "hs256", "HS256 ", "EDDSA", "XX", ""}) {
    EXPECT_EQ(refusal_of_header(R"({"alg":")" + std::string(unknown) + R"(","kid":"h1"})"),
              "an algorithm that is not accepted");
  }
  EXPECT_EQ(refusal_of_header(R"({"kid":"h1"})"), "alg is missing");
  EXPECT_EQ(refusal_of_header(R"({"alg":5})"), "alg is not a string");
  EXPECT_EQ(refusal_of_header(R"({"alg":"HS256","crit":["exp"]})"), "the header has a member that is never accepted");
  EXPECT_EQ(refusal_of_header(R"({"alg":"HS256","crit":[]})"), "the header has a member that is never accepted");
  EXPECT_NE(refusal_of_header(R"({"alg":"none","alg":"HS256","kid":"h1"})"), "accepted");
  EXPECT_NE(refusal_of_header(R"({"alg":"HS256","\u0061lg":"none","kid":"h1"})"), "accepted");
}

TEST(TokenVerifier, row_22_issuer_audience_and_times_must_hold) {
  EXPECT_EQ(refusal_of_claims(R"({"iss":"https://other.example","aud":"viewgate","sub":"ada","exp":1700000060})"),
            "another issuer");
  EXPECT_EQ(refusal_of_claims(R"({"aud":"viewgate","sub":"ada","exp":1700000060})"), "another issuer");
  EXPECT_EQ(refusal_of_claims(R"({"iss":["https://issuer.example"],"aud":"viewgate","sub":"ada","exp":1700000060})"),
            "iss is not a string");
  for (const std::string audience : {R"("other")", R"(["other"])", "[]", "5", "null", R"("viewgate2")"}) {
    EXPECT_EQ(
        refusal_of_claims(R"({"iss":"https://issuer.example","sub":"ada","exp":1700000060,"aud":)" + audience + "}"),
        "another audience")
        << audience;
  }
  EXPECT_EQ(
      refusal_of_claims(R"({"iss":"https://issuer.example","sub":"ada","exp":1700000060,"aud":["other","viewgate"]})"),
      "accepted");

  EXPECT_EQ(refusal_of_claims(R"({"iss":"https://issuer.example","aud":"viewgate","sub":"ada"})"),
            "exp is missing or not a number of seconds");
  for (const std::string exp : {R"("1700000060")", "null", "true", "1e300", "-1e300"}) {
    EXPECT_EQ(refusal_of_claims(claims(exp)), "exp is missing or not a number of seconds") << exp;
  }
  EXPECT_NE(refusal_of_claims(claims("1e400")), "accepted");
  EXPECT_NE(refusal_of_claims(claims("99999999999999999999999999")), "accepted");
  EXPECT_EQ(refusal_of_claims(claims("1700000060.5")), "accepted");
  EXPECT_EQ(refusal_of_claims(claims("9007199254740991")), "accepted");
}

TEST(TokenVerifier, row_22_the_leeway_is_exact_on_both_sides) {
  EXPECT_EQ(refusal_of_claims(claims("1699999991")), "accepted");
  EXPECT_EQ(refusal_of_claims(claims("1699999990")), "expired");
  EXPECT_EQ(refusal_of_claims(claims("0")), "expired");
  EXPECT_EQ(refusal_of_claims(claims("1700000060", R"(,"nbf":1700000010)")), "accepted");
  EXPECT_EQ(refusal_of_claims(claims("1700000060", R"(,"nbf":1700000011)")), "not valid yet");
  EXPECT_EQ(refusal_of_claims(claims("1700000060", R"(,"nbf":"0")")), "nbf is not a number of seconds");
  const std::string token = forge_hmac(hs_header, claims("1700000000"), secret);
  EXPECT_EQ(refusal_of(token, make_verifier(seconds{0})), "expired");
  const VerifiedToken outcome = make_verifier(seconds{30}).verify(token, now);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(make_verifier(seconds{30}).verify(token, outcome->expires_at))
      << "expires_at is the first refused moment";
  EXPECT_TRUE(make_verifier(seconds{30}).verify(token, outcome->expires_at - seconds{1}));
}

// A listener of this test, to see that nobody comes.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    ::listen(socket_, 1);
    socklen_t size = sizeof(address);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/keys.json";
  }
  ~Listener() { ::close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] bool was_called() const {
    pollfd poll{socket_, POLLIN, 0};
    return ::poll(&poll, 1, 0) > 0;
  }

 private:
  int socket_;
  std::string url_;
};

TEST(TokenVerifier, row_23_a_token_that_names_its_own_key_is_refused_and_nothing_is_fetched) {
  const Listener listener;
  const std::string own_key = R"({"kty":"oct","k":"c3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3M"})";
  for (const std::string& member :
       {R"("jwk":)" + own_key, R"("jku":")" + listener.url() + '"', R"("x5u":")" + listener.url() + '"',
        std::string(R"("x5c":["MIIB"])"), std::string(R"("zip":"DEF")"), std::string(R"("b64":false)")}) {
    // Refused also where the signature is good, so that nobody can come to rely on such a member being skipped.
    EXPECT_EQ(refusal_of_header(R"({"alg":"HS256","kid":"h1",)" + member + "}"),
              "the header has a member that is never accepted");
    EXPECT_EQ(refusal_of(forge_rsa(R"({"alg":"RS256",)" + member + "}", claims(), rsa_key())),
              "the header has a member that is never accepted");
  }
  EXPECT_FALSE(listener.was_called());
}

TEST(TokenVerifier, row_23_a_kid_is_compared_with_configured_ids_and_nothing_else) {
  const std::string path = ::testing::TempDir() + "viewgate_kid_" + std::to_string(::getpid());
  const std::string planted(32, 'p');
  std::ofstream(path) << planted;
  for (const std::string& kid :
       {path, "file://" + path, std::string("../../../../etc/hostname"), std::string("h1\\u0000"),
        std::string("h1' or '1'='1"), std::string("H1"), std::string(), std::string(300, 'k')}) {
    EXPECT_NE(refusal_of(forge_hmac(R"({"alg":"HS256","kid":")" + kid + R"("})", claims(), planted)), "accepted")
        << kid;
    EXPECT_NE(refusal_of(forge_hmac(R"({"alg":"HS256","kid":")" + kid + R"("})", claims(), secret)), "accepted") << kid;
  }
  EXPECT_EQ(refusal_of_header(R"({"alg":"HS256","kid":5})"), "kid is not a string");
  std::remove(path.c_str());
}

TEST(TokenVerifier, every_changed_character_and_every_cut_is_refused) {
  const std::string token = forge_hmac(hs_header, claims(), secret);
  ASSERT_EQ(refusal_of(token), "accepted");
  const TokenVerifier verifier = make_verifier();
  for (std::size_t at = 0; at < token.size(); ++at) {
    for (const char other : {'A', 'z', '.', '=', '+', '\0'}) {
      if (token[at] == other) continue;
      std::string changed = token;
      changed[at] = other;
      EXPECT_NE(refusal_of(changed, verifier), "accepted") << changed;
    }
    EXPECT_NE(refusal_of(token.substr(0, at), verifier), "accepted");
  }
  for (const std::string more : {".", "A", "=", " ", "\n", "."}) {
    EXPECT_NE(refusal_of(token + more, verifier), "accepted");
    EXPECT_NE(refusal_of(more + token, verifier), "accepted");
  }
}

TEST(TokenVerifier, malformed_claims_are_refused) {
  EXPECT_NE(refusal_of_claims("[]"), "accepted");
  EXPECT_NE(refusal_of_claims(""), "accepted");
  EXPECT_NE(refusal_of_claims(claims() + "{}"), "accepted");
  EXPECT_NE(refusal_of_claims(claims("1700000060", R"(,"sub":"eve")")), "accepted") << "a claim twice";
  EXPECT_NE(refusal_of_claims(claims("1700000060", R"(,"x":"\u0000")")), "accepted");
  EXPECT_NE(refusal_of_claims(claims("1700000060", ",\"x\":\"\xFF\"")), "accepted");
  EXPECT_EQ(refusal_of_claims(R"({"iss":"https://issuer.example","aud":"viewgate","exp":1700000060,"sub":""})"),
            "sub is missing or empty");
  EXPECT_EQ(refusal_of_claims(R"({"iss":"https://issuer.example","aud":"viewgate","exp":1700000060,"sub":7})"),
            "sub is not a string");
  EXPECT_EQ(refusal_of(std::string(8 * 1024 + 1, 'A')), "too large");
  EXPECT_EQ(refusal_of(""), "not three parts");
  EXPECT_EQ(refusal_of(forge_hmac(hs_header, std::string(2000, '['), secret)),
            "the claims are not a JSON object, have a member twice, or a number nobody can hold");
}

TEST(TokenMinter, what_it_mints_is_accepted_with_either_algorithm) {
  const std::string text = claims_json({"https://issuer.example", "viewgate", "ada", now, now + seconds{60}},
                                       R"({"spaces":["1"],"digit":3})");
  for (const KeyConfig& key :
       {KeyConfig{"h1", Algorithm::hs256, secret}, KeyConfig{"r1", Algorithm::rs256, rsa_key().private_pem}}) {
    const VerifiedToken outcome = make_verifier().verify(TokenMinter(key).mint(text), now);
    ASSERT_TRUE(outcome) << outcome.error().reason;
    EXPECT_EQ(outcome->claims, text);
  }
  EXPECT_THAT(text, ::testing::HasSubstr(R"("spaces":["1"],"digit":3)"));
}

TEST(TokenMinter, claims_that_are_no_object_or_repeat_a_standard_claim_are_refused) {
  const StandardClaims standard{"i", "a", "s", now, now};
  EXPECT_THROW((void)claims_json(standard, "[]"), std::invalid_argument);
  EXPECT_THROW((void)claims_json(standard, "{"), std::invalid_argument);
  EXPECT_THROW((void)claims_json(standard, R"({"sub":"eve"})"), std::invalid_argument);
}

std::string complaint(const std::vector<KeyConfig>& keys) {
  try {
    const KeySet set(keys);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(KeySet, unusable_keys_are_refused_by_name_and_not_shown) {
  EXPECT_EQ(complaint({}), "token keys: at least one is needed");
  EXPECT_EQ(complaint({{"k", Algorithm::hs256, std::string(31, 's')}}),
            "token key \"k\": the secret must have at least 32 bytes");
  EXPECT_EQ(complaint({{"k", Algorithm::hs256, rsa_key().public_pem}}),
            "token key \"k\": HS256 needs a secret, this is a key in PEM");
  EXPECT_EQ(complaint({{"k", Algorithm::rs256, rsa_key().private_pem}}),
            "token key \"k\": must be the public key; the private one stays with the issuer");
  EXPECT_EQ(complaint({{"k", Algorithm::rs256, "hello"}}),
            "token key \"k\": must be an RSA key in PEM (-----BEGIN PUBLIC KEY----- to verify)");
  EXPECT_EQ(complaint({{"k", Algorithm::rs256, test::make_rsa_key(1024).public_pem}}),
            "token key \"k\": must have at least 2048 bits");
  EXPECT_EQ(complaint({{"k", Algorithm::hs256, secret}, {"k", Algorithm::hs256, secret}}),
            "token key \"k\": the id comes twice");
  EXPECT_THROW(TokenMinter({"k", Algorithm::rs256, rsa_key().public_pem}), std::invalid_argument);
}

TEST(TokenVerifier, its_configuration_is_checked) {
  const auto make = [](const VerifierConfig& config) {
    const TokenVerifier verifier(config, KeySet({{"h1", Algorithm::hs256, secret}}));
  };
  EXPECT_THROW(make({"", "a"}), std::invalid_argument);
  EXPECT_THROW(make({"i", ""}), std::invalid_argument);
  EXPECT_THROW(make({"i", "a", seconds{61}}), std::invalid_argument);
  EXPECT_THROW(make({"i", "a", seconds{-1}}), std::invalid_argument);
  EXPECT_NO_THROW(make({"i", "a", seconds{60}}));
}

}  // namespace
}  // namespace viewgate::auth
