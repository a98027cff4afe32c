// Whom a request is from: only trusted proxies are believed, from the right, and what is malformed counts for nothing.
#include "gateway/proxies.hpp"

#include <gmock/gmock.h>

namespace viewgate::gateway {
namespace {

HttpHead forwarded(const std::vector<std::string>& values) {
  HttpHead out;
  for (const auto& value : values) out.fields.emplace_back("x-forwarded-for", value);
  return out;
}

const TrustedProxies proxies({"10.0.0.0/8", "192.0.2.128/25", "fd00::/9", "203.0.113.7"});
const AddressBytes proxy = parse_address("10.1.1.1");

AddressBytes client_of(const std::vector<std::string>& values) { return proxies.client_of(proxy, forwarded(values)); }

TEST(TrustedProxies, networks_are_compared_by_their_bits_and_never_across_families) {
  for (const char* inside : {"10.0.0.0", "10.255.255.255", "192.0.2.128", "192.0.2.255", "fd00::1", "fd7f::1",
                             "203.0.113.7", "::ffff:10.2.3.4"}) {
    EXPECT_TRUE(proxies.trusts(parse_address(inside))) << inside;
  }
  for (const char* outside : {"11.0.0.0", "9.255.255.255", "192.0.2.127", "fd80::1", "203.0.113.8", "a00::", "::"}) {
    EXPECT_FALSE(proxies.trusts(parse_address(outside))) << outside;
  }
  EXPECT_FALSE(proxies.trusts(""));
  EXPECT_TRUE(TrustedProxies({"0.0.0.0/0"}).trusts(parse_address("198.51.100.1")));
  EXPECT_FALSE(TrustedProxies({"0.0.0.0/0"}).trusts(parse_address("2001:db8::1")));
  EXPECT_FALSE(TrustedProxies({}).trusts(proxy));
}

TEST(TrustedProxies, what_is_no_network_is_refused) {
  for (const char* right : {"10.0.0.0/8", "10.0.0.1", "::/0", "fd00::/128", "127.0.0.1/32"}) {
    EXPECT_TRUE(is_network(right)) << right;
  }
  for (const char* wrong : {"", "/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "10.0.0.0/8 ", "fd00::/129",
                            "proxy.example", "10.0.0.0/-1", "10.0.0.0/+8", "fe80::1%eth0"}) {
    EXPECT_FALSE(is_network(wrong)) << wrong;
  }
}

TEST(TrustedProxies, the_client_is_the_rightmost_hop_that_is_no_proxy) {
  EXPECT_EQ(client_of({"198.51.100.9"}), parse_address("198.51.100.9"));
  EXPECT_EQ(client_of({"1.1.1.1, 198.51.100.9"}), parse_address("198.51.100.9"));
  EXPECT_EQ(client_of({"1.1.1.1,198.51.100.9,10.2.2.2 , 203.0.113.7"}), parse_address("198.51.100.9"));
  EXPECT_EQ(client_of({"1.1.1.1", "198.51.100.9", "10.2.2.2"}), parse_address("198.51.100.9"));
  EXPECT_EQ(client_of({"10.3.3.3, 10.2.2.2"}), parse_address("10.3.3.3")) << "a client inside";
  EXPECT_EQ(client_of({"198.51.100.9:4711"}), parse_address("198.51.100.9"));
  EXPECT_EQ(client_of({"[2001:db8::7]:4711"}), parse_address("2001:db8::7"));
  EXPECT_EQ(client_of({"::ffff:198.51.100.9"}), parse_address("198.51.100.9"));
}

TEST(TrustedProxies, what_is_missing_or_malformed_leaves_the_peer) {
  EXPECT_EQ(client_of({}), proxy);
  for (const char* wrong : {"", ",", "unknown", "_hidden", "1.1.1.1, ", "[2001:db8::7", "1.1.1.1 2.2.2.2", "256.1.1.1",
                            "198.51.100.9, evil, 10.2.2.2"}) {
    EXPECT_EQ(client_of({wrong}), proxy) << wrong;
  }
}

TEST(TrustedProxies, whoever_is_no_proxy_is_not_believed) {
  const AddressBytes stranger = parse_address("198.51.100.66");
  EXPECT_EQ(proxies.client_of(stranger, forwarded({"192.0.2.1"})), stranger);
  EXPECT_EQ(proxies.client_of("", forwarded({"192.0.2.1"})), "");
}

}  // namespace
}  // namespace viewgate::gateway
