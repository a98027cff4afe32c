// The receipts that a client asks for: in order, in bounded pieces, and of its own only.
#include <gtest/gtest.h>

#include "ledger/sql_log.hpp"

namespace viewgate::testing {
namespace {

class SqlReceipts : public ::testing::Test {
 protected:
  SqlReceipts() {
    ledger_.session().run(
        "select viewgate.lock_space('a');"
        "insert into viewgate.clients values ('a', 'c', 'ann', 5), ('a', 'd', 'bob', 1), ('a', 'e', 'ann', 2);"
        "insert into viewgate.commits (space, sequence, stamp, part, changes, statements, source, role, at, numbered, "
        "principal, client, number, receipt, body) "
        "select 'a', n, 1, -n, 0, 1, 'mutation', 'app', now(), pg_current_xact_id(), 'ann', 'c', n, "
        "repeat('x', 10) || n, '' from generate_series(1, 5) n");
  }
  /// "last number sequence" of what is found.
  std::string found(const std::string& of, int after, int count = 100, int bytes = 1000) {
    return ledger_.session().value(
        "select coalesce(string_agg(concat_ws(' ', r.last, r.number, r.sequence), ', '), '') from "
        "viewgate.receipts('a', " +
        of + ", " + std::to_string(after) + ", " + std::to_string(count) + ", " + std::to_string(bytes) + ") r");
  }
  SqlLedger ledger_;
};

TEST_F(SqlReceipts, come_in_order_and_in_pieces_bounded_by_count_and_bytes) {
  EXPECT_EQ(found("'c', 'ann'", 3), "5 4 4, 5 5 5");
  EXPECT_EQ(found("'c', 'ann'", 0, 2), "5 1 1, 5 2 2");
  EXPECT_EQ(found("'c', 'ann'", 0, 100, 33), "5 1 1, 5 2 2, 5 3 3");
  EXPECT_EQ(found("'c', 'ann'", 0, 100, 1), "5 1 1") << "the first one always";
  EXPECT_EQ(found("'c', 'ann'", 5), "5");
}

TEST_F(SqlReceipts, pruned_ones_are_passed_over) {
  ledger_.session().run("select viewgate.prune('a', 2)");
  EXPECT_EQ(found("'c', 'ann'", 0), "5 4 4, 5 5 5");
  EXPECT_EQ(found("'e', 'ann'", 0), "2");
}

TEST_F(SqlReceipts, I7_a_client_of_another_principal_is_like_one_that_nobody_has_used) {
  EXPECT_EQ(found("'d', 'ann'", 0), "");
  EXPECT_EQ(found("'nobodys', 'ann'", 0), "");
  EXPECT_EQ(found("'c', 'bob'", 0), "");
}

}  // namespace
}  // namespace viewgate::testing
