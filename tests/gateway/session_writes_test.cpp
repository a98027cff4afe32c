// A session's writing, in the pure: what goes to the ledger, what is answered, and when a receipt is told.
#include <gmock/gmock.h>

#include "gateway/session_world.hpp"

namespace viewgate::gateway::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Kind = ledger::MutationAnswer::Kind;

constexpr std::string_view writing_model = R"(
create table notes (id int8 primary key, title text, owner text);
create view overdrawn as select id, title from notes;
create view titles as select id, title from notes where title is not null;
create policy all_readers on overdrawn using (true);
create policy all_readers on titles using (true);
create policy write on notes for insert with check (owner = claims.sub);
)";

Mutate create(std::int64_t number, const std::string& key = "[1]", const std::string& space = "s") {
  Mutate out;
  out.space = space;
  out.number = number;
  out.mutations.push_back({MutationKind::create, "notes", key, R"({"owner":"ann"})", {}});
  return out;
}

class SessionWrites : public ::testing::Test {
 protected:
  std::unique_ptr<Client> open_writer(const std::string& client = "c") {
    auto out = world.connect();
    Hello hello{1, world.token("ann")};
    hello.client = client;
    out->say_message(hello);
    world.run();
    out->documents.clear();
    return out;
  }
  void answer(Kind kind, std::int64_t sequence = 0, std::int64_t expected = 0) {
    auto asked = std::move(world.engine.mutations.front());
    world.engine.mutations.pop_front();
    ledger::MutationAnswer out;
    out.kind = kind;
    out.expected = expected;
    out.receipt.number = asked.call.request.number;
    out.receipt.sequence = ledger::Sequence{sequence};
    out.receipt.text = text_of(asked.call.request.number);
    asked.reply(out);
    world.run();
  }
  static std::string text_of(std::int64_t number) { return "{\"number\":\"" + std::to_string(number) + "\"}"; }
  static std::string told(std::int64_t number, std::int64_t sequence) {
    std::string out;
    append_document(out, Receipts{"s", sequence, "[" + text_of(number) + "]"});
    return out;
  }
  /// A receipt as the engine finds it in the log.
  void log(std::int64_t number, std::int64_t sequence, const std::string& client = "c",
           const std::string& subject = "ann") {
    auto delivery = std::make_shared<Delivery>();
    delivery->heads.emplace_back("s", at(sequence));
    delivery->receipts.push_back(std::make_shared<const LoggedReceipt>(LoggedReceipt{
        "s", ledger::Sequence{sequence}, client_key_of("[\"test\",\"" + subject + "\"]", client), text_of(number)}));
    world.fanout.on_delivery(delivery);
    world.run();
  }
  void subscribe_live(Client& client, std::int64_t sequence, const std::string& view = "overdrawn") {
    client.say_message(subscribe(view, view));
    world.run();
    if (!world.engine.joins.empty()) world.joined(sequence);
    world.snapshot(sequence);
    client.documents.clear();
  }

  SessionWorld world{SessionOptions{}, writing_model};
};

TEST_F(SessionWrites, a_mutation_goes_to_the_ledger_in_canonical_form_under_its_principal) {
  auto client = open_writer();
  client->say_message(create(1, "[ 7 ]"));
  ASSERT_EQ(world.engine.mutations.size(), 1U);
  const auto& request = world.engine.mutations.front().call.request;
  EXPECT_EQ(request.principal, R"(["test","ann"])");
  EXPECT_EQ(request.client, "c");
  EXPECT_EQ(request.mutations[0].key, "[7]");
  EXPECT_EQ(request.mutations[0].value, R"({"id": 7, "owner": "ann", "title": null})");
  EXPECT_THAT(request.body, HasSubstr(R"("key":[7],"record":{"owner": "ann"})"));
  answer(Kind::receipt, 5);
  EXPECT_THAT(client->take(), ElementsAre(told(1, 5)));
  world.forget(*client);
}

TEST_F(SessionWrites, without_a_client_id_nothing_is_written) {
  auto client = world.open();
  client->say_message(create(1));
  client->say_message(AskReceipts{"s", 0});
  world.run();
  const auto answers = client->take();
  ASSERT_EQ(answers.size(), 2U);
  for (const auto& each : answers) EXPECT_THAT(member(each, "message"), StartsWith("hello named no client"));
  EXPECT_THAT(world.engine.mutations, IsEmpty());
  world.forget(*client);
}

