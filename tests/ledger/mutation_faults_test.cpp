// The write path under faults: whatever breaks, a request is processed once or not at all, and then it works again.
#include <future>
#include <thread>

#include "ledger/migrate.hpp"
#include "ledger/mutation_fixture.hpp"

namespace viewgate::testing {
namespace {

using ledger::errc;
using ledger::MutationAnswer;
using ledger::Mutator;
using ledger::MutatorOptions;
using ledger::Outcome;

class MutationFaults : public MutationTest {
 protected:
  /// What a test holds it lets go of when it has seen that somebody waits.
  static MutatorOptions patient() {
    MutatorOptions out;
    out.record_lock_time_max = std::chrono::seconds(30);
    return out;
  }
  void SetUp() override {
    MutationTest::SetUp();
    start(patient());
  }

  /// Sends without waiting.
  void send(ledger::MutationRequest one) {
    answer_.reset();
    mutator_->mutate(std::move(one), rules_, [this](Answer given) { answer_ = std::move(given); });
  }
  Answer arrived() {
    if (!loop_.until([this] { return answer_.has_value(); }, std::chrono::seconds(60))) {
      throw std::runtime_error("no answer came");
    }
    return std::move(*answer_);
  }

  /// The sessions that write wait for a lock.
  bool is_waiting() {
    return loop_.until([this] {
      return session_.value(
                 "select count(*) from pg_stat_activity where application_name = 'viewgate write' and "
                 "datname = current_database() and wait_event_type = 'Lock'") != "0";
    });
  }

  void expect_it_works(std::int64_t number) {
    EXPECT_EQ(ask(request(number, {put("[99]", "{}")})).kind, Kind::receipt);
    expect_chain();
  }

  /// Every before is the preceding after, sequences are contiguous, and the fold is the records.
  void expect_chain() {
    std::map<std::string, std::string> records;
    std::int64_t sequence = 0;
    for (const ledger::Commit& commit : pull().commits) {
      EXPECT_EQ(commit.position.sequence.value, ++sequence);
      for (const ledger::Change& change : commit.changes) {
        EXPECT_EQ(change.before.value_or(""), records[change.key]) << sequence;
        records[change.key] = change.after.value_or("");
      }
    }
    for (const auto& [key, text] : records) EXPECT_EQ(record(key), text.empty() ? "NULL" : text);
  }

  std::optional<Answer> answer_;
};

TEST_F(MutationFaults, records_are_locked_in_the_order_of_append_whatever_the_database_sorts_by) {
  PgSession(PostgresCluster::shared().server().conninfo("postgres"))
      .run("create database in_english template template0 locale_provider icu icu_locale 'en-US' encoding 'UTF8'");
  const std::string conninfo = PostgresCluster::shared().server().conninfo("in_english");
  ASSERT_TRUE(ledger::migrate(conninfo));
  PgSession watcher(conninfo);
  ASSERT_EQ(watcher.value("select '[\"a\"]' < '[\"B\"]'"), "t") << "not so in the collation C";
  const std::string append =
      R"(select viewgate.append('s1', '[{"collection": "issues", "key": ["%"], "put": {"n": 1}}]'))";
  const auto of = [&append](const char* key) { return std::string(append).replace(append.find('%'), 1, key); };
  watcher.run(of("a") + ";" + of("B"));
  Mutator mutator(loop_.io(), conninfo, {}, nullptr);
  PgSession application(conninfo);
  application.run("begin; " + of("B") + "; update viewgate.records set value = value where key = '[\"B\"]'");
  mutator.mutate(request(1, {put("[\"a\"]", "{}"), put("[\"B\"]", "{}")}), rules_,
                 [this](Answer given) { answer_ = std::move(given); });
  ASSERT_TRUE(loop_.until([&watcher] {
    return watcher.value(
               "select count(*) from pg_stat_activity where application_name = 'viewgate write' and datname = "
               "current_database() and wait_event_type = 'Lock'") != "0";
  }));
  application.run(
      "set local lock_timeout = '500ms'; update viewgate.records set value = value where key = '[\"a\"]'; commit");
  EXPECT_EQ(value_of(arrived()).kind, Kind::receipt);
}

TEST_F(MutationFaults, row_45_a_replay_gives_the_stored_receipt_and_another_body_is_a_conflict) {
  const MutationAnswer first = ask(request(1, {put("[1]", R"({"x":1})")}));
  EXPECT_EQ(ask(request(1, {put("[1]", R"({"x":1})")})).receipt.text, first.receipt.text);
  EXPECT_EQ(ask(request(1, {put("[1]", R"({"x":2})")})).kind, Kind::sequence_conflict);
  EXPECT_EQ(head(), 1);
  expect_it_works(2);
}

TEST_F(MutationFaults, row_46_gaps_and_impossible_numbers_use_no_sequence) {
  for (const std::int64_t number : {std::int64_t{2}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(ask(request(number, {put("[1]", "{}")})).expected, 1);
  }
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-5}}) {
    send(request(number, {put("[1]", "{}")}));
    EXPECT_EQ(arrived().error().code, errc::invalid_mutation);
  }
  EXPECT_EQ(head(), 0);
  expect_it_works(1);
}

