// The write path of managed collections, promise by promise: one receipt per processed request, in the commit of its effect.
#include "ledger/mutation_fixture.hpp"
#include "ledger/recording_sink.hpp"
#include "ledger/tailer.hpp"

namespace viewgate::testing {
namespace {

using ledger::Base;
using ledger::Change;
using ledger::ChangeKind;
using ledger::Commit;
using ledger::errc;
using ledger::MutationAnswer;
using ledger::Outcome;
using ledger::Rejection;
using ledger::RejectionReason;
using ledger::Sequence;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Mutations = MutationTest;

TEST_F(Mutations, create_update_put_and_delete_are_commits_with_before_and_after) {
  EXPECT_EQ(ask(request(1, {create("[1]", R"({"title":"a","n":1.10})")})).receipt.outcome, Outcome::applied);
  EXPECT_EQ(ask(request(2, {update("[1]", R"({"title":"b"})")})).receipt.outcome, Outcome::applied);
  EXPECT_EQ(ask(request(3, {put("[1]", R"({"title":"c"})")})).receipt.outcome, Outcome::applied);
  EXPECT_EQ(ask(request(4, {remove("[1]")})).receipt.outcome, Outcome::applied);
  EXPECT_EQ(raw_log(session_, "s1"),
            "1|0|c|issues|[1]|-|{\"n\": 1.10, \"title\": \"a\"}\n"
            "2|0|u|issues|[1]|{\"n\": 1.10, \"title\": \"a\"}|{\"n\": 1.10, \"title\": \"b\"}\n"
            "3|0|u|issues|[1]|{\"n\": 1.10, \"title\": \"b\"}|{\"title\": \"c\"}\n"
            "4|0|d|issues|[1]|{\"title\": \"c\"}|-");
  EXPECT_EQ(record("[1]"), "NULL");
  EXPECT_EQ(commits_, 4);
}

TEST_F(Mutations, a_receipt_tells_what_became_of_each_mutation) {
  const MutationAnswer answer = ask(request(1, {put("[ 7 ]", "{}"), put("[\"a\"]", R"({"x":1})")}));
  EXPECT_EQ(answer.kind, Kind::receipt);
  EXPECT_EQ(answer.receipt.sequence, Sequence{1});
  EXPECT_EQ(answer.receipt.text, R"({"outcome":"applied","client":"c1","number":"1","sequence":"1","acknowledgement":[)"
                                 R"({"collection":"issues","key":[7],"kind":"created","versions":{"record":"1"}},)"
                                 R"({"collection":"issues","key":["a"],"kind":"created","versions":{"record":"1"}}]})");
}

TEST_F(Mutations, the_log_carries_the_receipt_and_where_the_commit_came_from) {
  ledger::MutationRequest asked = request(1, {put("[1]", R"({"x":1})")});
  asked.request_id = "req-1";
  asked.fields = R"({"ip":"::1"})";
  const MutationAnswer answer = ask(std::move(asked));
  const ledger::PullPage page = pull();
  ASSERT_EQ(page.commits.size(), 1U);
  const Commit& commit = page.commits[0];
  EXPECT_EQ(commit.provenance.source, "mutation");
  EXPECT_EQ(commit.provenance.principal, "ann");
  EXPECT_EQ(commit.provenance.client, "c1");
  EXPECT_EQ(commit.provenance.request_id, "req-1");
  EXPECT_EQ(commit.provenance.fields, R"({"ip": "::1"})");
  EXPECT_FALSE(commit.provenance.role.empty());
  ASSERT_TRUE(commit.receipt);
  EXPECT_EQ(commit.receipt->number, 1);
  EXPECT_EQ(commit.receipt->text, answer.receipt.text);
  EXPECT_EQ(commit.receipt->body, R"(putissues[1]{"x":1})");
  ASSERT_EQ(commit.changes.size(), 1U);
  EXPECT_THAT(commit.changes[0].groups, ElementsAre("record"));
}

TEST_F(Mutations, a_batch_is_one_commit_with_ordinals_and_all_or_nothing) {
  ask(request(1, {put("[1]", R"({"x":1})"), put("[2]", R"({"x":2})"), remove("[1]")}));
  EXPECT_EQ(raw_log(session_, "s1"),
            "1|0|c|issues|[1]|-|{\"x\": 1}\n1|1|c|issues|[2]|-|{\"x\": 2}\n1|2|d|issues|[1]|{\"x\": 1}|-");
  const MutationAnswer refused = ask(request(2, {put("[2]", R"({"x":3})"), update("[9]", "{}")}));
  EXPECT_EQ(refused.receipt.outcome, Outcome::rejected);
  EXPECT_THAT(refused.receipt.text,
              HasSubstr(R"("reason":"not_found","detail":"there is no such record","mutation":1)"));
  EXPECT_EQ(record("[2]"), R"({"x": 2})");
  EXPECT_THAT(pull(1).commits.at(0).changes, IsEmpty());
}

TEST_F(Mutations, a_no_op_leaves_a_receipt_and_no_change) {
  ask(request(1, {put("[1]", R"({"x":1})")}));
  const MutationAnswer answer = ask(request(2, {update("[1]", R"({"x":1})")}));
  EXPECT_EQ(answer.receipt.outcome, Outcome::no_op);
  EXPECT_EQ(answer.receipt.sequence, Sequence{2});
  EXPECT_THAT(answer.receipt.text, HasSubstr(R"("kind":"unchanged","versions":{"record":"1"})"));
  const ledger::PullPage page = pull(1);
  ASSERT_EQ(page.commits.size(), 1U);
  EXPECT_THAT(page.commits[0].changes, IsEmpty());
  EXPECT_EQ(page.commits[0].receipt->text, answer.receipt.text);
}

TEST_F(Mutations, a_replay_gives_the_stored_receipt_byte_by_byte_and_consumes_nothing) {
  const auto asked = [] { return request(1, {put("[1]", R"({"x":1})")}); };
  const MutationAnswer first = ask(asked());
  start();  // another process
  const MutationAnswer second = ask(asked());
  EXPECT_EQ(second.kind, Kind::replay);
  EXPECT_EQ(second.receipt.text, first.receipt.text);
  EXPECT_EQ(second.receipt.sequence, first.receipt.sequence);
  EXPECT_EQ(second.receipt.outcome, Outcome::applied);
  EXPECT_EQ(head(), 1);
}

TEST_F(Mutations, another_body_under_a_used_number_is_a_sequence_conflict) {
  ask(request(1, {put("[1]", R"({"x":1})")}));
  EXPECT_EQ(ask(request(1, {put("[1]", R"({"x":2})")})).kind, Kind::sequence_conflict);
  EXPECT_EQ(head(), 1);
  EXPECT_EQ(record("[1]"), R"({"x": 1})");
}

TEST_F(Mutations, a_gap_names_the_expected_number_and_consumes_nothing) {
  const MutationAnswer early = ask(request(2, {put("[1]", "{}")}));
  EXPECT_EQ(early.kind, Kind::sequence_gap);
  EXPECT_EQ(early.expected, 1);
  ask(request(1, {put("[1]", "{}")}));
  const MutationAnswer later = ask(request(4, {put("[1]", "{}")}));
  EXPECT_EQ(later.kind, Kind::sequence_gap);
  EXPECT_EQ(later.expected, 2);
  EXPECT_EQ(head(), 1);
}

TEST_F(Mutations, a_client_belongs_to_the_principal_that_used_it_first) {
  ask(request(1, {put("[1]", "{}")}));
  ledger::MutationRequest stolen = request(2, {put("[1]", R"({"x":1})")});
  stolen.principal = "bob";
  EXPECT_EQ(ask(std::move(stolen)).kind, Kind::forbidden);
  ledger::MutationRequest replayed = request(1, {put("[1]", "{}")});
  replayed.principal = "bob";
  EXPECT_EQ(ask(std::move(replayed)).kind, Kind::forbidden);
  EXPECT_EQ(look_up(1, "c1", "bob").kind, Kind::forbidden);
  EXPECT_EQ(head(), 1);
}

TEST_F(Mutations, numbers_count_per_client_and_space) {
  EXPECT_EQ(ask(request(1, {put("[1]", "{}")}, "c1", "s1")).kind, Kind::receipt);
  EXPECT_EQ(ask(request(1, {put("[1]", "{}")}, "c2", "s1")).kind, Kind::receipt);
  EXPECT_EQ(ask(request(1, {put("[1]", "{}")}, "c1", "s2")).kind, Kind::receipt);
  EXPECT_EQ(head("s1"), 2);
  EXPECT_EQ(head("s2"), 1);
}

TEST_F(Mutations, what_is_malformed_is_not_processed_and_its_number_stays_free) {
  const std::vector<std::pair<ledger::Mutation, std::string>> faults = {
      {put("[1]", "[]"), "not a JSON object"},
      {put("[1]", "{"), "not a JSON object"},
      {put("[1]", R"({"a":"\u0000"})"), "not a JSON object"},
      {put("[1]", R"({"a":"\ud800"})"), "not a JSON object"},
      {put("[1]", R"({"a":1e999999})"), "not a JSON object"},
      {put("1", "{}"), "not a JSON array"},
      {put("[]", "{}"), "the key is empty"},
      {put("[null]", "{}"), "not a string, number or boolean"},
      {put("[[1]]", "{}"), "not a string"},
      {put("[", "{}"), "the key is not JSON"},
      {put("[\"" + std::string(1000, 'x') + "\"]", "{}"), "over 1000 bytes"},
      {put("[1]", std::string("{\"a\":\"\xff\"}")), ""},
      {put("[1]", std::string("{}\0", 3)), "NUL"},
      {put("[1]", std::string(100000, '[') + std::string(100000, ']')), "not a JSON object"}};
  std::vector<ledger::MutationRequest> requests;
  for (const auto& [bad, detail] : faults) requests.push_back(request(1, {bad}, "bad"));
  requests.push_back(request(1, {put("[1]", "{}")}, "good"));
  const std::vector<Answer> answers = ask(std::move(requests));
  for (std::size_t i = 0; i < faults.size(); ++i) {
    ASSERT_FALSE(answers[i]) << i;
    EXPECT_EQ(answers[i].error().code, errc::invalid_mutation) << answers[i].error().detail;
    EXPECT_THAT(answers[i].error().detail, HasSubstr(faults[i].second));
  }
  EXPECT_TRUE(answers.back()) << "one bad request must not take others with it";
  EXPECT_EQ(head(), 1);
  EXPECT_EQ(ask(request(1, {put("[2]", "{}")}, "bad")).kind, Kind::receipt);
}

TEST_F(Mutations, numbers_below_one_are_malformed) {
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    std::vector<ledger::MutationRequest> one;
    one.push_back(request(number, {put("[1]", "{}")}));
    const auto answers = ask(std::move(one));
    ASSERT_FALSE(answers[0]);
    EXPECT_EQ(answers[0].error().code, errc::invalid_mutation);
  }
  EXPECT_EQ(ask(request(std::numeric_limits<std::int64_t>::max(), {put("[1]", "{}")})).kind, Kind::sequence_gap);
  EXPECT_EQ(head(), 0);
}

TEST_F(Mutations, each_rejection_has_its_reason_and_its_receipt_in_the_log) {
  ask(request(1, {put("[1]", "{}")}));
  EXPECT_THAT(ask(request(2, {create("[1]", "{}")})).receipt.text, HasSubstr(R"("reason":"already_exists")"));
  EXPECT_THAT(ask(request(3, {update("[2]", "{}")})).receipt.text, HasSubstr(R"("reason":"not_found")"));
  EXPECT_THAT(ask(request(4, {remove("[2]")})).receipt.text, HasSubstr(R"("reason":"not_found")"));
  ledger::Mutation captured = put("[1]", "{}");
  captured.collection = "public.orders";
  EXPECT_THAT(ask(request(5, {captured})).receipt.text, HasSubstr(R"("reason":"not_writable")"));
  EXPECT_THAT(ask(request(6, {update("[1]", R"({"x":1})", {Base{"nothing", Sequence{1}}})})).receipt.text,
              HasSubstr(R"("reason":"invalid_value","detail":"there is no conflict group \"nothing\"")"));
  std::int64_t number = 7;
  for (const RejectionReason reason :
       {RejectionReason::forbidden, RejectionReason::invalid_value, RejectionReason::constraint}) {
    rules_->verdict = [reason](const ledger::Proposal&) { return Rejection{reason, "by \"rule\""}; };
    EXPECT_THAT(ask(request(number++, {put("[3]", "{}")})).receipt.text,
                HasSubstr(R"("reason":")" + std::string(name(reason)) + R"(","detail":"by \"rule\"","mutation":0})"));
  }
  const ledger::PullPage page = pull(1);
  ASSERT_EQ(page.commits.size(), 8U);
  for (const Commit& commit : page.commits) {
    EXPECT_THAT(commit.changes, IsEmpty());
    EXPECT_EQ(ledger::MutationAnswer(look_up(commit.receipt->number)).receipt.text, commit.receipt->text);
  }
  EXPECT_EQ(record("[3]"), "NULL");
}

TEST_F(Mutations, rules_see_what_was_and_what_would_be) {
  std::vector<std::string> seen;
  rules_->verdict = [&seen](const ledger::Proposal& proposal) -> std::optional<Rejection> {
    seen.push_back(std::string(proposal.key) + std::string(proposal.before.value_or("-")) +
                   std::string(proposal.after.value_or("-")) +
                   (proposal.found ? std::string(name(proposal.found->reason)) : ""));
    return std::nullopt;
  };
  ask(request(1, {put("[ 1 ]", R"({"b":1, "a":2})"), update("[1]", R"({"c":0})"), remove("[1]")}));
  ask(request(2, {update("[1]", "{}")}));
  EXPECT_THAT(seen, ElementsAre(R"([1]-{"a": 2, "b": 1})", R"([1]{"a": 2, "b": 1}{"a": 2, "b": 1, "c": 0})",
                                R"([1]{"a": 2, "b": 1, "c": 0}-)", "[1]--not_found"));
}

TEST_F(Mutations, a_receipt_is_found_by_number_until_the_horizon_and_the_number_stays_used) {
  const MutationAnswer first = ask(request(1, {put("[1]", "{}")}));
  ask(request(2, {put("[2]", "{}")}));
  EXPECT_EQ(look_up(1).receipt.text, first.receipt.text);
  EXPECT_EQ(look_up(3).kind, Kind::sequence_gap);
  EXPECT_EQ(look_up(3).expected, 3);
  EXPECT_EQ(look_up(1, "nobody").expected, 1);
  session_.run("select viewgate.prune('s1', 1)");
  EXPECT_EQ(look_up(1).kind, Kind::receipt_pruned);
  EXPECT_EQ(ask(request(1, {put("[1]", "{}")})).kind, Kind::receipt_pruned);
  session_.run("select viewgate.prune_batch('s1', 100)");
  EXPECT_EQ(look_up(1).kind, Kind::receipt_pruned);
  EXPECT_EQ(ask(request(3, {put("[3]", "{}")})).receipt.sequence, Sequence{3});
}

TEST_F(Mutations, requests_that_wait_together_are_commits_of_one_transaction) {
  std::vector<ledger::MutationRequest> requests;
  for (int i = 0; i < 50; ++i)
    requests.push_back(request(1, {put("[1]", "{\"n\":" + std::to_string(i) + "}")}, "c" + std::to_string(i)));
  for (const Answer& answer : ask(std::move(requests))) EXPECT_EQ(answer->kind, Kind::receipt);
  EXPECT_EQ(head(), 50);
  EXPECT_EQ(mutator_->stats().transactions, 1U);
  EXPECT_EQ(session_.value("select count(distinct numbered) from viewgate.commits"), "1");
  std::string before;
  for (const Commit& commit : pull().commits) {
    ASSERT_EQ(commit.changes.size(), 1U);
    EXPECT_EQ(commit.changes[0].before.value_or(""), before);
    before = *commit.changes[0].after;
  }
}

TEST_F(Mutations, spaces_that_wait_together_share_a_transaction_and_nothing_else) {
  std::vector<ledger::MutationRequest> requests;
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < 10; ++i) {
      requests.push_back(request(round, {put("[1]", "{\"n\":" + std::to_string(10 * round + i) + "}")}, "c1",
                                 "s" + std::to_string(i)));
    }
  }
  for (const Answer& answer : ask(std::move(requests))) EXPECT_EQ(answer->kind, Kind::receipt);
  EXPECT_EQ(mutator_->stats().transactions, 1U);
  for (int i = 0; i < 10; ++i) {
    const std::string space = "s" + std::to_string(i);
    EXPECT_EQ(head(space), 2);
    EXPECT_EQ(record("[1]", space), "{\"n\": " + std::to_string(20 + i) + "}");
    const ledger::PullPage page = pull(0, space);
    EXPECT_THAT(page.commits[1].receipt->text, HasSubstr(R"("number":"2","sequence":"2")"));
    EXPECT_EQ(page.commits[1].changes.at(0).before, page.commits[0].changes.at(0).after);
  }
}

