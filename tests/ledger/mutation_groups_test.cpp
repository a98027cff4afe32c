// Conflict groups and their versions, through mutations and appends alike; and tags, by which a back-end finds its commit.
#include <random>

#include "ledger/conflict_group.hpp"
#include "ledger/mutation_fixture.hpp"
#include "ledger/record_text.hpp"
#include "ledger/registry.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

using ledger::Base;
using ledger::MutationAnswer;
using ledger::Outcome;
using ledger::Sequence;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MutationGroups : public MutationTest {
 protected:
  MutationGroups() {
    rules_->groups = {{"schedule", {"starts", "ends"}}, {"people", {"owner"}}};
    ledger::DeclaredGroups declared;
    declared["issues"] = rules_->groups;
    session_.query("select viewgate.apply_model('', 'h', $1)", {ledger::declaration_of(declared)});
  }

  Outcome outcome(std::int64_t number, ledger::Mutation one) {
    return ask(request(number, {std::move(one)})).receipt.outcome;
  }

  void append(const std::string& change) {
    session_.query("select viewgate.append('s1', jsonb_build_array($1::jsonb))",
                   {R"({"collection": "issues", "key": [1], )" + change + "}"});
  }
};

TEST_F(MutationGroups, a_mutation_conflicts_only_where_it_touches_a_group_that_moved_since_its_base) {
  outcome(1, put("[1]", R"({"title":"a","starts":1,"ends":2,"owner":"x"})"));
  EXPECT_EQ(outcome(2, update("[1]", R"({"starts":5})", {Base{"schedule", Sequence{1}}})), Outcome::applied);
  EXPECT_EQ(outcome(3, update("[1]", R"({"owner":"y"})", {Base{"people", Sequence{1}}})), Outcome::applied);
  const MutationAnswer refused = ask(request(4, {update("[1]", R"({"ends":9})", {Base{"schedule", Sequence{1}}})}));
  EXPECT_EQ(refused.receipt.outcome, Outcome::rejected);
  EXPECT_THAT(refused.receipt.text, HasSubstr(R"("reason":"conflict")"));
  EXPECT_THAT(refused.receipt.text, HasSubstr(R"("groups":{"schedule":"2"})"));
  EXPECT_EQ(outcome(5, update("[1]", R"({"title":"b"})", {Base{"schedule", Sequence{1}}})), Outcome::applied)
      << "a base of a group that it does not touch";
  EXPECT_EQ(outcome(6, update("[1]", R"({"starts":5})", {Base{"schedule", Sequence{1}}})), Outcome::no_op)
      << "what it wants is so already";
  EXPECT_EQ(outcome(7, update("[1]", R"({"ends":9})", {Base{"schedule", Sequence{2}}})), Outcome::applied);
  EXPECT_EQ(outcome(8, update("[1]", R"({"ends":8})")), Outcome::applied) << "no base, no conflict";
  EXPECT_EQ(outcome(9, update("[1]", R"({"ends":7})", {Base{"schedule", Sequence{99}}})), Outcome::rejected)
      << "a version that was never given";
  EXPECT_EQ(outcome(10, remove("[1]")), Outcome::applied);
}

TEST_F(MutationGroups, a_delete_touches_every_group_and_a_deleted_record_conflicts_with_every_base) {
  outcome(1, put("[1]", R"({"title":"a","starts":1})"));
  outcome(2, update("[1]", R"({"starts":2})"));
  ledger::Mutation stale = remove("[1]");
  stale.bases = {Base{"schedule", Sequence{1}}};
  EXPECT_EQ(outcome(3, stale), Outcome::rejected);
  EXPECT_EQ(outcome(4, remove("[1]")), Outcome::applied);
  ledger::Mutation revived = put("[1]", R"({"title":"b"})");
  revived.bases = {Base{"record", Sequence{1}}};
  EXPECT_EQ(outcome(5, revived), Outcome::rejected);
  revived.bases.clear();
  EXPECT_EQ(outcome(6, revived), Outcome::applied);
}

