// Decides what a batch of requests comes to: pure, from what the first half of the transaction has read to
// what the second half writes. In the order of arrival; a later request sees what earlier ones of the batch did.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/error.hpp"
#include "ledger/mutation_form.hpp"

namespace viewgate::ledger {

/// What the spaces' locks showed of one batch.
struct MutationState {
  struct Client {
    std::string principal;
    std::int64_t last = 0;
  };
  struct Processed {
    Sequence sequence;
    std::string receipt;
    bool has_same_body = false;
  };
  struct Record {
    std::optional<std::string> key;   ///< as jsonb prints it; none: it is not JSON
    std::optional<std::string> text;  ///< none: there is no such record
    GroupVersions versions;
    std::size_t first = 0;     ///< the first mutation of this record: that one has text and versions
    bool is_withheld = false;  ///< the texts up to here are more than a request may come to
  };

  std::vector<Sequence> heads;                                    ///< per space
  std::map<std::pair<std::size_t, std::string>, Client> clients;  ///< by space and id
  std::vector<std::optional<Processed>> processed;                ///< per request
  std::vector<Record> records;                                    ///< per mutation of all requests
  std::vector<std::optional<std::string>> jsons;  ///< jsons_of, as jsonb prints them; none: it is not JSON
};

struct PlannedCommit {
  const MutationRequest* request = nullptr;
  std::size_t space = 0;
  Sequence sequence;
  std::int64_t changes = 0;
  std::optional<std::string> fields;
  std::string receipt;
};

struct PlannedChange {
  std::int64_t of_commit = 0;  ///< 1, 2, … in MutationPlan::commits
  Change change;               ///< without ordinal: they are written in order
};

/// A record as the batch leaves it.
struct PlannedRecord {
  std::size_t space = 0;
  std::string collection;
  std::string key;
  std::optional<std::string> text;  ///< none: deleted
  GroupVersions versions;
  bool existed = false;  ///< before the batch
};

struct MutationPlan {
  std::vector<Result<MutationAnswer>> answers;  ///< per request; of the others, the batch would have come to too much
  std::vector<PlannedCommit> commits;  ///< of the requests that are processed now: head + 1, head + 2, … per space
  std::vector<PlannedChange> changes;
  std::vector<PlannedRecord> records;
};

[[nodiscard]] MutationPlan plan_mutations(const std::vector<MutationToPlan>& requests, const MutationState& state,
                                          const MutationBounds& bounds);

}  // namespace viewgate::ledger