TEST_F(Mutations, many_spaces_are_written_by_several_transactions_side_by_side) {
  std::vector<ledger::MutationRequest> requests;
  for (int i = 0; i < 100; ++i) requests.push_back(request(1, {put("[1]", "{}")}, "c1", "s" + std::to_string(i)));
  for (const Answer& answer : ask(std::move(requests))) EXPECT_EQ(answer->receipt.sequence, Sequence{1});
  EXPECT_GT(mutator_->stats().transactions, 1U);
  EXPECT_LT(mutator_->stats().transactions, 20U);
}

TEST_F(Mutations, a_replay_and_a_gap_inside_one_batch_are_told_apart) {
  std::vector<ledger::MutationRequest> requests;
  requests.push_back(request(1, {put("[1]", "{}")}));
  requests.push_back(request(1, {put("[1]", "{}")}));
  requests.push_back(request(1, {put("[2]", "{}")}));
  requests.push_back(request(3, {put("[2]", "{}")}));
  requests.push_back(request(2, {put("[1]", R"({"x":1})")}));
  const std::vector<Answer> answers = ask(std::move(requests));
  EXPECT_EQ(answers[0]->kind, Kind::receipt);
  EXPECT_EQ(answers[1]->kind, Kind::replay);
  EXPECT_EQ(answers[1]->receipt.text, answers[0]->receipt.text);
  EXPECT_EQ(answers[2]->kind, Kind::sequence_conflict);
  EXPECT_EQ(answers[3]->kind, Kind::sequence_gap);
  EXPECT_EQ(answers[3]->expected, 2);
  EXPECT_EQ(answers[4]->kind, Kind::receipt);
  EXPECT_EQ(head(), 2);
}