TEST_F(MutationGroups, a_batch_does_not_conflict_with_itself) {
  outcome(1, put("[1]", R"({"starts":1})"));
  const auto asked = [](int starts) {
    return update("[1]", "{\"starts\":" + std::to_string(starts) + "}", {Base{"schedule", Sequence{1}}});
  };
  EXPECT_EQ(ask(request(2, {asked(2), asked(3)})).receipt.outcome, Outcome::applied);
  EXPECT_EQ(ask(request(3, {asked(4)})).receipt.outcome, Outcome::rejected);
}

TEST_F(MutationGroups, the_log_names_the_groups_of_every_change_of_managed_records) {
  outcome(1, put("[1]", R"({"title":"a","starts":1})"));
  outcome(2, update("[1]", R"({"title":"b","owner":"x"})"));
  append(R"("update": {"ends": 4})");
  number_all(session_);
  outcome(3, remove("[1]"));
  const ledger::PullPage page = pull();
  ASSERT_EQ(page.commits.size(), 4U);
  EXPECT_THAT(page.commits[0].changes[0].groups, ElementsAre("schedule", "people", "record"));
  EXPECT_THAT(page.commits[1].changes[0].groups, ElementsAre("people", "record"));
  EXPECT_THAT(page.commits[2].changes[0].groups, ElementsAre("schedule"));
  EXPECT_THAT(page.commits[3].changes[0].groups, ElementsAre("schedule", "people", "record"));
}

TEST_F(MutationGroups, an_append_moves_the_groups_that_it_changes) {
  append(R"("put": {"title": "a", "starts": 1})");
  outcome(1, update("[1]", R"({"owner":"x"})"));
  append(R"("update": {"starts": 2})");
  EXPECT_EQ(outcome(2, update("[1]", R"({"starts":3})", {Base{"schedule", Sequence{1}}})), Outcome::rejected);
  EXPECT_EQ(outcome(3, update("[1]", R"({"title":"b"})", {Base{"record", Sequence{1}}})), Outcome::applied);
  const MutationAnswer last = ask(request(4, {update("[1]", R"({"starts":3})", {Base{"schedule", Sequence{3}}})}));
  EXPECT_THAT(last.receipt.text, HasSubstr(R"("versions":{"people":"2","record":"5","schedule":"6"})"));
}

TEST_F(MutationGroups, an_append_that_is_pruned_counts_as_the_horizon) {
  append(R"("put": {"starts": 1})");
  number_all(session_);
  session_.run("select viewgate.prune('s1', 0)");
  session_.run("select viewgate.prune_batch('s1', 100)");
  EXPECT_EQ(outcome(1, update("[1]", R"({"starts":2})", {Base{"schedule", Sequence{1}}})), Outcome::applied);
  EXPECT_EQ(outcome(2, update("[1]", R"({"title":"x"})", {Base{"record", Sequence{0}}})), Outcome::rejected);
}

TEST_F(MutationGroups, a_group_that_is_declared_later_moved_at_the_latest_with_its_record) {
  outcome(1, put("[1]", R"({"title":"a","place":"x"})"));
  outcome(2, update("[1]", R"({"title":"b"})"));
  rules_->groups.push_back({"place", {"place"}});
  EXPECT_EQ(outcome(3, update("[1]", R"({"place":"y"})", {Base{"place", Sequence{1}}})), Outcome::rejected);
  EXPECT_EQ(outcome(4, update("[1]", R"({"place":"y"})", {Base{"place", Sequence{2}}})), Outcome::applied);
}

