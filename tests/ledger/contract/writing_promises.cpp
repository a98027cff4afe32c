// What a client that sends mutations may rely on.
#include <set>

#include "ledger/contract/promises.hpp"
#include "ledger/contract/steps.hpp"

namespace viewgate::testing {
namespace {

using ledger::Commit;
using ledger::errc;
using ledger::MutationAnswer;
using ledger::MutationRequest;
using ledger::Outcome;
using ledger::PullPage;
using ledger::Sequence;
using Kind = MutationAnswer::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void a_mutations_commit_carries_its_receipt_with_acknowledgement(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  const MutationRequest asked = in(space, 1, {create("[1]", R"({"a": 1})"), create("[2]", "{}")});
  const MutationAnswer given = answer(ledger, asked);
  EXPECT_EQ(given.kind, Kind::receipt);
  EXPECT_EQ(given.receipt.outcome, Outcome::applied);
  EXPECT_EQ(given.receipt.text,
            R"({"outcome":"applied","client":"c1","number":"1","sequence":"1","acknowledgement":[)"
            R"({"collection":"issues","key":[1],"kind":"created","versions":{"record":"1","schedule":"1"}},)"
            R"({"collection":"issues","key":[2],"kind":"created","versions":{"record":"1","schedule":"1"}}]})");
  const PullPage all = page(ledger, space);
  ASSERT_EQ(all.commits.size(), 1U) << "all of a request is one commit";
  EXPECT_EQ(all.commits[0].changes.size(), 2U);
  ASSERT_TRUE(all.commits[0].receipt);
  EXPECT_EQ(all.commits[0].receipt->text, given.receipt.text);
  EXPECT_EQ(all.commits[0].receipt->number, 1);
  EXPECT_EQ(all.commits[0].receipt->body, asked.body);
}

void a_no_op_leaves_a_receipt_and_no_change(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space, "[1]", R"({"a": 1})");
  const MutationAnswer given = answer(ledger, in(space, 1, {update("[1]", R"({"a": 1})")}));
  EXPECT_EQ(given.receipt.outcome, Outcome::no_op);
  EXPECT_EQ(given.receipt.sequence, Sequence{2});
  const PullPage all = page(ledger, space);
  ASSERT_EQ(all.commits.size(), 2U);
  EXPECT_THAT(all.commits[1].changes, IsEmpty());
  ASSERT_TRUE(all.commits[1].receipt);
  EXPECT_EQ(all.commits[1].receipt->text, given.receipt.text);
}

void a_permanent_rejection_leaves_a_receipt_and_no_change(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space, "[1]", "{}");
  const MutationAnswer given = answer(ledger, in(space, 1, {put("[1]", R"({"a": 1})"), update("[9]", "{}")}));
  EXPECT_EQ(given.receipt.outcome, Outcome::rejected);
  EXPECT_THAT(given.receipt.text, HasSubstr(R"("reason":"not_found")"));
  const PullPage all = page(ledger, space);
  ASSERT_EQ(all.commits.size(), 2U);
  EXPECT_THAT(all.commits[1].changes, IsEmpty()) << "all or nothing";
  ASSERT_TRUE(all.commits[1].receipt);
  EXPECT_EQ(all.commits[1].receipt->text, given.receipt.text);
  const MutationAnswer next = answer(ledger, in(space, 2, {update("[1]", R"({"b": 1})")}));
  EXPECT_EQ(next.receipt.sequence, Sequence{3}) << "the number is used";
  const PullPage then = page(ledger, space, 2);
  ASSERT_EQ(then.commits.at(0).changes.size(), 1U);
  EXPECT_EQ(then.commits[0].changes[0].before, "{}") << "the record is as it was";
}

