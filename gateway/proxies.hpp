// Who a connection comes from: the peer itself, or, where the peer is a proxy that the configuration trusts, who that proxy says
// it is (X-Forwarded-For). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/http_head.hpp"

namespace viewgate::gateway {

/// An address as bytes, 4 or 16; an IPv4 address that is written as an IPv6 one (::ffff:192.0.2.7) has 4. Empty: none.
using AddressBytes = std::string;

/// "192.0.2.7" or "fd00::7". Empty: not an address.
[[nodiscard]] AddressBytes parse_address(std::string_view text);
/// The other way; empty where it is none.
[[nodiscard]] std::string address_text(const AddressBytes& address);
/// Whether it is an address with an optional /prefix.
[[nodiscard]] bool is_network(std::string_view text);

class TrustedProxies {
 public:
  /// Each of `networks` is one (is_network).
  explicit TrustedProxies(const std::vector<std::string>& networks);

  [[nodiscard]] bool trusts(std::string_view address) const;

  /// The rightmost hop that is no trusted proxy itself: what stands left of it is the client's own word, and may be forged.
  /// Where all are trusted, the leftmost one; `peer` where the peer is not trusted, or the field is missing or malformed.
  [[nodiscard]] AddressBytes client_of(const AddressBytes& peer, const HttpHead& head) const;

 private:
  struct Network {
    AddressBytes address;
    unsigned bits = 0;
  };
  std::vector<Network> networks_;
};

}  // namespace viewgate::gateway
