#include "auth/token_verifier.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "auth/base64url.hpp"
#include "auth/jose.hpp"

namespace viewgate::auth {
namespace {

constexpr std::size_t subject_bytes_max = 255;  // OpenID Connect Core section 2
constexpr std::size_t key_id_bytes_max = 255;

// A time in the far future would overflow the nanoseconds in which clocks count.
constexpr std::chrono::sys_seconds far_future{std::chrono::seconds{7'258'118'400}};  // 2200-01-01

// Header members that change what the signature means or where its key comes from. We need none of them, and a token
// that brings one is refused rather than read without it.
constexpr std::array<const char*, 8> refused_members{"crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c"};

// A refusal on its way out of the checks; caught in verify.
struct Refused {
  std::string_view reason;
  RefusalKind kind = RefusalKind::invalid;
  std::size_t issuer = 0;
};

struct TokenParts {
  std::string header;
  std::string claims;
};

TokenParts split(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
    throw Refused{"not three parts"};
  }
  auto header = base64url_decode(token.substr(0, first));
  auto claims = base64url_decode(token.substr(first + 1, second - first - 1));
  if (!header || !claims || !base64url_decode(token.substr(second + 1))) throw Refused{"not base64url"};
  return {*std::move(header), *std::move(claims)};
}

// Null where the member is absent; another type than string is a refusal.
const json_t* string_member(const json_t* object, const char* member, std::string_view refusal) {
  const json_t* const value = json_object_get(object, member);
  if (value != nullptr && !json_is_string(value)) throw Refused{refusal};
  return value;
}

std::string_view characters(const json_t* string) { return {json_string_value(string), json_string_length(string)}; }

struct Header {
  Algorithm algorithm = Algorithm::hs256;
  std::optional<std::string> key_id;
};

Header read_header(const std::string& text) {
  const JsonPtr header = parse_object(text);
  if (!header) throw Refused{"the header is not a JSON object, or has a member twice"};
  for (const char* const member : refused_members) {
    if (json_object_get(header.get(), member) != nullptr)
      throw Refused{"the header has a member that is never accepted"};
  }
  string_member(header.get(), "typ", "typ is not a string");
  const json_t* const algorithm = string_member(header.get(), "alg", "alg is not a string");
  if (algorithm == nullptr) throw Refused{"alg is missing"};
  const std::optional<Algorithm> known = algorithm_named(characters(algorithm));
  if (!known) throw Refused{"an algorithm that is not accepted"};

  Header out{*known, std::nullopt};
  if (const json_t* const key_id = string_member(header.get(), "kid", "kid is not a string")) {
    if (json_string_length(key_id) > key_id_bytes_max) throw Refused{"kid is too long"};
    out.key_id = std::string(characters(key_id));
  }
  return out;
}

bool is_signed_by(std::string_view token, const Key& key) {
  const JwsPtr jws = make_jws();
  if (r_jws_advanced_compact_parsen(jws.get(), token.data(), token.size(), R_PARSE_NONE, no_remote) != RHN_OK) {
    return false;
  }
  return r_jws_verify_signature(jws.get(), key.jwk().json.get(), no_remote) == RHN_OK;
}

// A NumericDate (RFC 7519 section 2) in whole seconds.
std::chrono::sys_seconds date_member(const json_t* claims, const char* member, std::string_view refusal) {
  constexpr double exact_max = 9007199254740992.0;
  const json_t* const value = json_object_get(claims, member);
  if (!json_is_number(value)) throw Refused{refusal};
  const double seconds = std::floor(json_number_value(value));
  if (!(std::abs(seconds) <= exact_max)) throw Refused{refusal};
  return std::chrono::sys_seconds{std::chrono::seconds{static_cast<std::int64_t>(seconds)}};
}

bool names_audience(const json_t* audience, const std::string& expected) {
  if (json_is_string(audience)) return characters(audience) == expected;
  for (std::size_t i = 0; i < json_array_size(audience); ++i) {
    const json_t* const one = json_array_get(audience, i);
    if (json_is_string(one) && characters(one) == expected) return true;
  }
  return false;
}

JsonPtr parse_claims(const std::string& text) {
  JsonPtr claims = parse_object(text);
  if (!claims) throw Refused{"the claims are not a JSON object, have a member twice, or a number nobody can hold"};
  return claims;
}

// Before the signature is checked: good for choosing a row of the table and for nothing else.
std::string_view claimed_issuer(const json_t* claims) {
  const json_t* const issuer = string_member(claims, "iss", "iss is not a string");
  if (issuer == nullptr) throw Refused{"another issuer"};
  return characters(issuer);
}

// The claims of a token whose signature holds. All comparisons are in whole seconds.
Principal read_claims(const json_t* claims, const VerifierConfig& config, std::chrono::sys_seconds now) {
  if (!names_audience(json_object_get(claims, "aud"), config.audience)) throw Refused{"another audience"};

  const auto expires = date_member(claims, "exp", "exp is missing or not a number of seconds");
  if (now >= expires + config.leeway) throw Refused{"expired"};
  if (json_object_get(claims, "nbf") != nullptr) {
    const auto not_before = date_member(claims, "nbf", "nbf is not a number of seconds");
    if (now + config.leeway < not_before) throw Refused{"not valid yet"};
  }

  const json_t* const subject = string_member(claims, "sub", "sub is not a string");
  if (subject == nullptr || json_string_length(subject) == 0) throw Refused{"sub is missing or empty"};
  if (json_string_length(subject) > subject_bytes_max) throw Refused{"sub is too long"};
  const json_t* const token_id = string_member(claims, "jti", "jti is not a string");

  Principal principal;
  principal.issuer = config.issuer;
  principal.subject = std::string(characters(subject));
  principal.token_id = token_id == nullptr ? std::string() : std::string(characters(token_id));
  principal.expires_at = std::min(expires + config.leeway, far_future);
  if (json_object_get(claims, "iat") != nullptr) {
    principal.issued_at = std::min(date_member(claims, "iat", "iat is not a number of seconds"), far_future);
  }
  return principal;
}

void check(const VerifierConfig& config) {
  if (config.issuer.empty()) throw std::invalid_argument("token issuer: must not be empty");
  if (config.audience.empty()) throw std::invalid_argument("token audience: must not be empty");
  if (config.leeway < std::chrono::seconds{0} || config.leeway > TokenVerifier::leeway_max) {
    throw std::invalid_argument("token leeway: must be 0 to " + std::to_string(TokenVerifier::leeway_max.count()) +
                                " seconds");
  }
}

std::vector<TokenVerifier::Issuer> one_issuer(VerifierConfig config, KeySet keys) {
  std::vector<TokenVerifier::Issuer> out;
  out.push_back({std::move(config), std::move(keys)});
  return out;
}

}  // namespace

void throw_exception_from_error(const TokenRefused& refused, const boost::source_location&) {
  throw std::runtime_error("token refused: " + std::string(refused.reason));
}

TokenVerifier::TokenVerifier(VerifierConfig config, KeySet keys)
    : TokenVerifier(one_issuer(std::move(config), std::move(keys))) {}

TokenVerifier::TokenVerifier(std::vector<Issuer> issuers)
    : table_(std::make_shared<const Table>(table_of(std::move(issuers)))) {}

TokenVerifier::Table TokenVerifier::table_of(std::vector<Issuer> issuers) {
  if (issuers.empty()) throw std::invalid_argument("token issuers: at least one is needed");
  Table out;
  for (Issuer& each : issuers) {
    check(each.config);
    const auto same = [&each](const Row& row) { return row.config.issuer == each.config.issuer; };
    if (std::any_of(out.begin(), out.end(), same)) {
      throw std::invalid_argument("token issuer \"" + each.config.issuer + "\": it comes twice");
    }
    out.push_back({std::move(each.config), std::make_shared<const KeySet>(std::move(each.keys))});
  }
  return out;
}

void TokenVerifier::replace_table(std::vector<Issuer> issuers, Anonymous anonymous,
                                  const std::set<std::string>& keeping) {
  Table rows = table_of(std::move(issuers));
  anonymous_admitted_ = anonymous == Anonymous::admit;
  const std::scoped_lock lock(mutex_);
  for (const Row& before : *table_) {
    for (Row& row : rows) {
      if (row.config.issuer == before.config.issuer && keeping.contains(row.config.issuer)) row.keys = before.keys;
    }
  }
  table_ = std::make_shared<const Table>(std::move(rows));
}

VerifiedToken TokenVerifier::verify(std::string_view token, std::chrono::system_clock::time_point now) const {
  const std::uint64_t keys_version = keys_version_;  // before the look at them
  try {
    const auto issuers = table();
    if (issuers->empty()) throw Refused{"another issuer"};
    if (token.size() > issuers->front().config.token_bytes_max) throw Refused{"too large"};
    TokenParts parts = split(token);
    const Header header = read_header(parts.header);
    const JsonPtr claims = parse_claims(parts.claims);
    const auto claimed = claimed_issuer(claims.get());
    const auto row = std::find_if(issuers->begin(), issuers->end(),
                                  [claimed](const Row& each) { return each.config.issuer == claimed; });
    if (row == issuers->end()) throw Refused{"another issuer"};
    const std::vector<const Key*> candidates = row->keys->candidates(header.key_id, header.algorithm);
    if (candidates.empty()) {
      throw Refused{"no key of that id and algorithm", RefusalKind::unknown_key,
                    static_cast<std::size_t>(row - issuers->begin())};
    }
    const auto signs = [token](const Key* key) { return is_signed_by(token, *key); };
    if (std::none_of(candidates.begin(), candidates.end(), signs)) throw Refused{"the signature does not hold"};
    Principal principal = read_claims(claims.get(), row->config, std::chrono::floor<std::chrono::seconds>(now));
    principal.claims = std::move(parts.claims);
    if (is_revoked(principal, now)) throw Refused{"revoked", RefusalKind::revoked};
    return principal;
  } catch (const Refused& refused) {
    return TokenRefused{refused.reason, refused.kind, refused.issuer, keys_version};
  }
}

std::shared_ptr<const TokenVerifier::Table> TokenVerifier::table() const {
  const std::scoped_lock lock(mutex_);
  return table_;
}

void TokenVerifier::replace_keys(std::size_t issuer, KeySet keys) {
  auto fresh = std::make_shared<const KeySet>(std::move(keys));
  const std::scoped_lock lock(mutex_);
  Table rows = *table_;
  rows.at(issuer).keys.swap(fresh);
  table_ = std::make_shared<const Table>(std::move(rows));
  ++keys_version_;
}

VerifiedToken TokenVerifier::anonymous() const {
  if (!anonymous_admitted_) return TokenRefused{"no token"};
  Principal nobody;
  nobody.claims = "{}";
  nobody.expires_at = far_future;
  return nobody;
}

void TokenVerifier::revoke(const std::vector<Revocation>& more, std::chrono::system_clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  revocations_.forget_expired(now);
  for (const Revocation& each : more) revocations_.add(each);
}

bool TokenVerifier::is_revoked(const Principal& principal, std::chrono::system_clock::time_point now) const {
  if (principal.issuer.empty()) return !anonymous_admitted_;
  const std::scoped_lock lock(mutex_);
  const auto row = std::find_if(table_->begin(), table_->end(),
                                [&](const Row& each) { return each.config.issuer == principal.issuer; });
  return row == table_->end() || revocations_.cover(principal, row->config.leeway, now);
}

}  // namespace viewgate::auth
