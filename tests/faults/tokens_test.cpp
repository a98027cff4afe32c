// Rows about tokens: whatever is wrong with one, the answer is 4001 and the same text.
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "loadtest/token.hpp"
#include "row_test.hpp"
#include "support/tcp_gate.hpp"

namespace viewgate::testing {
namespace {

struct BadToken {
  const char* name;
  std::string token;
};

std::string claims(const std::string& replaced, const std::string& by) {
  const std::string now = std::to_string(std::time(nullptr) + 3600);
  std::string out = R"({"iss":"viewgate","aud":"viewgate","sub":"alice","role":"reader","exp":)" + now + "}";
  if (replaced.empty()) return out;
  const std::string whole = replaced == "exp"
                                ? R"("exp":)" + now
                                : "\"" + replaced + "\":\"" + (replaced == "sub" ? "alice" : "viewgate") + "\"";
  const std::size_t at = out.find(whole);
  return out.replace(at, whole.size(), by);
}

/// The close frame's payload after a hello with this token: code and text.
std::string answer_to(std::uint16_t port, const std::string& token) {
  RawWebSocket socket(port);
  socket.send_text(R"({"type":"hello","protocol":1,"token":")" + token + "\"}");
  while (const auto frame = socket.read_frame()) {
    if (frame->opcode == Opcode::close) return frame->payload;
    if (frame->opcode == Opcode::text) return frame->payload;
  }
  return "nothing";
}

void expect_one_answer(std::uint16_t port, const std::vector<BadToken>& tokens) {
  std::set<std::string> answers;
  for (const BadToken& each : tokens) {
    const std::string answer = answer_to(port, each.token);
    EXPECT_TRUE(answer.starts_with(close_payload(4001))) << each.name << ": " << answer;
    answers.insert(answer);
  }
  EXPECT_EQ(answers.size(), 1U) << "the text tells which";
}

class Tokens : public Row {};

TEST_F(Tokens, row_21_another_algorithm_than_the_pinned_one_is_refused) {
  const std::string good = claims("", "");
  const std::string unsigned_token = token_of_claims(good, R"({"alg":"none"})");
  expect_one_answer(
      line.port(),
      {
          {"none", unsigned_token},
          {"none_without_signature", unsigned_token.substr(0, unsigned_token.rfind('.') + 1)},
          {"none_in_capitals", token_of_claims(good, R"({"alg":"NONE"})")},
          {"unknown", token_of_claims(good, R"({"alg":"XS256"})")},
          {"other_length", token_of_claims(good, R"({"alg":"HS512"})")},
          {"missing", token_of_claims(good, R"({"typ":"JWT"})")},
          {"alg_twice", token_of_claims(good, R"({"alg":"HS256","alg":"none"})")},
          {"crit", token_of_claims(good, R"({"alg":"HS256","crit":["b64"],"b64":false})")},
          {"signature_of_another", token_of_claims(good).substr(0, token_of_claims(good).size() - 6) + "AAAAAA"},
          {"two_parts", "a.b"},
          {"empty", ""},
      });
}

/// A fresh RSA key: the private half in PEM and the public half in PEM.
std::pair<std::string, std::string> rsa_key() {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_RSA_gen(2048), EVP_PKEY_free);
  const auto pem = [&](bool private_half) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
    if (private_half) {
      PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    } else {
      PEM_write_bio_PUBKEY(out.get(), key.get());
    }
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out.get(), &bytes);
    return std::string(bytes, static_cast<std::size_t>(size));
  };
  return {pem(true), pem(false)};
}

