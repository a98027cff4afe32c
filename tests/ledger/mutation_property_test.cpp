// Random requests of many clients in three spaces through two nodes at once: replays, other bodies, gaps, batches, bases, sessions that are
// killed, appends and captured writes beside them. Afterwards the log is walked from its beginning beside the model:
// every receipt is what the model says, every before is the preceding after, and each request was processed once.
#include <random>

#include "ledger/contract/model_ledger.hpp"
#include "ledger/mutation_fixture.hpp"
#include "ledger/record_text.hpp"
#include "support/seed.hpp"

namespace viewgate::testing {
namespace {

using ledger::Base;
using ledger::Commit;
using ledger::Mutation;
using ledger::MutationAnswer;
using ledger::MutationKind;
using ledger::MutationRequest;
using ledger::Sequence;

constexpr int kClients = 16;
constexpr int kRequestsOfEach = 25;
constexpr const char* kForbidden = "13";

class MutationProperty : public MutationTest {
 protected:
  MutationProperty() {
    rules_->groups = {{"ab", {"a", "b"}}};
    rules_->verdict = [](const ledger::Proposal& proposal) -> std::optional<ledger::Rejection> {
      for (const auto& column : ledger::columns_of(proposal.after.value_or("{}"))) {
        if (column.value == kForbidden) return ledger::Rejection{ledger::RejectionReason::invalid_value, "unlucky"};
      }
      return std::nullopt;
    };
    ledger::DeclaredGroups declared;
    declared["issues"] = rules_->groups;
    session_.query("select viewgate.apply_model('', 'h', $1)", {ledger::declaration_of(declared)});
    session_.run(kCreateItems);
  }

  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  Mutation random_mutation() {
    static constexpr MutationKind kinds[] = {MutationKind::create, MutationKind::update, MutationKind::update,
                                             MutationKind::put, MutationKind::remove};
    Mutation out = mutation(kinds[pick(5)], "[" + std::to_string(pick(6)) + "]", "");
    if (out.kind != MutationKind::remove) {
      out.value = "{";
      for (const char* name : {"a", "b", "c"}) {
        if (pick(2) == 0)
          out.value += (out.value.size() > 1 ? ", \"" : "\"") + std::string(name) + "\": " + std::to_string(pick(14));
      }
      out.value += "}";
    }
    if (pick(3) == 0)
      out.bases.push_back(Base{pick(2) == 0 ? "ab" : "record", Sequence{pick(static_cast<int>(highest_) + 3)}});
    return out;
  }

  /// A client sends its next request, again and again until it is answered; now and then an old one, or one too early.
  struct Client {
    std::string name;
    std::string space;
    std::vector<MutationRequest> sent;
    std::map<std::int64_t, std::string> receipts;  ///< by number, as they were answered
    int answered = 0;
  };

  void go_on(Client& client) {
    if (pick(4) == 0 && client.answered > 0) return replay(client);
    if (pick(10) == 0) return send_early(client);
    if (client.answered == kRequestsOfEach) {
      --running_;
      return;
    }
    if (static_cast<int>(client.sent.size()) == client.answered) {
      std::vector<Mutation> mutations;
      for (int i = pick(4) == 0 ? pick(4) : 0; i >= 0; --i) mutations.push_back(random_mutation());
      client.sent.push_back(request(client.answered + 1, std::move(mutations), client.name, client.space));
    }
    node().mutate(client.sent.back(), rules_, [this, &client](Answer answer) {
      if (!answer) {
        ++unanswered_;
        return go_on(client);  // lost: the same request again
      }
      ASSERT_TRUE(answer->kind == Kind::receipt || answer->kind == Kind::replay) << static_cast<int>(answer->kind);
      highest_ = std::max(highest_, answer->receipt.sequence.value);
      client.receipts[answer->receipt.number] = answer->receipt.text;
      ++client.answered;
      go_on(client);
    });
  }

  void replay(Client& client) {
    MutationRequest again = client.sent[static_cast<std::size_t>(pick(client.answered))];
    const bool is_other = pick(2) == 0;
    if (is_other) again.body += "!";
    const std::int64_t number = again.number;
    node().mutate(std::move(again), rules_, [this, &client, number, is_other](Answer answer) {
      if (answer) {
        EXPECT_EQ(answer->kind, is_other ? Kind::sequence_conflict : Kind::replay);
        if (!is_other) {
          EXPECT_EQ(answer->receipt.text, client.receipts[number]);
        }
      }
      go_on(client);
    });
  }

  void send_early(Client& client) {
    const std::int64_t number = static_cast<std::int64_t>(client.sent.size()) + 2;
    node().mutate(request(number, {put("[0]", "{}")}, client.name, client.space), rules_,
                  [this, &client](Answer answer) {
                    if (answer) {
                      EXPECT_EQ(answer->kind, Kind::sequence_gap);
                    }
                    go_on(client);
                  });
  }

  ledger::Mutator& node() { return pick(2) == 0 ? *mutator_ : *other_; }

