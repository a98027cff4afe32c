// Decides whether a token is one of ours. Pure: the clock is a parameter, no key and no URL ever comes from a token,
// nothing is fetched and no file is read. Immutable after construction; shared by all threads.
//
// Everything that can be decided without the signature (size, form, `alg`, `crit`, duplicate members, members that name
// a key) is checked before it, because the library accepts some of it silently.
#pragma once

#include <boost/system/result.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

#include "auth/key_set.hpp"
#include "auth/principal.hpp"

namespace viewgate::auth {

/// What the outside is told, whatever the reason was: an answer that differs would help to guess.
inline constexpr std::string_view refusal_text = "the token was not accepted";

/// `reason` is for the log: constant texts, nothing of the token in them.
struct TokenRefused {
  std::string_view reason;
};

[[noreturn]] void throw_exception_from_error(const TokenRefused& refused, const boost::source_location& location);

using VerifiedToken = boost::system::result<Principal, TokenRefused>;

struct VerifierConfig {
  std::string issuer;               ///< `iss` must equal it
  std::string audience;             ///< `aud` must equal it or, as an array, hold it
  std::chrono::seconds leeway{10};  ///< for clocks that differ; at most a minute
  std::size_t token_bytes_max = std::size_t{8} * 1024;
};

class TokenVerifier {
 public:
  static constexpr std::chrono::seconds leeway_max{60};

  /// Throws std::invalid_argument: issuer or audience empty, leeway outside 0..leeway_max.
  TokenVerifier(VerifierConfig config, KeySet keys);

  [[nodiscard]] VerifiedToken verify(std::string_view token, std::chrono::system_clock::time_point now) const;

 private:
  VerifierConfig config_;
  KeySet keys_;
};

}  // namespace viewgate::auth
