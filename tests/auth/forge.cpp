#include "auth/forge.hpp"

#include <openssl/bio.h>
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

}  // namespace

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
