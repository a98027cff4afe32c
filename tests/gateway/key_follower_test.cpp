#include "gateway/key_follower.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "auth/forge.hpp"
#include "support/eventually.hpp"
#include "support/key_server.hpp"

namespace viewgate::gateway::testing {
namespace {

using std::chrono::system_clock;

std::string key_set(const std::string& id, const test::SigningKey& key) {
  return R"({"keys":[{"kid":")" + id + "\"," + key.jwk.substr(1) + "]}";
}

std::string token_by(const test::SigningKey& key, const std::string& id,
                     const std::string& issuer = "https://id.example") {
  return test::forge_signed(R"({"alg":"EdDSA","kid":")" + id + "\"}",
                            R"({"iss":")" + issuer + R"(","aud":"viewgate","sub":"ada","exp":)" +
                                std::to_string(system_clock::to_time_t(system_clock::now()) + 3600) + "}",
                            key);
}

class Keys : public ::testing::Test {
 protected:
  void follow() {
    Identity identity;
    identity.issuers.push_back({{"https://id.example", "viewgate"}, {}});
    identity.key_places.push_back({0, server.url(), "", {auth::Algorithm::eddsa}});
    follower.replace(std::move(identity), auth::Anonymous::refuse, {});
  }
  void follow_two() {
    Identity identity;
    identity.issuers.push_back({{"https://id.example", "viewgate"}, {}});
    identity.issuers.push_back({{"https://third.example", "viewgate"}, {}});
    identity.key_places.push_back({0, server.url(), "", {auth::Algorithm::eddsa}});
    identity.key_places.push_back({1, third.url(), "", {auth::Algorithm::eddsa}});
    follower.replace(std::move(identity), auth::Anonymous::refuse, {});
  }
  auth::VerifiedToken verify(const std::string& token) const { return verifier.verify(token, system_clock::now()); }
  /// Gives the fetching thread time to have its answer, of which the engine's loop does not hear before `hear`.
  void let_fetch(int count) {
    ASSERT_TRUE(viewgate::testing::eventually([&] { return server.requests() >= count; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  void hear(int times) {
    ASSERT_TRUE(viewgate::testing::eventually([&] {
      io.restart();
      io.poll();
      return woken >= times;
    }));
  }

  const test::SigningKey old_key = test::make_signing_key(test::KeyKind::ed25519);
  const test::SigningKey new_key = test::make_signing_key(test::KeyKind::ed25519);
  viewgate::testing::KeyServer server{key_set("old", old_key)};
  viewgate::testing::KeyServer third{key_set("third", old_key)};
  boost::asio::io_context io;
  auth::TokenVerifier verifier;
  int woken = 0;
  std::function<void()> on_waking;
  KeyFollower follower{io, verifier, [this] {
                         ++woken;
                         if (on_waking) on_waking();
                       }};
};

TEST_F(Keys, who_comes_between_the_end_of_a_fetch_and_its_keys_in_force_is_told_to_wait) {
  follow();
  let_fetch(1);
  const std::string token = token_by(old_key, "old");
  const auth::VerifiedToken early = verify(token);
  ASSERT_FALSE(early);
  EXPECT_TRUE(verifier.may_become_known(early.error())) << "the keys are here, only not yet in force";
  hear(1);
  EXPECT_TRUE(verify(token));
}

TEST_F(Keys, who_was_refused_just_before_new_keys_came_into_force_is_told_to_wait_for_the_waking_that_follows) {
  follow();
  hear(1);
  server.serve(key_set("new", new_key));
  const std::string token = token_by(new_key, "new");
  const auth::VerifiedToken first = verify(token);
  ASSERT_FALSE(first);
  ASSERT_TRUE(verifier.may_become_known(first.error())) << "it begins a fetch";
  let_fetch(2);
  const auth::VerifiedToken refused = verify(token);
  hear(2);
  EXPECT_TRUE(verifier.may_become_known(refused.error())) << "the version moved on after it was refused";
  EXPECT_TRUE(verify(token));
}

TEST_F(Keys, a_key_that_nobody_has_is_refused_once_the_fetch_that_it_caused_is_over) {
  follow();
  hear(1);
  const std::string token = token_by(new_key, "new");
  const auth::VerifiedToken first = verify(token);
  ASSERT_TRUE(verifier.may_become_known(first.error()));
  hear(2);
  const auth::VerifiedToken again = verify(token);
  ASSERT_FALSE(again);
  EXPECT_FALSE(verifier.may_become_known(again.error())) << "at most one fetch in the gap, and none under way";
  EXPECT_EQ(server.requests(), 2);
}

TEST_F(Keys, who_is_woken_by_another_issuers_keys_waits_on_for_those_of_its_own) {
  follow_two();
  hear(2);
  const auto strange = verify(token_by(new_key, "nope", "https://third.example"));
  ASSERT_TRUE(verifier.may_become_known(strange.error()));
  server.serve(key_set("new", new_key));
  const std::string token = token_by(new_key, "new");
  ASSERT_TRUE(verifier.may_become_known(verify(token).error()));
  // One thread fetches, and tells in its order: the stranger's first.
  std::vector<std::string> seen;
  on_waking = [&] {
    const auto again = verify(token);
    seen.emplace_back(again ? "welcome" : verifier.may_still_become_known(again.error()) ? "waits on" : "refused");
  };
  hear(4);
  EXPECT_EQ(seen.back(), "welcome");
  for (const auto& each : seen) EXPECT_NE(each, "refused");
  EXPECT_EQ(server.requests(), 2);
  EXPECT_EQ(third.requests(), 2);
}

TEST_F(Keys, whoever_is_woken_by_the_end_of_the_fetch_it_waits_for_is_not_told_to_wait_for_it_once_more) {
  follow();
  hear(1);
  const std::string token = token_by(new_key, "nope");
  ASSERT_TRUE(verifier.may_become_known(verify(token).error()));
  bool waits_on = true;
  on_waking = [&] { waits_on = verifier.may_still_become_known(verify(token).error()); };
  hear(2);
  EXPECT_FALSE(waits_on);
}

TEST_F(Keys, a_look_whether_keys_are_coming_begins_no_fetch) {
  follow();
  hear(1);
  const auto refused = verify(token_by(new_key, "nope"));
  EXPECT_FALSE(verifier.may_still_become_known(refused.error()));
  EXPECT_TRUE(verifier.may_become_known(refused.error()));
  hear(2);
  EXPECT_EQ(server.requests(), 2);
}

TEST_F(Keys, who_waits_for_a_key_when_the_table_is_read_again_waits_on_for_the_fetch_that_begins_then) {
  follow();
  hear(1);
  server.serve(key_set("new", new_key));
  const std::string token = token_by(new_key, "new");
  ASSERT_TRUE(verifier.may_become_known(verify(token).error()));
  follow();
  const auto again = verify(token);
  ASSERT_FALSE(again);
  EXPECT_TRUE(verifier.may_still_become_known(again.error())) << "until it hears of the end, whenever that is";
  hear(2);
  EXPECT_TRUE(verify(token));
}

}  // namespace
}  // namespace viewgate::gateway::testing