TEST_F(MutationFaults, row_47_the_same_mutation_on_two_nodes_at_once_is_one_commit) {
  Mutator other(loop_.io(), conninfo_, {}, {});
  for (std::int64_t number = 1; number <= 20; ++number) {
    std::vector<Answer> answers;
    for (Mutator* node : {mutator_.get(), &other}) {
      node->mutate(request(number, {put("[1]", "{\"n\":" + std::to_string(number) + "}")}), rules_,
                   [&answers](Answer given) { answers.push_back(std::move(given)); });
    }
    ASSERT_TRUE(loop_.until([&answers] { return answers.size() == 2; }));
    // Whichever node got the lock first; the answers may arrive in the other order.
    if (answers[0]->kind == Kind::replay) std::swap(answers[0], answers[1]);
    EXPECT_EQ(answers[0]->kind, Kind::receipt);
    EXPECT_EQ(answers[1]->kind, Kind::replay);
    EXPECT_EQ(answers[0]->receipt.text, answers[1]->receipt.text);
    EXPECT_EQ(head(), number);
  }
  expect_it_works(21);
}

TEST_F(MutationFaults, row_48_a_connection_cut_after_commit_leaves_a_receipt_that_a_replay_gets) {
  // COMMIT is done and waits for a standby that does not exist: then its session is ended.
  struct NoStandby {
    explicit NoStandby(PgSession& session_) : session(session_) { set("none"); }
    ~NoStandby() { set(""); }
    void set(const std::string& name) {
      session.run("alter system set synchronous_standby_names = '" + name + "'");
      session.run("select pg_reload_conf()");
    }
    PgSession& session;
  };
  PgSession admin(conninfo_);
  admin.run("set synchronous_commit = local");
  session_.run("set synchronous_commit = local");
  MutatorOptions options;
  options.attempts_max = 1;
  start(options);
  ask(request(1, {put("[1]", "{}")}));
  std::int64_t number = 1;
  const auto next = [&number] { return request(number, {put("[1]", R"({"x":)" + std::to_string(number) + "}")}); };
  {
    const NoStandby standby(admin);
    const auto waits = [this] {
      return session_.value(
                 "select count(*) from pg_stat_activity where wait_event = 'SyncRep' and datname = "
                 "current_database()") != "0";
    };
    // The checkpointer tells the sessions of it, in its own time: those that commit before wait for nobody.
    do {
      ++number;
      send(next());
      ASSERT_TRUE(loop_.until([&] { return waits() || answer_; }));
    } while (answer_ && number < 1000);
    ASSERT_FALSE(answer_) << "nobody is told before COMMIT has returned";
    session_.run("select pg_terminate_backend(pid, 5000) from pg_stat_activity where wait_event = 'SyncRep'");
    const Answer unknown = arrived();
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, errc::unavailable);
  }
  const MutationAnswer replayed = ask(next());
  EXPECT_EQ(replayed.kind, Kind::replay);
  EXPECT_EQ(replayed.receipt.outcome, Outcome::applied);
  EXPECT_EQ(head(), number);
  expect_it_works(number + 1);
}

TEST_F(MutationFaults, row_49_a_refused_batch_leaves_its_receipt_and_no_change) {
  rules_->verdict = [](const ledger::Proposal& proposal) -> std::optional<ledger::Rejection> {
    if (proposal.key != "[2]") return std::nullopt;
    return ledger::Rejection{ledger::RejectionReason::constraint, "two is not allowed"};
  };
  const MutationAnswer refused = ask(request(1, {put("[1]", "{}"), put("[2]", "{}"), put("[3]", "{}")}));
  EXPECT_EQ(refused.receipt.outcome, Outcome::rejected);
  const ledger::PullPage page = pull();
  ASSERT_EQ(page.commits.size(), 1U);
  EXPECT_TRUE(page.commits[0].changes.empty());
  EXPECT_EQ(page.commits[0].receipt->text, refused.receipt.text);
  EXPECT_EQ(session_.value("select count(*) from viewgate.records"), "0");
  expect_it_works(2);
}

