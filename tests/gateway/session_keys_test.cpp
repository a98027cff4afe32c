// What a session does with a token whose key is not known (yet), while keys are fetched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/session_world.hpp"

namespace viewgate::gateway::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// One issuer with the key "old"; that keys are on their way is what the test says.
class SessionKeys : public ::testing::Test {
 protected:
  SessionKeys() {
    world.verifier.replace_keys(0, keys("old"));
    world.verifier.on_unknown_key(
        [this](std::size_t) {
          ++asked;
          return coming;
        },
        [this](std::size_t) { return coming; });
  }
  static auth::KeySet keys(const std::string& id) {
    return auth::KeySet(
        {{id, auth::Algorithm::hs256, token_secret}, {"spare", auth::Algorithm::hs512, std::string(64, 's')}});
  }
  std::string token(const std::string& key) const {
    const auto now = std::chrono::floor<seconds>(world.now.wall);
    const auth::TokenMinter minter({key, auth::Algorithm::hs256, token_secret});
    return minter.mint(auth::claims_json({"test", "viewgate", "ann", now, now + std::chrono::hours{1}}, "{}"));
  }
  std::unique_ptr<Client> hello(const std::string& key) {
    auto out = world.connect();
    out->say_message(Hello{1, token(key)});
    world.run();
    return out;
  }
  void wake(Client& client) {
    client.session->on_keys(world.now);
    world.run();
  }

  SessionWorld world;
  bool coming = true;
  int asked = 0;
};

TEST_F(SessionKeys, a_hello_waits_on_over_wakings_that_are_not_for_its_key_and_what_is_behind_it_is_kept) {
  auto client = hello("new");
  client->say_message(Unsubscribe{"behind"});
  for (int i = 0; i < 3; ++i) wake(*client);
  EXPECT_EQ(client->close_code, 0);
  EXPECT_THAT(client->take(), IsEmpty());
  EXPECT_EQ(asked, 1) << "who is woken begins no fetch";
  world.verifier.replace_keys(0, keys("new"));
  coming = false;
  wake(*client);
  EXPECT_THAT(types(client->take()), ElementsAre("welcome", "unsubscribed"));
}

TEST_F(SessionKeys, a_refresh_waits_on_as_a_hello_does_and_its_session_stays) {
  auto client = hello("old");
  EXPECT_THAT(types(client->take()), ElementsAre("welcome"));
  client->say_message(Refresh{token("new")});
  for (int i = 0; i < 3; ++i) wake(*client);
  EXPECT_EQ(client->close_code, 0);
  world.verifier.replace_keys(0, keys("new"));
  coming = false;
  wake(*client);
  client->say_message(Unsubscribe{"after"});
  world.run();
  EXPECT_EQ(client->close_code, 0);
  EXPECT_THAT(types(client->take()), ElementsAre("unsubscribed"));
}

TEST_F(SessionKeys, a_key_that_nobody_has_is_refused_when_no_keys_are_coming_any_more) {
  auto client = hello("nope");
  wake(*client);
  EXPECT_EQ(client->close_code, 0);
  coming = false;
  wake(*client);
  EXPECT_EQ(client->close_code, close_code::auth_required);
  EXPECT_EQ(asked, 1);
}

TEST_F(SessionKeys, a_hello_whose_keys_are_always_coming_has_the_time_of_a_hello_and_no_more) {
  auto client = hello("nope");
  wake(*client);
  world.pass(world.fanout.options().hello_time);
  EXPECT_EQ(client->close_code, close_code::auth_required);
}

}  // namespace
}  // namespace viewgate::gateway::testing