TEST_F(SessionWrites, what_the_ledger_does_not_process_is_an_error_by_name) {
  auto client = open_writer();
  const auto code = [&](Kind kind) {
    client->say_message(create(3));
    answer(kind, 0, 2);
    const auto documents = client->take();
    EXPECT_EQ(documents.size(), 1U);
    EXPECT_EQ(member(documents.at(0), "number"), "3");
    return member(documents.at(0), "code");
  };
  EXPECT_EQ(code(Kind::sequence_gap), "sequence_gap");
  EXPECT_EQ(code(Kind::sequence_conflict), "sequence_conflict");
  EXPECT_EQ(code(Kind::forbidden), "forbidden");
  EXPECT_EQ(code(Kind::receipt_pruned), "receipt_pruned");
  client->say_message(create(3));
  world.engine.mutations.front().reply(ledger::Error{ledger::errc::unavailable, "", "secret words of the database"});
  world.run();
  const auto documents = client->take();
  EXPECT_EQ(member(documents.at(0), "code"), "unavailable");
  EXPECT_EQ(member(documents.at(0), "retry_after"), "1000");
  EXPECT_THAT(documents.at(0), ::testing::Not(HasSubstr("secret")));
  world.forget(*client);
}

TEST_F(SessionWrites, a_malformed_one_can_only_be_replayed) {
  auto client = open_writer();
  Mutate bad = create(1);
  bad.mutations[0].values = R"({"owner":5})";
  client->say_message(bad);
  ASSERT_EQ(world.engine.mutations.size(), 1U);
  EXPECT_EQ(world.engine.mutations.front().call.request.mutations.front().key, "")
      << "which the ledger cannot take for new";
  world.engine.mutations.front().reply(ledger::Error{ledger::errc::invalid_mutation, "", "no key"});
  world.engine.mutations.pop_front();
  world.run();
  EXPECT_THAT(member(client->take().at(0), "message"), StartsWith("mutations[0].record.owner: must be a string"));
  client->say_message(bad);
  answer(Kind::replay, 4);
  EXPECT_THAT(client->take(), ElementsAre(told(1, 4))) << "it was processed under an earlier model";
  world.forget(*client);
}

TEST_F(SessionWrites, a_receipt_waits_until_every_ready_view_has_come_as_far) {
  auto client = open_writer();
  subscribe_live(*client, 4, "overdrawn");
  subscribe_live(*client, 4, "titles");
  client->say_message(create(1));
  answer(Kind::receipt, 5);
  EXPECT_THAT(client->take(), IsEmpty()) << "the views are at 4";
  world.deliver({world.frame(world.spec(subscribe("overdrawn", "overdrawn")), 5)}, 5);
  const auto documents = client->take();
  ASSERT_GE(documents.size(), 3U);
  EXPECT_EQ(member(documents[0], "type"), "c5");
  EXPECT_EQ(documents[1], told(1, 5)) << "after the commit";
  EXPECT_EQ(member(documents[2], "type"), "at") << "and before its at";
  world.forget(*client);
}

TEST_F(SessionWrites, a_receipt_of_a_commit_that_touches_no_view_is_told_when_the_space_has_come_as_far) {
  auto client = open_writer();
  subscribe_live(*client, 4);
  client->say_message(create(1));
  answer(Kind::receipt, 5);
  EXPECT_THAT(client->take(), IsEmpty());
  world.deliver({}, 5);
  EXPECT_THAT(client->take(), ElementsAre(told(1, 5)));
  world.forget(*client);
}

TEST_F(SessionWrites, a_receipt_does_not_come_into_the_middle_of_a_commit) {
  auto client = open_writer();
  subscribe_live(*client, 4);
  client->say_message(create(1));
  answer(Kind::receipt, 5);
  // A commit in parts comes as history: its group is joined anew above it.
  world.fanout.on_joined(world.spec(subscribe("overdrawn", "overdrawn"))->id, at(5));
  world.run();
  const std::string message(world.fanout.options().server_message_bytes, ' ');
  world.history(5, "{\"type\":\"part\"" + message + "}\n" + world.line(5));
  EXPECT_EQ(types(client->take()), (std::vector<std::string>{"part", "c5", "receipts"}));
  world.forget(*client);
}

TEST_F(SessionWrites, what_comes_through_the_log_too_is_told_once_and_a_replay_each_time) {
  auto client = open_writer();
  subscribe_live(*client, 4);
  client->say_message(create(1));
  log(1, 5);
  EXPECT_THAT(client->take(), ElementsAre(told(1, 5)));
  answer(Kind::receipt, 5);
  EXPECT_THAT(client->take(), IsEmpty());
  client->say_message(create(1));
  answer(Kind::replay, 5);
  EXPECT_THAT(client->take(), ElementsAre(told(1, 5)));
  client->say_message(create(2));
  answer(Kind::receipt, 6);
  log(2, 6);
  EXPECT_THAT(client->take(), ElementsAre(told(2, 6)));
  world.forget(*client);
}

