// Tokens for the clients of a load test: HS256, made here, since thousands of them are not made by starting a program
// for each.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace viewgate::loadtest {

/// A compact JWT over exactly this header and these claims.
std::string sign_hs256(std::string_view header, std::string_view claims, std::string_view secret);

struct TokenMaker {
  std::string secret;
  std::string issuer = "viewgate";
  std::string audience = "viewgate";
  std::chrono::seconds lifetime{24 * 3600};

  /// `claims`: further members as JSON text, `"digit":"3"`, or empty.
  std::string make(std::string_view subject, std::string_view claims) const;
};

}  // namespace viewgate::loadtest