// Random records in both: the same groups.
TEST_F(MutationGroups, sql_and_the_program_agree_on_what_changed) {
  const unsigned seed = seed_from_environment();
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> names = {"starts", "ends", "owner", "a\"b\\", "\x01", "é", "", "title"};
  const std::vector<std::string> values = {"1",  "1.0", "1.00", "null", "\"\"", "\"x, }\\\"\"", "[1, {\"a\": []}]",
                                           "{}", "true"};
  const auto record = [&] {
    std::string out = "{";
    for (const std::string& each : names) {
      if (random() % 2 == 0) continue;
      out += (out.size() > 1 ? ", " : "") + ledger::quoted(each) + ": " + values[random() % values.size()];
    }
    return session_.value("select $1::jsonb::text", {out + "}"});
  };
  for (int i = 0; i < 200; ++i) {
    const std::string before = record();
    const std::string after = record();
    const auto groups = ledger::changed_groups(rules_->groups, before, after);
    EXPECT_EQ(session_.value(
                  "select coalesce(array_to_string(viewgate.changed_groups('issues', $1::jsonb, $2::jsonb), ' '), '')",
                  {before, after}),
              [&groups] {
                std::string out;
                for (const std::string& group : groups) out += (out.empty() ? "" : " ") + group;
                return out;
              }())
        << before << " " << after;
    EXPECT_EQ(session_.value("select ($1::jsonb || $2::jsonb)::text", {before, after}), ledger::merged(before, after));
  }
}

TEST_F(MutationGroups, a_tag_surfaces_in_the_commits_of_its_transaction_only) {
  session_.run(
      "create table public.orders (id int primary key, space text); select viewgate.capture('public.orders', 'space')");
  session_.run(
      "begin; insert into public.orders values (1, 's1'); select viewgate.tag('t-1', '{\"by\": \"batch\"}');"
      "insert into public.orders values (2, 's2');"
      R"(select viewgate.append('s1', '[{"collection": "notes", "key": [1], "put": {}}]'); commit)");
  session_.run("insert into public.orders values (3, 's1')");
  session_.run(
      "begin; savepoint a; select viewgate.tag('t-2'); rollback to a; insert into public.orders values (4, 's1'); "
      "commit");
  number_all(session_);
  const ledger::PullPage page = pull();
  ASSERT_EQ(page.commits.size(), 3U);
  EXPECT_EQ(page.commits[0].provenance.request_id, "t-1");
  EXPECT_EQ(page.commits[0].provenance.fields, R"({"by": "batch"})");
  EXPECT_EQ(page.commits[0].provenance.source, "append") << "where a part of it is one";
  EXPECT_EQ(page.commits[0].changes.size(), 2U);
  EXPECT_FALSE(page.commits[0].receipt);
  EXPECT_THAT(page.commits[1].provenance.request_id, IsEmpty());
  EXPECT_THAT(page.commits[2].provenance.request_id, IsEmpty());
  EXPECT_EQ(pull(0, "s2").commits.at(0).provenance.request_id, "t-1");
  EXPECT_EQ(session_.refusal("select viewgate.tag('')"), "VG002");
  EXPECT_EQ(session_.refusal("select viewgate.tag(null)"), "VG002");
  EXPECT_EQ(session_.refusal("select viewgate.tag(repeat('x', 201))"), "VG002");
  EXPECT_EQ(session_.refusal("select viewgate.tag('x', '[]')"), "VG002");
}

TEST_F(MutationGroups, erasing_a_record_takes_the_proposed_values_too) {
  outcome(1, put("[1]", R"({"title":"secret"})"));
  outcome(2, update("[2]", R"({"title":"secret"})"));
  outcome(3, remove("[1]"));
  session_.run("select viewgate.erase_record('s1', 'issues', '[1]')");
  EXPECT_EQ(session_.value("select count(*) from viewgate.commits where commits::text like '%secret%'"), "0");
  EXPECT_EQ(session_.value("select count(*) from viewgate.changes where changes::text like '%secret%'"), "0");
  EXPECT_EQ(ask(request(1, {put("[1]", R"({"title":"secret"})")})).kind, Kind::replay) << "the receipt stays";
  EXPECT_EQ(ask(request(2, {update("[2]", R"({"title":"secret"})")})).kind, Kind::replay) << "of what was refused, too";
  EXPECT_EQ(ask(request(1, {put("[1]", R"({"title":"other"})")})).kind, Kind::sequence_conflict);
  EXPECT_EQ(ask(request(2, {update("[2]", R"({"title":"other"})")})).kind, Kind::sequence_conflict);
}