void a_replay_gives_the_stored_receipt_and_consumes_nothing(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  std::vector<std::string> receipts;
  const std::vector<MutationRequest> asked{in(space, 1, {create("[1]", R"({"a": 1})")}),
                                           in(space, 2, {put("[1]", R"({"a": 1})")}),
                                           in(space, 3, {create("[1]", "{}")})};
  for (const MutationRequest& each : asked) receipts.push_back(answer(ledger, each).receipt.text);
  for (const std::size_t again : {0U, 1U, 2U, 0U}) {
    const MutationAnswer given = answer(ledger, asked[again]);
    EXPECT_EQ(given.kind, Kind::replay);
    EXPECT_EQ(given.receipt.text, receipts[again]) << "byte by byte";
    const MutationAnswer found = value_of(ledger.receipt(space, "c1", "ann", asked[again].number));
    EXPECT_EQ(found.receipt.text, receipts[again]);
  }
  EXPECT_EQ(ledger.watermark(space), Sequence{3});
}

void another_body_under_a_used_number_is_a_conflict_and_consumes_nothing(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  answer(ledger, in(space, 1, {create("[1]", "{}")}));
  EXPECT_EQ(answer(ledger, in(space, 1, {create("[2]", "{}")})).kind, Kind::sequence_conflict);
  EXPECT_EQ(ledger.watermark(space), Sequence{1});
}

void a_gap_names_the_expected_number_and_consumes_nothing(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  MutationAnswer given = answer(ledger, in(space, 2, {put("[1]", "{}")}));
  EXPECT_EQ(given.kind, Kind::sequence_gap);
  EXPECT_EQ(given.expected, 1);
  answer(ledger, in(space, 1, {put("[1]", "{}")}));
  given = answer(ledger, in(space, 3, {put("[1]", "{}")}));
  EXPECT_EQ(given.kind, Kind::sequence_gap);
  EXPECT_EQ(given.expected, 2);
  EXPECT_EQ(ledger.watermark(space), Sequence{1});
}

void what_is_malformed_is_not_processed_and_its_number_stays_free(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  for (const MutationRequest& malformed : {in(space, 0, {put("[1]", "{}")}), in(space, 1, {put("1", "{}")})}) {
    const auto given = ledger.mutate({malformed}, suite_rules());
    ASSERT_FALSE(given.at(0));
    EXPECT_EQ(given[0].error().code, errc::invalid_mutation);
  }
  EXPECT_EQ(ledger.watermark(space), Sequence{0});
  EXPECT_EQ(answer(ledger, in(space, 1, {put("[1]", "{}")})).kind, Kind::receipt);
}

void a_client_belongs_to_the_principal_that_used_it_first(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  answer(ledger, in(space, 1, {put("[1]", "{}")}));
  MutationRequest stranger = in(space, 2, {put("[1]", R"({"a": 1})")});
  stranger.principal = "bob";
  EXPECT_EQ(answer(ledger, stranger).kind, Kind::forbidden);
  EXPECT_EQ(value_of(ledger.receipt(space, "c1", "bob", 1)).kind, Kind::forbidden);
  EXPECT_EQ(ledger.watermark(space), Sequence{1});
}

void numbers_count_per_client_and_space(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  const std::string other = fresh_space();
  EXPECT_EQ(answer(ledger, in(space, 1, {put("[1]", "{}")}, "a")).kind, Kind::receipt);
  EXPECT_EQ(answer(ledger, in(space, 1, {put("[2]", "{}")}, "b")).kind, Kind::receipt);
  EXPECT_EQ(answer(ledger, in(other, 1, {put("[1]", "{}")}, "a")).kind, Kind::receipt);
  EXPECT_EQ(ledger.watermark(space), Sequence{2});
  EXPECT_EQ(ledger.watermark(other), Sequence{1});
}

void changes_name_the_groups_that_moved(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  answer(ledger, in(space, 1, {create("[1]", R"({"a": 1, "starts": 1})")}));
  answer(ledger, in(space, 2, {update("[1]", R"({"starts": 2})")}));
  append(ledger, space, "[1]", R"({"a": 2, "starts": 2})");
  std::vector<std::vector<std::string>> groups;
  for (const Commit& commit : page(ledger, space).commits) groups.push_back(commit.changes.at(0).groups);
  EXPECT_THAT(groups, ElementsAre(ElementsAre("schedule", "record"), ElementsAre("schedule"), ElementsAre("record")));
}

