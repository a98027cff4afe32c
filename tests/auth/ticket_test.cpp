// A ticket opens what was sealed for it, and nothing else opens that.
#include "auth/ticket.hpp"

#include <gmock/gmock.h>

namespace viewgate::auth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Ticket, it_opens_the_token_that_was_sealed_for_it) {
  for (const std::string& token : {std::string("a.b.c"), std::string(), std::string(8192, 'x')}) {
    const Ticket ticket = make_ticket(token);
    EXPECT_EQ(ticket.text.size(), ticket_chars);
    EXPECT_EQ(ticket_digest(ticket.text), ticket.digest);
    EXPECT_EQ(open_ticket(ticket.text, ticket.sealed), token);
  }
}

TEST(Ticket, two_of_one_token_have_nothing_in_common) {
  const Ticket one = make_ticket("a.token.of-somebody"), other = make_ticket("a.token.of-somebody");
  EXPECT_NE(one.text, other.text);
  EXPECT_NE(one.digest, other.digest);
  EXPECT_NE(one.sealed, other.sealed);
  EXPECT_EQ(open_ticket(one.text, other.sealed), std::nullopt);
  EXPECT_THAT(one.sealed + one.digest, Not(HasSubstr(one.text)));
}

TEST(Ticket, what_was_changed_does_not_open) {
  const Ticket ticket = make_ticket("a.token.of-somebody");
  for (std::size_t i = 0; i < ticket.sealed.size(); ++i) {
    std::string changed = ticket.sealed;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(open_ticket(ticket.text, changed), std::nullopt) << i;
    EXPECT_EQ(open_ticket(ticket.text, ticket.sealed.substr(0, i)), std::nullopt) << i;
  }
  for (const std::string& malformed : {std::string(), std::string("A"), ticket.text + "A", std::string(43, '*')}) {
    EXPECT_EQ(ticket_digest(malformed), std::nullopt);
    EXPECT_EQ(open_ticket(malformed, ticket.sealed), std::nullopt);
  }
}

}  // namespace
}  // namespace viewgate::auth
