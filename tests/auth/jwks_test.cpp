// A key set brings public keys for signatures, each under one algorithm of its issuer's, and nothing else.
#include "auth/jwks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <future>

#include "auth/forge.hpp"
#include "auth/key_source.hpp"
#include "auth/token_verifier.hpp"

namespace viewgate::auth {
namespace {

using test::KeyKind;
using ::testing::HasSubstr;

const std::vector<Algorithm> all{Algorithm::rs256, Algorithm::es256, Algorithm::eddsa};

/// The key with these members put first.
std::string with(const std::string& jwk, const std::string& members) { return "{" + members + "," + jwk.substr(1); }

std::string set_of(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& each : keys) out += (out.empty() ? "" : ",") + each;
  return R"({"keys":[)" + out + "]}";
}

std::string complaint(const std::string& text, const std::vector<Algorithm>& algorithms = all) {
  try {
    static_cast<void>(parse_jwks(text, algorithms));
    return "none";
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
}

TEST(Jwks, keys_of_every_kind_verify_what_their_private_half_signed) {
  const std::vector<std::pair<KeyKind, Algorithm>> kinds{
      {KeyKind::rsa, Algorithm::rs256}, {KeyKind::p256, Algorithm::es256}, {KeyKind::ed25519, Algorithm::eddsa}};
  for (const auto& [kind, algorithm] : kinds) {
    const test::SigningKey key = test::make_signing_key(kind);
    Jwks jwks =
        parse_jwks(set_of({with(key.jwk, R"("kid":"k","use":"sig","x5t":"ignored","key_ops":["verify"])")}), all);
    EXPECT_EQ(jwks.keys.size(), 1U);
    const TokenVerifier verifier(VerifierConfig{"i", "a"}, std::move(jwks.keys));
    const std::string header = R"({"alg":")" + std::string(name(algorithm)) + R"(","kid":"k"})";
    const std::string token = test::forge_signed(header, R"({"iss":"i","aud":"a","sub":"ada","exp":1700000060})", key);
    const auto outcome = verifier.verify(token, std::chrono::sys_seconds{std::chrono::seconds{1'700'000'000}});
    EXPECT_TRUE(outcome) << outcome.error().reason;
  }
}

TEST(Jwks, what_is_no_public_key_for_signatures_is_left_out_and_said) {
  const std::string curve = test::make_signing_key(KeyKind::p256).jwk, rsa = test::make_signing_key(KeyKind::rsa).jwk;
  const Jwks jwks = parse_jwks(
      set_of({with(curve, R"("kid":"good")"), with(curve, R"("kid":"good")"), with(curve, R"("kid":"enc","use":"enc")"),
              with(curve, R"("kid":"ops","key_ops":["deriveKey"])"), with(curve, R"("kid":"private","d":"AAAA")"),
              R"({"kid":"secret","kty":"oct","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"})",
              with(curve, R"("kid":"alg","alg":"ES384")"), with(rsa, R"("kid":"pss","alg":"PS256")"),
              R"({"kid":"no x","kty":"EC","crv":"P-256"})",
              R"({"kid":"curve","kty":"EC","crv":"P-384","x":"AA","y":"AA"})",
              R"({"kid":"short","kty":"RSA","n":"AQAB","e":"AQAB"})", "7"}),
      all);
  EXPECT_EQ(jwks.keys.size(), 1U);
  EXPECT_EQ(jwks.skipped.size(), 11U);
  for (const std::string& each : jwks.skipped) EXPECT_THAT(each, ::testing::Not(HasSubstr("c2Vjcm")));
}

TEST(Jwks, a_key_that_does_not_say_its_algorithm_is_pinned_only_where_there_is_one) {
  const std::string rsa = with(test::make_signing_key(KeyKind::rsa).jwk, R"("kid":"k")");
  EXPECT_EQ(complaint(set_of({rsa}), {Algorithm::rs256}), "none");
  EXPECT_EQ(complaint(set_of({rsa}), {Algorithm::ps256}), "none");
  EXPECT_THAT(complaint(set_of({rsa}), {Algorithm::rs256, Algorithm::ps256}), HasSubstr("no usable key"));
  EXPECT_THAT(complaint(set_of({rsa}), {Algorithm::es256}), HasSubstr("no usable key"));
}

TEST(Jwks, what_is_no_key_set_is_refused) {
  EXPECT_THAT(complaint("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(complaint(R"({"keys":{}})"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(complaint(R"({"keys":[]})"), HasSubstr("no usable key"));
  EXPECT_THAT(complaint(R"({"keys":[],"keys":[]})"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(complaint("{\"keys\":[]}" + std::string(300'000, ' ')), HasSubstr("larger than 256 KiB"));
  EXPECT_THAT(complaint(set_of(std::vector<std::string>(101, "{}"))), HasSubstr("more than 100 keys"));
}

TEST(Jwks, whoever_asks_once_the_end_of_a_fetch_is_told_hears_of_another_one) {
  const std::string file = ::testing::TempDir() + "asked-again.json";
  std::ofstream(file) << set_of({with(test::make_signing_key(KeyKind::ed25519).jwk, R"("kid":"k")")});
  std::atomic<int> fetched = 0;
  std::promise<void> told, heard;
  KeySourceOptions options;
  options.gap = std::chrono::milliseconds(0);
  KeySource source({{0, "", file, all}}, options,
                   {[&](std::size_t, const Jwks&) {
                      ++fetched;
                      if (fetched == 1) told.set_value();
                      if (fetched == 2) heard.set_value();
                    },
                    [](std::size_t, const std::string&) {}});
  told.get_future().wait();
  EXPECT_TRUE(source.ask(0));
  EXPECT_EQ(heard.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  source.stop();
  std::remove(file.c_str());
}

TEST(Jwks, keys_are_fetched_over_tls_or_from_this_machine_only) {
  for (const char* good : {"https://id.example/keys", "https://id.example:8443/a?b=c", "http://127.0.0.1:9/",
                           "http://localhost/k", "http://[::1]:8080/keys"}) {
    EXPECT_TRUE(is_key_address(good)) << good;
  }
  for (const char* bad : {"http://id.example/keys", "http://localhost.evil.example/", "http://127.0.0.1.evil.example/",
                          "file:///etc/passwd", "https://user:word@id.example/", "https://", "ftp://id.example/", "",
                          "http://127.0.0.1@evil.example/"}) {
    EXPECT_FALSE(is_key_address(bad)) << bad;
  }
}

}  // namespace
}  // namespace viewgate::auth
