// What a reader of the log may rely on.
#include <limits>
#include <set>

#include "ledger/contract/promises.hpp"
#include "ledger/contract/steps.hpp"

namespace viewgate::testing {
namespace {

using ledger::ChangeKind;
using ledger::Commit;
using ledger::errc;
using ledger::PullPage;
using ledger::Sequence;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

void a_page_is_whole_commits_a_cursor_and_whether_more_waits(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space, 3);
  append(ledger, space, 2);
  const PullPage first = page(ledger, space, 0, 4);
  EXPECT_THAT(sequences(first), ElementsAre(1));
  EXPECT_EQ(first.next_cursor, Sequence{1});
  EXPECT_TRUE(first.has_more);
  const PullPage second = page(ledger, space, 1, 4);
  EXPECT_THAT(sequences(second), ElementsAre(2));
  EXPECT_FALSE(second.has_more);
  ASSERT_FALSE(second.commits.empty());
  EXPECT_EQ(second.commits[0].changes.size(), 2U);
  EXPECT_EQ(second.commits[0].space, space);
}

void sequences_count_from_one_and_ordinals_from_zero(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  const std::string other = fresh_space();
  for (const int changes : {2, 1, 4}) append(ledger, space, changes);
  append(ledger, other);
  std::set<std::uint64_t> stamps;
  for (const Commit& commit : page(ledger, space).commits) {
    std::int64_t ordinal = 0;
    for (const ledger::Change& change : commit.changes) EXPECT_EQ(change.ordinal, ordinal++);
    EXPECT_NE(commit.position.stamp.value, 0U);
    stamps.insert(commit.position.stamp.value);
  }
  EXPECT_THAT(sequences(page(ledger, space)), ElementsAre(1, 2, 3));
  EXPECT_EQ(stamps.size(), 3U) << "a stamp tells one commit from another";
  EXPECT_THAT(sequences(page(ledger, other)), ElementsAre(1)) << "each space counts for itself";
}

void each_before_is_the_after_that_preceded_it_and_stays(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space, "[1]", R"({"a": 1})");
  answer(ledger, in(space, 1, {update("[1]", R"({"a": 2})"), update("[1]", R"({"a": 3})"), create("[2]", "{}")}));
  append(ledger, space, "[1]", R"({"a": 4})");
  const std::string early = told(page(ledger, space));
  answer(ledger, in(space, 2, {remove("[1]"), create("[1]", R"({"a": 5})")}));
  const PullPage all = page(ledger, space);
  std::map<std::string, std::optional<std::string>> held;
  for (const Commit& commit : all.commits) {
    for (const ledger::Change& change : commit.changes) {
      EXPECT_EQ(change.before, held[change.key]) << change.key << " in commit " << commit.position.sequence.value;
      EXPECT_EQ(change.kind, !change.before  ? ChangeKind::created
                             : !change.after ? ChangeKind::deleted
                                             : ChangeKind::updated);
      held[change.key] = change.after;
    }
  }
  EXPECT_EQ(held["[1]"], R"({"a": 5})");
  PullPage again = page(ledger, space, 0, 5);
  EXPECT_EQ(told(again).substr(0, early.find("cursor")), early.substr(0, early.find("cursor"))) << "told once for all";
}

void a_tombstone_is_a_change_of_kind_deleted(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space, "[1]", R"({"a": 1})");
  answer(ledger, in(space, 1, {remove("[1]")}));
  append(ledger, space, "[2]", R"({"a": 1})");
  append(ledger, space, "[2]", std::nullopt);
  const PullPage all = page(ledger, space);
  for (const std::size_t index : {1U, 3U}) {
    ASSERT_EQ(all.commits.at(index).changes.size(), 1U);
    const ledger::Change& change = all.commits[index].changes[0];
    EXPECT_EQ(change.kind, ChangeKind::deleted);
    EXPECT_EQ(change.before, R"({"a": 1})");
    EXPECT_FALSE(change.after);
  }
}

