// What is kept of a space's recent commits is bounded by all that they carry.
#include "gateway/recent_commits.hpp"

#include <gtest/gtest.h>

#include "gateway/recent_store.hpp"

namespace viewgate::testing {
namespace {

using gateway::RecentCommits;
using ledger::CommitPart;
using ledger::Position;

Position at(std::int64_t sequence) { return {ledger::Sequence{sequence}, ledger::Stamp{7}}; }

CommitPart empty(std::int64_t sequence) {
  CommitPart out;
  out.space = "s1";
  out.position = at(sequence);
  return out;
}

TEST(RecentCommitsBound, counts_receipts_and_provenance_of_commits_without_changes) {
  RecentCommits recent(50'000);
  recent.restart({});
  for (std::int64_t i = 1; i <= 20; ++i) {
    CommitPart part = empty(i);
    part.receipt = ledger::CommitReceipt{i, std::string(5'000, 'r'), {}};
    part.provenance.fields = std::string(4'000, 'f');
    recent.append(std::make_shared<const CommitPart>(std::move(part)));
    EXPECT_LE(recent.bytes(), 50'000U);
  }
  EXPECT_EQ(recent.covers(at(20)), RecentCommits::Cover::yes);
  EXPECT_EQ(recent.covers(at(15)), RecentCommits::Cover::yes);
  EXPECT_EQ(recent.covers(at(14)), RecentCommits::Cover::no);
}

TEST(RecentCommitsBound, a_commit_whose_receipt_alone_is_larger_is_not_kept) {
  RecentCommits recent(50'000);
  recent.restart({});
  CommitPart part = empty(1);
  part.receipt = ledger::CommitReceipt{1, std::string(60'000, 'r'), {}};
  recent.append(std::make_shared<const CommitPart>(std::move(part)));
  EXPECT_EQ(recent.bytes(), 0U);
  EXPECT_EQ(recent.covers(at(1)), RecentCommits::Cover::yes) << "where the next one begins";
}

std::vector<ledger::CommitPartPtr> commits(std::int64_t first, std::int64_t last, std::size_t bytes = 10) {
  std::vector<ledger::CommitPartPtr> out;
  for (auto i = first; i <= last; ++i) {
    CommitPart part = empty(i);
    part.provenance.fields = std::string(bytes, 'f');
    out.push_back(std::make_shared<const CommitPart>(std::move(part)));
  }
  return out;
}

std::vector<std::int64_t> after(const RecentCommits& recent, std::int64_t sequence) {
  std::vector<std::int64_t> out;
  for (const auto& part : recent.stretch(at(sequence), 1'000'000).parts) out.push_back(part->position.sequence.value);
  return out;
}

TEST(RecentCommitsPrepend, what_leads_up_to_it_is_put_before_it) {
  RecentCommits recent(50'000);
  recent.restart(at(5));
  recent.append(commits(6, 6).front());
  recent.prepend(at(2), commits(3, 8));
  EXPECT_EQ(recent.covers(at(2)), RecentCommits::Cover::yes);
  EXPECT_EQ(recent.covers(at(1)), RecentCommits::Cover::no);
  EXPECT_EQ(after(recent, 2), (std::vector<std::int64_t>{3, 4, 5, 6}));
  recent.append(commits(7, 7).front());
  EXPECT_EQ(after(recent, 4), (std::vector<std::int64_t>{5, 6, 7}));
  recent.forget({5});
  EXPECT_EQ(recent.covers(at(4)), RecentCommits::Cover::no);
  EXPECT_EQ(after(recent, 5), (std::vector<std::int64_t>{6, 7}));
}

TEST(RecentCommitsPrepend, what_does_not_touch_it_or_is_of_another_history_is_not) {
  RecentCommits recent(50'000);
  recent.restart(at(5));
  recent.prepend(at(2), commits(3, 4));
  EXPECT_EQ(recent.covers(at(2)), RecentCommits::Cover::no);
  auto others = commits(3, 4);
  CommitPart other = empty(5);
  other.position.stamp = {8};
  others.push_back(std::make_shared<const CommitPart>(std::move(other)));
  recent.prepend(at(2), others);
  EXPECT_EQ(recent.covers(at(2)), RecentCommits::Cover::no);
  EXPECT_EQ(recent.bytes(), 0U);
  EXPECT_EQ(recent.covers(at(5)), RecentCommits::Cover::yes);
}

TEST(RecentCommitsPrepend, of_what_is_too_much_the_newest_is_kept) {
  RecentCommits recent(50'000);
  recent.restart(at(20));
  recent.prepend(at(0), commits(1, 20, 10'000));
  EXPECT_LE(recent.bytes(), 50'000U);
  EXPECT_EQ(recent.covers(at(19)), RecentCommits::Cover::yes);
  EXPECT_EQ(recent.covers(at(10)), RecentCommits::Cover::no);
}

TEST(RecentStoreBound, all_spaces_together_give_their_oldest_in_turn) {
  gateway::RecentStore store(50'000, 100'000);
  const auto append = [&](const std::string& space, std::int64_t sequence) {
    CommitPart part = empty(sequence);
    part.space = space;
    part.provenance.fields = std::string(10'000, 'f');
    store.append(std::make_shared<const CommitPart>(std::move(part)));
    EXPECT_LE(store.bytes(), 100'000U);
  };
  for (const char* each : {"a", "b", "c", "quiet"}) store.restart(each, {});
  for (std::int64_t i = 1; i <= 4; ++i) {
    for (const char* each : {"a", "b", "c"}) append(each, i);
  }
  for (const char* each : {"a", "b", "c"}) {
    EXPECT_EQ(store.find(each)->covers(at(4)), RecentCommits::Cover::yes) << each;
    EXPECT_EQ(store.find(each)->covers(at(3)), RecentCommits::Cover::yes) << each;
  }
  store.drop("b");
  EXPECT_EQ(store.find("b"), nullptr);
  for (const char* each : {"a", "c"}) store.restart(each, at(9));
  EXPECT_EQ(store.bytes(), 0U);
}

}  // namespace
}  // namespace viewgate::testing
