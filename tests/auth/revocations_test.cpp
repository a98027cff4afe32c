// What a revocation covers: the token of an id, or a principal's tokens up to its moment; of one issuer or of any.
#include "auth/revocations.hpp"

#include <gtest/gtest.h>

namespace viewgate::auth {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr sys_seconds at(int second) { return sys_seconds{seconds{1'700'000'000 + second}}; }

Principal ada(std::optional<sys_seconds> issued_at, std::string token_id = "") {
  return {"issuer", "ada", "{}", std::move(token_id), at(3600), issued_at};
}

TEST(Revocations, a_principal_s_tokens_up_to_that_moment_are_covered) {
  Revocations revocations;
  revocations.add({"", "ada", "", at(0), at(1000)});
  EXPECT_TRUE(revocations.cover(ada(at(-1)), seconds{0}, at(0)));
  EXPECT_TRUE(revocations.cover(ada(at(0)), seconds{0}, at(0)));
  EXPECT_FALSE(revocations.cover(ada(at(1)), seconds{0}, at(0)));
  EXPECT_TRUE(revocations.cover(ada(at(5)), seconds{5}, at(0))) << "the issuer's clock may be ahead";
  EXPECT_FALSE(revocations.cover(ada(at(6)), seconds{5}, at(0)));
  EXPECT_TRUE(revocations.cover(ada(std::nullopt), seconds{0}, at(0))) << "it does not say when it was issued";
  Principal other = ada(at(-1));
  other.subject = "bob";
  EXPECT_FALSE(revocations.cover(other, seconds{0}, at(0)));
}

TEST(Revocations, one_of_an_issuer_says_nothing_of_another_s_tokens) {
  Revocations revocations;
  revocations.add({"another", "ada", "", at(0), at(1000)});
  revocations.add({"another", "", "t", at(0), at(1000)});
  EXPECT_FALSE(revocations.cover(ada(at(-1), "t"), seconds{0}, at(0)));
  revocations.add({"issuer", "", "t", at(0), at(1000)});
  EXPECT_TRUE(revocations.cover(ada(at(500), "t"), seconds{0}, at(0)))
      << "an id is that token's, whenever it was issued";
  EXPECT_FALSE(revocations.cover(ada(at(500), ""), seconds{0}, at(0)));
}

TEST(Revocations, the_latest_counts_and_what_is_over_is_forgotten) {
  Revocations revocations;
  revocations.add({"", "ada", "", at(10), at(1000)});
  revocations.add({"", "ada", "", at(0), at(500)});
  revocations.add({"", "", "t", at(0), at(20)});
  EXPECT_TRUE(revocations.cover(ada(at(10)), seconds{0}, at(0)));
  EXPECT_EQ(revocations.size(), 2U);
  constexpr int slack = std::chrono::seconds(Revocations::slack).count();
  revocations.forget_expired(at(slack + 19));
  EXPECT_EQ(revocations.size(), 2U);
  revocations.forget_expired(at(slack + 20));
  EXPECT_EQ(revocations.size(), 1U);
  EXPECT_TRUE(revocations.cover(ada(at(10)), seconds{0}, at(0)));
  revocations.forget_expired(at(slack + 1000));
  EXPECT_EQ(revocations.size(), 0U);
}

TEST(Revocations, a_short_one_after_a_long_one_ends_when_it_says) {
  Revocations revocations;
  revocations.add({"", "ada", "", at(0), at(1000)});
  revocations.add({"", "ada", "", at(7), at(20)});
  EXPECT_TRUE(revocations.cover(ada(at(5)), seconds{0}, at(19)));
  EXPECT_FALSE(revocations.cover(ada(at(5)), seconds{0}, at(20))) << "issued after the long one";
  EXPECT_TRUE(revocations.cover(ada(at(0)), seconds{0}, at(999)));
  EXPECT_TRUE(revocations.cover(ada(std::nullopt), seconds{0}, at(999)));
  EXPECT_EQ(revocations.size(), 1U);
}

TEST(Revocations, one_ends_by_itself_and_a_clock_that_is_set_back_finds_it_again) {
  Revocations revocations;
  revocations.add({"", "ada", "", at(0), at(1000)});
  revocations.add({"", "", "t", at(0), at(500)});
  EXPECT_TRUE(revocations.cover(ada(at(-1)), seconds{0}, at(999)));
  EXPECT_FALSE(revocations.cover(ada(at(-1)), seconds{0}, at(1000)));
  EXPECT_TRUE(revocations.cover(ada(at(-1)), seconds{5}, at(1004))) << "so long a token is good after its end";
  EXPECT_TRUE(revocations.cover(ada(at(1), "t"), seconds{0}, at(499)));
  EXPECT_FALSE(revocations.cover(ada(at(1), "t"), seconds{0}, at(500)));
  revocations.forget_expired(at(4600));
  EXPECT_TRUE(revocations.cover(ada(at(-1)), seconds{0}, at(10)));
}

TEST(Revocations, one_whose_end_a_clock_of_nanoseconds_cannot_tell_is_in_force) {
  using std::chrono::year;
  for (const year end : {year(2262), year(2263), year(9999), year(30'000)}) {
    const sys_seconds until = std::chrono::sys_days(end / std::chrono::December / 31);
    Revocations revocations;
    revocations.add({"", "ada", "", at(0), until});
    revocations.add({"", "", "t", at(0), until});
    EXPECT_TRUE(revocations.cover(ada(at(-1)), seconds{0}, at(0))) << int(end);
    EXPECT_TRUE(revocations.cover(ada(at(1), "t"), seconds{60}, at(1))) << int(end);
    revocations.forget_expired(at(1));
    EXPECT_EQ(revocations.size(), 2U) << int(end);
  }
}

}  // namespace
}  // namespace viewgate::auth