TEST_F(Mutations, a_full_queue_says_so_at_once) {
  ledger::MutatorOptions options;
  options.waiting_max = 4;
  start(options);
  std::vector<ledger::MutationRequest> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(request(1, {put("[1]", "{}")}, "c" + std::to_string(i)));
  const std::vector<Answer> answers = ask(std::move(requests));
  EXPECT_TRUE(answers[0]);
  EXPECT_TRUE(answers[1]);
  ASSERT_FALSE(answers[2]);
  EXPECT_EQ(answers[2].error().code, errc::unavailable);
  EXPECT_EQ(ask(request(1, {put("[1]", "{}")}, "c2")).kind, Kind::receipt);
}

TEST_F(Mutations, so_many_receipts_are_looked_up_at_a_time_and_one_more_is_told_at_once) {
  ledger::MutatorOptions options;
  options.lookups_max = 2;
  start(options);
  ask(request(1, {put("[1]", "{}")}));
  std::vector<Answer> answers;
  const auto look_up = [&](std::size_t count) {
    answers.clear();
    for (std::size_t i = 0; i < count; ++i) {
      mutator_->receipt("s1", "c1", "ann", 1, [&](Answer given) { answers.push_back(std::move(given)); });
    }
    return loop_.until([&] { return answers.size() == count; });
  };
  ASSERT_TRUE(look_up(3));
  EXPECT_EQ(std::ranges::count_if(answers, [](const Answer& each) { return each.has_value(); }), 2);
  ASSERT_FALSE(answers[0]) << "before the others have come";
  EXPECT_EQ(answers[0].error().code, errc::unavailable);
  ASSERT_TRUE(look_up(2));
  EXPECT_TRUE(answers[0] && answers[1]);
}