TEST_F(MutationFaults, row_60_a_writer_that_is_frozen_with_the_lock_holds_up_nobody_for_long) {
  // Another process (here: another thread) stops between reading and writing.
  std::promise<void> frozen;
  std::promise<void> thaw;
  bool has_stopped = false;
  const auto stopping = std::make_shared<OpenRules>();
  stopping->verdict = [&](const ledger::Proposal&) -> std::optional<ledger::Rejection> {
    if (std::exchange(has_stopped, true)) return std::nullopt;
    frozen.set_value();
    thaw.get_future().wait();
    return std::nullopt;
  };
  std::optional<Answer> late;
  std::thread node([&] {
    Loop loop;
    MutatorOptions options;
    options.idle_time_max = std::chrono::milliseconds(300);
    Mutator mutator(loop.io(), conninfo_, options, {});
    mutator.mutate(request(1, {put("[1]", R"({"x":1})")}), stopping, [&](Answer given) { late = std::move(given); });
    loop.until([&late] { return late.has_value(); }, std::chrono::seconds(60));
  });
  frozen.get_future().wait();
  EXPECT_EQ(ask(request(1, {put("[1]", R"({"x":2})")}, "c2")).kind, Kind::receipt);
  EXPECT_EQ(head(), 1) << "while the other one still stands";
  thaw.set_value();
  node.join();
  EXPECT_EQ(value_of(std::move(*late)).kind, Kind::receipt) << "its session was ended: it decides anew";
  EXPECT_EQ(head(), 2);
  expect_it_works(2);
}

TEST_F(MutationFaults, row_61_a_lock_that_is_not_got_in_time_is_answered_by_retry) {
  MutatorOptions options;
  options.lock_time_max = std::chrono::milliseconds(100);
  start(options);
  PgSession holder(conninfo_);
  holder.run("begin; select viewgate.lock_space('s1')");
  send(request(1, {put("[1]", "{}")}));
  const Answer refused = arrived();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::retry);
  EXPECT_EQ(mutator_->stats().retries, 2U);
  holder.run("rollback");
  EXPECT_EQ(head(), 0);
  expect_it_works(1);
}

TEST_F(MutationFaults, row_61_a_deadlock_is_retried) {
  PgSession other(conninfo_);
  ask(request(1, {put("[1]", "{}")}));
  other.run(R"(begin; select viewgate.append('s1', '[{"collection": "issues", "key": [1], "put": {"x": 1}}]'))");
  send(request(2, {update("[1]", R"({"y":2})")}));
  ASSERT_TRUE(is_waiting());
  other.start("select viewgate.lock_space('s1')");
  // Whoever is the victim: the other side goes on.
  ASSERT_TRUE(loop_.until([&] { return !other.is_busy(); }));
  try {
    other.finish();
    other.run("commit");
  } catch (const PgError& error) {
    EXPECT_EQ(error.sqlstate, "40P01");
    other.run("rollback");
  }
  EXPECT_EQ(value_of(arrived()).receipt.outcome, Outcome::applied);
  expect_it_works(3);
}

TEST_F(MutationFaults, row_61_a_statement_that_is_cancelled_is_run_again) {
  PgSession holder(conninfo_);
  holder.run("begin; select viewgate.lock_space('s1')");
  send(request(1, {put("[1]", "{}")}));
  ASSERT_TRUE(is_waiting());
  session_.run(
      "select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'viewgate write' and datname = "
      "current_database()");
  ASSERT_TRUE(loop_.until([this] { return mutator_->stats().retries == 1; }));
  holder.run("rollback");
  EXPECT_EQ(value_of(arrived()).kind, Kind::receipt);
  expect_it_works(2);
}

