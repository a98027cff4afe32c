// Secrets from files: the key that tokens are checked with (beside a private PostgreSQL one made for development), and the
// credential of operators.
#pragma once

#include <string>

#include "auth/key_set.hpp"
#include "gateway/config.hpp"

namespace viewgate::gateway {

/// `auth.key_file`, else (with `embedded`) DIR/signing.key, which is made where it is missing: 32 random bytes as text,
/// readable by its owner only. Throws Stop: config (nothing configured), no_input.
[[nodiscard]] auth::KeyConfig signing_key(const Config& config);

/// What `admin.key_file` holds. Throws Stop: config (fewer than 16 bytes, or more than one line), no_input.
[[nodiscard]] std::string admin_credential(const Config& config);

/// What a key's file holds, as a key: a text editor ends a file with a newline, which is not part of a secret.
[[nodiscard]] std::string key_material(std::string text, auth::Algorithm algorithm);

}  // namespace viewgate::gateway
