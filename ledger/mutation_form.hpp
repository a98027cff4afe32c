// The form of requests, as far as it can be told without the database, and the small texts that the ledger keeps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/mutation.hpp"

namespace viewgate::ledger {

/// Conflict group -> the sequence of the last commit that changed it.
using GroupVersions = std::map<std::string, std::int64_t, std::less<>>;

struct MutationToPlan {
  const MutationRequest* request = nullptr;
  const WriteRules* rules = nullptr;
  std::size_t space = 0;  ///< in MutationBatch::spaces
};

/// What one request may come to; above: rejected as `constraint`.
struct MutationBounds {
  std::size_t record_bytes_max = std::size_t{1024} * 1024;       ///< of a record after it
  std::size_t effect_bytes_max = std::size_t{16} * 1024 * 1024;  ///< of all its records before and after it
};

/// What one transaction writes.
struct MutationBatch {
  std::vector<std::string> spaces;  ///< in the order of their names, each once
  std::vector<MutationToPlan> requests;
};

/// What is wrong with the form of a request as far as can be told without the database; empty: nothing.
[[nodiscard]] std::string request_fault(const MutationRequest& request);

/// Whether it carries a record or columns.
[[nodiscard]] bool has_value(const Mutation& mutation);

/// The JSON values of the requests in the order of their mutations; after each request, its fields.
[[nodiscard]] std::vector<std::string> jsons_of(const std::vector<MutationToPlan>& requests);
[[nodiscard]] std::size_t jsons_count(const std::vector<MutationToPlan>& requests);

/// {"schedule":12,"record":9}
[[nodiscard]] std::string versions_text(const GroupVersions& versions);
[[nodiscard]] GroupVersions versions_of(std::string_view json);

/// The outcome that a stored receipt tells.
[[nodiscard]] Outcome outcome_of(std::string_view receipt);

}  // namespace viewgate::ledger
