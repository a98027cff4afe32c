#include "gateway/tls.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "gateway/log_sparingly.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::size_t record_bytes = SSL3_RT_MAX_PLAIN_LENGTH;
constexpr std::chrono::seconds rate_window{1};

struct FreeOpenssl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using BioPtr = std::unique_ptr<BIO, FreeOpenssl>;
using CertificatePtr = std::unique_ptr<X509, FreeOpenssl>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeOpenssl>;

BioPtr bio_over(std::string_view text) {
  const auto size = std::min<std::size_t>(text.size(), std::numeric_limits<int>::max());
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(size)));
}

/// Nobody is asked for a pass phrase.
int no_pass_phrase(char*, int, int, void*) { return 0; }

CertificatePtr next_certificate(BIO* bio) {
  return CertificatePtr(PEM_read_bio_X509(bio, nullptr, no_pass_phrase, nullptr));
}

void use_certificates(SSL_CTX* context, std::string_view text) {
  const auto bio = bio_over(text);
  const auto own = next_certificate(bio.get());
  if (!own) throw std::invalid_argument("tls.certificate holds no certificate in PEM");
  if (SSL_CTX_use_certificate(context, own.get()) != 1) {
    throw std::invalid_argument("tls.certificate is one that OpenSSL refuses: its key or its signature is too weak");
  }
  while (auto issuer = next_certificate(bio.get())) {
    if (SSL_CTX_add0_chain_cert(context, issuer.get()) == 1) static_cast<void>(issuer.release());
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    throw std::invalid_argument("tls.certificate holds, behind the first, a certificate that cannot be read");
  }
}

void use_key(SSL_CTX* context, std::string_view text) {
  const auto bio = bio_over(text);
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_pass_phrase, nullptr));
  if (!key) throw std::invalid_argument("tls.key holds no private key in PEM, or one with a pass phrase");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    throw std::invalid_argument("tls.key is not the key of the certificate");
  }
}