TEST_F(Mutations, the_tail_hands_on_each_receipt_with_its_commit) {
  RecordingSink sink;
  ledger::Tailer tailer(loop_.io(), conninfo_, {}, sink);
  std::vector<std::string> told;
  sink.when_part = [&told](const ledger::CommitPart& part) {
    EXPECT_EQ(part.provenance.client, "c1");
    EXPECT_TRUE(part.first && part.last);
    told.push_back(part.receipt ? part.receipt->text : "none");
  };
  tailer.start();
  tailer.watch("s1");
  ASSERT_TRUE(loop_.until([&sink] { return sink.spaces.contains("s1"); }));
  mutator_ = std::make_unique<ledger::Mutator>(loop_.io(), conninfo_, ledger::MutatorOptions{}, [&] { tailer.wake(); });
  std::vector<std::string> answered;
  answered.push_back(ask(request(1, {put("[1]", "{}")})).receipt.text);
  answered.push_back(ask(request(2, {put("[1]", "{}")})).receipt.text);
  answered.push_back(ask(request(3, {create("[1]", "{}")})).receipt.text);
  ASSERT_TRUE(loop_.until([&sink] { return sink.head("s1") >= 3; }));
  EXPECT_EQ(told, answered);
  mutator_->stop();
  tailer.stop();
}