TEST_F(Tokens, row_21_a_token_signed_with_the_public_key_as_a_secret_is_refused) {
  const auto [private_pem, public_pem] = rsa_key();
  const std::string public_file = temporary_path("public.pem"), private_file = temporary_path("private.pem");
  std::ofstream(public_file) << public_pem;
  std::ofstream(private_file) << private_pem;
  GatewayOptions options = line.gateway_options();
  options.set("--auth-algorithm", "RS256");
  options.set("--auth-key-file", public_file);

  const Finished minted = run({program("viewgate"), "token", "--auth-algorithm", "RS256", "--auth-key-file",
                               private_file, "--sub", "alice", "--claim", "role=reader"});
  ASSERT_EQ(minted.status, 0) << minted.output;
  const std::string good = minted.output.substr(0, minted.output.find('\n'));
  options.good_client = [&](std::uint16_t port) { return line.serve_a_good_client(port, good); };
  GatewayProcess gateway(options);
  EXPECT_EQ(WsClient(gateway.port(), good).welcome().type(), "welcome");

  const std::string body = claims("", "");
  const std::string trimmed = public_pem.substr(0, public_pem.size() - 1);
  expect_one_answer(gateway.port(),
                    {
                        {"hs256_with_the_public_key", loadtest::sign_hs256(R"({"alg":"HS256"})", body, public_pem)},
                        {"without_its_last_newline", loadtest::sign_hs256(R"({"alg":"HS256"})", body, trimmed)},
                        {"called_rs256", loadtest::sign_hs256(R"({"alg":"RS256"})", body, public_pem)},
                        {"none", loadtest::sign_hs256(R"({"alg":"none"})", body, public_pem)},
                    });
  std::filesystem::remove(public_file);
  std::filesystem::remove(private_file);
}

TEST_F(Tokens, row_22_wrong_issuer_audience_or_times_are_refused) {
  const auto at = [](long seconds) { return std::to_string(std::time(nullptr) + seconds); };
  expect_one_answer(line.port(),
                    {
                        {"issuer", token_of_claims(claims("iss", R"("iss":"somebody")"))},
                        {"no_issuer", token_of_claims(claims("iss", R"("x":1)"))},
                        {"audience", token_of_claims(claims("aud", R"("aud":"another")"))},
                        {"no_audience", token_of_claims(claims("aud", R"("x":1)"))},
                        {"audiences_without_ours", token_of_claims(claims("aud", R"("aud":["another","viewgate2"])"))},
                        {"no_exp", token_of_claims(claims("exp", R"("x":1)"))},
                        {"exp_as_text", token_of_claims(claims("exp", R"("exp":")" + at(3600) + "\""))},
                        {"exp_beyond_numbers", token_of_claims(claims("exp", R"("exp":1e400)"))},
                        {"exp_null", token_of_claims(claims("exp", R"("exp":null)"))},
                        {"expired", token_of_claims(claims("exp", R"("exp":)" + at(-60)))},
                        {"not_yet", token_of_claims(claims("exp", R"("nbf":)" + at(3600) + R"(,"exp":)" + at(7200)))},
                        {"no_subject", token_of_claims(claims("sub", R"("x":1)"))},
                        {"subject_twice", token_of_claims(claims("sub", R"("sub":"alice","sub":"bob")"))},
                    });
  EXPECT_EQ(WsClient(line.port(), token_of_claims(claims("aud", R"("aud":["another","viewgate"])"))).welcome().type(),
            "welcome")
      << "one audience of several is enough";
}

TEST_F(Tokens, row_23_a_token_that_names_its_key_or_a_place_of_keys_is_refused_and_nobody_is_asked) {
  // Whoever would fetch the key from here would find it: the token is signed with the very secret.
  TcpGate trap(line.cluster().server().socket_directory() / ".s.PGSQL.5432");
  const std::string url = "\"http://127.0.0.1:" + std::to_string(trap.port()) + "/keys\"";
  const std::string good = claims("", "");
  std::vector<BadToken> tokens{
      {"jwk", token_of_claims(good, R"({"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"}})")},
      {"x5c", token_of_claims(good, R"({"alg":"HS256","x5c":["AAAA"]})")},
      {"kid_of_another_path", loadtest::sign_hs256(R"({"alg":"HS256","kid":"/dev/null"})", good, "")},
      {"kid_of_the_parent", loadtest::sign_hs256(R"({"alg":"HS256","kid":"../../../../dev/null"})", good, "")},
      {"kid_in_sql", loadtest::sign_hs256(R"({"alg":"HS256","kid":"x' union select 'secret"})", good, "secret")},
  };
  for (const char* name : {"jku", "x5u"}) {
    tokens.push_back({name, token_of_claims(good, R"({"alg":"HS256",")" + std::string(name) + "\":" + url + "}")});
  }
  expect_one_answer(line.port(), tokens);
  EXPECT_EQ(trap.connections(), 0U);
}

}  // namespace
}  // namespace viewgate::testing