/// Of what a client offers, only HTTP/1.1 is spoken here; who offers something else alone is answered as if it had not.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_bytes, const unsigned char* offered,
                    unsigned int offered_bytes, void*) {
  static constexpr std::array<unsigned char, 9> http{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_bytes, http.data(), http.size(), offered, offered_bytes);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

void TlsIdentity::renew(std::string_view certificates, std::string_view key) {
  TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) throw std::invalid_argument("OpenSSL has no TLS");
  SSL_CTX* const raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(
      raw, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
  // Of 1.2 only what keeps a recorded conversation secret when the key is lost later, and authenticates as it encrypts.
  SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // OpenSSL would by itself read on behind a record without data, as long as there is one: here others have their turn first.
  SSL_CTX_clear_mode(raw, SSL_MODE_AUTO_RETRY);
  // No session is resumed: the key of 1.2's tickets would open what was recorded for as long as the context lives, and a
  // cache would be memory that strangers fill.
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
  SSL_CTX_set_default_passwd_cb(raw, no_pass_phrase);
  ERR_clear_error();
  use_certificates(raw, certificates);
  use_key(raw, key);
  ERR_clear_error();  // the end of a file is an error to OpenSSL
  const std::scoped_lock lock(mutex_);
  context_ = std::move(context);
}

void TlsIdentity::adopt(const TlsIdentity& other) {
  auto theirs = other.context();
  const std::scoped_lock lock(mutex_);
  context_ = std::move(theirs);
}

TlsContext TlsIdentity::context() const {
  const std::scoped_lock lock(mutex_);
  return context_;
}

void TlsStream::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsStream::TlsStream(const TlsContext& context, int socket, const Correlation& who)
    : who_(who), ssl_(SSL_new(context.get())) {
  failed_ = !ssl_ || SSL_set_fd(ssl_.get(), socket) != 1;
  if (failed_) return;
  SSL_set_accept_state(ssl_.get());
  SSL_set_msg_callback(ssl_.get(), &TlsStream::on_message);
  SSL_set_msg_callback_arg(ssl_.get(), this);
  BIO_set_callback_ex(SSL_get_rbio(ssl_.get()), &TlsStream::on_bio);
  BIO_set_callback_arg(SSL_get_rbio(ssl_.get()), reinterpret_cast<char*>(this));
}

TlsStream::~TlsStream() = default;

/// Counts each record that comes, by its header; `read` takes off those that had data.
void TlsStream::on_message(int written, int, int kind, const void*, std::size_t, ssl_st*, void* self) {
  if (written == 0 && kind == SSL3_RT_HEADER) ++static_cast<TlsStream*>(self)->bare_records_;
}

/// Refuses to read on in a flood: behind a handshake that it refuses at 1.2, OpenSSL goes on inside one call whatever its mode.
long TlsStream::on_bio(bio_st* bio, int operation, const char*, std::size_t, int, long, int result, std::size_t*) {
  if (operation != BIO_CB_READ || !reinterpret_cast<const TlsStream*>(BIO_get_callback_arg(bio))->is_flood())
    return result;
  BIO_clear_retry_flags(bio);
  return 0;
}

/// One line for each connection that was none, with OpenSSL's own constant reason.
void TlsStream::fail() {
  const char* const reason = is_flood() ? "too many records without data" : ERR_reason_error_string(ERR_peek_error());
  if (std::exchange(failed_, true) || reason == nullptr) return;
  log::write_sparingly(log::Level::info, "tls_failed", {who_.connection_field(), {"reason", reason}});
}

std::optional<std::size_t> TlsStream::read(std::span<char> into, std::chrono::steady_clock::time_point now) {
  if (failed_) return std::nullopt;
  if (now - window_ >= rate_window) {
    window_ = now;
    bare_records_ = 0;
  }
  ERR_clear_error();
  const int count = SSL_read(ssl_.get(), into.data(), static_cast<int>(into.size()));
  wants_write_ = false;
  if (count > 0) {
    if (bare_records_ > 0) --bare_records_;
    return static_cast<std::size_t>(count);
  }
  switch (SSL_get_error(ssl_.get(), count)) {
    case SSL_ERROR_WANT_READ:
      return 0;
    case SSL_ERROR_WANT_WRITE:
      wants_write_ = true;
      return 0;
    default:
      fail();
      return std::nullopt;
  }
}

/// A frame header and slices of rings become one record as long as they fit into one: a record costs a header and a tag, and a call.
std::optional<std::size_t> TlsStream::write(std::span<const std::string_view> pieces) {
  if (pieces.size() == 1) return write(pieces.front());
  std::array<char, record_bytes> record;
  std::size_t filled = 0;
  std::size_t taken = 0;
  for (auto piece : pieces) {
    while (!piece.empty()) {
      const std::size_t count = std::min(piece.size(), record.size() - filled);
      std::copy_n(piece.data(), count, record.data() + filled);
      filled += count;
      piece.remove_prefix(count);
      if (filled < record.size()) continue;
      const auto written = write(std::string_view(record.data(), filled));
      if (!written) return std::nullopt;
      taken += *written;
      if (*written < filled) return taken;
      filled = 0;
    }
  }
  const auto written = write(std::string_view(record.data(), filled));
  if (!written) return std::nullopt;
  return taken + *written;
}

std::optional<std::size_t> TlsStream::write(std::string_view bytes) {
  if (failed_) return std::nullopt;
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    ERR_clear_error();
    const auto rest = bytes.substr(taken);
    const auto size = std::min<std::size_t>(rest.size(), std::numeric_limits<int>::max());
    const int count = SSL_write(ssl_.get(), rest.data(), static_cast<int>(size));
    if (count > 0) {
      taken += static_cast<std::size_t>(count);
      continue;
    }
    if (SSL_get_error(ssl_.get(), count) == SSL_ERROR_WANT_WRITE) break;
    fail();
    return std::nullopt;
  }
  return taken;
}

void TlsStream::close() {
  if (failed_ || SSL_in_init(ssl_.get()) != 0) return;
  ERR_clear_error();
  static_cast<void>(SSL_shutdown(ssl_.get()));
}

}  // namespace viewgate::gateway