void every_commit_says_where_it_came_from(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space);
  ledger::MutationRequest asked = in(space, 1, {put("[1]", "{}")}, "tab");
  asked.request_id = "form-7";
  asked.fields = R"({"page": "board"})";
  answer(ledger, asked);
  const PullPage all = page(ledger, space);
  ASSERT_EQ(all.commits.size(), 2U);
  for (const Commit& commit : all.commits) {
    EXPECT_NE(commit.provenance.role, "");
    EXPECT_TRUE(commit.provenance.at.ends_with('Z')) << commit.provenance.at;
  }
  EXPECT_EQ(all.commits[0].provenance.source, "append");
  EXPECT_FALSE(all.commits[0].receipt);
  const ledger::Provenance& of_mutation = all.commits[1].provenance;
  EXPECT_EQ(of_mutation.source, "mutation");
  EXPECT_EQ(of_mutation.principal, "ann");
  EXPECT_EQ(of_mutation.client, "tab");
  EXPECT_EQ(of_mutation.request_id, "form-7");
  EXPECT_EQ(of_mutation.fields, R"({"page": "board"})");
}

void limit_is_a_soft_budget_in_changes_not_commits(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  for (int i = 0; i < 5; ++i) append(ledger, space, 2);
  EXPECT_THAT(sequences(page(ledger, space, 0, 6)), ElementsAre(1, 2, 3));
  EXPECT_THAT(sequences(page(ledger, space, 0, 7)), ElementsAre(1, 2, 3));
  EXPECT_THAT(sequences(page(ledger, space, 0, std::numeric_limits<std::int64_t>::max())), ElementsAre(1, 2, 3, 4, 5));
}

void a_commit_that_exceeds_the_budget_is_returned_alone_and_whole(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space, 50);
  append(ledger, space);
  const PullPage first = page(ledger, space, 0, 1);
  EXPECT_THAT(sequences(first), ElementsAre(1));
  ASSERT_EQ(first.commits.size(), 1U);
  EXPECT_EQ(first.commits[0].changes.size(), 50U);
  EXPECT_TRUE(first.has_more);
}

void once_a_page_has_a_commit_another_must_fit(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  for (const int changes : {2, 3, 1}) append(ledger, space, changes);
  EXPECT_THAT(sequences(page(ledger, space, 0, 4)), ElementsAre(1))
      << "the third would fit, but never before the second";
  EXPECT_THAT(sequences(page(ledger, space, 0, 5)), ElementsAre(1, 2));
}

void a_commit_without_changes_counts_as_one(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space, "[1]", R"({"a": 1})");
  for (const int number : {1, 2}) answer(ledger, in(space, number, {put("[1]", R"({"a": 1})")}));
  EXPECT_THAT(sequences(page(ledger, space, 0, 2)), ElementsAre(1, 2));
  EXPECT_THAT(sequences(page(ledger, space, 1, 1)), ElementsAre(2));
  EXPECT_THAT(sequences(page(ledger, space, 0, 3)), ElementsAre(1, 2, 3));
}

void the_cursor_of_an_empty_page_is_the_given_one(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  const PullPage nothing = page(ledger, space);
  EXPECT_EQ(nothing.next_cursor, Sequence{0});
  EXPECT_FALSE(nothing.has_more);
  append(ledger, space);
  const PullPage empty = page(ledger, space, 1);
  EXPECT_THAT(empty.commits, IsEmpty());
  EXPECT_EQ(empty.next_cursor, Sequence{1});
  EXPECT_FALSE(empty.has_more);
}

void negative_and_future_cursors_and_limits_below_one_are_invalid(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space);
  expect_refused(ledger.pull(space, Sequence{-1}, 10), errc::invalid_cursor);
  expect_refused(ledger.pull(space, Sequence{2}, 10), errc::invalid_cursor);
  expect_refused(ledger.pull(fresh_space(), Sequence{1}, 10), errc::invalid_cursor);
  expect_refused(ledger.pull(space, Sequence{0}, 0), errc::invalid_limit);
  expect_refused(ledger.pull(space, Sequence{0}, -5), errc::invalid_limit);
  EXPECT_THAT(sequences(page(ledger, space)), ElementsAre(1)) << "and then it works";
}

void the_loop_of_pages_gives_every_commit_once(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  for (const int changes : {1, 7, 2, 2, 1, 3}) append(ledger, space, changes);
  for (std::int64_t limit = 1; limit <= 17; limit += 4) {
    std::vector<std::int64_t> seen;
    std::int64_t cursor = 0;
    PullPage one;
    do {
      one = page(ledger, space, cursor, limit);
      for (const std::int64_t sequence : sequences(one)) seen.push_back(sequence);
      ASSERT_GT(one.next_cursor.value, cursor) << "a page that says more waits moves on";
      cursor = one.next_cursor.value;
    } while (one.has_more);
    EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6)) << "limit " << limit;
  }
}

