#include "auth/key_set.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "auth/jose.hpp"

namespace viewgate::auth {
namespace {

constexpr std::size_t secret_bytes_min = 32;  // RFC 7518 section 3.2: as long as the hash
constexpr unsigned int rsa_bits_min = 2048;   // RFC 7518 section 3.3

const unsigned char* bytes_of(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }

void initialise_library() {
  static const bool done = r_global_init() == RHN_OK;
  if (!done) throw std::runtime_error("the JOSE library cannot be initialised");
}

JsonPtr make_jwk() {
  initialise_library();
  jwk_t* jwk = nullptr;
  if (r_jwk_init(&jwk) != RHN_OK) throw std::bad_alloc();
  return JsonPtr(jwk);
}

[[noreturn]] void refuse(const std::string& id, const std::string& what) {
  throw std::invalid_argument("token key \"" + id + "\": " + what);
}

JsonPtr import_secret(const KeyConfig& config) {
  if (config.material.size() < secret_bytes_min) {
    refuse(config.id, "the secret must have at least " + std::to_string(secret_bytes_min) + " bytes");
  }
  JsonPtr jwk = make_jwk();
  if (r_jwk_import_from_symmetric_key(jwk.get(), bytes_of(config.material), config.material.size()) != RHN_OK) {
    refuse(config.id, "the secret cannot be used");
  }
  return jwk;
}

JsonPtr import_rsa(const KeyConfig& config, bool is_private) {
  JsonPtr jwk = make_jwk();
  const int type = is_private ? R_X509_TYPE_PRIVKEY : R_X509_TYPE_PUBKEY;
  if (r_jwk_import_from_pem_der(jwk.get(), type, R_FORMAT_PEM, bytes_of(config.material), config.material.size()) !=
      RHN_OK) {
    refuse(config.id, "must be an RSA key in PEM (-----BEGIN PUBLIC KEY----- to verify)");
  }
  unsigned int bits = 0;
  const int found = r_jwk_key_type(jwk.get(), &bits, no_remote);
  if ((found & R_KEY_TYPE_RSA) == 0) refuse(config.id, "must be an RSA key");
  if (bits < rsa_bits_min) refuse(config.id, "must have at least " + std::to_string(rsa_bits_min) + " bits");
  // The library makes up an id from the key and would write it into each token.
  json_object_del(jwk.get(), "kid");
  return jwk;
}

}  // namespace

JwsPtr make_jws() {
  initialise_library();
  jws_t* jws = nullptr;
  if (r_jws_init(&jws) != RHN_OK) throw std::bad_alloc();
  return JwsPtr(jws);
}

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::hs256:
      return "HS256";
    case Algorithm::rs256:
      return "RS256";
  }
  return {};
}

std::optional<Algorithm> algorithm_named(std::string_view text) {
  for (const Algorithm algorithm : {Algorithm::hs256, Algorithm::rs256}) {
    if (name(algorithm) == text) return algorithm;
  }
  return std::nullopt;
}

Key::Key(const KeyConfig& config)
    : id_(config.id),
      algorithm_(config.algorithm),
      private_(config.material.find("PRIVATE KEY-----") != std::string::npos) {
  const bool secret = algorithm_ == Algorithm::hs256;
  // The classic mix-up: a public key used as an HMAC secret lets everyone sign.
  if (secret && config.material.find("-----BEGIN ") != std::string::npos) {
    refuse(id_, "HS256 needs a secret, this is a key in PEM");
  }
  jwk_ = std::make_unique<Jwk>(Jwk{secret ? import_secret(config) : import_rsa(config, private_)});
}

Key::~Key() = default;
Key::Key(Key&&) noexcept = default;
Key& Key::operator=(Key&&) noexcept = default;

KeySet::KeySet(const std::vector<KeyConfig>& keys) {
  if (keys.empty()) throw std::invalid_argument("token keys: at least one is needed");
  for (const KeyConfig& config : keys) {
    const auto same = [&config](const Key& earlier) { return earlier.id() == config.id; };
    if (std::any_of(keys_.begin(), keys_.end(), same)) refuse(config.id, "the id comes twice");
    Key key(config);
    if (key.is_private()) refuse(config.id, "must be the public key; the private one stays with the issuer");
    keys_.push_back(std::move(key));
  }
}

std::vector<const Key*> KeySet::candidates(std::optional<std::string_view> kid, Algorithm algorithm) const {
  std::vector<const Key*> out;
  for (const Key& key : keys_) {
    // The only key may be configured without an id: then it serves whatever its issuer calls it.
    const bool named = !kid || *kid == key.id() || (keys_.size() == 1 && key.id().empty());
    if (key.algorithm() == algorithm && named) out.push_back(&key);
  }
  return out;
}

}  // namespace viewgate::auth
