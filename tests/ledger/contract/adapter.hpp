// What the contract suite asks of a ledger, in the seed's words. An adapter for another store implements this class, and adds
// itself to contract_test.cpp.
//
// Records are JSON objects as PostgreSQL's jsonb prints them, keys are arrays of that form. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/commit.hpp"
#include "ledger/conflict_group.hpp"
#include "ledger/error.hpp"
#include "ledger/mutation.hpp"

namespace viewgate::testing {

/// What a back-end makes of one managed record.
struct RecordWrite {
  std::string collection;
  std::string key;
  std::optional<std::string> value;  ///< the whole record; none = it is deleted
};

class LedgerAdapter {
 public:
  using Answer = ledger::Result<ledger::MutationAnswer>;
  using Kind = ledger::MutationAnswer::Kind;

  /// A back-end's transaction. Rolled back where it ends without commit(). Several may be open at once, also of one space
  /// where they write different records.
  class Transaction {
   public:
    virtual ~Transaction() = default;
    virtual void append(const std::string& space, const std::vector<RecordWrite>& writes) = 0;
    /// When this returns, what was appended is a commit of each space, or about to be: pull and watermark show it.
    virtual void commit() = 0;
  };

  virtual ~LedgerAdapter() = default;

  [[nodiscard]] virtual std::unique_ptr<Transaction> begin() = 0;
  /// The conflict groups that appends move; those of mutations are what their rules tell.
  virtual void declare(const ledger::DeclaredGroups& groups) = 0;
  /// All at once, over two nodes in turn; their answers in the same order.
  [[nodiscard]] virtual std::vector<Answer> mutate(std::vector<ledger::MutationRequest> requests,
                                                   ledger::WriteRulesPtr rules) = 0;
  [[nodiscard]] virtual Answer receipt(const std::string& space, const std::string& client,
                                       const std::string& principal, std::int64_t number) = 0;
  [[nodiscard]] virtual ledger::Result<ledger::PullPage> pull(const std::string& space, ledger::Sequence after,
                                                              std::int64_t limit) = 0;
  [[nodiscard]] virtual ledger::Sequence watermark(const std::string& space) = 0;
  [[nodiscard]] virtual ledger::Sequence retained_from(const std::string& space) = 0;
  /// Keeps the newest `keep` commits, and lets go of the others at once.
  virtual void prune(const std::string& space, std::int64_t keep) = 0;
  /// The store is killed, and started again. What was told before must be there.
  virtual void crash() = 0;
};

}  // namespace viewgate::testing
