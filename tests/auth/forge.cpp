#include "auth/forge.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "auth/base64url.hpp"

namespace viewgate::test {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, Free>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string signing_input(std::string_view header, std::string_view claims) {
  return auth::base64url_encode(header) + '.' + auth::base64url_encode(claims);
}

std::string pem_of(EVP_PKEY* key, bool private_half) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  const int done = private_half ? PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr)
                                : PEM_write_bio_PUBKEY(bio.get(), key);
  if (done != 1) throw std::runtime_error("the key cannot be written");
  return contents(bio.get());
}

/// A number of the key as bytes, as a JSON Web Key has it; `width`: with leading zeros.
std::string number_of(EVP_PKEY* key, const char* name, int width) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) throw std::runtime_error("the key has no such number");
  std::string out(static_cast<std::size_t>(width > 0 ? width : BN_num_bytes(number)), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size()));
  BN_free(number);
  return auth::base64url_encode(out);
}

std::string jwk_of(EVP_PKEY* key, KeyKind kind) {
  constexpr int p256_bytes = 32;
  switch (kind) {
    case KeyKind::rsa:
    case KeyKind::rsa_pss:
      return R"({"kty":"RSA","n":")" + number_of(key, OSSL_PKEY_PARAM_RSA_N, 0) + R"(","e":")" +
             number_of(key, OSSL_PKEY_PARAM_RSA_E, 0) + "\"}";
    case KeyKind::p256:
      return R"({"kty":"EC","crv":"P-256","x":")" + number_of(key, OSSL_PKEY_PARAM_EC_PUB_X, p256_bytes) +
             R"(","y":")" + number_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, p256_bytes) + "\"}";
    case KeyKind::ed25519: {
      std::string raw(32, '\0');
      std::size_t size = raw.size();
      EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(raw.data()), &size);
      return R"({"kty":"OKP","crv":"Ed25519","x":")" + auth::base64url_encode(raw) + "\"}";
    }
  }
  return {};
}

/// What OpenSSL makes is a DER sequence; a token has the two numbers, 32 bytes each.
std::string joined_numbers(std::string_view der) {
  const unsigned char* at = bytes_of(der);
  ECDSA_SIG* const numbers = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
  std::string out(64, '\0');
  auto* const bytes = reinterpret_cast<unsigned char*>(out.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(numbers), bytes, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(numbers), bytes + 32, 32);
  ECDSA_SIG_free(numbers);
  return out;
}

}  // namespace

SigningKey make_signing_key(KeyKind kind) {
  const bool is_rsa = kind == KeyKind::rsa || kind == KeyKind::rsa_pss;
  const KeyPtr key(
      is_rsa ? EVP_RSA_gen(2048)
             : (kind == KeyKind::p256 ? EVP_EC_gen("P-256") : EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")));
  if (!key) throw std::runtime_error("no key can be made");
  return {kind, pem_of(key.get(), true), pem_of(key.get(), false), jwk_of(key.get(), kind)};
}

std::string forge_signed(std::string_view header, std::string_view claims, const SigningKey& signer) {
  const std::string input = signing_input(header, claims);
  const BioPtr bio(BIO_new_mem_buf(signer.private_pem.data(), static_cast<int>(signer.private_pem.size())));
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* parameters = nullptr;
  const EVP_MD* const hash = signer.kind == KeyKind::ed25519 ? nullptr : EVP_sha256();
  bool done = EVP_DigestSignInit(context.get(), &parameters, hash, nullptr, key.get()) == 1;
  if (done && signer.kind == KeyKind::rsa_pss) {
    done = EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  std::string signature(1024, '\0');
  std::size_t size = signature.size();
  auto* const bytes = reinterpret_cast<unsigned char*>(signature.data());
  done = done && EVP_DigestSign(context.get(), bytes, &size, bytes_of(input), input.size()) == 1;
  if (!done) throw std::runtime_error("the forged token cannot be signed");
  signature.resize(size);
  if (signer.kind == KeyKind::p256) signature = joined_numbers(signature);
  return input + '.' + auth::base64url_encode(signature);
}

RsaKey make_rsa_key(unsigned bits) {
  const KeyPtr key(EVP_RSA_gen(bits));
  const BioPtr private_bio(BIO_new(BIO_s_mem()));
  const BioPtr public_bio(BIO_new(BIO_s_mem()));
  if (!key || PEM_write_bio_PrivateKey(private_bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_bio_PUBKEY(public_bio.get(), key.get()) != 1) {
    throw std::runtime_error("no RSA key can be made");
  }
  return {contents(private_bio.get()), contents(public_bio.get())};
}

std::string forge_hmac(std::string_view header, std::string_view claims, std::string_view secret) {
  const std::string input = signing_input(header, claims);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes_of(input), input.size(), digest.data(),
       &size);
  return input + '.' + auth::base64url_encode({reinterpret_cast<const char*>(digest.data()), size});
}

std::string forge_rsa(std::string_view header, std::string_view claims, const RsaKey& rsa) {
  const std::string input = signing_input(header, claims);
  const BioPtr bio(BIO_new_mem_buf(rsa.private_pem.data(), static_cast<int>(rsa.private_pem.size())));
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  std::array<unsigned char, 1024> signature{};
  std::size_t size = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, bytes_of(input), input.size()) != 1) {
    throw std::runtime_error("the forged token cannot be signed");
  }
  return input + '.' + auth::base64url_encode({reinterpret_cast<const char*>(signature.data()), size});
}

std::string forge_unsigned(std::string_view header, std::string_view claims) {
  return signing_input(header, claims) + '.';
}

}  // namespace viewgate::test
