// TLS 1.2 and 1.3 on the public port, by OpenSSL. A connection that has it reads and writes through a TlsStream in place of the
// bare socket, with the same bounds: what OpenSSL holds for it is at most one record each way (16 KiB), and none while idle.
//
// Why not Asio's ssl::stream: it is written for asynchronous operations on buffers that stay, while here a message is handed to the
// socket from where it lies and only the rest is kept. OpenSSL's own non-blocking calls fit that, and nothing else.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/correlation.hpp"

struct bio_st;      // OpenSSL's BIO
struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // OpenSSL's SSL

namespace viewgate::gateway {

using TlsContext = std::shared_ptr<ssl_ctx_st>;

/// The certificate and the key that new connections are shown; those that are there keep theirs. Thread-safe.
class TlsIdentity {
 public:
  /// Texts in PEM: the certificate, then those that it was issued by; the key without a pass phrase. Throws
  /// std::invalid_argument that says what is wrong with which of the two.
  TlsIdentity(std::string_view certificates, std::string_view key) { renew(certificates, key); }

  /// The same for a new pair; where it throws, the old one stays in force.
  void renew(std::string_view certificates, std::string_view key);
  /// The pair that the other one has.
  void adopt(const TlsIdentity& other);
  [[nodiscard]] TlsContext context() const;

 private:
  mutable std::mutex mutex_;
  TlsContext context_;
};

class TlsStream {
 public:
  /// The server's side, over a non-blocking socket that outlives it, as does `who`, whose connection it is.
  TlsStream(const TlsContext& context, int socket, const Correlation& who);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// Decrypted bytes, and the handshake on the way; 0: the socket has no more at present, or (`wants_write`) must take some first.
  /// Absent: the connection has ended, is none of TLS, or `is_flood`. `into`: at least 16 KiB, so that nothing stays behind in OpenSSL.
  [[nodiscard]] std::optional<std::size_t> read(std::span<char> into, std::chrono::steady_clock::time_point now);
  [[nodiscard]] bool wants_write() const { return wants_write_; }
  /// More records without data came in a second than anybody has use for: new keys again and again, handshakes that are refused.
  [[nodiscard]] bool is_flood() const { return bare_records_ > bare_records_per_second; }

  /// How much was taken; less than all: the socket is full, and the next call must begin with the rest. Absent: broken.
  [[nodiscard]] std::optional<std::size_t> write(std::span<const std::string_view> pieces);

  /// Tells the other side that nothing more comes.
  void close();

 private:
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  [[nodiscard]] std::optional<std::size_t> write(std::string_view bytes);
  void fail();
  static void on_message(int written, int version, int kind, const void* bytes, std::size_t size, ssl_st* ssl,
                         void* self);
  static long on_bio(bio_st* bio, int operation, const char* bytes, std::size_t size, int, long, int result,
                     std::size_t* processed);

  static constexpr std::size_t bare_records_per_second = 100;  // a handshake has fewer than ten

  const Correlation& who_;
  std::unique_ptr<ssl_st, Free> ssl_;
  std::chrono::steady_clock::time_point window_;
  std::size_t bare_records_ = 0;  // in the window
  bool wants_write_ = false;
  bool failed_ = false;
};

}  // namespace viewgate::gateway