TEST_F(MutationGroups, the_version_that_an_append_gave_is_the_same_after_its_commit_was_pruned) {
  append(R"("put": {"title": "a", "starts": 1})");
  for (int i = 2; i <= 6; ++i) {
    session_.query(
        "select viewgate.append('s1', jsonb_build_array(jsonb_build_object('collection', 'issues', 'key', "
        "jsonb_build_array($1::int), 'put', jsonb_build_object('title', 'b'))))",
        {std::to_string(i)});
  }
  number_all(session_);
  for (const int keep : {3, 1, 0}) {
    session_.query("select viewgate.prune('s1', $1)", {std::to_string(keep)});
    while (session_.value("select viewgate.prune_batch('s1', 2)") != "0") {
    }
  }
  EXPECT_EQ(session_.value("select count(*) from viewgate.commits"), "0");
  EXPECT_EQ(outcome(1, update("[1]", R"({"starts":2})", {Base{"schedule", Sequence{1}}})), Outcome::applied)
      << "nobody has moved it";
  const MutationAnswer late = ask(request(2, {update("[6]", R"({"title":"c"})", {Base{"record", Sequence{5}}})}));
  EXPECT_THAT(late.receipt.text, HasSubstr(R"("groups":{"record":"6"})"));
  EXPECT_EQ(outcome(3, update("[6]", R"({"title":"c"})", {Base{"record", Sequence{6}}})), Outcome::applied);
}

TEST_F(MutationGroups, what_is_kept_of_pruned_versions_goes_when_the_record_has_moved_on) {
  append(R"("put": {"title": "a", "starts": 1})");
  append(R"("update": {"title": "b"})");
  number_all(session_);
  const auto prune = [this] {
    session_.run("select viewgate.prune('s1', 0)");
    while (session_.value("select viewgate.prune_batch('s1', 1)") != "0") {
    }
    return session_.value("select string_agg(sequence::text, ' ' order by sequence) from viewgate.pruned_versions");
  };
  EXPECT_EQ(prune(), "1 2") << "of schedule and people, and of record";
  append(R"("update": {"title": "c"})");
  number_all(session_);
  EXPECT_EQ(prune(), "1 3");
  EXPECT_EQ(outcome(1, remove("[1]")), Outcome::applied);
  EXPECT_EQ(prune(), "NULL");
}

TEST_F(MutationGroups, a_transaction_that_writes_a_captured_table_first_gives_its_appends_versions) {
  session_.run(
      "create table public.orders (id int primary key, space text); select viewgate.capture('public.orders', 'space')");
  outcome(1, put("[9]", "{}"));
  session_.run(
      "begin; insert into public.orders values (1, 's1');"
      R"(select viewgate.append('s1', '[{"collection": "issues", "key": [1], "put": {"title": "a"}}]'); commit)");
  EXPECT_EQ(outcome(2, update("[1]", R"({"title":"b"})", {Base{"record", Sequence{1}}})), Outcome::rejected);
  EXPECT_EQ(outcome(3, update("[1]", R"({"title":"b"})", {Base{"record", Sequence{2}}})), Outcome::applied);
}

