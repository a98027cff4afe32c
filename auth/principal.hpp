// Who speaks on a connection: what a verified token says about its holder. An immutable value, safe to share.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace viewgate::auth {

struct Principal {
  std::string issuer;                   ///< empty: nobody in particular, where configuration admits such
  std::string subject;                  ///< `sub`, unique within the issuer; empty only where the issuer is
  std::string claims;                   ///< the token's claims as the JSON object text that was signed, byte for byte
  std::string token_id;                 ///< `jti`; empty where the token has none
  std::chrono::sys_seconds expires_at;  ///< the first moment at which the verifier refuses this token (exp plus leeway)
  std::optional<std::chrono::sys_seconds> issued_at;  ///< `iat`; absent where the token has none
};

}  // namespace viewgate::auth
