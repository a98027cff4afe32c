#include "loadtest/token.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <ctime>

#include "loadtest/slices.hpp"

namespace viewgate::loadtest {

namespace {

std::string base64url(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  while (!out.empty() && out.back() == '=') out.pop_back();
  for (char& c : out) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return out;
}

}  // namespace

std::string sign_hs256(std::string_view header, std::string_view claims, std::string_view secret) {
  const std::string signed_part = base64url(header) + "." + base64url(claims);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(signed_part.data()), signed_part.size(), digest.data(), &length);
  return signed_part + "." + base64url({reinterpret_cast<const char*>(digest.data()), length});
}

std::string TokenMaker::make(std::string_view subject, std::string_view claims) const {
  std::string body = R"({"iss":)" + quoted(issuer) + R"(,"aud":)" + quoted(audience) + R"(,"sub":)" + quoted(subject) +
                     R"(,"exp":)" + std::to_string(std::time(nullptr) + lifetime.count());
  if (!claims.empty()) {
    body += ',';
    body += claims;
  }
  body += '}';
  return sign_hs256(R"({"alg":"HS256","typ":"JWT"})", body, secret);
}

}  // namespace viewgate::loadtest
