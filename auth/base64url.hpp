// base64url without padding (RFC 4648 section 5), strictly: each sequence of bytes has one spelling and no other is
// read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace viewgate::auth {

[[nodiscard]] std::string base64url_encode(std::string_view bytes);

/// Absent: a character outside the alphabet, an impossible length, or spare bits that are not zero.
[[nodiscard]] std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace viewgate::auth
