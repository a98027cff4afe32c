#include "gateway/admission.hpp"

namespace viewgate::gateway {
namespace {

constexpr std::chrono::seconds rate_window{1};
constexpr std::chrono::seconds forget_interval{10};
constexpr std::size_t ipv6_network_bytes = 8;
constexpr std::size_t ipv4_bytes = 4;

std::string name_of(char kind, std::string_view issuer, std::string_view subject) {
  std::string out(1, kind);
  out.append(issuer).append(1, '\0').append(subject);
  return out;
}

}  // namespace

void Admission::set_limits(AdmissionLimits limits) {
  const std::scoped_lock lock(mutex_);
  limits_ = limits;
}

AdmissionRefusals Admission::refusals() {
  const std::scoped_lock lock(mutex_);
  return refusals_;
}

std::optional<Admission::Place> Admission::enter_address(std::string_view address, Time now) {
  std::string name = "a";
  name += address.substr(0, address.size() == ipv4_bytes ? ipv4_bytes : ipv6_network_bytes);
  const std::scoped_lock lock(mutex_);
  forget_idle(now);
  Count& count = counts_[name];
  if (now - count.window >= rate_window) {
    count.window = now;
    count.begun_in_window = 0;
  }
  const bool too_fast = limits_.address_handshakes > 0 && count.begun_in_window >= limits_.address_handshakes;
  const bool too_many = limits_.address_connections > 0 && count.connections >= limits_.address_connections;
  if (too_many) ++refusals_.address_connections;
  if (too_fast && !too_many) ++refusals_.address_handshakes;
  if (too_fast || too_many) return std::nullopt;
  ++count.begun_in_window;
  ++count.connections;
  return Place(shared_from_this(), std::move(name));
}

std::optional<Admission::Place> Admission::enter_principal(std::string_view issuer, std::string_view subject) {
  return enter(name_of('p', issuer, subject), &AdmissionLimits::principal_connections,
               &AdmissionRefusals::principal_connections);
}

std::optional<Admission::Place> Admission::enter_request(std::string_view issuer, std::string_view subject) {
  return enter(name_of('r', issuer, subject), &AdmissionLimits::principal_requests,
               &AdmissionRefusals::principal_requests);
}

std::optional<Admission::Place> Admission::enter(std::string name, std::size_t AdmissionLimits::*limit,
                                                 std::uint64_t AdmissionRefusals::*refused) {
  const std::scoped_lock lock(mutex_);
  Count& count = counts_[name];
  if (limits_.*limit > 0 && count.connections >= limits_.*limit) {
    ++(refusals_.*refused);
    return std::nullopt;
  }
  ++count.connections;
  return Place(shared_from_this(), std::move(name));
}

void Admission::leave(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = counts_.find(name);
  if (found != counts_.end()) --found->second.connections;
}

/// Addresses and principals without a connection, now and then: so that their number is bounded by that of connections.
void Admission::forget_idle(Time now) {
  if (now - forgotten_at_ < forget_interval) return;
  forgotten_at_ = now;
  std::erase_if(counts_, [&](const auto& item) {
    return item.second.connections == 0 && now - item.second.window >= rate_window;
  });
}

}  // namespace viewgate::gateway
