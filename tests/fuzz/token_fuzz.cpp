// Tokens and key sets of strangers: no text is a principal but the one that was signed, and none does harm.
#include <string>

#include "auth/jwks.hpp"
#include "auth/token_minter.hpp"
#include "auth/token_verifier.hpp"
#include "fuzz/fuzz.hpp"

using namespace viewgate;

namespace {

const auth::KeyConfig key{"k", auth::Algorithm::hs256, std::string(32, 's')};
constexpr std::chrono::sys_seconds now{std::chrono::seconds{1'700'000'000}};

const std::string& good_token() {
  static const std::string token = auth::TokenMinter(key).mint(R"({"iss":"i","aud":"a","sub":"ada","exp":1700000060})");
  return token;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const auth::TokenVerifier verifier(auth::VerifierConfig{"i", "a"},
                                            auth::KeySet(std::vector<auth::KeyConfig>{key}));
  const std::string_view text = fuzz::text_of(bytes, size);
  fuzz::promise(!verifier.verify(text, now) || text == good_token(), "only the signed token is accepted");
  if (text.empty()) return 0;  // there is no token without claims
  // The text as the claims under a header of ours: the parser behind the signature is reached, too.
  const auto outcome = verifier.verify(auth::TokenMinter(key).mint(text), now);
  fuzz::promise(!outcome || (outcome->issuer == "i" && !outcome->subject.empty()), "a principal has a name");
  try {
    const auto jwks = auth::parse_jwks(text, {auth::Algorithm::rs256, auth::Algorithm::es256, auth::Algorithm::eddsa});
    fuzz::promise(jwks.keys.size() > 0, "a key set that was read has keys");
  } catch (const std::invalid_argument&) {
    return 0;
  }
  return 0;
}
