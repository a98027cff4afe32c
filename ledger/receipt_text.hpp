// The JSON of a receipt. Its form is described at Receipt.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/mutation_form.hpp"

namespace viewgate::ledger {

/// What became of one mutation of a request that was not rejected.
struct Acknowledgement {
  std::string collection;
  std::string key;
  std::optional<ChangeKind> kind;  ///< none: unchanged
  GroupVersions versions;          ///< after it; none of a deleted record
};

/// Why a request was rejected.
struct Refused {
  Rejection rejection;
  std::size_t mutation = 0;  ///< which one
  GroupVersions moved;       ///< of a conflict: the groups that moved, with their versions
};

[[nodiscard]] std::string applied_text(const MutationRequest& request, Sequence sequence, Outcome outcome,
                                       const std::vector<Acknowledgement>& acknowledgements);
[[nodiscard]] std::string rejected_text(const MutationRequest& request, Sequence sequence, const Refused& refused);

}  // namespace viewgate::ledger