TEST_F(SessionWrites, I7_the_log_tells_those_of_the_client_and_principal_that_have_a_view_of_the_space) {
  auto tab = open_writer("c"), other_client = open_writer("d"), without_view = open_writer("c");
  auto nameless = world.open();
  for (Client* each : {tab.get(), other_client.get(), nameless.get()}) subscribe_live(*each, 4);
  log(1, 5, "c");
  log(2, 6, "c", "bob");
  EXPECT_THAT(tab->take(), ElementsAre(told(1, 5)));
  for (Client* each : {other_client.get(), without_view.get(), nameless.get()}) EXPECT_THAT(each->take(), IsEmpty());
  for (Client* each : {tab.get(), other_client.get(), without_view.get(), nameless.get()}) world.forget(*each);
}

TEST_F(SessionWrites, a_client_that_is_gone_is_not_answered_and_one_that_never_reads_is_closed) {
  auto gone = open_writer();
  gone->say_message(create(1));
  world.forget(*gone);
  gone.reset();
  answer(Kind::receipt, 5);
  SessionOptions options;
  options.waiting_receipts_bytes = 100;
  SessionWorld small(options, writing_model);
  auto client = small.connect();
  Hello hello{1, small.token("ann")};
  hello.client = "c";
  client->say_message(hello);
  small.run();
  client->say_message(subscribe("a"));
  small.run();
  small.joined(4);
  small.snapshot(4);
  client->say_message(create(1));
  ledger::MutationAnswer large;
  large.receipt.sequence = ledger::Sequence{5};
  large.receipt.text = "\"" + std::string(200, 'x') + "\"";
  small.engine.mutations.front().reply(large);
  small.run();
  EXPECT_EQ(client->close_code, close_code::slow_reader);
  small.forget(*client);
}

TEST_F(SessionWrites, who_has_lost_receipts_of_the_log_is_closed_and_comes_back_to_ask) {
  auto tab = open_writer("c"), other = open_writer("d"), without_view = open_writer("c");
  for (Client* each : {tab.get(), other.get()}) subscribe_live(*each, 4);
  auto delivery = std::make_shared<Delivery>();
  delivery->lost.insert(client_key_of(R"(["test","ann"])", "c"));
  world.fanout.on_delivery(delivery);
  world.run();
  EXPECT_EQ(tab->close_code, close_code::slow_reader);
  EXPECT_EQ(other->close_code, 0);
  EXPECT_EQ(without_view->close_code, 0) << "it is told none by the log";
  auto all = std::make_shared<Delivery>();
  all->all_lost = true;
  world.fanout.on_delivery(all);
  world.run();
  EXPECT_EQ(other->close_code, close_code::slow_reader);
  for (Client* each : {tab.get(), other.get(), without_view.get()}) world.forget(*each);
}

TEST_F(SessionWrites, questions_for_receipts_are_looked_up_one_after_the_other_in_bounded_pieces) {
  auto client = open_writer();
  auto& asked = world.engine.receipt_questions;
  for (const char* space : {"s", "t"}) client->say_message(AskReceipts{space, 3});
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].call.bytes_max, limits::server_message_bytes);
  ledger::ReceiptsPage piece;
  piece.last = 6;
  piece.receipts.push_back({"c", 4, ledger::Sequence{14}, ledger::Outcome::applied, text_of(4)});
  asked[0].reply(piece);
  world.run();
  ASSERT_EQ(asked.size(), 2U) << "the rest of the first";
  EXPECT_EQ(asked[1].call.space, "s");
  EXPECT_EQ(asked[1].call.after, 4);
  EXPECT_EQ(asked[1].call.count_max, limits::receipts_per_answer - 1);
  asked[1].reply(ledger::Error{ledger::errc::unavailable, "", ""});
  world.run();
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_EQ(asked[2].call.space, "t");
  asked[2].reply(ledger::ReceiptsPage{});
  world.run();
  EXPECT_EQ(types(client->take()), (std::vector<std::string>{"receipts", "error", "receipts"}));
  world.forget(*client);
}

TEST_F(SessionWrites, receipts_that_are_asked_for_come_in_order_and_their_end_is_told) {
  auto client = open_writer();
  client->say_message(AskReceipts{"s", 3});
  ASSERT_EQ(world.engine.receipt_questions.size(), 1U);
  const auto& asked = world.engine.receipt_questions.front();
  EXPECT_EQ(asked.call.after, 3);
  EXPECT_EQ(asked.call.client, "c");
  EXPECT_EQ(asked.call.count_max, limits::receipts_per_answer);
  ledger::ReceiptsPage found;
  found.last = 5;
  for (const std::int64_t number : {4, 5}) {
    found.receipts.push_back({"c", number, ledger::Sequence{number + 10}, ledger::Outcome::applied, text_of(number)});
  }
  asked.reply(found);
  world.run();
  std::string end;
  append_document(end, Receipts{"s", 15, "[]"});
  EXPECT_THAT(client->take(), ElementsAre(told(4, 14), told(5, 15), end));
  world.forget(*client);
}

}  // namespace
}  // namespace viewgate::gateway::testing
