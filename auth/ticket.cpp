#include "auth/ticket.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "auth/base64url.hpp"

namespace viewgate::auth {
namespace {

constexpr std::size_t secret_bytes = 32;
constexpr std::size_t tag_bytes = 16;
// Each key seals one text and no other, so the nonce may be the same for all.
constexpr std::array<unsigned char, 12> nonce{};

using Digest = std::array<unsigned char, 32>;
using CipherPtr = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

/// Two purposes, two values that tell nothing of each other.
Digest derived(std::string_view purpose, std::string_view secret) {
  std::string text(purpose);
  text += secret;
  Digest out{};
  EVP_Digest(text.data(), text.size(), out.data(), nullptr, EVP_sha256(), nullptr);
  return out;
}

std::string digest_text(std::string_view secret) {
  const Digest digest = derived("viewgate ticket digest 1 ", secret);
  return base64url_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Digest key_of(std::string_view secret) { return derived("viewgate ticket key 1 ", secret); }

std::string seal(std::string_view secret, std::string_view token) {
  const Digest key = key_of(secret);
  const CipherPtr cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string out(token.size() + tag_bytes, '\0');
  auto* const into = reinterpret_cast<unsigned char*>(out.data());
  int count = 0;
  const bool sealed =
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data()) == 1 &&
      EVP_EncryptUpdate(cipher.get(), into, &count, bytes_of(token), static_cast<int>(token.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), into + count, &count) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, tag_bytes, into + token.size()) == 1;
  if (!sealed) throw std::runtime_error("a ticket cannot be sealed");
  return base64url_encode(out);
}

std::optional<std::string> secret_of(std::string_view ticket) {
  if (ticket.size() != ticket_chars) return std::nullopt;
  return base64url_decode(ticket);
}

}  // namespace

Ticket make_ticket(std::string_view token) {
  std::string secret(secret_bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()), secret_bytes) != 1) {
    throw std::runtime_error("no random bytes for a ticket");
  }
  return {base64url_encode(secret), digest_text(secret), seal(secret, token)};
}

std::optional<std::string> ticket_digest(std::string_view ticket) {
  const auto secret = secret_of(ticket);
  if (!secret) return std::nullopt;
  return digest_text(*secret);
}

std::optional<std::string> open_ticket(std::string_view ticket, std::string_view sealed) {
  const auto secret = secret_of(ticket);
  auto bytes = base64url_decode(sealed);
  if (!secret || !bytes || bytes->size() < tag_bytes) return std::nullopt;
  const Digest key = key_of(*secret);
  const std::size_t size = bytes->size() - tag_bytes;
  const CipherPtr cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string out(size, '\0');
  auto* const into = reinterpret_cast<unsigned char*>(out.data());
  int count = 0;
  const bool opened = EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data()) == 1 &&
                      EVP_DecryptUpdate(cipher.get(), into, &count, bytes_of(*bytes), static_cast<int>(size)) == 1 &&
                      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, tag_bytes, bytes->data() + size) == 1 &&
                      EVP_DecryptFinal_ex(cipher.get(), into + count, &count) == 1;
  return opened ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace viewgate::auth