/// One mutation has functions of its own in the database (open_mutation, write_mutation), so both ways are gone.
class MutationRaces : public MutationFaults, public ::testing::WithParamInterface<bool> {
 protected:
  /// The first request: of one mutation, or of another one besides, which is the commit's next change.
  void send_first(ledger::Mutation one) {
    std::vector<ledger::Mutation> all{std::move(one)};
    if (GetParam()) all.push_back(put("[9]", R"({"z":1})"));
    send(request(1, std::move(all)));
  }
  static std::string the_other_ones_change() { return GetParam() ? "\n2|1|c|issues|[9]|-|{\"z\": 1}" : ""; }
};
INSTANTIATE_TEST_SUITE_P(Requests, MutationRaces, ::testing::Bool(),
                         [](const auto& each) { return std::string(each.param ? "of_two" : "of_one"); });

TEST_P(MutationRaces, row_61_a_record_that_an_append_makes_meanwhile_is_read_anew) {
  PgSession other(conninfo_);
  other.run(R"(begin; select viewgate.append('s1', '[{"collection": "issues", "key": [1], "put": {"x": 1}}]'))");
  send_first(put("[1]", R"({"x":2})"));
  ASSERT_TRUE(is_waiting());
  other.run("commit");
  EXPECT_EQ(value_of(arrived()).receipt.sequence, ledger::Sequence{2});
  EXPECT_EQ(raw_log(session_, "s1"),
            "1|0|c|issues|[1]|-|{\"x\": 1}\n2|0|u|issues|[1]|{\"x\": 1}|{\"x\": 2}" + the_other_ones_change());
  expect_it_works(2);
}

TEST_P(MutationRaces, a_record_that_an_append_makes_and_deletes_meanwhile_stands_in_the_log_before_the_mutation) {
  PgSession other(conninfo_);
  other.run(R"(begin; select viewgate.append('s1', '[{"collection": "issues", "key": [1], "put": {"x": 1}}]'))");
  send_first(put("[1]", R"({"x":2})"));
  ASSERT_TRUE(is_waiting());
  other.run(R"(select viewgate.append('s1', '[{"collection": "issues", "key": [1], "delete": true}]'); commit)");
  EXPECT_EQ(value_of(arrived()).receipt.sequence, ledger::Sequence{2});
  EXPECT_EQ(raw_log(session_, "s1"),
            "1|0|c|issues|[1]|-|{\"x\": 1}\n1|1|d|issues|[1]|{\"x\": 1}|-\n2|0|c|issues|[1]|-|{\"x\": 2}" +
                the_other_ones_change());
  EXPECT_EQ(mutator_->stats().retries, 1U);
  expect_it_works(2);
}

TEST_F(MutationFaults, an_append_that_holds_the_record_gets_its_number_first) {
  PgSession other(conninfo_);
  ask(request(1, {put("[1]", R"({"x":0})")}));
  other.run(R"(begin; select viewgate.append('s1', '[{"collection": "issues", "key": [1], "put": {"x": 1}}]'))");
  send(request(2, {update("[1]", R"({"y":2})")}));
  ASSERT_TRUE(is_waiting());
  other.run("commit");
  EXPECT_EQ(value_of(arrived()).receipt.sequence, ledger::Sequence{3});
  expect_it_works(3);
}

TEST_F(MutationFaults, a_record_that_appears_while_another_is_waited_for_is_as_the_log_has_it) {
  PgSession holder(conninfo_);
  PgSession maker(conninfo_);
  ask(request(1, {put("[1]", R"({"x":0})")}));
  maker.run(R"(begin; select viewgate.append('s1', '[{"collection": "issues", "key": [2], "put": {"x": 2}}]'))");
  holder.run(R"(begin; select viewgate.append('s1', '[{"collection": "issues", "key": [1], "put": {"x": 1}}]'))");
  send(request(2, {update("[1]", R"({"y":1})"), update("[2]", R"({"y":2})")}));
  ASSERT_TRUE(is_waiting());
  maker.run("commit");
  holder.run("commit");
  const MutationAnswer answer = value_of(arrived());
  EXPECT_EQ(answer.receipt.outcome, Outcome::applied) << answer.receipt.text;
  EXPECT_EQ(answer.receipt.sequence, ledger::Sequence{4});
  expect_it_works(3);
}

