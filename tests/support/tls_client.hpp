// TLS from the client's side: certificates for tests, a handshake with exactly one version, and a gate through which the
// suite's plain clients reach a port with TLS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace viewgate::testing {

/// Writes a self-signed certificate and its key (P-256), as PEM.
void write_certificate(const std::string& certificate_file, const std::string& key_file, const std::string& name);

enum class TlsVersion : std::uint8_t { v1_1, v1_2, v1_3 };

struct TlsMeeting {
  bool agreed = false;
  std::string version;                 ///< "TLSv1.3"
  std::string name;                    ///< the common name of the certificate that was shown
  bool refused_renegotiation = false;  ///< by the alert that is for that; asked for at 1.2 only
};
/// One handshake that offers this version and no other; at 1.2 also asks for another one afterwards.
TlsMeeting meet(std::uint16_t port, TlsVersion version);

/// Agrees on 1.3, changes its keys so often, then asks for /healthz. The answer; empty: the other side ended it instead.
std::string answer_after_key_updates(std::uint16_t port, int count);

/// Listens on a plain port and carries the bytes of each connection over TLS to `port`.
class TlsGate {
 public:
  /// `source`: the address of this machine that it comes from.
  explicit TlsGate(std::uint16_t port, const std::string& source = "127.0.0.1");
  ~TlsGate();
  TlsGate(const TlsGate&) = delete;
  TlsGate& operator=(const TlsGate&) = delete;

  std::uint16_t port() const { return own_port_; }

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
  std::uint16_t own_port_ = 0;
};

}  // namespace viewgate::testing
