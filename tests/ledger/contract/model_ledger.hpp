// A ledger in memory that does what the promises say and nothing else: the model that PostgreSQL's results are compared
// with, and the proof that the suite states promises and not an implementation. Of the program's own code it uses only what
// takes a record's JSON apart.
//
// Records are what tests write: flat objects whose columns are in jsonb's order.
#pragma once

#include <map>
#include <set>

#include "ledger/contract/adapter.hpp"

namespace viewgate::testing {

class ModelLedger final : public LedgerAdapter {
 public:
  [[nodiscard]] std::unique_ptr<Transaction> begin() override;
  void declare(const ledger::DeclaredGroups& groups) override { declared_ = groups; }
  [[nodiscard]] std::vector<Answer> mutate(std::vector<ledger::MutationRequest> requests,
                                           ledger::WriteRulesPtr rules) override;
  [[nodiscard]] Answer receipt(const std::string& space, const std::string& client, const std::string& principal,
                               std::int64_t number) override;
  [[nodiscard]] ledger::Result<ledger::PullPage> pull(const std::string& space, ledger::Sequence after,
                                                      std::int64_t limit) override;
  [[nodiscard]] ledger::Sequence watermark(const std::string& space) override { return spaces_[space].head; }
  [[nodiscard]] ledger::Sequence retained_from(const std::string& space) override {
    return ledger::Sequence{spaces_[space].horizon.value + 1};
  }
  void prune(const std::string& space, std::int64_t keep) override;
  void crash() override {}

  /// What a log says, done here: a commit that no request of ours has made. Returns the commit as it is here.
  ledger::Commit follow(const ledger::Commit& commit);
  /// The current records of a collection by key.
  [[nodiscard]] std::map<std::string, std::string> records(const std::string& space, const std::string& collection);

 private:
  class Open;
  using Place = std::pair<std::string, std::string>;  ///< collection and key
  struct Record {
    std::string text;
    std::map<std::string, std::int64_t> versions;
  };
  using Records = std::map<Place, Record>;
  struct Client {
    std::string principal;
    std::int64_t last = 0;
    std::map<std::int64_t, ledger::Sequence> commits;  ///< by number
  };
  struct Space {
    ledger::Sequence head;
    ledger::Sequence horizon;  ///< the last commit that is pruned
    std::map<ledger::Sequence, ledger::Commit> commits;
    Records records;
    std::map<std::string, Client> clients;
  };
  struct Effect {
    ledger::Outcome outcome = ledger::Outcome::no_op;
    Records records;
    std::vector<ledger::Change> changes;
    std::string text;  ///< the receipt's, from behind its sequence on
  };

  Answer process(const ledger::MutationRequest& request, const ledger::WriteRules& rules);
  Answer again(Space& space, const Client& client, const ledger::MutationRequest& request);
  /// What the request would do; nothing is changed.
  static Effect effect_of(const Space& space, const ledger::MutationRequest& request, const ledger::WriteRules& rules);
  static std::optional<ledger::Rejection> fault_of(const Space& space, const ledger::Proposal& proposal,
                                                   const ledger::ConflictGroups& groups,
                                                   std::map<std::string, std::int64_t>& moved);
  static void write(Records& records, ledger::Sequence sequence, const ledger::ConflictGroups& groups,
                    const Place& place, const std::optional<std::string>& after, std::vector<ledger::Change>& changes);
  static ledger::Commit& add(Space& space, const std::string& name, std::vector<ledger::Change> changes);

  std::map<std::string, Space> spaces_;
  ledger::DeclaredGroups declared_;
};

}  // namespace viewgate::testing
