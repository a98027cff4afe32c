#include "auth/key_set.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "auth/jose.hpp"

namespace viewgate::auth {
namespace {

constexpr unsigned int rsa_bits_min = 2048;  // RFC 7518 section 3.3
constexpr std::size_t tried_without_id = 4;  // signatures that a stranger can make us check for one token

struct AlgorithmTraits {
  Algorithm algorithm;
  std::string_view name;
  std::size_t secret_bytes_min;  // RFC 7518 section 3.2: as long as the hash; 0 = the key is no secret
  int key_type;                  // of the library
  std::string_view key_text;
};

constexpr std::array<AlgorithmTraits, 7> traits{{
    {Algorithm::hs256, "HS256", 32, R_KEY_TYPE_HMAC, "a secret"},
    {Algorithm::hs384, "HS384", 48, R_KEY_TYPE_HMAC, "a secret"},
    {Algorithm::hs512, "HS512", 64, R_KEY_TYPE_HMAC, "a secret"},
    {Algorithm::rs256, "RS256", 0, R_KEY_TYPE_RSA, "an RSA key"},
    {Algorithm::ps256, "PS256", 0, R_KEY_TYPE_RSA, "an RSA key"},
    {Algorithm::es256, "ES256", 0, R_KEY_TYPE_EC, "an EC key on P-256"},
    {Algorithm::eddsa, "EdDSA", 0, R_KEY_TYPE_EDDSA, "an Ed25519 key"},
}};

const AlgorithmTraits& traits_of(Algorithm algorithm) { return traits[static_cast<std::size_t>(algorithm)]; }

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
  const std::size_t bytes_min = traits_of(config.algorithm).secret_bytes_min;
  if (config.material.size() < bytes_min) {
    refuse(config.id, "the secret must have at least " + std::to_string(bytes_min) + " bytes");
  }
  JsonPtr jwk = make_jwk();
  if (r_jwk_import_from_symmetric_key(jwk.get(), bytes_of(config.material), config.material.size()) != RHN_OK) {
    refuse(config.id, "the secret cannot be used");
  }
  return jwk;
}

JsonPtr import_pem(const KeyConfig& config) {
  JsonPtr jwk = make_jwk();
  const bool is_private = config.material.find("PRIVATE KEY-----") != std::string::npos;
  const int type = is_private ? R_X509_TYPE_PRIVKEY : R_X509_TYPE_PUBKEY;
  if (r_jwk_import_from_pem_der(jwk.get(), type, R_FORMAT_PEM, bytes_of(config.material), config.material.size()) !=
      RHN_OK) {
    refuse(config.id, "must be " + std::string(traits_of(config.algorithm).key_text) +
                          " in PEM (-----BEGIN PUBLIC KEY----- to verify)");
  }
  // The library makes up an id from the key and would write it into each token.
  json_object_del(jwk.get(), "kid");
  return jwk;
}

std::string_view curve_of(json_t* jwk) {
  const char* const curve = json_string_value(json_object_get(jwk, "crv"));
  return curve == nullptr ? std::string_view{} : curve;
}

/// Throws unless the key is one that this algorithm signs with, and strong enough.
void check_fits(const std::string& id, Algorithm algorithm, json_t* jwk) {
  const AlgorithmTraits& wanted = traits_of(algorithm);
  unsigned int bits = 0;
  const int found = r_jwk_key_type(jwk, &bits, no_remote);
  const std::string_view curve = algorithm == Algorithm::es256   ? "P-256"
                                 : algorithm == Algorithm::eddsa ? "Ed25519"
                                                                 : "";
  if ((found & wanted.key_type) == 0 || (!curve.empty() && curve_of(jwk) != curve)) {
    refuse(id, "must be " + std::string(wanted.key_text));
  }
  if (wanted.key_type == R_KEY_TYPE_RSA && bits < rsa_bits_min) {
    refuse(id, "must have at least " + std::to_string(rsa_bits_min) + " bits");
  }
}

}  // namespace

JwsPtr make_jws() {
  initialise_library();
  jws_t* jws = nullptr;
  if (r_jws_init(&jws) != RHN_OK) throw std::bad_alloc();
  return JwsPtr(jws);
}

std::string_view name(Algorithm algorithm) { return traits_of(algorithm).name; }

std::optional<Algorithm> algorithm_named(std::string_view text) {
  for (const AlgorithmTraits& each : traits) {
    if (each.name == text) return each.algorithm;
  }
  return std::nullopt;
}

bool is_symmetric(Algorithm algorithm) { return traits_of(algorithm).secret_bytes_min > 0; }

Key::Key(const KeyConfig& config) : id_(config.id), algorithm_(config.algorithm) {
  const bool secret = is_symmetric(algorithm_);
  // The classic mix-up: a public key used as an HMAC secret lets everyone sign.
  if (secret && config.material.find("-----BEGIN ") != std::string::npos) {
    refuse(id_, std::string(name(algorithm_)) + " needs a secret, this is a key in PEM");
  }
  jwk_ = std::make_unique<Jwk>(Jwk{secret ? import_secret(config) : import_pem(config)});
  check_fits(id_, algorithm_, jwk_->json.get());
  private_ = !secret && json_object_get(jwk_->json.get(), "d") != nullptr;
}

Key::Key(std::string id, Algorithm algorithm, std::unique_ptr<Jwk> jwk)
    : id_(std::move(id)), algorithm_(algorithm), jwk_(std::move(jwk)) {
  check_fits(id_, algorithm_, jwk_->json.get());
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
    if (!kid && out.size() == tried_without_id) break;
  }
  return out;
}

}  // namespace viewgate::auth
