// Who speaks on a connection: what a verified token says about its holder. An immutable value, safe to share.
#pragma once

#include <chrono>
#include <string>

namespace viewgate::auth {

struct Principal {
  std::string issuer;
  std::string subject;                  ///< `sub`: never empty; unique within the issuer
  std::string claims;                   ///< the token's claims as the JSON object text that was signed, byte for byte
  std::string token_id;                 ///< `jti`; empty where the token has none
  std::chrono::sys_seconds expires_at;  ///< the first moment at which the verifier refuses this token (exp plus leeway)
};

}  // namespace viewgate::auth