TEST_F(MutationGroups, what_a_request_comes_to_is_bounded_and_a_refusal_is_its_receipt) {
  ledger::MutatorOptions small;
  small.record_bytes_max = 100'000;
  small.effect_bytes_max = 300'000;
  start(small);
  const std::string large = "{\"title\":\"" + std::string(60'000, 'x') + "\"}";
  for (int i = 1; i <= 6; ++i) {
    EXPECT_EQ(outcome(i, put("[" + std::to_string(i) + "]", large)), Outcome::applied);
  }
  const std::string more = "{\"starts\":\"" + std::string(60'000, 'y') + "\"}";
  const MutationAnswer grown = ask(request(7, {update("[1]", more)}));
  EXPECT_THAT(grown.receipt.text,
              HasSubstr(R"("reason":"constraint","detail":"the record would have more than 100000)"));

  std::vector<ledger::Mutation> again;
  for (int i = 0; i < 200; ++i) again.push_back(update("[1]", "{\"starts\":" + std::to_string(i) + "}"));
  const MutationAnswer repeated = ask(request(8, again));
  EXPECT_THAT(repeated.receipt.text, HasSubstr(R"("reason":"constraint")"));
  EXPECT_THAT(repeated.receipt.text, HasSubstr("more than 300000 bytes"));
  EXPECT_EQ(ask(request(8, again)).receipt.text, repeated.receipt.text);

  std::vector<ledger::Mutation> wide;
  for (int i = 1; i <= 6; ++i) wide.push_back(update("[" + std::to_string(i) + "]", R"({"starts":1})"));
  EXPECT_THAT(ask(request(9, wide)).receipt.text, HasSubstr(R"("reason":"constraint")")) << "more than is read for it";
  EXPECT_EQ(outcome(10, update("[1]", R"({"starts":1})")), Outcome::applied) << "and it works on";
}

TEST_F(MutationGroups, requests_that_come_to_too_much_together_are_written_one_transaction_after_the_other) {
  ledger::MutatorOptions small;
  small.effect_bytes_max = 300'000;
  start(small);
  const std::string large = "{\"title\":\"" + std::string(100'000, 'x') + "\"}";
  std::vector<ledger::MutationRequest> requests;
  for (int i = 1; i <= 12; ++i) requests.push_back(request(i, {put("[" + std::to_string(i) + "]", large)}));
  for (int i = 1; i <= 12; ++i) {
    requests.push_back(request(12 + i, {update("[" + std::to_string(i) + "]", R"({"starts":1})")}));
  }
  std::int64_t sequence = 0;
  for (const Answer& answer : ask(std::move(requests))) {
    EXPECT_EQ(value_of(answer).receipt.outcome, Outcome::applied) << value_of(answer).receipt.text;
    EXPECT_EQ(value_of(answer).receipt.sequence, Sequence{++sequence}) << "in the order of arrival";
  }
  EXPECT_GT(mutator_->stats().transactions, 6U);
  EXPECT_EQ(mutator_->stats().waiting, 0U);
}

TEST_F(MutationGroups, what_a_writer_sets_by_itself_is_taken_as_one_bounded_object_or_not_at_all) {
  session_.run(
      "create table public.orders (id int primary key, space text); select viewgate.capture('public.orders', 'space')");
  const std::vector<std::pair<std::string, std::string>> taken = {
      {"{\"a\":\n1}", "{\"a\": 1}"},
      {"{\"a\":1},\"changes\":[]}\n{\"space\":\"forged\"}", ""},
      {"[1]", ""},
      {"{\"a\": 1", ""},
      {"{\"a\": 1e5000}", ""},
      {"{\"a\": \"" + std::string(5'000, 'x') + "\"}", ""},
      {std::string(4'000, '['), ""},
      {"null", ""}};
  std::int64_t sequence = 0;
  for (const auto& [given, expected] : taken) {
    session_.query("select set_config('viewgate.fields', $1, false)", {given});
    session_.query("insert into public.orders values ($1, 's1')", {std::to_string(sequence)});
    append(R"("put": {"n": )" + std::to_string(sequence) + "}");
    number_all(session_);
    for (const ledger::Commit& commit : pull(sequence).commits) {
      EXPECT_EQ(commit.provenance.fields, expected) << given.substr(0, 40);
      sequence = commit.position.sequence.value;
    }
  }
  session_.query("select set_config('viewgate.request_id', $1, false)", {std::string(201, 'x')});
  append(R"("put": {"n": "last"})");
  number_all(session_);
  EXPECT_THAT(pull(sequence).commits.at(0).provenance.request_id, IsEmpty());
}

}  // namespace
}  // namespace viewgate::testing
