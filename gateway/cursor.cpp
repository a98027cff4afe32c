#include "gateway/cursor.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>

#include "auth/base64url.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::size_t secret_bytes_min = 32;
constexpr std::size_t derived_key_bytes = 64;  // AES-256-SIV: one half authenticates, the other encrypts
constexpr std::size_t key_id_bytes = 2;
constexpr std::size_t siv_bytes = 16;
constexpr std::size_t position_bytes = 16;
constexpr std::size_t context_bytes = 64;

constexpr std::string_view context_label = "viewgate context v1";
constexpr std::string_view position_label = "viewgate position v1";

using DerivedKeyBytes = std::array<std::uint8_t, derived_key_bytes>;

struct Free {
  void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

// OpenSSL fails here only where memory or a provider is missing: nothing a caller could answer.
void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("OpenSSL cannot ") + what);
}

// Fetched once: a fetch searches the providers. (EVP_get_cipherbyname does not know SIV ciphers.)
const EVP_CIPHER* siv_cipher() {
  static const std::unique_ptr<EVP_CIPHER, Free> cipher(EVP_CIPHER_fetch(nullptr, "AES-256-SIV", nullptr));
  require(cipher != nullptr, "provide AES-256-SIV; version 3 with the default provider does");
  return cipher.get();
}

EVP_KDF* hkdf() {
  static const std::unique_ptr<EVP_KDF, Free> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  require(kdf != nullptr, "provide HKDF");
  return kdf.get();
}

std::array<std::uint8_t, 32> sha256(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(part.size() >> shift & 0xFFU);
    text += part;
  }
  std::array<std::uint8_t, 32> digest{};
  require(EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1, "make SHA-256");
  return digest;
}

// HKDF-SHA-256 (RFC 5869) of a secret for one purpose.
DerivedKeyBytes derive(const std::string& secret, std::string_view label, std::span<const std::uint8_t> subject) {
  std::string info(label);
  info.append(subject.begin(), subject.end());
  std::string digest = "SHA256";
  std::string key = secret;
  const std::array<OSSL_PARAM, 4> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()), OSSL_PARAM_construct_end()};
  const std::unique_ptr<EVP_KDF_CTX, Free> context(EVP_KDF_CTX_new(hkdf()));
  DerivedKeyBytes out{};
  require(context && EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()) == 1, "derive a key");
  OPENSSL_cleanse(key.data(), key.size());
  return out;
}

void put(std::uint8_t*& at, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) *at++ = static_cast<std::uint8_t>(value >> shift);
}

void put(std::uint8_t*& at, std::span<const std::uint8_t> bytes) { at = std::copy(bytes.begin(), bytes.end(), at); }

std::uint64_t take_integer(const std::uint8_t*& at) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | *at++;
  return value;
}

void take(const std::uint8_t*& at, std::span<std::uint8_t> bytes) {
  std::copy_n(at, bytes.size(), bytes.begin());
  at += bytes.size();
}

// A token while it is sealed or opened. The key id is authenticated as associated data.
template <std::size_t plain_bytes>
class Token {
 public:
  static constexpr std::size_t size = key_id_bytes + siv_bytes + plain_bytes;
  static constexpr std::size_t text_size = (size * 4 + 2) / 3;
  using Plain = std::array<std::uint8_t, plain_bytes>;

  static std::string seal(std::uint16_t key_id, const DerivedKeyBytes& key, const Plain& plain) {
    std::array<std::uint8_t, size> bytes{};
    bytes[0] = static_cast<std::uint8_t>(key_id >> 8);
    bytes[1] = static_cast<std::uint8_t>(key_id);
    const std::unique_ptr<EVP_CIPHER_CTX, Free> context(EVP_CIPHER_CTX_new());
    int length = 0;
    require(context && EVP_EncryptInit_ex2(context.get(), siv_cipher(), key.data(), nullptr, nullptr) == 1 &&
                EVP_EncryptUpdate(context.get(), nullptr, &length, bytes.data(), key_id_bytes) == 1 &&
                EVP_EncryptUpdate(context.get(), bytes.data() + key_id_bytes + siv_bytes, &length, plain.data(),
                                  plain_bytes) == 1 &&
                EVP_EncryptFinal_ex(context.get(), nullptr, &length) == 1 &&
                EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, siv_bytes, bytes.data() + key_id_bytes) == 1,
            "seal a cursor");
    return auth::base64url_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  // Absent: not a token of this length and spelling.
  static std::optional<Token> read(std::string_view text) {
    if (text.size() != text_size) return std::nullopt;
    const std::optional<std::string> bytes = auth::base64url_decode(text);
    if (!bytes) return std::nullopt;
    Token token;
    std::copy(bytes->begin(), bytes->end(), token.bytes_.begin());
    return token;
  }

  [[nodiscard]] std::uint16_t key_id() const { return static_cast<std::uint16_t>(bytes_[0] << 8 | bytes_[1]); }

  std::optional<Plain> open(const DerivedKeyBytes& key) {
    const std::unique_ptr<EVP_CIPHER_CTX, Free> context(EVP_CIPHER_CTX_new());
    int length = 0;
    require(
        context && EVP_DecryptInit_ex2(context.get(), siv_cipher(), key.data(), nullptr, nullptr) == 1 &&
            EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, siv_bytes, bytes_.data() + key_id_bytes) == 1 &&
            EVP_DecryptUpdate(context.get(), nullptr, &length, bytes_.data(), key_id_bytes) == 1,
        "open a cursor");
    Plain plain{};
    if (EVP_DecryptUpdate(context.get(), plain.data(), &length, bytes_.data() + key_id_bytes + siv_bytes,
                          plain_bytes) != 1 ||
        EVP_DecryptFinal_ex(context.get(), nullptr, &length) != 1) {
      return std::nullopt;
    }
    return plain;
  }

 private:
  std::array<std::uint8_t, size> bytes_{};
};