TEST_F(Mutations, case_34_an_unchanged_large_value_is_in_before_and_after) {
  const std::string large((1 << 20) - 100, 'x');
  ask(request(1, {put("[1]", R"({"n":1,"large":")" + large + "\"}")}));
  ask(request(2, {update("[1]", R"({"n":2})")}));
  const Change change = pull(1).commits.at(0).changes.at(0);
  EXPECT_EQ(change.before, R"({"n": 1, "large": ")" + large + "\"}");
  EXPECT_EQ(change.after, R"({"n": 2, "large": ")" + large + "\"}");
}

TEST_F(Mutations, case_36_receipts_are_in_the_log_by_themselves_and_numbers_stay_in_order) {
  const auto nothing = [](std::int64_t number) { return request(number, {update("[1]", "{}")}); };
  ask(request(1, {put("[1]", R"({"x":1})")}));
  EXPECT_EQ(ask(nothing(3)).expected, 2) << "the third before the second";
  std::vector<ledger::MutationRequest> twice;
  twice.push_back(nothing(2));
  twice.push_back(nothing(2));
  const std::vector<Answer> answers = ask(std::move(twice));
  EXPECT_EQ(answers[0]->receipt.outcome, Outcome::no_op);
  EXPECT_EQ(answers[0]->receipt.text, answers[1]->receipt.text);
  const ledger::PullPage page = pull(1);
  ASSERT_EQ(page.commits.size(), 1U);
  EXPECT_THAT(page.commits[0].changes, IsEmpty());
  EXPECT_EQ(page.commits[0].receipt->text, answers[0]->receipt.text);
}

}  // namespace
}  // namespace viewgate::testing
