// What writers that run side by side, failures and crashes come to.
#include <random>
#include <set>

#include "ledger/contract/model_ledger.hpp"
#include "ledger/contract/promises.hpp"
#include "ledger/contract/steps.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

using ledger::Commit;
using ledger::MutationAnswer;
using ledger::MutationRequest;
using ledger::Sequence;
using Kind = MutationAnswer::Kind;
using ::testing::ElementsAre;

void watermark_and_horizon_are_pure_reads(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ledger.watermark(space), Sequence{0});
    EXPECT_EQ(ledger.retained_from(space), Sequence{1});
  }
  append(ledger, space);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ledger.watermark(space), Sequence{1});
}

void a_transaction_that_is_discarded_consumes_nothing(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  append(ledger, space, "[1]", R"({"a": 1})");
  {
    const auto discarded = ledger.begin();
    discarded->append(space, {{"issues", "[1]", R"({"a": 2})"}});
  }
  append(ledger, space, "[1]", R"({"a": 3})");
  const auto all = page(ledger, space);
  EXPECT_THAT(sequences(all), ElementsAre(1, 2));
  EXPECT_EQ(all.commits.back().changes.at(0).before, R"({"a": 1})");
}

void a_late_commit_is_not_skipped(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  const auto early = ledger.begin();
  early->append(space, {{"issues", "[1]", R"({"by": "a"})"}});
  const auto late = ledger.begin();
  late->append(space, {{"issues", "[2]", R"({"by": "b"})"}});
  late->commit();
  const auto first = page(ledger, space);
  ASSERT_THAT(sequences(first), ElementsAre(1));
  EXPECT_EQ(first.commits[0].changes.at(0).key, "[2]");
  early->commit();
  const auto second = page(ledger, space, first.next_cursor.value);
  ASSERT_THAT(sequences(second), ElementsAre(2)) << "who read on behind the first commit";
  EXPECT_EQ(second.commits[0].changes.at(0).key, "[1]");
}

void the_order_of_numbers_is_the_order_of_commits(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  // None is read, and so perhaps none is numbered, before all are committed.
  for (int i = 1; i <= 5; ++i) append(ledger, space, "[1]", "{\"n\": " + std::to_string(i) + "}");
  answer(ledger, in(space, 1, {update("[1]", R"({"n": 6})")}));
  std::vector<std::string> afters;
  for (const Commit& commit : page(ledger, space).commits) afters.push_back(*commit.changes.at(0).after);
  EXPECT_THAT(afters,
              ElementsAre(R"({"n": 1})", R"({"n": 2})", R"({"n": 3})", R"({"n": 4})", R"({"n": 5})", R"({"n": 6})"));
}

void writers_at_once_are_each_answered_and_numbered_without_gaps(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  std::set<std::int64_t> told;
  constexpr std::int64_t rounds = 10;
  constexpr std::size_t clients = 8;
  for (std::int64_t number = 1; number <= rounds; ++number) {
    std::vector<MutationRequest> requests;
    for (std::size_t i = 0; i < clients; ++i) {
      requests.push_back(in(space, number,
                            {put("[" + std::to_string(i) + "]", "{\"n\": " + std::to_string(number) + "}")},
                            "c" + std::to_string(i)));
    }
    for (const auto& each : ledger.mutate(std::move(requests), suite_rules())) {
      ASSERT_TRUE(each) << ledger::name(each.error().code) << ": " << each.error().detail;
      EXPECT_EQ(each->kind, Kind::receipt);
      EXPECT_TRUE(told.insert(each->receipt.sequence.value).second) << "a sequence twice";
    }
  }
  EXPECT_EQ(*told.begin(), 1);
  EXPECT_EQ(*told.rbegin(), rounds * static_cast<std::int64_t>(clients));
  EXPECT_EQ(ledger.watermark(space), Sequence{*told.rbegin()});
}

void one_request_on_two_nodes_at_once_is_one_commit(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  for (std::int64_t number = 1; number <= 10; ++number) {
    const MutationRequest asked = in(space, number, {put("[1]", "{\"n\": " + std::to_string(number) + "}")});
    const auto given = ledger.mutate({asked, asked}, suite_rules());
    ASSERT_TRUE(given[0] && given[1]);
    EXPECT_NE(given[0]->kind, given[1]->kind) << "one is processed, the other a replay";
    EXPECT_EQ(given[0]->receipt.text, given[1]->receipt.text);
  }
  EXPECT_EQ(ledger.watermark(space), Sequence{10});
}

void what_was_told_survives_a_crash(LedgerAdapter& ledger) {
  const std::string space = fresh_space();
  std::vector<MutationRequest> sent;
  std::vector<std::string> receipts;
  for (std::int64_t number = 1; number <= 3; ++number) {
    append(ledger, space);
    sent.push_back(in(space, number, {put("[1]", "{\"n\": " + std::to_string(number) + "}")}));
    receipts.push_back(answer(ledger, sent.back()).receipt.text);
  }
  append(ledger, space);
  const std::string before = told(page(ledger, space));
  ledger.crash();
  ASSERT_EQ(told(page(ledger, space)), before);
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(answer(ledger, sent[i]).receipt.text, receipts[i]);
  EXPECT_EQ(answer(ledger, in(space, 4, {put("[1]", "{}")})).receipt.sequence, Sequence{8});
}

