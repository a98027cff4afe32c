#include "auth/token_minter.hpp"

#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "auth/jose.hpp"

namespace viewgate::auth {

namespace {

jwa_alg library_name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::hs256:
      return R_JWA_ALG_HS256;
    case Algorithm::hs384:
      return R_JWA_ALG_HS384;
    case Algorithm::hs512:
      return R_JWA_ALG_HS512;
    case Algorithm::rs256:
      return R_JWA_ALG_RS256;
    case Algorithm::ps256:
      return R_JWA_ALG_PS256;
    case Algorithm::es256:
      return R_JWA_ALG_ES256;
    case Algorithm::eddsa:
      return R_JWA_ALG_EDDSA;
  }
  return R_JWA_ALG_UNKNOWN;
}

}  // namespace

TokenMinter::TokenMinter(const KeyConfig& key) : key_(key) {
  if (!is_symmetric(key_.algorithm()) && !key_.is_private()) {
    throw std::invalid_argument("token key \"" + key_.id() + "\": signing needs the private key");
  }
}

std::string TokenMinter::mint(std::string_view claims_json) const {
  const jwa_alg algorithm = library_name(key_.algorithm());
  const JwsPtr jws = make_jws();
  const auto* const payload = reinterpret_cast<const unsigned char*>(claims_json.data());
  bool done = r_jws_set_alg(jws.get(), algorithm) == RHN_OK &&
              r_jws_set_header_str_value(jws.get(), "typ", "JWT") == RHN_OK &&
              r_jws_set_payload(jws.get(), payload, claims_json.size()) == RHN_OK;
  if (done && !key_.id().empty()) done = r_jws_set_header_str_value(jws.get(), "kid", key_.id().c_str()) == RHN_OK;
  const JoseText token(done ? r_jws_serialize(jws.get(), key_.jwk().json.get(), no_remote) : nullptr);
  if (!token) throw std::runtime_error("the token cannot be signed with key \"" + key_.id() + "\"");
  return token.get();
}

std::string claims_json(const StandardClaims& standard, std::string_view more) {
  const JsonPtr claims = parse_object(more);
  if (!claims) throw std::invalid_argument("claims: must be one JSON object, for example {\"spaces\":[\"1\"]}");
  const JsonPtr fixed(json_pack("{s:s%, s:s%, s:s%, s:I, s:I}",                             //
                                "iss", standard.issuer.data(), standard.issuer.size(),      //
                                "aud", standard.audience.data(), standard.audience.size(),  //
                                "sub", standard.subject.data(), standard.subject.size(),    //
                                "iat", json_int_t{standard.issued_at.time_since_epoch().count()}, "exp",
                                json_int_t{standard.expires_at.time_since_epoch().count()}));
  if (!fixed) throw std::invalid_argument("claims: issuer, audience and subject must be UTF-8 without U+0000");
  const char* member = nullptr;
  json_t* value = nullptr;
  json_object_foreach(claims.get(), member, value) {
    if (json_object_get(fixed.get(), member) != nullptr) {
      throw std::invalid_argument(std::string("claims: \"") + member + "\" has an option of its own");
    }
    json_object_set(fixed.get(), member, value);
  }
  const std::unique_ptr<char, decltype(&std::free)> text(json_dumps(fixed.get(), JSON_COMPACT), &std::free);
  if (!text) throw std::bad_alloc();
  return text.get();
}

}  // namespace viewgate::auth
