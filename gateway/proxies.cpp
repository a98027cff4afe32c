#include "gateway/proxies.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <optional>

namespace viewgate::gateway {
namespace {

namespace ip = boost::asio::ip;

constexpr unsigned bits_per_byte = 8;

template <class Bytes>
AddressBytes bytes_of(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

struct Parsed {
  AddressBytes address;
  unsigned bits = 0;
};

std::optional<Parsed> parse_network(std::string_view text) {
  const auto slash = text.find('/');
  Parsed out;
  out.address = parse_address(text.substr(0, slash));
  if (out.address.empty()) return std::nullopt;
  const auto bits_max = static_cast<unsigned>(out.address.size()) * bits_per_byte;
  out.bits = bits_max;
  if (slash == std::string_view::npos) return out;
  const auto digits = text.substr(slash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.bits);
  if (error != std::errc{} || end != digits.data() + digits.size() || out.bits > bits_max) return std::nullopt;
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

/// Some proxies add the port: "192.0.2.7:4711", "[fd00::7]:4711".
AddressBytes hop_address(std::string_view hop) {
  if (hop.starts_with('[')) {
    const auto close = hop.find(']');
    return close == std::string_view::npos ? AddressBytes{} : parse_address(hop.substr(1, close - 1));
  }
  const bool has_port = std::ranges::count(hop, ':') == 1;
  return parse_address(has_port ? hop.substr(0, hop.find(':')) : hop);
}

}  // namespace

AddressBytes parse_address(std::string_view text) {
  boost::system::error_code error;
  const auto address = ip::make_address(std::string(text), error);
  if (error) return {};
  if (address.is_v4()) return bytes_of(address.to_v4().to_bytes());
  const auto six = address.to_v6();
  if (six.scope_id() != 0) return {};
  if (six.is_v4_mapped()) return bytes_of(ip::make_address_v4(ip::v4_mapped, six).to_bytes());
  return bytes_of(six.to_bytes());
}

std::string address_text(const AddressBytes& address) {
  const auto copy_to = [&](auto bytes) {
    std::ranges::copy(address, bytes.begin());
    return bytes;
  };
  if (address.size() == ip::address_v4::bytes_type().size()) {
    return ip::address_v4(copy_to(ip::address_v4::bytes_type())).to_string();
  }
  if (address.size() == ip::address_v6::bytes_type().size()) {
    return ip::address_v6(copy_to(ip::address_v6::bytes_type())).to_string();
  }
  return {};
}

bool is_network(std::string_view text) { return parse_network(text).has_value(); }

TrustedProxies::TrustedProxies(const std::vector<std::string>& networks) {
  for (const auto& text : networks) {
    if (auto network = parse_network(text)) networks_.push_back({std::move(network->address), network->bits});
  }
}

bool TrustedProxies::trusts(std::string_view address) const {
  return std::ranges::any_of(networks_, [&](const Network& network) {
    if (network.address.size() != address.size()) return false;
    const std::size_t whole = network.bits / bits_per_byte;
    if (address.substr(0, whole) != std::string_view(network.address).substr(0, whole)) return false;
    const unsigned rest = network.bits % bits_per_byte;
    if (rest == 0) return true;
    const unsigned mask = 0xffU << (bits_per_byte - rest) & 0xffU;
    const auto at = [whole](std::string_view bytes) -> unsigned { return static_cast<unsigned char>(bytes[whole]); };
    return (at(address) & mask) == (at(network.address) & mask);
  });
}

AddressBytes TrustedProxies::client_of(const AddressBytes& peer, const HttpHead& head) const {
  if (!trusts(peer)) return peer;
  std::string hops;  // several fields are one list (RFC 9110, section 5.3)
  for (const auto& [name, value] : head.fields) {
    if (name == "x-forwarded-for") hops += (hops.empty() ? "" : ",") + value;
  }
  AddressBytes client = peer;
  std::string_view left = hops;
  while (!left.empty()) {
    const auto comma = left.rfind(',');
    const auto hop = trimmed(comma == std::string_view::npos ? left : left.substr(comma + 1));
    left = comma == std::string_view::npos ? std::string_view{} : left.substr(0, comma);
    client = hop_address(hop);
    if (client.empty()) return peer;
    if (!trusts(client)) return client;
  }
  return client;
}

}  // namespace viewgate::gateway