/// A request of any kind on one of a few records.
MutationRequest random_request(std::mt19937& random, const std::string& space, std::int64_t number,
                               const std::string& client) {
  const auto pick = [&random](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  std::vector<ledger::Mutation> mutations;
  for (int i = pick(3); i < 3; ++i) {
    const std::string key = "[" + std::to_string(pick(4)) + "]";
    const std::string value = "{\"a\": " + std::to_string(pick(3)) + ", \"starts\": " + std::to_string(pick(3)) + "}";
    std::vector<ledger::Base> bases;
    if (pick(3) == 0) bases.push_back({pick(2) == 0 ? "schedule" : "record", Sequence{pick(40)}});
    static constexpr ledger::MutationKind kinds[] = {ledger::MutationKind::create, ledger::MutationKind::update,
                                                     ledger::MutationKind::put, ledger::MutationKind::remove};
    const ledger::MutationKind kind = kinds[pick(4)];
    mutations.push_back(mutation(kind, key, kind == ledger::MutationKind::remove ? "" : value, std::move(bases)));
  }
  return in(space, number, std::move(mutations), client);
}

void any_history_is_what_the_model_says(LedgerAdapter& ledger) {
  const unsigned seed = seed_from_environment();
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  ModelLedger model;
  model.declare(suite_groups());
  const std::string space = fresh_space();
  std::map<std::string, std::vector<MutationRequest>> sent;
  for (int step = 0; step < 120; ++step) {
    const std::string client = "c" + std::to_string(random() % 3);
    auto& theirs = sent[client];
    if (random() % 4 == 0) {
      const std::string key = "[" + std::to_string(random() % 4) + "]";
      std::optional<std::string> value = "{\"a\": " + std::to_string(random() % 3) + "}";
      if (random() % 4 == 0) value.reset();
      append(ledger, space, key, value);
      append(model, space, key, value);
      continue;
    }
    MutationRequest next = random_request(random, space, static_cast<std::int64_t>(theirs.size()) + 1, client);
    if (random() % 5 == 0 && !theirs.empty()) {
      next = theirs[random() % theirs.size()];
      if (random() % 2 == 0) next.body += "!";
    } else if (random() % 8 == 0) {
      next.number += 1 + static_cast<int>(random() % 3);
    } else {
      theirs.push_back(next);
    }
    const MutationAnswer given = answer(ledger, next);
    const MutationAnswer expected = answer(model, next);
    ASSERT_EQ(given.kind, expected.kind) << "step " << step;
    ASSERT_EQ(given.receipt.text, expected.receipt.text) << "step " << step;
    ASSERT_EQ(given.expected, expected.expected) << "step " << step;
  }
  ASSERT_EQ(told(page(ledger, space)), told(page(model, space)));
  const std::int64_t keep = static_cast<int>(random() % 20);
  ledger.prune(space, keep);
  model.prune(space, keep);
  const std::int64_t after = model.retained_from(space).value - 1;
  EXPECT_EQ(told(page(ledger, space, after, 7)), told(page(model, space, after, 7)));
}

}  // namespace

std::vector<Promise> history_promises() {
  return {
      {"watermark_and_horizon_are_pure_reads", "Ledger::watermark() is a pure read",
       watermark_and_horizon_are_pure_reads},
      {"a_transaction_that_is_discarded_consumes_nothing",
       "an exception discards the transaction without consuming anything either",
       a_transaction_that_is_discarded_consumes_nothing},
      {"a_late_commit_is_not_skipped",
       "An adapter must also preserve committed visibility order, including across records and replicas sharing a "
       "space.",
       a_late_commit_is_not_skipped},
      {"the_order_of_numbers_is_the_order_of_commits", "makes numbering and visibility agree",
       the_order_of_numbers_is_the_order_of_commits},
      {"writers_at_once_are_each_answered_and_numbered_without_gaps", "Sequences therefore have no gaps.",
       writers_at_once_are_each_answered_and_numbered_without_gaps},
      {"one_request_on_two_nodes_at_once_is_one_commit", "A receipt is emitted for every processed mutation",
       one_request_on_two_nodes_at_once_is_one_commit},
      {"what_was_told_survives_a_crash",
       "Crash, isolation and concurrency behavior still has to be integration-tested on the actual database.",
       what_was_told_survives_a_crash},
      {"any_history_is_what_the_model_says", "A sequence is consumed only by Ledger::appendCommit().",
       any_history_is_what_the_model_says},
  };
}

std::vector<Promise> promises() {
  std::vector<Promise> out = reading_promises();
  for (const auto& more : {writing_promises(), history_promises()}) out.insert(out.end(), more.begin(), more.end());
  return out;
}

const Promise& promise_of(const std::string& name) {
  static const std::vector<Promise> all = promises();
  for (const Promise& promise : all) {
    if (promise.name == name) return promise;
  }
  throw std::runtime_error("there is no promise " + name);
}

}  // namespace viewgate::testing
