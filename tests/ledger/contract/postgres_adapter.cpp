#include "ledger/contract/postgres_adapter.hpp"

#include "ledger/record_text.hpp"
#include "ledger/writers.hpp"

namespace viewgate::testing {
namespace {

using ledger::Sequence;

class PgTransaction final : public LedgerAdapter::Transaction {
 public:
  /// Takes an idle session, or makes one; it is idle again in the end.
  PgTransaction(const std::string& conninfo, std::vector<PgSession>& idle) : idle_(idle) {
    if (idle.empty()) idle.emplace_back(conninfo);
    session_ = std::make_unique<PgSession>(std::move(idle.back()));
    idle.pop_back();
    session_->run("begin");
  }
  ~PgTransaction() override {
    if (!is_committed_) session_->run("rollback");
    idle_.push_back(std::move(*session_));
  }

  void append(const std::string& space, const std::vector<RecordWrite>& writes) override {
    std::string changes;
    for (const RecordWrite& write : writes) {
      changes += (changes.empty() ? R"([{"collection":)" : R"(,{"collection":)") + ledger::quoted(write.collection) +
                 R"(,"key":)" + write.key + (write.value ? R"(,"put":)" + *write.value : R"(,"delete":true)") + "}";
    }
    session_->query("select viewgate.append($1, $2)", {space, changes + "]"});
  }
  void commit() override {
    session_->run("commit");
    is_committed_ = true;
  }

 private:
  std::vector<PgSession>& idle_;
  std::unique_ptr<PgSession> session_;
  bool is_committed_ = false;
};

ledger::pg::ConnectOptions connect_to(const std::string& conninfo) {
  ledger::pg::ConnectOptions out;
  out.conninfo = conninfo;
  return out;
}

}  // namespace

PostgresAdapter::PostgresAdapter(PostgresCluster& cluster, std::string conninfo, std::string back_end)
    : cluster_(cluster),
      conninfo_(std::move(conninfo)),
      back_end_(back_end.empty() ? conninfo_ : std::move(back_end)),
      pool_(loop_.io().get_executor(), connect_to(conninfo_), 2),
      store_(pool_, {}),
      nodes_{ledger::Mutator(loop_.io(), conninfo_, {}, nullptr), ledger::Mutator(loop_.io(), conninfo_, {}, nullptr)} {
}

std::unique_ptr<LedgerAdapter::Transaction> PostgresAdapter::begin() {
  return std::make_unique<PgTransaction>(back_end_, idle_);
}

std::string PostgresAdapter::ask(std::string sql, std::vector<std::optional<std::string>> params) {
  constexpr std::chrono::seconds time_max(30);
  ledger::pg::Pool::Lease lease = value_of(loop_.await(pool_.acquire(time_max)));
  const ledger::pg::Rows rows = value_of(loop_.await(lease->exec(std::move(sql), std::move(params), time_max)));
  return rows.empty() ? "" : rows[0].string(0);
}

void PostgresAdapter::declare(const ledger::DeclaredGroups& groups) {
  ask("select viewgate.declare_conflict_groups($1)", {ledger::declaration_of(groups)});
}

std::vector<LedgerAdapter::Answer> PostgresAdapter::mutate(std::vector<ledger::MutationRequest> requests,
                                                           ledger::WriteRulesPtr rules) {
  std::vector<std::optional<Answer>> answers(requests.size());
  std::size_t missing = requests.size();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    nodes_[i % nodes_.size()].mutate(std::move(requests[i]), rules, [&answers, &missing, i](Answer answer) {
      EXPECT_FALSE(answers[i]) << "a request was answered twice";
      answers[i] = std::move(answer);
      --missing;
    });
  }
  if (!loop_.until([&missing] { return missing == 0; }, std::chrono::seconds(60))) {
    throw std::runtime_error("a request was not answered");
  }
  std::vector<Answer> out;
  for (auto& each : answers) out.push_back(std::move(*each));
  return out;
}

LedgerAdapter::Answer PostgresAdapter::receipt(const std::string& space, const std::string& client,
                                               const std::string& principal, std::int64_t number) {
  std::optional<Answer> answer;
  nodes_[0].receipt(space, client, principal, number, [&answer](Answer given) { answer = std::move(given); });
  if (!loop_.until([&answer] { return answer.has_value(); })) throw std::runtime_error("no receipt, and no answer");
  return std::move(*answer);
}

void PostgresAdapter::number_waiting() {
  while (ask("select bool_or(skipped) from viewgate.look() where space is null") == "t") pause_a_little();
}

ledger::Result<ledger::PullPage> PostgresAdapter::pull(const std::string& space, Sequence after, std::int64_t limit) {
  number_waiting();
  return loop_.await(store_.pull(space, after, limit));
}

Sequence PostgresAdapter::watermark(const std::string& space) {
  number_waiting();
  return value_of(loop_.await(store_.watermark(space)));
}

Sequence PostgresAdapter::retained_from(const std::string& space) {
  return value_of(loop_.await(store_.retained_from(space)));
}

void PostgresAdapter::prune(const std::string& space, std::int64_t keep) {
  number_waiting();
  ask("select viewgate.prune($1, $2::bigint)", {space, std::to_string(keep)});
  while (ask("select viewgate.prune_batch($1, 100)", {space}) != "0") continue;
}

void PostgresAdapter::crash() {
  cluster_.restart(ledger::Shutdown::kill);
  idle_.clear();
}

}  // namespace viewgate::testing
