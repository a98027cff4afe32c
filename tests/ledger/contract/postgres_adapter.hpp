// The ledger of this repository, for the contract suite: PostgreSQL in a database of its own.
#pragma once

#include <array>

#include "ledger/contract/adapter.hpp"
#include "ledger/loop.hpp"
#include "ledger/mutator.hpp"
#include "ledger/store.hpp"
#include "support/pg_session.hpp"
#include "support/postgres_cluster.hpp"

namespace viewgate::testing {

class PostgresAdapter : public LedgerAdapter {
 public:
  /// In a database that has the ledger. `back_end`: how the application connects, where not as the ledger does.
  PostgresAdapter(PostgresCluster& cluster, std::string conninfo, std::string back_end = {});

  [[nodiscard]] std::unique_ptr<Transaction> begin() override;
  void declare(const ledger::DeclaredGroups& groups) override;
  [[nodiscard]] std::vector<Answer> mutate(std::vector<ledger::MutationRequest> requests,
                                           ledger::WriteRulesPtr rules) override;
  [[nodiscard]] Answer receipt(const std::string& space, const std::string& client, const std::string& principal,
                               std::int64_t number) override;
  [[nodiscard]] ledger::Result<ledger::PullPage> pull(const std::string& space, ledger::Sequence after,
                                                      std::int64_t limit) override;
  [[nodiscard]] ledger::Sequence watermark(const std::string& space) override;
  [[nodiscard]] ledger::Sequence retained_from(const std::string& space) override;
  void prune(const std::string& space, std::int64_t keep) override;
  void crash() override;

 private:
  /// As a node asks: over a session of the ledger's own.
  std::string ask(std::string sql, std::vector<std::optional<std::string>> params = {});
  void number_waiting();

  PostgresCluster& cluster_;
  const std::string conninfo_;
  const std::string back_end_;
  std::vector<PgSession> idle_;  ///< of the back-end
  Loop loop_;
  ledger::pg::Pool pool_;
  ledger::Store store_;
  std::array<ledger::Mutator, 2> nodes_;
};

}  // namespace viewgate::testing
