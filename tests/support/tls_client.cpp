#include "support/tls_client.hpp"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "support/raw_socket.hpp"

namespace viewgate::testing {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

void write_certificate(const std::string& certificate_file, const std::string& key_file, const std::string& name) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  constexpr long hour = 3600;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -hour);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), hour);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), subject);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const auto write = [](const std::string& path, const auto& put) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr || put(file) != 1) throw std::runtime_error(path + " cannot be written");
    std::fclose(file);
  };
  write(certificate_file, [&](std::FILE* file) { return PEM_write_X509(file, certificate.get()); });
  write(key_file,
        [&](std::FILE* file) { return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

TlsMeeting meet(std::uint16_t port, TlsVersion version) {
  const int number = version == TlsVersion::v1_1   ? TLS1_1_VERSION
                     : version == TlsVersion::v1_2 ? TLS1_2_VERSION
                                                   : TLS1_3_VERSION;
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_security_level(context.get(), 0);  // 1.1 must be refused by the other side, not by ours
  SSL_CTX_set_min_proto_version(context.get(), number);
  SSL_CTX_set_max_proto_version(context.get(), number);
  RawSocket socket(port);
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_fd(ssl.get(), socket.fd());
  TlsMeeting out;
  out.agreed = SSL_connect(ssl.get()) == 1;
  if (!out.agreed) return out;
  out.version = SSL_get_version(ssl.get());
  const std::unique_ptr<X509, void (*)(X509*)> shown(SSL_get1_peer_certificate(ssl.get()), X509_free);
  std::array<char, 100> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName, name.data(), name.size());
  out.name = name.data();
  if (version == TlsVersion::v1_2) {
    // SSL_renegotiate alone only remembers the wish.
    SSL_renegotiate(ssl.get());
    ERR_clear_error();
    out.refused_renegotiation =
        SSL_do_handshake(ssl.get()) != 1 && ERR_GET_REASON(ERR_peek_error()) == SSL_R_NO_RENEGOTIATION;
  }
  return out;
}

std::string answer_after_key_updates(std::uint16_t port, int count) {
  constexpr int at_once = 100;
  constexpr std::string_view request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  RawSocket socket(port);
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_fd(ssl.get(), socket.fd());
  if (SSL_connect(ssl.get()) != 1) throw std::runtime_error("the handshake failed");
  SSL_set0_wbio(ssl.get(), BIO_new(BIO_s_mem()));
  for (int i = 1; i <= count; ++i) {
    SSL_key_update(ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
    if (SSL_do_handshake(ssl.get()) != 1) throw std::runtime_error("a key cannot be changed");
    if (i == count) SSL_write(ssl.get(), request.data(), static_cast<int>(request.size()));
    if (i % at_once > 0 && i < count) continue;
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl.get()), &bytes);
    if (!socket.send(std::string_view(bytes, static_cast<std::size_t>(size)))) return {};
    static_cast<void>(BIO_reset(SSL_get_wbio(ssl.get())));
  }
  const timeval longest{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  std::array<char, 1000> answer{};
  const int size = SSL_read(ssl.get(), answer.data(), static_cast<int>(answer.size()));
  return size > 0 ? std::string(answer.data(), static_cast<std::size_t>(size)) : std::string();
}

class TlsGate::Loop {
 public:
  Loop(std::uint16_t port, const std::string& source)
      : from_(asio::ip::make_address(source), 0), to_(asio::ip::address_v4::loopback(), port) {
    context_.set_verify_mode(asio::ssl::verify_none);
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Loop() {
    io_.stop();
    thread_.join();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  struct Pair : std::enable_shared_from_this<Pair> {
    Pair(tcp::socket plain_, asio::io_context& io, asio::ssl::context& context)
        : plain(std::move(plain_)), tls(io, context) {}

    void start(const tcp::endpoint& from, const tcp::endpoint& to) {
      tls.lowest_layer().open(from.protocol());
      tls.lowest_layer().bind(from);
      tls.lowest_layer().async_connect(to, [self = shared_from_this()](const boost::system::error_code& refused) {
        if (refused) return self->end();
        self->tls.async_handshake(asio::ssl::stream_base::client, [self](const boost::system::error_code& failed) {
          if (failed) return self->end();
          self->pump(self->plain, self->tls, self->up);
          self->pump(self->tls, self->plain, self->down);
        });
      });
    }
    template <class From, class To>
    void pump(From& from, To& to, std::array<char, 16384>& buffer) {
      from.async_read_some(asio::buffer(buffer), [self = shared_from_this(), &from, &to, &buffer](
                                                     const boost::system::error_code& ended, std::size_t count) {
        if (ended) return self->end();
        asio::async_write(to, asio::buffer(buffer.data(), count),
                          [self, &from, &to, &buffer](const boost::system::error_code& broken, std::size_t) {
                            if (broken) return self->end();
                            self->pump(from, to, buffer);
                          });
      });
    }
    void end() {
      boost::system::error_code ignored;
      plain.close(ignored);
      tls.lowest_layer().close(ignored);
    }

    tcp::socket plain;
    asio::ssl::stream<tcp::socket> tls;
    std::array<char, 16384> up{}, down{};
  };

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error) return;
      std::make_shared<Pair>(std::move(socket), io_, context_)->start(from_, to_);
      accept();
    });
  }

  const tcp::endpoint from_, to_;
  asio::io_context io_{1};
  asio::ssl::context context_{asio::ssl::context::tls_client};
  tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::thread thread_;
};

TlsGate::TlsGate(std::uint16_t port, const std::string& source)
    : loop_(std::make_unique<Loop>(port, source)), own_port_(loop_->port()) {}
TlsGate::~TlsGate() = default;

}  // namespace viewgate::testing
