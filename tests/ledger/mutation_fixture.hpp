// What the tests of the write path have in common: a database, a mutator on the test's loop, and requests in short.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ledger/loop.hpp"
#include "ledger/mutator.hpp"
#include "ledger/requests.hpp"
#include "ledger/store.hpp"
#include "ledger/writers.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {

class MutationTest : public ::testing::Test {
 protected:
  using Answer = ledger::Result<ledger::MutationAnswer>;
  using Kind = ledger::MutationAnswer::Kind;

  MutationTest()
      : conninfo_(PostgresCluster::shared().create_database()),
        session_(conninfo_),
        rules_(std::make_shared<OpenRules>()),
        pool_(loop_.io().get_executor(), connect_to(conninfo_), 2),
        store_(pool_, {}) {
    start();
  }

  static ledger::pg::ConnectOptions connect_to(const std::string& conninfo) {
    ledger::pg::ConnectOptions out;
    out.conninfo = conninfo;
    return out;
  }

  void start(ledger::MutatorOptions options = {}) {
    mutator_ = std::make_unique<ledger::Mutator>(loop_.io(), conninfo_, options, [this] { ++commits_; });
  }

  /// All at once; their answers in the same order.
  std::vector<Answer> ask(std::vector<ledger::MutationRequest> requests) {
    std::vector<std::optional<Answer>> answers(requests.size());
    std::size_t missing = requests.size();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      mutator_->mutate(std::move(requests[i]), rules_, [&answers, &missing, i](Answer answer) {
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

  ledger::MutationAnswer ask(ledger::MutationRequest one) {
    std::vector<ledger::MutationRequest> requests;
    requests.push_back(std::move(one));
    return value_of(std::move(ask(std::move(requests)).front()));
  }

  ledger::MutationAnswer look_up(std::int64_t number, const std::string& client = "c1",
                                 const std::string& principal = "ann") {
    std::optional<Answer> answer;
    mutator_->receipt("s1", client, principal, number, [&answer](Answer given) { answer = std::move(given); });
    loop_.until([&answer] { return answer.has_value(); });
    return value_of(std::move(answer.value()));
  }

  std::int64_t head(const std::string& space = "s1") {
    return std::stoll(session_.value("select viewgate.watermark($1)", {space}));
  }

  ledger::PullPage pull(std::int64_t after = 0, const std::string& space = "s1") {
    return value_of(loop_.await(store_.pull(space, ledger::Sequence{after}, 1000000)));
  }

  /// The record's text; NULL where there is none.
  std::string record(const std::string& key, const std::string& space = "s1") {
    return session_.value(
        "select (select value::text from viewgate.records where space = $1 and collection = 'issues' and key = $2)",
        {space, key});
  }

  const std::string conninfo_;
  PgSession session_;
  Loop loop_;
  std::shared_ptr<OpenRules> rules_;
  ledger::pg::Pool pool_;
  ledger::Store store_;
  std::unique_ptr<ledger::Mutator> mutator_;
  int commits_ = 0;
};

}  // namespace viewgate::testing
