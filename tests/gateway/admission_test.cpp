// How many connections an address and a principal may have, and how fast an address may open them.
#include "gateway/admission.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace viewgate::gateway {
namespace {

using std::chrono::milliseconds;

const Admission::Time start{std::chrono::hours(1)};
const std::string here("\x7f\0\0\1", 4), there("\x0a\0\0\1", 4);

TEST(Admission, an_address_has_its_number_of_connections_and_gets_places_back) {
  const auto admission = std::make_shared<Admission>(AdmissionLimits{.address_connections = 2});
  auto first = admission->enter_address(here, start);
  const auto second = admission->enter_address(here, start);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(admission->enter_address(here, start));
  EXPECT_TRUE(admission->enter_address(there, start)) << "another is not concerned";
  first.reset();
  EXPECT_TRUE(admission->enter_address(here, start));
}

TEST(Admission, an_address_opens_so_many_a_second) {
  const auto admission = std::make_shared<Admission>(AdmissionLimits{.address_handshakes = 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admission->enter_address(here, start));
  EXPECT_FALSE(admission->enter_address(here, start + milliseconds(999)));
  EXPECT_TRUE(admission->enter_address(there, start));
  EXPECT_TRUE(admission->enter_address(here, start + milliseconds(1000)));
}

TEST(Admission, an_ipv6_network_of_64_bits_is_one_address) {
  const auto admission = std::make_shared<Admission>(AdmissionLimits{.address_connections = 1});
  const std::string network("\x20\x01\x0d\xb8\0\0\0\1", 8);
  const auto first = admission->enter_address(network + std::string(8, 'a'), start);
  EXPECT_TRUE(first);
  EXPECT_FALSE(admission->enter_address(network + std::string(8, 'b'), start));
  EXPECT_TRUE(admission->enter_address(std::string(16, 'c'), start));
}

TEST(Admission, a_principal_is_one_of_an_issuer) {
  const auto admission = std::make_shared<Admission>(AdmissionLimits{.principal_connections = 1});
  const auto first = admission->enter_principal("i", "ada");
  EXPECT_TRUE(first);
  EXPECT_FALSE(admission->enter_principal("i", "ada"));
  EXPECT_TRUE(admission->enter_principal("j", "ada"));
  EXPECT_TRUE(admission->enter_principal("i", "bob"));
}

TEST(Admission, a_principal_has_so_many_requests_beside_its_connections) {
  const auto admission =
      std::make_shared<Admission>(AdmissionLimits{.principal_connections = 1, .principal_requests = 2});
  const auto connection = admission->enter_principal("i", "ada");
  auto first = admission->enter_request("i", "ada");
  const auto second = admission->enter_request("i", "ada");
  EXPECT_TRUE(connection && first && second);
  EXPECT_FALSE(admission->enter_request("i", "ada"));
  EXPECT_TRUE(admission->enter_request("i", "bob"));
  first.reset();
  EXPECT_TRUE(admission->enter_request("i", "ada"));
}

TEST(Admission, who_is_turned_away_is_counted_by_the_limit) {
  AdmissionLimits limits;
  limits.address_connections = 1;
  limits.principal_connections = 1;
  limits.principal_requests = 1;
  const auto admission = std::make_shared<Admission>(limits);
  const auto address = admission->enter_address(here, start);
  const auto connection = admission->enter_principal("i", "ada");
  const auto request = admission->enter_request("i", "ada");
  EXPECT_TRUE(address && connection && request);
  EXPECT_FALSE(admission->enter_address(here, start));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(admission->enter_principal("i", "ada"));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(admission->enter_request("i", "ada"));
  limits.address_connections = 0;
  limits.address_handshakes = 1;
  admission->set_limits(limits);
  EXPECT_FALSE(admission->enter_address(here, start));
  const auto found = admission->refusals();
  EXPECT_EQ(found.address_connections, 1U);
  EXPECT_EQ(found.address_handshakes, 1U);
  EXPECT_EQ(found.principal_connections, 2U);
  EXPECT_EQ(found.principal_requests, 3U);
}

TEST(Admission, without_limits_everyone_enters_and_who_left_is_forgotten) {
  const auto admission = std::make_shared<Admission>(AdmissionLimits{});
  std::vector<Admission::Place> places;
  for (int i = 0; i < 1000; ++i) {
    auto place = admission->enter_address(std::to_string(10'000 + i).substr(0, 4), start);
    ASSERT_TRUE(place);
    places.push_back(std::move(*place));
  }
  places.clear();
  EXPECT_TRUE(admission->enter_address(here, start + std::chrono::minutes(1)));
}

}  // namespace
}  // namespace viewgate::gateway