using ContextToken = Token<context_bytes>;
using PositionToken = Token<position_bytes>;
static_assert(ContextToken::text_size + 1 + PositionToken::text_size <= limits::cursor_bytes);

}  // namespace

CursorKeys::CursorKeys(std::vector<Key> keys) : keys_(std::move(keys)) {
  if (keys_.empty()) throw std::invalid_argument("cursor keys: at least one is needed");
  for (auto key = keys_.begin(); key != keys_.end(); ++key) {
    const std::string label = "cursor key " + std::to_string(key->id);
    if (key->secret.size() < secret_bytes_min) {
      throw std::invalid_argument(label + ": the secret must have at least " + std::to_string(secret_bytes_min) +
                                  " bytes");
    }
    if (std::any_of(keys_.begin(), key, [key](const Key& earlier) { return earlier.id == key->id; })) {
      throw std::invalid_argument(label + ": the id comes twice");
    }
  }
}

Digest16 digest16(std::initializer_list<std::string_view> parts) {
  const auto digest = sha256(parts);
  Digest16 out{};
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

std::uint64_t digest8(std::initializer_list<std::string_view> parts) {
  const auto digest = sha256(parts);
  const std::uint8_t* at = digest.data();
  return take_integer(at);
}

std::string seal_context(const CursorKeys& keys, const CursorContext& context) {
  ContextToken::Plain plain{};
  std::uint8_t* at = plain.data();
  put(at, context.principal);
  put(at, context.subscription);
  put(at, context.view_version);
  put(at, context.claims);
  put(at, context.group.bytes);
  const CursorKeys::Key& key = keys.newest();
  return ContextToken::seal(key.id, derive(key.secret, context_label, {}), plain);
}

std::optional<CursorContext> open_context(const CursorKeys& keys, std::string_view token) {
  std::optional<ContextToken> read = ContextToken::read(token);
  if (!read) return std::nullopt;
  const auto key = std::find_if(keys.all().begin(), keys.all().end(),
                                [&read](const CursorKeys::Key& known) { return known.id == read->key_id(); });
  if (key == keys.all().end()) return std::nullopt;
  const auto plain = read->open(derive(key->secret, context_label, {}));
  if (!plain) return std::nullopt;
  CursorContext context;
  const std::uint8_t* at = plain->data();
  take(at, context.principal);
  take(at, context.subscription);
  context.view_version = take_integer(at);
  context.claims = take_integer(at);
  take(at, context.group.bytes);
  return context;
}

PositionSealer::PositionSealer(const CursorKeys& keys, const GroupId& group) {
  static_assert(std::tuple_size_v<decltype(DerivedKey::bytes)> == derived_key_bytes);
  for (const CursorKeys::Key& key : keys.all()) {
    keys_.push_back({key.id, derive(key.secret, position_label, group.bytes)});
  }
}

std::string PositionSealer::seal(const ledger::Position& position) const {
  PositionToken::Plain plain{};
  std::uint8_t* at = plain.data();
  put(at, static_cast<std::uint64_t>(position.sequence.value));
  put(at, position.stamp.value);
  return PositionToken::seal(keys_.back().id, keys_.back().bytes, plain);
}

std::optional<ledger::Position> PositionSealer::open(std::string_view token) const {
  std::optional<PositionToken> read = PositionToken::read(token);
  if (!read) return std::nullopt;
  const auto key =
      std::find_if(keys_.begin(), keys_.end(), [&read](const DerivedKey& known) { return known.id == read->key_id(); });
  if (key == keys_.end()) return std::nullopt;
  const auto plain = read->open(key->bytes);
  if (!plain) return std::nullopt;
  const std::uint8_t* at = plain->data();
  ledger::Position position;
  position.sequence.value = static_cast<std::int64_t>(take_integer(at));
  position.stamp.value = take_integer(at);
  return position;
}

std::optional<CursorParts> split_cursor(std::string_view cursor) {
  if (cursor.size() > limits::cursor_bytes) return std::nullopt;
  const std::size_t dot = cursor.find('.');
  if (dot == std::string_view::npos || cursor.find('.', dot + 1) != std::string_view::npos) return std::nullopt;
  const CursorParts parts{cursor.substr(0, dot), cursor.substr(dot + 1)};
  if (parts.context.empty() || parts.position.empty()) return std::nullopt;
  return parts;
}

std::string join_cursor(std::string_view context, std::string_view position) {
  std::string cursor(context);
  cursor += '.';
  cursor += position;
  return cursor;
}

std::string channel_of(const GroupId& group) {
  constexpr std::string_view hex = "0123456789abcdef";
  const std::string id(group.bytes.begin(), group.bytes.end());
  std::uint64_t digest = digest8({"viewgate channel", id});
  std::string channel(16, '0');
  for (auto digit = channel.rbegin(); digit != channel.rend(); ++digit, digest >>= 4) *digit = hex[digest & 0xFU];
  return channel;
}

}  // namespace viewgate::gateway
