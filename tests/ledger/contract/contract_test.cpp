// The contract suite: every promise, kept by every adapter. Goal: what is promised is written once, for any ledger. Method:
// each promise runs against PostgreSQL and against a model in memory, which shows that the suite asks for promises and not
// for an implementation.
#include <functional>
#include <iostream>

#include "ledger/contract/model_ledger.hpp"
#include "ledger/contract/postgres_adapter.hpp"
#include "ledger/contract/promises.hpp"
#include "ledger/contract/steps.hpp"

namespace viewgate::testing {
namespace {

struct AdapterMaker {
  const char* name;
  std::function<std::unique_ptr<LedgerAdapter>()> make;
};

const std::vector<AdapterMaker>& adapters() {
  static const std::vector<AdapterMaker> all{
      {"model", [] { return std::make_unique<ModelLedger>(); }},
      {"postgresql",
       [] {
         PostgresCluster& cluster = PostgresCluster::shared();
         return std::make_unique<PostgresAdapter>(cluster, cluster.create_database());
       }},
  };
  return all;
}

class Contract : public ::testing::TestWithParam<std::tuple<AdapterMaker, Promise>> {};

TEST_P(Contract, is_kept) {
  const auto& [adapter, promise] = GetParam();
  SCOPED_TRACE(promise.sentence);
  const std::unique_ptr<LedgerAdapter> ledger = adapter.make();
  ledger->declare(suite_groups());
  promise.keep(*ledger);
}

INSTANTIATE_TEST_SUITE_P(Each, Contract,
                         ::testing::Combine(::testing::ValuesIn(adapters()), ::testing::ValuesIn(promises())),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) + "_" + std::get<1>(each.param).name;
                         });

}  // namespace
}  // namespace viewgate::testing
