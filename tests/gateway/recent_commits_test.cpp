// What is kept of a space's recent commits is bounded by all that they carry.
#include "gateway/recent_commits.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace viewgate::testing
