#include "auth/jwks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "auth/jose.hpp"

namespace viewgate::auth {
namespace {

constexpr std::size_t id_bytes_max = 255;

std::optional<std::string> text_member(const json_t* object, const char* name) {
  const json_t* const value = json_object_get(object, name);
  if (!json_is_string(value)) return std::nullopt;
  return std::string(json_string_value(value), json_string_length(value));
}

/// The kinds of keys of RFC 7518 section 6 and RFC 8037, with the members that make the public half.
struct Kind {
  std::string_view kty;
  std::array<const char*, 3> members;
  std::array<Algorithm, 2> algorithms;
};
constexpr std::array<Kind, 3> kinds{{
    {"RSA", {"n", "e", nullptr}, {Algorithm::rs256, Algorithm::ps256}},
    {"EC", {"crv", "x", "y"}, {Algorithm::es256, Algorithm::es256}},
    {"OKP", {"crv", "x", nullptr}, {Algorithm::eddsa, Algorithm::eddsa}},
}};

const Kind* kind_of(const json_t* jwk) {
  const auto kty = text_member(jwk, "kty");
  const auto* const found =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& each) { return kty && each.kty == *kty; });
  return found == kinds.end() ? nullptr : found;
}

bool has(const std::vector<Algorithm>& all, Algorithm one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// The algorithm that this key is pinned to; absent where it is none of the issuer's, or could be several.
std::optional<Algorithm> pinned(const json_t* jwk, const Kind& kind, const std::vector<Algorithm>& algorithms) {
  std::vector<Algorithm> fitting;
  for (const Algorithm each : kind.algorithms) {
    if (has(algorithms, each) && !has(fitting, each)) fitting.push_back(each);
  }
  if (json_object_get(jwk, "alg") != nullptr) {
    const auto named = algorithm_named(text_member(jwk, "alg").value_or(""));
    return named && has(fitting, *named) ? named : std::nullopt;
  }
  return fitting.size() == 1 ? std::optional(fitting.front()) : std::nullopt;
}

bool is_for_signatures(const json_t* jwk) {
  const json_t* const use = json_object_get(jwk, "use");
  if (use != nullptr && text_member(jwk, "use") != "sig") return false;
  const json_t* const operations = json_object_get(jwk, "key_ops");
  if (operations == nullptr) return true;
  for (std::size_t i = 0; i < json_array_size(operations); ++i) {
    const json_t* const one = json_array_get(operations, i);
    if (json_is_string(one) && std::string_view(json_string_value(one)) == "verify") return true;
  }
  return false;
}

/// Throws std::invalid_argument with what is wrong.
Key read_key(const json_t* jwk, const std::vector<Algorithm>& algorithms) {
  const std::string id = text_member(jwk, "kid").value_or("");
  if (id.size() > id_bytes_max) throw std::invalid_argument("a kid of more than 255 bytes");
  const Kind* const kind = kind_of(jwk);
  const std::string named = "token key \"" + id + "\": ";
  if (kind == nullptr) throw std::invalid_argument(named + "kty is not RSA, EC or OKP");
  if (!is_for_signatures(jwk)) throw std::invalid_argument(named + "it is not for signatures");
  if (json_object_get(jwk, "d") != nullptr) throw std::invalid_argument(named + "it shows the private half");
  const auto algorithm = pinned(jwk, *kind, algorithms);
  if (!algorithm) throw std::invalid_argument(named + "its algorithm is not one of the issuer's, or not said");
  JsonPtr clean(json_object());
  json_object_set(clean.get(), "kty", json_object_get(jwk, "kty"));
  for (const char* const member : kind->members) {
    if (member == nullptr) continue;
    if (!text_member(jwk, member)) throw std::invalid_argument(named + member + " is missing");
    json_object_set(clean.get(), member, json_object_get(jwk, member));
  }
  return Key(id, *algorithm, std::make_unique<Key::Jwk>(Key::Jwk{std::move(clean)}));
}

}  // namespace

Jwks parse_jwks(std::string_view text, const std::vector<Algorithm>& algorithms) {
  if (text.size() > jwks_bytes_max) throw std::invalid_argument("the key set is larger than 256 KiB");
  const JsonPtr document = parse_object(text);
  const json_t* const list = json_object_get(document.get(), "keys");
  if (!json_is_array(list)) throw std::invalid_argument("the key set must be a JSON object with an array \"keys\"");
  if (json_array_size(list) > jwks_keys_max) throw std::invalid_argument("the key set has more than 100 keys");
  Jwks out;
  std::vector<Key> keys;
  for (std::size_t i = 0; i < json_array_size(list); ++i) {
    try {
      Key key = read_key(json_array_get(list, i), algorithms);
      const auto same = [&key](const Key& earlier) { return earlier.id() == key.id(); };
      if (std::any_of(keys.begin(), keys.end(), same)) {
        throw std::invalid_argument("token key \"" + key.id() + "\": the id comes twice");
      }
      keys.push_back(std::move(key));
    } catch (const std::invalid_argument& problem) {
      out.skipped.emplace_back(problem.what());
    }
  }
  if (keys.empty()) {
    throw std::invalid_argument("the key set has no usable key" + (out.skipped.empty() ? "" : ": " + out.skipped[0]));
  }
  out.keys = KeySet(std::move(keys));
  return out;
}

}  // namespace viewgate::auth