void a_mutation_conflicts_only_where_it_touches_a_group_that_moved_since_its_base(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  answer(ledger, in(space, 1, {create("[1]", R"({"a": 1, "starts": 1})")}));
  append(ledger, space, "[1]", R"({"a": 1, "starts": 2})");  // moves the schedule, and only that
  const auto outcome = [&](std::int64_t number, const std::string& value, const std::string& group,
                           std::int64_t version) {
    return answer(ledger, in(space, number, {update("[1]", value, {{group, Sequence{version}}})})).receipt;
  };
  const ledger::Receipt refused = outcome(2, R"({"starts": 3})", "schedule", 1);
  EXPECT_EQ(refused.outcome, Outcome::rejected);
  EXPECT_THAT(refused.text, HasSubstr(R"("reason":"conflict")"));
  EXPECT_THAT(refused.text, HasSubstr(R"("groups":{"schedule":"2"})"));
  EXPECT_EQ(outcome(3, R"({"a": 2})", "schedule", 1).outcome, Outcome::applied) << "it does not touch that group";
  EXPECT_EQ(outcome(4, R"({"a": 3})", "record", 1).outcome, Outcome::rejected);
  EXPECT_EQ(outcome(5, R"({"starts": 3})", "schedule", 2).outcome, Outcome::applied);
}

void a_receipt_goes_with_its_commit_and_its_number_stays_used(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  const MutationRequest first = in(space, 1, {put("[1]", "{}")});
  answer(ledger, first);
  answer(ledger, in(space, 2, {put("[2]", "{}")}));
  ledger.prune(space, 1);
  EXPECT_EQ(answer(ledger, first).kind, Kind::receipt_pruned);
  EXPECT_EQ(value_of(ledger.receipt(space, "c1", "ann", 2)).kind, Kind::replay);
  EXPECT_EQ(answer(ledger, in(space, 3, {put("[3]", "{}")})).kind, Kind::receipt);
  EXPECT_EQ(ledger.watermark(space), Sequence{3});
}

}  // namespace

std::vector<Promise> writing_promises() {
  return {
      {"a_mutations_commit_carries_its_receipt_with_acknowledgement",
       "Changes contain … the mutation receipt with acknowledgement.",
       a_mutations_commit_carries_its_receipt_with_acknowledgement},
      {"a_no_op_leaves_a_receipt_and_no_change", "no-op receipts are not canonical data changes",
       a_no_op_leaves_a_receipt_and_no_change},
      {"a_permanent_rejection_leaves_a_receipt_and_no_change",
       "A receipt is emitted for every processed mutation, including a permanent rejection or a no-op.",
       a_permanent_rejection_leaves_a_receipt_and_no_change},
      {"a_replay_gives_the_stored_receipt_and_consumes_nothing",
       "a replay and a mutation gap — neither of which produces a commit — consume nothing",
       a_replay_gives_the_stored_receipt_and_consumes_nothing},
      {"another_body_under_a_used_number_is_a_conflict_and_consumes_nothing",
       "a replay and a mutation gap … consume nothing",
       another_body_under_a_used_number_is_a_conflict_and_consumes_nothing},
      {"a_gap_names_the_expected_number_and_consumes_nothing", "a replay and a mutation gap … consume nothing",
       a_gap_names_the_expected_number_and_consumes_nothing},
      {"what_is_malformed_is_not_processed_and_its_number_stays_free",
       "A receipt is emitted for every processed mutation",
       what_is_malformed_is_not_processed_and_its_number_stays_free},
      {"a_client_belongs_to_the_principal_that_used_it_first", "Authorization … remain host responsibilities.",
       a_client_belongs_to_the_principal_that_used_it_first},
      {"numbers_count_per_client_and_space", "A commit has a per-space sequence", numbers_count_per_client_and_space},
      {"changes_name_the_groups_that_moved", "Changes contain … changed conflict groups",
       changes_name_the_groups_that_moved},
      {"a_mutation_conflicts_only_where_it_touches_a_group_that_moved_since_its_base",
       "Changes contain … changed conflict groups",
       a_mutation_conflicts_only_where_it_touches_a_group_that_moved_since_its_base},
      {"a_receipt_goes_with_its_commit_and_its_number_stays_used", "a cursor is valid only within that window",
       a_receipt_goes_with_its_commit_and_its_number_stays_used},
  };
}

}  // namespace viewgate::testing
