// Signs tokens: for `viewgate token` (development) and for tests. A deployment's tokens come from its own issuer.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "auth/key_set.hpp"

namespace viewgate::auth {

class TokenMinter {
 public:
  /// `key`: a secret, or a private key in PEM. Throws std::invalid_argument where it cannot sign.
  explicit TokenMinter(const KeyConfig& key);

  /// A token over exactly these claim bytes; nothing is added or checked.
  [[nodiscard]] std::string mint(std::string_view claims_json) const;

 private:
  Key key_;
};

/// The standard claims as JSON text; `more` is a JSON object whose members are added ("{}" = none). Throws
/// std::invalid_argument where it is not an object or repeats a standard claim.
struct StandardClaims {
  std::string issuer;
  std::string audience;
  std::string subject;
  std::chrono::sys_seconds issued_at;
  std::chrono::sys_seconds expires_at;
};
[[nodiscard]] std::string claims_json(const StandardClaims& standard, std::string_view more = "{}");

}  // namespace viewgate::auth