TEST_F(MutationFaults, a_record_that_an_append_has_for_long_holds_up_no_other_of_its_space) {
  MutatorOptions options;
  options.record_lock_time_max = std::chrono::milliseconds(50);
  start(options);
  PgSession importer(conninfo_);
  ask(request(1, {put("[1]", R"({"x":0})")}));
  importer.run(R"(begin; select viewgate.append('s1', '[{"collection": "issues", "key": [1], "put": {"x": 1}},
                                                        {"collection": "issues", "key": [2], "put": {"x": 2}}]'))");
  std::map<std::string, Answer> answers;
  const auto send_all = [&](std::int64_t number) {
    answers.clear();
    for (const char* key :
         {"[1]", "[2]", "[3]", "[4]"}) {  // one that is there, one that is being made, two that are free
      mutator_->mutate(request(number, {put(key, R"({"y":1})")}, key), rules_,
                       [&answers, key](Answer given) { answers.emplace(key, std::move(given)); });
    }
    ASSERT_TRUE(loop_.until([&answers] { return answers.size() == 4; }));
  };
  send_all(1);
  for (const char* held : {"[1]", "[2]"}) {
    ASSERT_FALSE(answers.at(held));
    EXPECT_EQ(answers.at(held).error().code, errc::retry);
  }
  for (const char* free : {"[3]", "[4]"}) EXPECT_EQ(value_of(std::move(answers.at(free))).kind, Kind::receipt);
  EXPECT_EQ(head(), 3);
  const std::uint64_t before = mutator_->stats().transactions;
  int refused = 0;
  constexpr int many = 40;
  for (int i = 0; i < many; ++i) {
    mutator_->mutate(request(1, {put("[1]", R"({"y":1})")}, "many" + std::to_string(i)), rules_,
                     [&refused](Answer given) { refused += given ? 0 : 1; });
  }
  ASSERT_TRUE(loop_.until([&refused] { return refused == many; }));
  EXPECT_LT(mutator_->stats().transactions, before + 8) << "the space waits for a record once, however many ask for it";
  importer.run("commit");
  send_all(1);
  for (const char* held : {"[1]", "[2]"}) EXPECT_EQ(value_of(std::move(answers.at(held))).kind, Kind::receipt);
  for (const char* free : {"[3]", "[4]"}) EXPECT_EQ(value_of(std::move(answers.at(free))).kind, Kind::replay);
  expect_it_works(2);
}

TEST_F(MutationFaults, a_space_whose_lock_is_held_holds_up_no_other) {
  PgSession holder(conninfo_);
  holder.run("begin; select viewgate.lock_space('s3')");
  std::map<std::string, Answer> answers;
  for (const std::string space : {"s1", "s2", "s3", "s4", "s5"}) {
    mutator_->mutate(request(1, {put("[1]", "{}")}, "c1", space), rules_,
                     [&answers, space](Answer given) { answers.emplace(space, std::move(given)); });
  }
  ASSERT_TRUE(loop_.until([&answers] { return answers.size() == 4; }));
  EXPECT_FALSE(answers.contains("s3"));
  holder.run("rollback");
  ASSERT_TRUE(loop_.until([&answers] { return answers.size() == 5; }));
  for (auto& [space, answer] : answers) {
    EXPECT_EQ(value_of(std::move(answer)).kind, Kind::receipt) << space;
    EXPECT_EQ(head(space), 1);
  }
  expect_it_works(2);
}

TEST_F(MutationFaults, a_request_that_the_database_refuses_takes_no_other_space_with_it) {
  std::vector<ledger::MutationRequest> requests;
  for (const std::string space : {"s1", "s2", "s3"}) requests.push_back(request(1, {put("[1]", "{}")}, "c1", space));
  requests.push_back(request(1, {put("[2]", "{\"a\":\"\xff\"}")}, "c2", "s2"));
  const std::vector<Answer> answers = ask(std::move(requests));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(answers[i]) << i;
  ASSERT_FALSE(answers[3]);
  EXPECT_EQ(answers[3].error().code, errc::invalid_mutation);
  expect_it_works(2);
}

TEST_F(MutationFaults, a_database_that_is_away_is_unavailable_and_then_it_works) {
  ask(request(1, {put("[1]", "{}")}));
  session_.run(
      "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'viewgate write'");
  EXPECT_EQ(ask(request(2, {put("[1]", R"({"x":1})")})).kind, Kind::receipt) << "an idle session that was ended";
  Mutator nowhere(loop_.io(), "host=127.0.0.1 port=1", {}, {});
  std::optional<Answer> answer;
  nowhere.mutate(request(1, {put("[1]", "{}")}), rules_, [&answer](Answer given) { answer = std::move(given); });
  ASSERT_TRUE(loop_.until([&answer] { return answer.has_value(); }));
  EXPECT_EQ(answer->error().code, errc::unavailable);
  expect_it_works(3);
}

}  // namespace
}  // namespace viewgate::testing