void pruning_moves_the_horizon_and_renumbers_nothing(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  for (int i = 0; i < 5; ++i) append(ledger, space);
  EXPECT_EQ(ledger.retained_from(space), Sequence{1});
  const std::string before = told(page(ledger, space, 3));
  ledger.prune(space, 2);
  EXPECT_EQ(ledger.retained_from(space), Sequence{4});
  EXPECT_EQ(ledger.watermark(space), Sequence{5});
  EXPECT_EQ(told(page(ledger, space, 3)), before);
  append(ledger, space);
  EXPECT_THAT(sequences(page(ledger, space, 3)), ElementsAre(4, 5, 6));
}

void a_read_below_the_horizon_is_history_unavailable(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  for (int i = 0; i < 4; ++i) append(ledger, space);
  ledger.prune(space, 1);
  for (const std::int64_t cursor : {0, 1, 2}) {
    expect_refused(ledger.pull(space, Sequence{cursor}, 10), errc::history_unavailable);
  }
  EXPECT_THAT(sequences(page(ledger, space, 3)), ElementsAre(4));
}

void numbering_goes_on_when_everything_is_pruned(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  for (int i = 0; i < 3; ++i) append(ledger, space);
  ledger.prune(space, 0);
  EXPECT_EQ(ledger.watermark(space), Sequence{3});
  EXPECT_EQ(ledger.retained_from(space), Sequence{4});
  EXPECT_THAT(page(ledger, space, 3).commits, IsEmpty());
  append(ledger, space);
  EXPECT_THAT(sequences(page(ledger, space, 3)), ElementsAre(4));
}

}  // namespace

std::vector<Promise> reading_promises() {
  return {
      {"a_page_is_whole_commits_a_cursor_and_whether_more_waits",
       "It returns PullPage: complete Commit objects, nextCursor and hasMore.",
       a_page_is_whole_commits_a_cursor_and_whether_more_waits},
      {"sequences_count_from_one_and_ordinals_from_zero",
       "A commit has a per-space sequence and zero-based change ordinals.",
       sequences_count_from_one_and_ordinals_from_zero},
      {"each_before_is_the_after_that_preceded_it_and_stays", "Changes contain immutable before/after record snapshots",
       each_before_is_the_after_that_preceded_it_and_stays},
      {"a_tombstone_is_a_change_of_kind_deleted", "A canonical tombstone change uses kind deleted",
       a_tombstone_is_a_change_of_kind_deleted},
      {"every_commit_says_where_it_came_from", "Every change has structured provenance.",
       every_commit_says_where_it_came_from},
      {"limit_is_a_soft_budget_in_changes_not_commits", "limit is a soft budget in changes, not commits.",
       limit_is_a_soft_budget_in_changes_not_commits},
      {"a_commit_that_exceeds_the_budget_is_returned_alone_and_whole",
       "If the next commit exceeds the budget, it is returned whole.",
       a_commit_that_exceeds_the_budget_is_returned_alone_and_whole},
      {"once_a_page_has_a_commit_another_must_fit", "Once a page has a commit, adding another must fit the budget.",
       once_a_page_has_a_commit_another_must_fit},
      {"a_commit_without_changes_counts_as_one", "limit is a soft budget in changes, not commits.",
       a_commit_without_changes_counts_as_one},
      {"the_cursor_of_an_empty_page_is_the_given_one",
       "The cursor is the last fully returned commit sequence, or the supplied cursor for an empty page.",
       the_cursor_of_an_empty_page_is_the_given_one},
      {"negative_and_future_cursors_and_limits_below_one_are_invalid",
       "Negative/future cursors and limits below one are invalid.",
       negative_and_future_cursors_and_limits_below_one_are_invalid},
      {"the_loop_of_pages_gives_every_commit_once",
       "do { pull; apply every commit; cursor = nextCursor; } while (hasMore)",
       the_loop_of_pages_gives_every_commit_once},
      {"pruning_moves_the_horizon_and_renumbers_nothing",
       "Pruning does not renumber anything — sequences keep their values, the horizon simply moves.",
       pruning_moves_the_horizon_and_renumbers_nothing},
      {"a_read_below_the_horizon_is_history_unavailable",
       "a cursor is valid only within that window, and a read below the horizon raises HistoryUnavailable",
       a_read_below_the_horizon_is_history_unavailable},
      {"numbering_goes_on_when_everything_is_pruned", "Pruning does not renumber anything",
       numbering_goes_on_when_everything_is_pruned},
  };
}

}  // namespace viewgate::testing