  /// Appends to the same records from a back-end, some held open for a while, some rolled back.
  void append(PgSession& backend) {
    if (backend.is_busy()) return;
    try {
      if (has_begun_) backend.finish();
      backend.start(std::string("begin; select viewgate.append('s1', '[{\"collection\": \"issues\", \"key\": [") +
                    std::to_string(pick(6)) + "], \"put\": {\"a\": " + std::to_string(pick(12)) +
                    "}}]'); select pg_sleep(0.005); " + (pick(4) == 0 ? "rollback" : "commit"));
      has_begun_ = true;
    } catch (const PgError&) {
      has_begun_ = false;  // a deadlock with a mutation
      backend.run("rollback");
    }
  }

  void kill_writers() {
    session_.run(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'viewgate write' and datname "
        "= "
        "current_database() and random() < 0.5");
  }

  void check(const std::string& space, const std::vector<std::unique_ptr<Client>>& clients) {
    SCOPED_TRACE(space);
    ModelLedger model;
    model.declare({{"issues", rules_->groups}});
    std::map<std::string, std::map<std::int64_t, std::string>> logged;
    std::int64_t sequence = 0;
    for (const Commit& commit : pull(0, space).commits) {
      ASSERT_EQ(commit.position.sequence.value, ++sequence);
      if (!commit.receipt) {
        Commit managed = commit;  // of captured tables, the log does not have the beginning
        std::erase_if(managed.changes, [](const ledger::Change& each) { return each.collection != "issues"; });
        expect_same_changes(managed, model.follow(managed));
        continue;
      }
      const std::string& name = commit.provenance.client;
      const auto& sent = clients[static_cast<std::size_t>(std::stoi(name.substr(1)))]->sent;
      auto& receipts = logged[name];
      ASSERT_EQ(commit.receipt->number, static_cast<std::int64_t>(receipts.size()) + 1) << name;
      receipts[commit.receipt->number] = commit.receipt->text;
      expect_as_told(commit, sent[static_cast<std::size_t>(commit.receipt->number - 1)], model);
    }
    for (const auto& client : clients) {
      if (client->space != space) continue;
      EXPECT_EQ(client->receipts, logged[client->name]) << "each request once, as answered";
    }
    std::map<std::string, std::string> records;
    for (const PgRow& row : session_.query(
             "select key, value::text from viewgate.records where space = $1 and collection = 'issues'", {space})) {
      records[*row[0]] = *row[1];
    }
    EXPECT_EQ(records, model.records(space, "issues"));
  }

  void expect_as_told(const Commit& commit, const MutationRequest& sent, ModelLedger& model) {
    EXPECT_EQ(commit.receipt->body, sent.body);
    const auto expected = model.mutate({sent}, rules_);
    EXPECT_EQ(commit.receipt->text, expected.at(0)->receipt.text) << sent.body;
    const auto page = model.pull(sent.space, Sequence{commit.position.sequence.value - 1}, 1);
    expect_same_changes(commit, page->commits.at(0));
    std::int64_t ordinal = 0;
    for (const ledger::Change& change : commit.changes) EXPECT_EQ(change.ordinal, ordinal++);
  }

  static void expect_same_changes(const Commit& commit, const Commit& expected) {
    ASSERT_EQ(commit.changes.size(), expected.changes.size()) << commit.position.sequence.value;
    for (std::size_t i = 0; i < commit.changes.size(); ++i) {
      EXPECT_EQ(commit.changes[i].kind, expected.changes[i].kind);
      EXPECT_EQ(commit.changes[i].key, expected.changes[i].key);
      EXPECT_EQ(commit.changes[i].before, expected.changes[i].before) << commit.position.sequence.value;
      EXPECT_EQ(commit.changes[i].after, expected.changes[i].after);
    }
  }

  std::mt19937 random_;
  std::unique_ptr<ledger::Mutator> other_;
  std::int64_t highest_ = 0;
  int running_ = 0;
  int unanswered_ = 0;
  bool has_begun_ = false;
};

TEST_F(MutationProperty, sixteen_clients_on_two_nodes_are_processed_once_each_whatever_breaks) {
  const unsigned seed = seed_from_environment();
  SCOPED_TRACE("VIEWGATE_SEED=" + std::to_string(seed));
  random_.seed(seed);
  ledger::MutatorOptions options;
  options.batch_max = 5;
  options.connections_max = 2;
  start(options);
  other_ = std::make_unique<ledger::Mutator>(loop_.io(), conninfo_, options, nullptr);
  Writers writers(conninfo_, 3, seed);  // captured writes and appends in s0, s1 and s2
  PgSession backend(conninfo_);

  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<Client>());
    clients.back()->name = "c" + std::to_string(i);
    clients.back()->space = "s" + std::to_string(i % 3);
  }
  running_ = kClients;
  for (const auto& client : clients) go_on(*client);
  auto kill_at = std::chrono::steady_clock::now();
  const bool have_ended = loop_.until(
      [&] {
        append(backend);
        if (std::chrono::steady_clock::now() >= kill_at) {
          kill_writers();
          kill_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(50 + pick(300));
        }
        return running_ == 0;
      },
      std::chrono::seconds(100));
  writers.stop();
  if (has_begun_) {
    while (backend.is_busy()) pause_a_little();
    append(backend);
    while (backend.is_busy()) pause_a_little();
  }
  ASSERT_TRUE(have_ended);
  number_all(session_);
  for (const char* space : {"s0", "s1", "s2"}) check(space, clients);
}

}  // namespace
}  // namespace viewgate::testing
